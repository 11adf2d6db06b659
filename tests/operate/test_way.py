"""Through which states an event went: from an execution log, and from what a record implies."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from once.operate import explain, way
from once.operate import phrases as words
from once.operate.deliveries import Delivery
from once.operate.stack import Stack
from once.outcomes import Outcome
from proof.definition.asl import definition
from proof.definition.diagram import arrows
from proof.embedded import Embedded
from proof.events import customer_start
from tests.operate.support import destination_answers

ENDS = {
    Outcome.PROCESSED: "Processed",
    Outcome.DUPLICATE: "SkipDuplicate",
    Outcome.STALE: "SkipStale",
    Outcome.PARKED: "Parked",
    Outcome.RETRY: "HandBack",
}


def drawn() -> set[tuple[str, str]]:
    """Every way from a state to another; the Map is entered at its start and left at its ends."""
    machine = definition()
    (around,) = (name for name, state in machine["States"].items() if state["Type"] == "Map")
    inner = machine["States"][around]["ItemProcessor"]
    found = {(one.start, one.end) for one in arrows(machine["States"])}
    found |= {(one.start, one.end) for one in arrows(inner["States"])}
    found.add((around, inner["StartAt"]))
    found |= {(name, "NextRound") for name, state in inner["States"].items() if state.get("End")}
    return found


@pytest.mark.parametrize("reason", [*words.REASONS, "COLLAPSED", "A_LATER_ONE"])
def test_what_a_record_implies_is_a_way_through_the_machine(reason: str) -> None:
    for outcome in Outcome:
        taken = way.from_record(outcome, reason)
        assert (taken[0], taken[-1]) == ("OpenBatch", "ReportBatch")
        assert not [step for step in pairwise(taken) if step not in drawn() | {GAP}], taken


# Where a record does not say what happened in the Map, only that it was entered.
GAP = ("SettleEvents", "NextRound")


def history(*events: tuple[str, dict[str, Any], int]) -> list[dict[str, Any]]:
    """As Step Functions logs it: each event with the id of the one before it on its way."""
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
        ("ChoiceStateEntered", {"name": "OpenEvent"}, 4),
        ("MapIterationStarted", {"index": 1}, 3),
        ("ChoiceStateEntered", {"name": "OpenEvent"}, 6),
        ("ChoiceStateExited", {"name": "OpenEvent"}, 5),
        ("TaskStateEntered", {"name": "ClaimKey"}, 8),
        ("ChoiceStateExited", {"name": "OpenEvent"}, 7),
        ("PassStateEntered", {"name": "HandBack"}, 10),
        ("TaskScheduled", {}, 9),
        ("TaskSucceeded", {}, 12),
        ("MapIterationSucceeded", {"index": 1}, 11),
        ("MapIterationSucceeded", {"index": 0}, 13),
        ("MapStateSucceeded", {}, 15),
        ("ChoiceStateEntered", {"name": "NextRound"}, 16),
    )
    around, iterations = way.parted(lines)
    names = [[line["details"]["name"] for line in one] for one in iterations]
    assert names == [["OpenEvent", "ClaimKey"], ["OpenEvent", "HandBack"]]
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
    """As much of a deployed stack as is asked."""

    name = "genesys-once"

    def __init__(self, lines: list[dict[str, Any]], level: str = "ALL") -> None:
        self._logs = Logs(lines)
        self.parameters = {"LogLevel": level}

    def client(self, service: str) -> Logs:
        assert service == "logs"
        return self._logs


def read(stack: OnAws, outcome: Outcome, reason: str, run: str | None = None) -> way.Way:
    one = Delivery(
        at_ms=1_795_000_001_000,
        outcome=outcome,
        reason=reason,
        calls=0,
        tries=None,
        status=None,
        cause=None,
        returns_at_ms=None,
        unmarked=False,
        idempotency_key=None,
        execution=run,
    )
    message = explain.Message(
        message_id="m-1",
        outcome=outcome,
        reason=reason,
        cause=None,
        because_of=None,
        text="",
        deliveries=[one],
        recorded_at_ms=one.at_ms,
        occurred_at_ms=None,
        envelope_id=None,
        source=None,
        execution=run,
    )
    return way.of(stack, message, one)  # type: ignore[arg-type]


def iteration(*states: str, start: int) -> Iterator[tuple[str, dict[str, Any], int]]:
    yield "MapIterationStarted", {"index": start}, 1
    for number, state in enumerate(states):
        yield "TaskStateEntered", {"name": state}, start + number


ALONE = history(
    ("MapStateEntered", {"name": "SettleEvents"}, 0),
    *iteration("OpenEvent", "ClaimKey", "HandBack", start=2),
)
ALIKE = history(
    ("MapStateEntered", {"name": "SettleEvents"}, 0),
    *iteration("OpenEvent", "ClaimKey", "HandBack", start=2),
    *iteration("OpenEvent", "HandBack", start=6),
)


def test_without_execution_data_an_event_alone_in_its_batch_is_known() -> None:
    found = read(OnAws(ALONE), Outcome.RETRY, "CLAIM_UNANSWERED", run="run")
    assert found.source == "execution log"
    assert [step.state for step in found.steps][1:] == ["OpenEvent", "ClaimKey", "HandBack"]


@pytest.mark.parametrize(
    ("stack", "run", "why"),
    [
        (OnAws(ALIKE), "run", "several events of its batch ended alike, by different ways"),
        (OnAws(ALONE), None, "without execution data the log does not say whose execution"),
        (OnAws([]), "run", "the execution log holds nothing of it"),
        (OnAws([], "ERROR"), "run", "LogLevel is ERROR, not ALL"),
    ],
)
def test_what_the_log_does_not_say_is_read_from_the_record_and_said_so(
    stack: OnAws, run: str | None, why: str
) -> None:
    found = read(stack, Outcome.RETRY, "CLAIM_UNANSWERED", run)
    assert found.source == "record"
    assert (found.why_record or "").startswith(why)
    assert "ClaimKey" in [step.state for step in found.steps]


@pytest.mark.embedded
def test_each_delivery_of_an_event_took_the_way_of_its_outcome(operated: Embedded) -> None:
    destination_answers(operated, "w-refused", {"status": 500}, {"status": 500})
    event = customer_start("w-refused")
    operated.settle(event, event)
    operated.settle(event)
    stack = Stack.find(None, None, None)
    (subject,) = explain.of(stack, "w-refused", 1).subjects
    seen = set()
    for one in subject.events:
        for message in one.messages:
            for delivery in message.deliveries:
                found = way.of(stack, message, delivery)
                states = [step.state for step in found.steps]
                seen.add(delivery.outcome)
                assert found.source == "execution log", found.why_record
                assert not [step for step in pairwise(states) if step not in drawn()]
                end = ENDS[delivery.outcome]
                assert end in states or delivery.reason in ("COLLAPSED", "NOT_REACHED"), states
    assert seen >= {Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.RETRY}
