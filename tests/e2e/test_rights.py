"""The deployed roles under enforced IAM and TLS: enough for the work, and each right is needed.

The emulator enforces the roles of functions and of whoever assumes one, here the pipe's. It
does not enforce the state machine's, so that is asked of IAM's simulator. It evaluates no key
policies.
"""

import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any, Self
from unittest.mock import patch
from urllib.request import HTTPSHandler

import boto3
import pytest
from botocore.exceptions import ClientError

from once.genesys.server import GenesysServer
from once.local import aws as emulator
from once.local import child
from once.local.aws import ACCOUNT, REGION, Emulator
from once.local.deploy import deploy
from once.local.pipe import Batch, Ending, PipeRunner
from once.project import TEMPLATE
from once.records import OutcomeLog
from once.run.local import destination_parameters
from proof import secured_server
from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.test_permissions import LOG_DELIVERY, granted, used_by_machine

pytestmark = pytest.mark.local

OVERFLOWING = "x" * 220_000


@contextmanager
def checking_who_calls(**settings: str) -> Iterator[None]:
    """An emulator that is started within enforces IAM."""
    begin = child.start

    def start(program: str, *args: str, env: Mapping[str, str], **rest: Any) -> Popen[bytes]:
        changed = {**env, **settings, "AUTH": "true"}
        if "USE_SSL" in settings:
            changed["AWS_ENDPOINT_URL"] = env["AWS_ENDPOINT_URL"].replace("http:", "https:")
            changed["AWS_CA_BUNDLE"] = f"{env['TMPDIR']}/ministack-tls/server.crt"
        assert Path(program).name == "server.py"
        return begin(str(secured_server.__file__), *args, env=changed, **rest)

    with patch.object(child, "start", start):
        yield


class SecuredAws(Emulator):
    """An emulator that checks who calls, and speaks TLS with a certificate of its own."""

    def __init__(self, root: Path, port: int, key: str, process: Popen[bytes]) -> None:
        super().__init__(root, port, key, process)
        self.endpoint = self.endpoint.replace("http:", "https:")
        self.certificate = str(root / "tmp" / "ministack-tls" / "server.crt")

    @classmethod
    def start(cls) -> Self:
        # Only to ask whether it is up: the certificate is made while it starts.
        anyone = ssl.create_default_context()
        anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
        build = emulator.build_opener
        with (
            checking_who_calls(USE_SSL="1"),
            patch.object(
                emulator,
                "build_opener",
                lambda proxy: build(proxy, HTTPSHandler(context=anyone)),
            ),
        ):
            started = super().start()
        assert isinstance(started, cls)
        return started

    def client(self, service: str) -> Any:
        return self.client_as(service, self.owner)

    @property
    def owner(self) -> dict[str, str]:
        """The credentials of the account's owner."""
        return {
            "AccessKeyId": ACCOUNT,
            "SecretAccessKey": "local",
            "SessionToken": self.key,
        }

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

    def environment(self) -> dict[str, str]:
        known = {"AWS_ENDPOINT_URL": self.endpoint, "AWS_CA_BUNDLE": self.certificate}
        return super().environment() | known


def assume(aws: Emulator, role: str) -> Mapping[str, str]:
    """Credentials with the permissions of a role, whoever its trust policy names."""
    trust = {"Effect": "Allow", "Principal": {"AWS": ACCOUNT}, "Action": "sts:AssumeRole"}
    iam = aws.client("iam")
    iam.update_assume_role_policy(
        RoleName=role,
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )
    credentials: Mapping[str, str] = aws.client("sts").assume_role(
        RoleArn=iam.get_role(RoleName=role)["Role"]["Arn"], RoleSessionName="once"
    )["Credentials"]
    return credentials


class Secured:
    """The project's template on a secured AWS, and a pipe that has assumed the pipe's role."""

    def __init__(self, aws: SecuredAws, outputs: Mapping[str, str], destination: Any) -> None:
        self.aws = aws
        self.outputs = outputs
        self.destination = destination
        self._queue = outputs["EventQueueUrl"]
        self._as_pipe = assume(aws, physical(aws, "PipeRole"))
        self.pipe = PipeRunner(self._pipe_client, outputs["PipeName"])

    def through(self, *events: Any) -> Batch:
        """These events alone in one batch: received, handed on and deleted by the pipe's role."""
        self.aws.client("sqs").purge_queue(QueueUrl=self._queue)
        for event in events:
            self.aws.client("sqs").send_message(QueueUrl=self._queue, MessageBody=json.dumps(event))
        received = self._pipe_client("sqs").receive_message(
            QueueUrl=self._queue,
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"],
        )
        return self.pipe.run_batch(received["Messages"])

    def acted(self, event: Mapping[str, Any]) -> int:
        conversation = event["detail"]["eventBody"]["conversationId"]
        return sum(
            entry.acted and conversation.encode() in entry.raw for entry in self.destination.log
        )

    def _pipe_client(self, service: str) -> Any:
        if service == "pipes":  # the control plane, where a pipe is described to the stand-in
            return self.aws.client(service)
        client = self.aws.client_as(service, self._as_pipe)
        if service == "sqs":
            client.get_queue_url = self.aws.client(service).get_queue_url
        return client


