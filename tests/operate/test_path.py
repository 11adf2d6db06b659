"""The states that an event went through, as the execution log has them."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from once.operate import explain
from once.operate.path import Path, read_path, split_iterations
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeRecord
from proof.definition.asl import definition
from proof.definition.diagram import arrows
from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.operate.support import destination_answers

ENDS = {
    Outcome.PROCESSED: "Processed",
    Outcome.DUPLICATE: "SkipDuplicate",
    Outcome.STALE: "SkipStale",
    Outcome.PARKED: "Parked",
    Outcome.RETRY: "Returned",
}


def drawn() -> set[tuple[str, str]]:
    """Every step from a state to another; the Map is entered at its start and left at its ends."""
    machine = definition()
    (around,) = (name for name, state in machine["States"].items() if state["Type"] == "Map")
    inner = machine["States"][around]["ItemProcessor"]
    found = {(one.start, one.end) for one in arrows(machine["States"])}
    found |= {(one.start, one.end) for one in arrows(inner["States"])}
    found.add((around, inner["StartAt"]))
    found |= {(name, "NextRound") for name, state in inner["States"].items() if state.get("End")}
    return found


def history(*events: tuple[str, dict[str, Any], int]) -> list[dict[str, Any]]:
    """Makes a history as Step Functions logs it: each event has the id of the one before it."""
    return [
        {
            "id": str(number),
            "type": kind,
            "details": details,
            "previous_event_id": str(before),
            "event_timestamp": str(1_795_000_000_000 + number),
            "execution_arn": "arn:aws:states:eu-central-1:123456789012:express:machine:name:run",
        }
        for number, (kind, details, before) in enumerate(events, 1)
    ]


def test_the_states_of_iterations_that_ran_at_once_are_told_apart() -> None:
    lines = history(
        ("ExecutionStarted", {}, 0),
        ("MapStateEntered", {"name": "SettleEvents"}, 1),
        ("MapStateStarted", {"length": 2}, 2),
        ("MapIterationStarted", {"index": 0}, 3),
        ("TaskStateEntered", {"name": "ClaimKey"}, 4),
        ("MapIterationStarted", {"index": 1}, 3),
        ("TaskStateEntered", {"name": "ClaimKey"}, 6),
        ("TaskStateExited", {"name": "ClaimKey"}, 5),
        ("TaskStateEntered", {"name": "ReadClaim"}, 8),
        ("TaskStateExited", {"name": "ClaimKey"}, 7),
        ("PassStateEntered", {"name": "Returned"}, 10),
        ("TaskScheduled", {}, 9),
        ("TaskSucceeded", {}, 12),
        ("MapIterationSucceeded", {"index": 1}, 11),
        ("MapIterationSucceeded", {"index": 0}, 13),
        ("MapStateSucceeded", {}, 15),
        ("ChoiceStateEntered", {"name": "NextRound"}, 16),
    )
    around, iterations = split_iterations(lines)
    names = [[line["details"]["name"] for line in one] for one in iterations]
    assert names == [["ClaimKey", "ReadClaim"], ["ClaimKey", "Returned"]]
    assert [line["details"]["name"] for line in around] == ["SettleEvents", "NextRound"]


class Logs:
    """A log without execution data: what AWS writes unless LogPayloads is true."""

    def __init__(self, lines: list[dict[str, Any]]) -> None:
        self._lines = [json.dumps(line) for line in lines]

    def start_query(self, queryString: str, **_: Any) -> dict[str, str]:  # noqa: N803
        self._asked = queryString
        return {"queryId": "one"}

    def get_query_results(self, queryId: str) -> dict[str, Any]:  # noqa: ARG002, N803
        parts = [part.partition("/")[2].rpartition("/")[0] for part in self._asked.split("filter")]
        found = [one for one in self._lines if all(part in one for part in parts[1:])]
        at = "2026-11-18 12:00:00.000"
        rows = [
            [{"field": "@timestamp", "value": at}, {"field": "@message", "value": one}]
            for one in reversed(found)
        ]
        return {"status": "Complete", "results": rows}


class OnAws:
    """The part of a deployed stack that is read."""

    outputs = {"ExecutionLogGroupName": "/aws/vendedlogs/states/once"}  # noqa: RUF012

    def __init__(self, lines: list[dict[str, Any]], level: str = "ALL") -> None:
        self._logs = Logs(lines)
        self.parameters = {"LogLevel": level}

    def client(self, service: str) -> Logs:
        assert service == "logs"
        return self._logs


def read(stack: OnAws, outcome: Outcome, reason: str, run: str | None = None) -> Path:
    one = OutcomeRecord(
        message_id="m-1", outcome=outcome, reason=reason, run=run, recorded_at_ms=1_795_000_001_000
    )
    message = explain.Message(
        message_id="m-1",
        outcome=outcome,
        reason=reason,
        cause=None,
        because_of=None,
        text="",
        deliveries=[one],
    )
    return read_path(stack, message, one)  # type: ignore[arg-type]


def iteration(*states: str, start: int) -> Iterator[tuple[str, dict[str, Any], int]]:
    yield "MapIterationStarted", {"index": start}, 1
    for number, state in enumerate(states):
        yield "TaskStateEntered", {"name": state}, start + number


ALONE = history(
    ("MapStateEntered", {"name": "SettleEvents"}, 0),
    *iteration("ClaimKey", "ReadClaim", "Returned", start=2),
)
ALIKE = history(
    ("MapStateEntered", {"name": "SettleEvents"}, 0),
    *iteration("ClaimKey", "ReadClaim", "Returned", start=2),
    *iteration("ClaimKey", "Returned", start=6),
)


def test_without_execution_data_an_event_alone_in_its_batch_is_known() -> None:
    found = read(OnAws(ALONE), Outcome.RETRY, "CLAIM_UNANSWERED", run="run")
    assert found.missing is None
    assert [step.state for step in found.steps][1:] == ["ClaimKey", "ReadClaim", "Returned"]


@pytest.mark.parametrize(
    ("stack", "run", "why"),
    [
        (OnAws(ALIKE), "run", "several events of its batch ended so, on different paths"),
        (OnAws(ALONE), None, "without LogPayloads the log does not say"),
        (OnAws([]), "run", "the execution log holds nothing of it"),
        (OnAws([], "ERROR"), "run", "LogLevel is ERROR, not ALL"),
    ],
)
def test_a_path_that_the_log_does_not_tell_is_missing_and_says_why(
    stack: OnAws, run: str | None, why: str
) -> None:
    found = read(stack, Outcome.RETRY, "CLAIM_UNANSWERED", run)
    assert found.steps == []
    assert (found.missing or "").startswith(why)


@pytest.mark.local
def test_each_delivery_of_an_event_took_the_path_of_its_outcome(operated: DeployedStack) -> None:
    destination_answers(operated, "w-refused", {"status": 500}, {"status": 500})
    event = customer_start("w-refused")
    operated.settle(event, event)
    operated.settle(event)
    stack = Stack.find(None, None, None)
    (subject,) = explain.read_explanation(stack, "w-refused", 0).subjects
    seen = set()
    for one in subject.events:
        for message in one.messages:
            for delivery in message.deliveries:
                found = read_path(stack, message, delivery)
                states = [step.state for step in found.steps]
                seen.add(delivery.outcome)
                assert found.missing is None
                assert not [step for step in pairwise(states) if step not in drawn()]
                end = ENDS[delivery.outcome]
                assert end in states or delivery.reason in ("COLLAPSED", "NOT_REACHED"), states
    assert seen >= {Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.RETRY}
