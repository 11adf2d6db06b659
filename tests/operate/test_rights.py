"""The commands as on a deployed stack: an AWS with TLS that checks who calls, rights and lacks."""

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from once.genesys.server import GenesysServer
from once.local.aws import REGION
from once.local.deploy import deploy
from once.project import ROOT, TEMPLATE
from once.run.local import destination_parameters
from proof.events import customer_start
from tests.e2e.test_rights import Secured, SecuredAws, assume
from tests.operate.conftest import Answer, once

pytestmark = pytest.mark.local

POLICY = ROOT / "docs" / "examples" / "operator-policy.json"

LOOKS = (
    ("status",),
    ("explain", "r-seen"),
    ("parked", "list"),
    ("parked", "show", "r-refused"),
    ("dead-letters", "list"),
    ("check", "--look"),
)
# For each right, a command that cannot do without.
NEEDS = {
    "cloudformation:DescribeStacks": ("status",),
    "sqs:GetQueueAttributes": ("status",),
    "sqs:ReceiveMessage": ("parked", "list"),
    "dynamodb:GetItem": ("status",),
    "dynamodb:Query": ("explain", "r-seen"),
    "logs:FilterLogEvents": ("explain", "r-never-seen"),
    "logs:StartQuery": ("explain", "r-seen"),
    "logs:GetQueryResults": ("explain", "r-seen"),
    "pipes:DescribePipe": ("status",),
    "states:DescribeStateMachine": ("status",),
    "cloudwatch:DescribeAlarms": ("status",),
    "cloudwatch:GetMetricData": ("status",),
    "events:DescribeRule": ("check", "--look"),
    "events:ListTargetsByRule": ("check", "--look"),
    "events:ListEventSources": ("check", "--look"),
}
# Of a source of Genesys Cloud, which the emulator has none of.
OF_PARTNERS = {"events:DescribeEventSource", "events:ListRules"}
# The emulator takes batches for actions of their own, where AWS asks for that of one message.
PECULIARITIES = {
    "Effect": "Allow",
    "Action": ["sqs:ChangeMessageVisibilityBatch", "sqs:SendMessageBatch"],
    "Resource": "*",
}


class Account:
    """A deployed stack, and people with rights of their own who type commands."""

    def __init__(self, secured: Secured) -> None:
        self.secured = secured
        self._iam = secured.aws.client("iam")

    def hire(self, name: str, policy: Mapping[str, Any]) -> dict[str, str]:
        """Returns the environment of a person with this policy and nothing else."""
        self._iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
        self._iam.put_role_policy(
            RoleName=name, PolicyName="once", PolicyDocument=json.dumps(policy)
        )
        return self.environment(assume(self.secured.aws, name))

    def environment(self, credentials: Mapping[str, str]) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.secured.aws.endpoint,
            "AWS_CA_BUNDLE": self.secured.aws.certificate,
            "AWS_ACCESS_KEY_ID": credentials["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": credentials["SecretAccessKey"],
            "AWS_SESSION_TOKEN": credentials["SessionToken"],
            "AWS_REGION": REGION,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    aws = SecuredAws.start()
    try:
        with GenesysServer() as destination:
            parameters = destination_parameters(aws, destination)
            stack = deploy(aws, TEMPLATE, parameters)
            account = Account(Secured(aws, stack.outputs, destination))
            destination.script.add({"match": {"conversationId": "r-refused"}, "replies": [422]})
            account.secured.through(customer_start("r-seen"))
            account.secured.through(customer_start("r-refused"))
            yield account
    finally:
        aws.stop()


@pytest.fixture(scope="module")
def policy(account: Account) -> Any:
    """Returns the policy of the documents, for this account and the stack `once`."""
    number = account.secured.outputs["StateMachineArn"].split(":")[4]
    text = POLICY.read_text().replace("111122223333", number).replace("genesys-once", "once")
    statements = json.loads(text)["Statement"]

    def build(operate: bool) -> Any:
        kept = [one for one in statements if operate or one["Sid"].startswith("Read")]
        return copy.deepcopy({"Version": "2012-10-17", "Statement": kept})

    return build


def as_user(
    monkeypatch: pytest.MonkeyPatch, environment: Mapping[str, str], *command: str, says: str = ""
) -> Answer:
    with monkeypatch.context() as context:
        for name, value in environment.items():
            context.setenv(name, value)
        return once(*command, "--stack", "once", says=says)


def test_read_permissions_allow_reading_only(
    account: Account, policy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    guest = account.hire("guest", policy(operate=False))
    for command in LOOKS:
        answer = as_user(monkeypatch, guest, *command)
        assert answer.code in (0, 3), (command, answer.err)
        assert answer.err == ""
    assert "acted on" in as_user(monkeypatch, guest, "explain", "r-seen").out
    for command in (
        ("pause", "--yes"),
        ("parked", "replay", "r-refused", "--yes"),
        ("check", "--yes"),
        ("send", str(_file(tmp_path)), "--yes"),
    ):
        answer = as_user(monkeypatch, guest, *command)
        assert answer.code in (1, 3), command
        said = answer.err or answer.out
        assert "not authorized" in said, command
        assert "Traceback" not in said
    assert POLICY.name in as_user(monkeypatch, guest, "pause", "--yes").err


def test_each_read_permission_is_needed_by_some_command() -> None:
    statements = json.loads(POLICY.read_text())["Statement"]
    reads = [one["Action"] for one in statements if one["Sid"].startswith("Read")]
    looks = {action for actions in reads for action in actions}
    assert set(NEEDS) | OF_PARTNERS == looks


@pytest.mark.parametrize("action", NEEDS)
def test_no_read_permission_is_superfluous(
    account: Account, policy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, action: str
) -> None:
    monkeypatch.chdir(tmp_path)
    less = policy(operate=False)
    for statement in less["Statement"]:
        statement["Action"] = [a for a in statement["Action"] if a != action] or ["none:None"]
    poor = account.hire(f"without-{action.replace(':', '-')}", less)
    answer = as_user(monkeypatch, poor, *NEEDS[action])
    assert answer.code == 1
    assert action in answer.err
    assert POLICY.name in answer.err


def test_operate_permissions_suffice_for_every_command(
    account: Account, policy: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    rights = policy(operate=True)
    rights["Statement"].append(PECULIARITIES)
    operator = account.hire("operator", rights)

    def ok(*command: str) -> Answer:
        answer = as_user(monkeypatch, operator, *command)
        assert answer.code == 0, (command, answer.err, answer.out)
        return answer

    ok("pause", "--yes")
    ok("resume", "--yes")
    ok("send", str(_file(tmp_path)), "--yes")
    ok("parked", "replay", "r-refused", "--yes")
    key = json.loads(ok("explain", "r-seen", "--json").out)["subjects"][0]["events"][0]["key"]
    ok("forget", key, "--yes")
    account.secured.aws.client("sqs").send_message(
        QueueUrl=account.secured.outputs["EventDeadLettersUrl"],
        MessageBody=json.dumps(customer_start("r-dead")),
    )
    ok("dead-letters", "replay", "--yes")
    account.secured.through("no event at all " + "x" * 300_000)
    (broken,) = json.loads(ok("parked", "list", "--json").out)["messages"]
    assert "rawRef" in ok("parked", "show", broken["messageId"]).out
    ok("parked", "replay", broken["messageId"], "--yes")
    with account.secured.pipe:
        assert "Every check that could run passed." in ok("check", "--yes").out


def _file(folder: Path) -> Path:
    path = folder / "events.jsonl"
    path.write_text(json.dumps(customer_start("r-sent")) + "\n")
    return path