def physical(aws: Emulator, logical_id: str) -> str:
    found: str = aws.client("cloudformation").describe_stack_resource(
        StackName="once", LogicalResourceId=logical_id
    )["StackResourceDetail"]["PhysicalResourceId"]
    return found


@contextmanager
def without(aws: Emulator, role: str, action: str) -> Iterator[None]:
    """The deployed role less one right."""
    iam, name = aws.client("iam"), physical(aws, role)
    deployed = {
        policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
    }
    less = json.loads(json.dumps(deployed))
    for statement in [entry for document in less.values() for entry in document["Statement"]]:
        actions = statement["Action"]
        kept = [a for a in ([actions] if isinstance(actions, str) else actions) if a != action]
        statement["Action"] = kept or ["none:None"]
    assert less != deployed

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


def restart(aws: Emulator, function: str) -> None:
    """So that nothing is left of what the function remembers from earlier calls."""
    client, name = aws.client("lambda"), physical(aws, function)
    size = client.get_function_configuration(FunctionName=name)["MemorySize"]
    client.update_function_configuration(FunctionName=name, MemorySize=size)


@pytest.fixture(scope="module")
def secured() -> Iterator[Secured]:
    aws = SecuredAws.start()
    try:
        with GenesysServer() as destination:
            # A webhook is sent the whole body, out of the bucket where it had to go there.
            target = {**destination_parameters(aws, destination), "ActionTarget": "webhook"}
            stack = deploy(aws, TEMPLATE, target)
            yield Secured(aws, stack.outputs, destination)
    finally:
        aws.stop()


def test_an_event_is_settled_with_the_rights_that_are_deployed(secured: Secured) -> None:
    event = customer_start()
    batch = secured.through(event)
    assert batch.ending is Ending.SUCCEEDED, batch.detail
    assert len(batch.deleted) == 1
    assert secured.acted(event) == 1


def test_a_body_goes_through_the_bucket_with_the_rights_that_are_deployed(
    secured: Secured,
) -> None:
    event = customer_start(padding=OVERFLOWING)
    batch = secured.through(event)
    assert batch.ending is Ending.SUCCEEDED, batch.detail
    assert secured.acted(event) == 1
    stored = secured.aws.client("s3").list_objects_v2(Bucket=secured.outputs["OverflowBucketName"])
    assert stored["KeyCount"] > 0


@pytest.mark.parametrize(
    ("action", "ending"),
    [
        ("lambda:InvokeFunction", Ending.ENRICHMENT_FAILED),
        ("states:StartSyncExecution", Ending.TARGET_FAILED),
    ],
)
def test_the_pipe_cannot_hand_on_without_its_right(
    secured: Secured, action: str, ending: Ending
) -> None:
    event = customer_start()
    with without(secured.aws, "PipeRole", action):
        batch = secured.through(event)
    assert batch.ending is ending
    assert action in batch.detail
    assert secured.acted(event) == 0


@pytest.mark.parametrize("action", ["sqs:ReceiveMessage", "sqs:DeleteMessage"])
def test_the_pipe_cannot_use_its_queue_without_its_right(secured: Secured, action: str) -> None:
    with (
        without(secured.aws, "PipeRole", action),
        pytest.raises(ClientError, match=f"AccessDenied.*{action}"),
    ):
        secured.through(customer_start())


def test_the_pipe_may_not_send(secured: Secured) -> None:
    sqs = secured._pipe_client("sqs")
    with pytest.raises(ClientError, match="AccessDenied"):
        sqs.send_message(QueueUrl=secured.outputs["EventQueueUrl"], MessageBody="{}")


@pytest.mark.parametrize(
    ("role", "function", "action"),
    [
        ("EnrichmentRole", "EnrichmentFunction", "s3:PutObject"),
        ("DataActionRole", "DataActionFunction", "s3:GetObject"),
        ("DataActionRole", "DataActionFunction", "secretsmanager:GetSecretValue"),
    ],
)
def test_an_event_is_handed_back_when_a_function_lacks_its_right(
    secured: Secured, role: str, function: str, action: str
) -> None:
    event = customer_start(padding=OVERFLOWING)
    with without(secured.aws, role, action):
        restart(secured.aws, function)
        batch = secured.through(event)
    restart(secured.aws, function)
    assert batch.ending is Ending.PARTIALLY_FAILED, batch.detail
    assert batch.deleted == frozenset()
    assert secured.acted(event) == 0


