"""The claims outlive the stack: a new one goes on with the table, or with one restored from it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from once.embedded.aws import EmbeddedAws
from once.embedded.deploy import STACK_NAME, deploy
from once.embedded.pipe import PipeRunner
from once.embedded.stack import EmbeddedStack
from once.genesys.server import GenesysServer
from once.project import TEMPLATE
from once.run.command import destination_parameters
from once.run.tracker import Tracker
from proof.embedded import Embedded
from proof.events import customer_start

pytestmark = pytest.mark.embedded


class Account:
    """One AWS in which stacks come and go, and the destination that all of them call."""

    def __init__(self, aws: EmbeddedAws, destination: GenesysServer) -> None:
        self.aws, self.destination = aws, destination
        self._parameters = dict(destination_parameters(aws, destination))

    @contextmanager
    def stack(self, template: Path = TEMPLATE, **parameters: str) -> Iterator[Embedded]:
        """Deployed, or changed where it is there already; only its pipe ends with the block."""
        tracker = Tracker()
        deployed = deploy(self.aws, template, {**self._parameters, **parameters})
        pipe = PipeRunner(self.aws.client, deployed.outputs["PipeName"], observer=tracker)
        running = EmbeddedStack(self.aws, deployed, pipe.start())
        try:
            tracker.watch(running.client, running.outputs)
            yield Embedded(running, self.destination, tracker)
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
    with EmbeddedAws.start() as aws, GenesysServer() as destination:
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
