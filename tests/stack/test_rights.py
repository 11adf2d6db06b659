"""The deployed roles under enforced IAM and TLS are enough for the work.

The emulator enforces the roles of functions and of whoever assumes one, here the pipe's. It
enforces neither the state machine's role (tests/template/test_permissions.py) nor key policies.
"""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any, Self
from unittest.mock import patch
from urllib.request import HTTPSHandler, build_opener

import boto3
import pytest

from once.genesys.server import GenesysServer
from once.local import aws as emulator
from once.local import child
from once.local.aws import ACCOUNT, REGION, Emulator
from once.local.deploy import BUCKET, LOCAL_PARAMETERS, STACK_NAME
from once.local.pipe import Delivery, Ending, PipeRunner
from once.local.stack import destination_parameters
from proof import secured_server, shared_stack
from proof.events import customer_start
from proof.shared_stack import SharedStack
from tests.stack.sample_events import new_id


class SecuredAws(Emulator):
    """An emulator that checks who calls, and speaks TLS with a certificate of its own."""

    def __init__(self, root: Path, port: int, key: str, process: Popen[bytes]) -> None:
        super().__init__(root, port, key, process)
        self.endpoint = self.endpoint.replace("http:", "https:")
        self.certificate = str(root / "tmp" / "ministack-tls" / "server.crt")

    @classmethod
    def start_secured(cls) -> Self:
        # Only to ask whether it is up: the certificate is made while it starts.
        anyone = ssl.create_default_context()
        anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
        build, begin = build_opener, child.start

        def secure(program: str, *args: str, env: Mapping[str, str], **rest: Any) -> Popen[bytes]:
            assert Path(program).name == "server.py"
            changed = {**env, "AUTH": "true", "USE_SSL": "1"}
            changed["AWS_ENDPOINT_URL"] = env["AWS_ENDPOINT_URL"].replace("http:", "https:")
            changed["AWS_CA_BUNDLE"] = f"{env['TMPDIR']}/ministack-tls/server.crt"
            return begin(str(secured_server.__file__), *args, env=changed, **rest)

        with (
            patch.object(child, "start", secure),
            patch.object(
                emulator,
                "build_opener",
                lambda proxy: build(proxy, HTTPSHandler(context=anyone)),
            ),
        ):
            started = cls.start()
        assert isinstance(started, cls)
        return started

    def client(self, service: str) -> Any:
        if service not in self._clients:
            owner = {
                "AccessKeyId": ACCOUNT,
                "SecretAccessKey": "local",
                "SessionToken": self.key,
            }
            self._clients[service] = self.client_as(service, owner)
        return self._clients[service]

    def client_as(self, service: str, credentials: Mapping[str, Any]) -> Any:
        session: Any = boto3.session.Session()
        return session.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            verify=self.certificate,
            aws_access_key_id=credentials["AccessKeyId"],
            aws_secret_access_key=credentials["SecretAccessKey"],
            aws_session_token=credentials["SessionToken"],
            config=self._config,
        )

    def physical(self, logical_id: str) -> str:
        detail = self.client("cloudformation").describe_stack_resource(
            StackName=STACK_NAME, LogicalResourceId=logical_id
        )["StackResourceDetail"]
        return str(detail["PhysicalResourceId"])


