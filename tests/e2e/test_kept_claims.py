"""The claims outlive the stack, and what waits outlives a deployment over it."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from once.genesys.server import GenesysServer
from once.local.aws import Emulator
from once.local.deploy import STACK_NAME, deploy
from once.local.pipe import PipeRunner
from once.local.stack import LocalStack
from once.project import TEMPLATE
from once.run.local import destination_parameters
from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.operate.support import until

pytestmark = pytest.mark.local


class Account:
    """One AWS in which stacks come and go, and the destination that all of them call."""

    def __init__(self, aws: Emulator, destination: GenesysServer) -> None:
        self.aws, self.destination = aws, destination
        self._parameters = dict(destination_parameters(aws, destination))

    @contextmanager
    def stack(self, template: Path = TEMPLATE, **parameters: str) -> Iterator[DeployedStack]:
        """Deployed, or changed where it is there already; only its pipe ends with the block."""
        deployed = deploy(self.aws, template, {**self._parameters, **parameters})
        pipe = PipeRunner(self.aws.client, deployed.outputs["PipeName"])
        running = LocalStack(self.aws, deployed, pipe.start())
        try:
            yield DeployedStack(running, self.destination)
        finally:
            pipe.stop()

    def delete_stack(self) -> None:
        formation = self.aws.client("cloudformation")
        formation.delete_stack(StackName=STACK_NAME)
        formation.get_waiter("stack_delete_complete").wait(
            StackName=STACK_NAME, WaiterConfig={"Delay": 1}
        )

    def calls(self) -> list[str | None]:
        received = self.destination.received("execute")
        return [entry.facts.get("conversationId") for entry in received]


@pytest.fixture
def account() -> Iterator[Account]:
    with Emulator.start() as aws, GenesysServer() as destination:
        yield Account(aws, destination)


def lines_of(account: Account, group: str) -> list[Any]:
    events = account.aws.client("logs").filter_log_events(logGroupName=group)["events"]
    return [json.loads(event["message"]) for event in events]


def test_a_stack_made_again_with_the_kept_table_skips_the_copies_of_what_acted_before(
    account: Account,
) -> None:
    acted = [customer_start(f"before-{number}") for number in range(3)]
    with account.stack() as first:
        assert {report.outcome for report in first.settle(*acted)} == {"PROCESSED"}
        kept, log = (first.outputs[n] for n in ("ClaimTableName", "OutcomeLogGroupName"))
    account.delete_stack()
    assert [line for line in lines_of(account, log) if line.get("outcome") == "PROCESSED"]

    with account.stack(ClaimTableName=kept) as second:
        assert second.outputs["ClaimTableName"] == kept
        assert {report.outcome for report in second.settle(*acted)} == {"DUPLICATE"}
        (new,) = second.settle(customer_start("after"))
        assert new.outcome == "PROCESSED"
    assert sorted(map(str, account.calls())) == ["after", "before-0", "before-1", "before-2"]

    # As the runbook restores them, onto a stack that goes on meanwhile.
    dynamodb = account.aws.client("dynamodb")
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=kept, TargetTableName="claims-restored", UseLatestRestorableTime=True
    )
    expiry = {"AttributeName": "expires_at", "Enabled": True}
    dynamodb.update_time_to_live(TableName="claims-restored", TimeToLiveSpecification=expiry)
    with account.stack(ClaimTableName="claims-restored") as third:
        again = third.settle(*acted, customer_start("after"))
        assert {report.outcome for report in again} == {"DUPLICATE"}
    assert len(account.calls()) == 4
    assert dynamodb.describe_table(TableName=kept)["Table"]["ItemCount"] > 0


def count_waiting(stack: DeployedStack) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=names
    )["Attributes"]
    return sum(map(int, found.values()))


def test_a_deployment_loses_and_repeats_nothing_that_waits(account: Account) -> None:
    waiting = [customer_start(f"waits-{number}") for number in range(6)]
    before = [customer_start(f"before-{number}") for number in range(3)]
    with account.stack() as old:
        old.settle(*before)
        account.destination.answer_always({"status": 503})
        old.send(*waiting)
        until(lambda: len(account.calls()) >= len(before) + len(waiting))
    account.destination.answer_always(None)
    with account.stack(MaxTries="9") as new:
        assert count_waiting(new) == len(waiting)
        new.settle(*before, customer_start("after"))
        until(lambda: count_waiting(new) == 0)
    requests = account.destination.received("execute")
    acts = Counter(request.facts["conversationId"] for request in requests if request.acted)
    sent = {event["detail"]["eventBody"]["conversationId"] for event in (*before, *waiting)}
    assert acts == dict.fromkeys({*sent, "after"}, 1)
