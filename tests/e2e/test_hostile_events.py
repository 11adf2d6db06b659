"""Events made to harm go through `once run` like any other: one outcome each, in no more time, and
nothing of what they hold in any log."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from once.local.stack import LocalStack
from once.outcomes import SETTLED
from proof.events import customer_start
from tests.e2e.test_privacy import Places, leaks, logged
from tests.enrichment.sending import element
from tests.operate.conftest import once

pytestmark = pytest.mark.local

MARKER = "h0stile"
ESCAPES = f"\x1b[2J\x1b]0;{MARKER}\x07\u202e{MARKER}\x9b31m"
# What the machine and a busy neighbour may add to a run; a single message that hangs adds 20 s.
SLACK_SECONDS = 8.0


def harmless(number: int, length: int) -> str:
    """A line as long as another, where that is long enough for an event."""

    def written(note: str) -> str:
        return json.dumps(customer_start(f"harmless-{number}", attributes={"note": note}))

    return written("x" * (length - len(written(""))))


def _topic_of_many_slots() -> dict[str, Any]:
    """Reading its ids once took longer than the function has."""
    event = customer_start("hostile-slots")
    event["detail-type"] = "v2." + ".".join(["{id}.a"] * 40)
    event["detail"]["topicName"] = "v2." + ".".join(["a.a"] * 200) + f".{MARKER}!"
    return event


def _number(value: int) -> dict[str, Any]:
    return customer_start("hostile-number", attributes={"n": value})


def _sent_back(number: str) -> str:
    """An element of ours, as a person may replay it."""
    one = element(customer_start("hostile-replay", attributes={"n": "NUMBER"}))
    return json.dumps(one).replace('"NUMBER"', number)


def _element_that_names_a_row_of_ours() -> dict[str, Any]:
    return {
        "messageId": "m1",
        "kind": "event",
        "family": "conversation.customer.start",
        "key": {"pk": "pace", "sk": "breaker"},
        "body": {"text": MARKER},
    }


HOSTILE: list[str] = [
    json.dumps(event) if not isinstance(event, str) else event
    for event in (
        _topic_of_many_slots(),
        _number(2**70),
        _number(-(10**400)),
        _sent_back("1e999"),
        _sent_back(str(2**70)),
        _element_that_names_a_row_of_ours(),
        {"detail-type": "Once Check", "detail": {"id": "once-check", "text": MARKER}},
        {"id": "conv-1", "conversationId": "conv-1", "status": f"{MARKER} +4915550100742"},
        {"detail-type": ESCAPES, "detail": {"conversationId": "c0ffee-9", "status": ESCAPES}},
        {"detail": {"conversationId": MARKER * 500, "status": "open", "callerId": MARKER}},
        customer_start("hostile-text", attributes={ESCAPES: ESCAPES}),
        "[" * 5_000 + f'"{MARKER}"' + "]" * 5_000,
        f'{{"{MARKER}": ' * 300 + "1" + "}" * 300,
        f"\ufeff{{'{MARKER}': not json",
    )
]


@dataclass
class Run:
    """The output of `once run`, and the content of its stack at the end."""

    printed: str = ""
    report: dict[str, Any] = field(default_factory=dict)
    logs: Places = field(default_factory=dict)
    row_named: bool = False


@contextmanager
def looked_at_in_the_end(run: Run) -> Iterator[None]:
    """The stack goes with the run, so it is asked before."""
    stop = LocalStack.stop

    def look_and_stop(stack: LocalStack, *, at_once: bool = False) -> None:
        run.logs = logged(stack)
        table, key = (
            stack.outputs["ClaimTableName"],
            {"pk": {"S": "pace"}, "sk": {"S": "breaker"}},
        )
        run.row_named = "Item" in stack.client("dynamodb").get_item(TableName=table, Key=key)
        stop(stack, at_once=at_once)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalStack, "stop", look_and_stop)
        yield


def run_of(lines: list[str], folder: Path) -> Run:
    run, events, report = Run(), folder / "events.jsonl", folder / "report.json"
    events.write_text("\n".join(lines))
    with looked_at_in_the_end(run):
        answer = once("run", str(events), "--report", str(report))
    run.printed = answer.out + answer.err
    run.report = json.loads(report.read_text())
    return run


def test_hostile_events_have_one_outcome_each_leave_no_trace_and_take_no_longer(
    tmp_path: Path,
) -> None:
    lines = [harmless(number, len(text)) for number, text in enumerate(HOSTILE)]
    usual = run_of(lines, tmp_path)
    assert {one["outcome"] for one in usual.report["events"]} == {"PROCESSED"}

    hostile = run_of(HOSTILE, tmp_path)
    outcomes = [one["outcome"] for one in hostile.report["events"]]
    assert len(outcomes) == len(HOSTILE)
    assert {*outcomes} <= {str(outcome) for outcome in SETTLED}
    assert "PARKED" in outcomes
    assert any(hostile.logs.values())
    assert leaks(hostile.logs, [MARKER, "4915550100742", "Traceback"]) == []
    assert leaks({"terminal": [hostile.printed]}, [MARKER, "4915550100742", "Traceback"]) == []
    assert not hostile.row_named
    assert hostile.report["seconds"] <= usual.report["seconds"] + SLACK_SECONDS