class Secured:
    """The project's template on a secured AWS, and a pipe that has assumed the pipe's role."""

    def __init__(self, aws: SecuredAws, destination: GenesysServer) -> None:
        self.aws, self.destination = aws, destination
        (stack,) = aws.client("cloudformation").describe_stacks(StackName=STACK_NAME)["Stacks"]
        self.outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
        self._as_pipe = self._assume("PipeRole")
        self.pipe = PipeRunner(self._client_of_pipe, self.outputs["PipeName"])

    def deliver(self, event: Mapping[str, Any]) -> Delivery:
        """Receives, hands on and deletes this event alone, by the pipe's role."""
        queue = self.outputs["EventQueueUrl"]
        self.aws.client("sqs").purge_queue(QueueUrl=queue)
        self.aws.client("sqs").send_message(QueueUrl=queue, MessageBody=json.dumps(event))
        (message,) = self._client_of_pipe("sqs").receive_message(
            QueueUrl=queue, MessageSystemAttributeNames=["All"]
        )["Messages"]
        return self.pipe.deliver(message)

    def count_acts(self, conversation: str) -> int:
        return sum(
            entry.acted and conversation.encode() in entry.raw for entry in self.destination.log
        )

    @contextmanager
    def without(self, role: str, action: str) -> Iterator[None]:
        """Takes one right from the deployed role."""
        iam, name = self.aws.client("iam"), self.aws.physical(role)
        deployed = {
            policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
            for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
        }
        less = json.loads(json.dumps(deployed))
        for statement in [entry for document in less.values() for entry in document["Statement"]]:
            actions = statement["Action"]
            actions = [actions] if isinstance(actions, str) else actions
            statement["Action"] = [one for one in actions if one != action] or ["none:None"]
        assert less != deployed, f"{role} has no {action}"

        def put(documents: Mapping[str, Any]) -> None:
            for policy, document in documents.items():
                iam.put_role_policy(
                    RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document)
                )

        put(less)
        try:
            yield
        finally:
            put(deployed)

    def restart(self, function: str) -> None:
        """Lets a function forget what it remembers of earlier events."""
        client, name = self.aws.client("lambda"), self.aws.physical(function)
        size = client.get_function_configuration(FunctionName=name)["MemorySize"]
        client.update_function_configuration(FunctionName=name, MemorySize=size)

    def _assume(self, role: str) -> Mapping[str, str]:
        """Returns credentials with the permissions of a role, whoever its trust policy names."""
        trust = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}
        iam, name = self.aws.client("iam"), self.aws.physical(role)
        iam.update_assume_role_policy(
            RoleName=name,
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
        )
        credentials: Mapping[str, str] = self.aws.client("sts").assume_role(
            RoleArn=iam.get_role(RoleName=name)["Role"]["Arn"], RoleSessionName="once"
        )["Credentials"]
        return credentials

    def _client_of_pipe(self, service: str) -> Any:
        if service == "pipes":  # the control plane, where a pipe is described to the stand-in
            return self.aws.client(service)
        client = self.aws.client_as(service, self._as_pipe)
        if service == "sqs":
            client.get_queue_url = self.aws.client(service).get_queue_url
        return client


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    """Creates the stack from what `sam deploy` uploaded for the shared one."""
    shared = shared_stack.find_or_start()
    aws = SecuredAws.start_secured()
    try:
        with GenesysServer() as destination:
            s3, cloudformation = aws.client("s3"), aws.client("cloudformation")
            s3.create_bucket(
                Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION}
            )
            uploaded = shared.client("s3")
            for found in uploaded.list_objects_v2(Bucket=BUCKET)["Contents"]:
                content = uploaded.get_object(Bucket=BUCKET, Key=found["Key"])["Body"].read()
                s3.put_object(Bucket=BUCKET, Key=found["Key"], Body=content)
                if found["Key"].endswith(".template"):
                    template = found["Key"]
            chosen = {
                **LOCAL_PARAMETERS,
                **destination_parameters(aws, destination, "genesys"),
                # So nothing is sent without the right to the rows that count requests.
                "MaxActionsPerMinute": "300",
            }
            cloudformation.create_stack(
                StackName=STACK_NAME,
                TemplateURL=f"https://s3.amazonaws.com/{BUCKET}/{template}",
                Parameters=[
                    {"ParameterKey": name, "ParameterValue": value}
                    for name, value in chosen.items()
                ],
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            )
            cloudformation.get_waiter("stack_create_complete").wait(
                StackName=STACK_NAME, WaiterConfig={"Delay": 0.5, "MaxAttempts": 240}
            )
            yield Secured(aws, destination)
    finally:
        aws.stop()


def test_event_is_settled_with_the_rights_that_are_deployed(
    local: SharedStack, secured: Secured
) -> None:
    assert local.outputs.keys() == secured.outputs.keys()
    conversation = new_id()
    delivery = secured.deliver(customer_start(conversation))
    assert delivery.ending is Ending.SUCCEEDED, delivery.detail
    assert secured.count_acts(conversation) == 1


def test_pipe_cannot_hand_on_without_its_right(local: SharedStack, secured: Secured) -> None:
    assert local.outputs
    conversation, action = new_id(), "lambda:InvokeFunction"
    with secured.without("PipeRole", action):
        delivery = secured.deliver(customer_start(conversation))
    assert delivery.ending is Ending.ENRICHMENT_FAILED
    assert action in delivery.detail
    assert secured.count_acts(conversation) == 0


def test_function_sends_nothing_without_the_right_to_its_secret(
    local: SharedStack, secured: Secured
) -> None:
    assert local.outputs
    conversation = new_id()
    with secured.without("DataActionRole", "secretsmanager:GetSecretValue"):
        secured.restart("DataActionFunction")
        delivery = secured.deliver(customer_start(conversation))
    secured.restart("DataActionFunction")
    assert delivery.ending is Ending.SUCCEEDED  # the event was put back
    assert secured.count_acts(conversation) == 0
