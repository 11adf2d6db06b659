"""The states through which an event went: from the execution log, or else what its record implies.

Only at LogLevel ALL does Step Functions log each state. Which iteration was whose, it says only
with execution data; without, the way is known where all that ended alike took the same one.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from botocore.exceptions import ClientError
from pydantic import Field

from once.operate import log
from once.operate.deliveries import Delivery
from once.operate.model import Model
from once.operate.stack import Stack
from once.operate.story import Message
from once.outcomes import Outcome

# A pipe's execution ends within five minutes, and is logged a little later.
_BEFORE_MS, _AFTER_MS = 310_000, 15_000

_OPEN = ("OpenBatch", "ReadPace", "CheckPace")
_TAKEN = ("OpenEvent", "ClaimKey")
_CALLED = (*_TAKEN, "CheckOrder", "RunAction")
_FAILED = (*_CALLED, "JudgeFailure", "ReleaseClaim", "HandBack")
_REFUSED = (*_CALLED, "ParkEvent", "CloseParked", "Parked")
_MET = (*_TAKEN, "ReadClaim", "JudgeClaim")
_UNORDERED = (*_TAKEN, "CheckOrder", "AdvanceLatest")

# By reason, what an event that ended so went through for certain.
WAYS: dict[str, tuple[str, ...]] = {
    "ACTED": (*_CALLED, "CompleteClaim", "Processed"),
    "OBSERVED": (*_CALLED, "CompleteClaim", "Processed"),
    "SAME_KEY": (*_MET, "SkipDuplicate"),
    "SAME_EVENT_ID": (*_MET, "SkipDuplicate"),
    "SETTLED_BEFORE": (*_MET, "SkipDuplicate"),
    "NEWER_OCCURRENCE": (*_MET, "SkipStale"),
    "NEWER_STATE": (*_UNORDERED, "ReadLatest", "JudgeOrder", "CloseStale", "SkipStale"),
    "REJECTED": _REFUSED,
    "UNCERTAIN": _REFUSED,
    "GAVE_UP": (*_CALLED, "JudgeFailure", "ParkEvent", "CloseParked", "Parked"),
    "WAITED_TOO_LONG": (*_TAKEN, "CheckOrder", "ParkEvent", "CloseParked", "Parked"),
    "CALL_FAILED": _FAILED,
    "RATE_LIMITED": _FAILED,
    "SETUP_FAULT": _FAILED,
    "THROTTLED": _FAILED,
    "TOO_LATE": _FAILED,
    "HELD": (*_MET, "HandBack"),
    "CLAIM_UNANSWERED": (*_TAKEN, "HandBack"),
    "CLAIM_UNREADABLE": (*_TAKEN, "ReadClaim", "HandBack"),
    "ORDER_UNKNOWN": (*_UNORDERED, "ReleaseClaim", "HandBack"),
}
_BROKEN = ("OpenEvent", "ParkBroken", "Parked")
# These never came to an iteration; the first three were stopped by the pace.
_PACED = {"LIMITED", "BREAKER_OPEN", "PACING_FAILED"}
_OUTSIDE = _PACED | {"NOT_REACHED", "ROUND_FAILED"}
_UNCLEAR = {"PARKING_FAILED"}


class Step(Model):
    state: str
    at_ms: int | None = Field(description="When it was entered; null where only a record says so.")


class Way(Model):
    """Through which states one delivery of a message went."""

    message_id: str
    source: Literal["execution log", "record"]
    why_record: str | None = Field(description="Why it is not from the execution log.")
    execution: str | None
    steps: list[Step]


def of(stack: Stack, message: Message, delivery: Delivery) -> Way:
    # A collapsed copy shares the verdict, and so the way, of the message that was kept.
    collapsed = delivery.reason == "COLLAPSED" and message.because_of is not None
    message_id = message.because_of if collapsed and message.because_of else message.message_id
    run = delivery.execution or (message.execution if delivery is message.deliveries[-1] else None)
    try:
        steps, run, why = _logged(stack, message_id, delivery, run)
    except ClientError:
        steps, why = [], "the execution log cannot be read"
    if not steps:
        reason = "ACTED" if collapsed and delivery.outcome is Outcome.DUPLICATE else delivery.reason
        implied = from_record(delivery.outcome, reason)
        steps = [Step(state=state, at_ms=None) for state in implied]
    return Way(
        message_id=message_id,
        source="record" if why else "execution log",
        why_record=why,
        execution=run,
        steps=steps,
    )


def from_record(outcome: Outcome, reason: str | None) -> list[str]:
    """What an outcome and its reason imply; no more than is certain."""
    found = [*_OPEN, "AskPace"] if reason in _PACED else [*_OPEN]
    found.append("NextRound")
    if reason not in _OUTSIDE:
        way = WAYS.get(reason or "", () if outcome is not Outcome.PARKED else _BROKEN)
        found += ["SettleEvents", *way, "NextRound"]
    if outcome is Outcome.RETRY:
        found.append("HandBackEvents")
    return [*found, "RecordOutcomes", "ReportBatch"]


def _logged(
    stack: Stack, message_id: str, delivery: Delivery, run: str | None
) -> tuple[list[Step], str | None, str | None]:
    """The steps, the execution, and why there are none."""
    if stack.parameters.get("LogLevel", "ALL") != "ALL":
        return [], run, f"LogLevel is {stack.parameters['LogLevel']}, not ALL"
    run = run or _run_of(stack, message_id, delivery.at_ms)
    if run is None:
        return [], None, "without execution data the log does not say whose execution was whose"
    lines = _lines(stack, delivery.at_ms, run)
    if not lines:
        return [], run, "the execution log holds nothing of it, or no longer"
    around, iterations = parted(lines)
    wanted = [one for one in iterations if message_id in one[0]["details"].get("input", "")]
    way = _the_one_way(wanted[:1] or iterations, delivery)
    if way is None:
        return [], run, "several events of its batch ended alike, by different ways"
    return _in_order(around, way), run, None


def _run_of(stack: Stack, message_id: str, recorded_ms: int) -> str | None:
    """The execution that took the message last before this was recorded, if the log says so."""
    for line in reversed(_lines(stack, recorded_ms, message_id, "StateEntered")):
        named = message_id in line["details"].get("input", "")
        if named and int(line["event_timestamp"]) <= recorded_ms:
            arn: str = line["execution_arn"]
            return arn.rpartition(":")[2]
    return None


def _lines(stack: Stack, at_ms: int, *patterns: str) -> list[dict[str, Any]]:
    group = f"/aws/vendedlogs/states/{stack.name}"
    since_ms, until_ms = at_ms - _BEFORE_MS, at_ms + _AFTER_MS
    found = log.insights(stack, group, since_ms, *patterns, until_ms=until_ms)
    return [json.loads(line) for _, line in found]


_Line = dict[str, Any]


def parted(lines: Iterable[_Line]) -> tuple[list[_Line], list[list[_Line]]]:
    """The states that the machine entered, and those of each iteration of its Map."""
    by_id = {line["id"]: line for line in lines}
    roots: dict[str, str | None] = {}

    def root(number: str) -> str | None:
        if number not in by_id:
            return None
        if number not in roots:
            line = by_id[number]
            before = by_id.get(line["previous_event_id"], {"type": ""})["type"]
            if line["type"] == "MapIterationStarted":
                roots[number] = number
            elif before.startswith("MapIteration") and before != "MapIterationStarted":
                roots[number] = None
            else:
                roots[number] = root(line["previous_event_id"])
        return roots[number]

    around: list[_Line] = []
    iterations: dict[str, list[_Line]] = {}
    for number in sorted(by_id, key=int):
        if by_id[number]["type"].endswith("StateEntered"):
            within = root(number)
            (around if within is None else iterations.setdefault(within, [])).append(by_id[number])
    return around, list(iterations.values())


_ENDS = {
    Outcome.PROCESSED: {"Processed", "SkipDuplicate"},
    Outcome.DUPLICATE: {"SkipDuplicate", "Processed"},
    Outcome.STALE: {"SkipStale", "SkipDuplicate"},
    Outcome.PARKED: {"Parked", "SkipDuplicate"},
    Outcome.RETRY: {"HandBack"},
}


def _the_one_way(iterations: Sequence[list[_Line]], delivery: Delivery) -> list[_Line] | None:
    """The iteration of the event, or any where all that ended as it did went alike."""
    if delivery.reason in _OUTSIDE:
        return []
    alike = [one for one in iterations if _names(one)[-1] in _ENDS[delivery.outcome]]
    return alike[0] if alike and len({tuple(_names(one)) for one in alike}) == 1 else None


def _in_order(around: Iterable[_Line], way: Sequence[_Line]) -> list[Step]:
    """The machine's states, with those of the iteration behind the Map that it was part of."""
    lines = sorted([*around, *way], key=lambda line: int(line["id"]))
    return [
        Step(state=line["details"]["name"], at_ms=int(line["event_timestamp"])) for line in lines
    ]


def _names(lines: Iterable[_Line]) -> list[str]:
    return [line["details"]["name"] for line in lines]
