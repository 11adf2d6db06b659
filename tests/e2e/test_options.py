"""With every optional parameter and with none, the template deploys and the example stream runs."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from once.genesys.server import GenesysServer
from once.local.stack import LocalStack
from once.run.local import local_stack
from proof.definition.asl import ROOT
from proof.deployed import DeployedStack
from proof.story import FOLDER
from proof.template import TEMPLATE, of_type
from tests.e2e.test_story import check_groups

pytestmark = pytest.mark.local

EXAMPLE = ROOT / "docs" / "examples" / "own_data_action.py"
TABLE = "acted"
OWN_ACTION = "arn:aws:lambda:eu-central-1:000000000000:function:an-action-of-our-own"
SOURCE = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a/tests"
KEY = "arn:aws:kms:eu-central-1:000000000000:key/11111111-2222-4333-8444-555555555555"
EVERYTHING = {
    "EventSourceName": SOURCE,
    "EventBusName": "not-used-then",
    "SourcePrefix": "aws.partner/genesys.com/cloud",
    "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
    "EventFilter": '{"topicName": [{"prefix": "v2."}]}',
    "BatchSize": "7",
    "MaxTries": "9",
    "ClaimDays": "3",
    "ArchiveDays": "2",
    "MaxActionsPerMinute": "3000",
    "MaxConcurrentActions": "5",
    "KmsKeyArn": KEY,
    "FormerKmsKeyArn": f"{KEY[:-1]}6",
    "LogLevel": "ERROR",
    "ExecutionLogClass": "INFREQUENT_ACCESS",
    "LogPayloads": "true",
    "LogRetentionDays": "7",
    "AlarmEmail": "on-call@example.com",
    "QuietMinutes": "90",
    "OpeningHours": "1-5/14-2",
    "PermissionsBoundaryArn": "arn:aws:iam::aws:policy/PowerUserAccess",
    "RolePath": "/contact-centre/",
    "ActionFunctionArn": OWN_ACTION,
}
# Set by what the tests run on (once/local/deploy.py, once/run/command.py).
SET_ANYWAY = {
    "Timing",
    "PythonRuntime",
    "Architecture",
    "ActionTarget",
    "GenesysHost",
    "WebhookUrl",
    "TargetBusArn",
    "DestinationSecretArn",
    "RoutesFile",
}
# The emulator has no schema registry: tests/contracts/test_registry.py holds what it would get.
# Nor are its times those with which a batching window goes: tests/test_deployments.py has one.
NOT_LOCAL = {"PublishSchemas", "BatchWindowSeconds"}
# It wants a table that is there already: tests/e2e/test_kept_claims.py.
ELSEWHERE = {"ClaimTableName"}


@pytest.fixture
def with_nothing() -> Iterator[DeployedStack]:
    with GenesysServer() as nobody, LocalStack.start(lambda _: {}) as stack:
        yield DeployedStack(stack, nobody)


@pytest.fixture
def with_everything() -> Iterator[DeployedStack]:
    # By sam, whose quoting has to carry each value.
    with local_stack(EVERYTHING) as started:
        local = DeployedStack(started.stack, started.destination)
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.write(EXAMPLE, EXAMPLE.name)
        local.client("lambda").create_function(
            FunctionName=OWN_ACTION.rsplit(":", 1)[1],
            Runtime="python3.11",
            Role="arn:aws:iam::000000000000:role/own",
            Handler=f"{EXAMPLE.stem}.handler",
            Code={"ZipFile": package.getvalue()},
            Environment={"Variables": {"TABLE": TABLE}},
        )
        local.client("dynamodb").create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "idempotencyKey", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "idempotencyKey", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield local


def tell_the_story(local: DeployedStack) -> dict[str, Any]:
    lines = (FOLDER / "story.jsonl").read_text().splitlines()
    reports = local.settle(*lines)
    return {"events": [json.loads(report.model_dump_json(by_alias=True)) for report in reports]}


def test_every_parameter_is_among_those_tried() -> None:
    assert set(EVERYTHING) | SET_ANYWAY | NOT_LOCAL | ELSEWHERE == set(TEMPLATE["Parameters"])
    for name, value in EVERYTHING.items():
        assert value != str(TEMPLATE["Parameters"][name].get("Default")), name


def test_with_no_parameter_events_are_judged_and_nobody_is_called(
    with_nothing: DeployedStack,
) -> None:
    check_groups(tell_the_story(with_nothing))
    assert with_nothing.destination.log == []


def test_with_every_parameter_the_story_is_the_same(with_everything: DeployedStack) -> None:
    story = tell_the_story(with_everything)
    check_groups(story)
    assert with_everything.destination.log == [], "an action of one's own is called in our place"
    acts = with_everything.client("dynamodb").scan(TableName=TABLE, ConsistentRead=True)["Count"]
    assert acts == [event["outcome"] for event in story["events"]].count("PROCESSED")
    sqs = with_everything.client("sqs")
    for name in [name for name in with_everything.outputs if name.endswith("Url")]:
        attributes = sqs.get_queue_attributes(
            QueueUrl=with_everything.outputs[name], AttributeNames=["All"]
        )["Attributes"]
        assert attributes["KmsMasterKeyId"] == KEY, name
    for topic in ("PageTopicArn", "TicketTopicArn"):
        (subscription,) = with_everything.client("sns").list_subscriptions_by_topic(
            TopicArn=with_everything.outputs[topic]
        )["Subscriptions"]
        address = (subscription["Protocol"], subscription["Endpoint"])
        assert address == ("email", "on-call@example.com")
    rule = with_everything.client("events").describe_rule(
        Name=with_everything.outputs["EventRuleName"], EventBusName=SOURCE
    )
    assert len(json.loads(rule["EventPattern"])["detail-type"]) == 2
    roles = with_everything.client("iam").list_roles(PathPrefix="/contact-centre/")["Roles"]
    assert len(roles) == len(of_type("AWS::IAM::Role"))