def ask_pacing(secured: Secured, *, breaker_unread: bool = False) -> Any:
    """Asks pacing as before a batch, and returns the error's type if it raises."""
    question = {
        "version": "1",
        "ask": "begin",
        "startedMs": 1,
        "run": "by-hand",
        "deadlineMs": time.time_ns() // 1_000_000 + 10_000,
        "breakerUnread": breaker_unread,
        "events": [
            {
                "messageId": "m",
                "subjectKey": "s",
                "occurredAtMs": 1,
                "receives": 1,
                "sentAtMs": time.time_ns() // 1_000_000,
            }
        ],
    }
    answer = secured.aws.client("lambda").invoke(
        FunctionName=secured.outputs["PacingFunctionName"], Payload=json.dumps(question).encode()
    )
    return json.loads(answer["Payload"].read())


def test_pacing_sets_return_times_with_its_right_and_not_without(secured: Secured) -> None:
    def returns() -> int | None:
        event = customer_start()
        conversation = event["detail"]["eventBody"]["conversationId"]
        missing = {"match": {"conversationId": conversation}, "replies": [], "then": 404}
        secured.destination.script.add(missing)
        batch = secured.through(event)
        assert batch.ending is Ending.PARTIALLY_FAILED, batch.detail
        log = OutcomeLog(secured.aws.client("logs"), secured.outputs["OutcomeLogGroupName"])
        (record,) = [record for record in log.new() if conversation in (record.pk or "")]
        return record.returns_at_ms

    assert returns() is not None
    with without(secured.aws, "PacingRole", "sqs:ChangeMessageVisibility"):
        restart(secured.aws, "PacingFunction")
        assert returns() is None
    restart(secured.aws, "PacingFunction")


def test_pacing_reads_the_breaker_with_its_right_and_not_without(secured: Secured) -> None:
    assert ask_pacing(secured, breaker_unread=True)["returned"] == []
    with without(secured.aws, "PacingRole", "dynamodb:GetItem"):
        restart(secured.aws, "PacingFunction")
        assert "errorType" in ask_pacing(secured, breaker_unread=True)
    restart(secured.aws, "PacingFunction")


def test_whoever_comes_without_tls_is_refused_even_the_owner_of_the_account() -> None:
    """Tried on queues and topic; the emulator's bucket refuses its owner nothing."""
    with checking_who_calls():
        aws = Emulator.start()
    with aws:
        outputs = deploy(aws, TEMPLATE, {}).outputs
        for name in [output for output in outputs if output.endswith("Url")]:
            with pytest.raises(ClientError, match="AccessDenied"):
                aws.client("sqs").send_message(QueueUrl=outputs[name], MessageBody="{}")
        with pytest.raises(ClientError, match="AuthorizationError"):
            aws.client("sns").publish(TopicArn=outputs["PageTopicArn"], Message="m")


def arn_of_queue(local: DeployedStack, output: str) -> str:
    attributes = local.client("sqs").get_queue_attributes(
        QueueUrl=local.outputs[output], AttributeNames=["QueueArn"]
    )
    arn: str = attributes["Attributes"]["QueueArn"]
    return arn


def test_the_machine_may_do_what_it_calls_and_not_without_each_right(local: DeployedStack) -> None:
    aws = local.stack.aws
    iam = aws.client("iam")
    role = iam.get_role(RoleName=physical(aws, "StateMachineRole"))["Role"]["Arn"]
    arns = {
        "ClaimTable": aws.client("dynamodb").describe_table(
            TableName=local.outputs["ClaimTableName"]
        )["Table"]["TableArn"],
        "ParkingQueue": arn_of_queue(local, "ParkingQueueUrl"),
        **{
            name: aws.client("lambda").get_function(FunctionName=physical(aws, name))[
                "Configuration"
            ]["FunctionArn"]
            for name in ("DataActionFunction", "PacingFunction")
        },
        "OutcomeLogGroup": aws.client("logs").describe_log_groups(
            logGroupNamePrefix=local.outputs["OutcomeLogGroupName"]
        )["logGroups"][0]["arn"],
        "*": "*",
    }
    calls = set(used_by_machine({"CreatesTable"}))
    assert len(calls - {(action, "*") for action in LOG_DELIVERY}) >= 6

    def decision(action: str, resource: str) -> str:
        (result,) = iam.simulate_principal_policy(
            PolicySourceArn=role, ActionNames=[action], ResourceArns=[arns[resource]]
        )["EvaluationResults"]
        decided: str = result["EvalDecision"]
        return decided

    for action, resource in sorted(calls):
        assert decision(action, resource) == "allowed", action
        with without(aws, "StateMachineRole", action):
            assert decision(action, resource) == "implicitDeny", action
    assert granted("StateMachineRole", {"CreatesTable"}) == calls
    assert decision("dynamodb:DeleteItem", "ClaimTable") == "implicitDeny"
    assert decision("sqs:SendMessage", "ClaimTable") == "implicitDeny"
    assert decision("dynamodb:DeleteTable", "ClaimTable") == "implicitDeny"
