"""The claims outlive the stack, and what waits outlives a deployment over it."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from once.genesys.server import GenesysServer
from once.local.aws import Emulator
from once.local.deploy import STACK_NAME, deploy
from once.local.pipe import PipeRunner
from once.local.stack import LocalStack
from once.project import TEMPLATE
from once.run.local import destination_parameters
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.support import count_waiting, parameters, until

pytestmark = pytest.mark.local


class Account:
    """One AWS in which stacks come and go, and the destination that all of them call."""

    def __init__(self, aws: Emulator, destination: GenesysServer) -> None:
        self.aws, self.destination = aws, destination
        self._parameters = dict(destination_parameters(aws, destination))

    @contextmanager
    def stack(self, **chosen: str) -> Iterator[DeployedStack]:
        """Only the pipe of the stack ends with the block."""
        made = deploy(self.aws, TEMPLATE, {**self._parameters, **chosen})
        pipe = PipeRunner(self.aws.client, made.outputs["PipeName"])
        running = LocalStack(self.aws, made, pipe.start())
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
        with parameters(second, ClaimTableName="claims-restored"):
            again = second.settle(*acted, customer_start("after"))
        assert {report.outcome for report in again} == {"DUPLICATE"}
    assert len(account.calls()) == 4
    assert dynamodb.describe_table(TableName=kept)["Table"]["ItemCount"] > 0


def test_a_deployment_loses_and_repeats_nothing_that_waits() -> None:
    waiting = [customer_start(f"waits-{number}") for number in range(6)]
    before = [customer_start(f"before-{number}") for number in range(3)]
    with deployed() as stack:
        stack.settle(*before)
        stack.destination.answer_always({"status": 503})
        stack.send(*waiting)
        requests = stack.destination.received
        until(lambda: len(requests("execute")) >= len(before) + len(waiting))
        with parameters(stack, MaxTries="9"):
            assert count_waiting(stack) == len(waiting)
            stack.destination.answer_always(None)
            stack.settle(*before, customer_start("after"))
            until(lambda: count_waiting(stack) == 0)
    acts = Counter(one.facts["conversationId"] for one in requests("execute") if one.acted)
    sent = {event["detail"]["eventBody"]["conversationId"] for event in (*before, *waiting)}
    assert acts == dict.fromkeys({*sent, "after"}, 1)
