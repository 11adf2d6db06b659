"""Computes what the state machine writes into the outcome log, from its definition."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from proof.asl.jsonata import Clock, Library
from proof.aws.metrics import Metric, embedded_metrics

Record = Mapping[str, Any]
Counted = defaultdict[Metric, list[float]]
NOW_MS = 1_777_888_800_000
# One of each kind, as the rounds leave them.
RECORDS: list[dict[str, Any]] = [
    {"outcome": "PROCESSED", "reason": "ACTED", "ageMs": 1_500, "requests": 1, "durationMs": 40},
    {"outcome": "PROCESSED", "reason": "ACTED", "ageMs": 300, "requests": 2, "note": "no state"},
    {"outcome": "DUPLICATE", "reason": "COLLAPSED", "copyOf": "m0"},
    {"outcome": "DUPLICATE", "reason": "SAME_KEY"},
    {"outcome": "RETRY", "reason": "LIMITED"},
    {"outcome": "STALE", "reason": "NEWER_STATE"},
    {"outcome": "IGNORED", "reason": "NO_ROUTE_MATCHED"},
    {"outcome": "RETRY", "reason": "SETUP_FAULT"},
    {"outcome": "PARKED", "reason": "NOT_JSON"},
    {"outcome": "RETRY", "reason": "NOT_REACHED"},
    {"outcome": "RETRY", "reason": "PACING_FAILED"},
    {"outcome": "RETRY", "reason": "COLLAPSED", "copyOf": "m4"},
    {"outcome": "PARKED", "reason": "GAVE_UP", "requests": 1},
    {"outcome": "PARKED", "reason": "WAITED_TOO_LONG"},
]
OPEN = {"since": NOW_MS - 90_000, "failed": 20, "openUntil": NOW_MS + 10_000}


def log_events(
    recorder: Mapping[str, Any],
    records: Sequence[Record] = RECORDS,
    breaker: Mapping[str, Any] = OPEN,
    waited_ms: int = 60_000,
) -> list[dict[str, Any]]:
    """Returns the log events that the state RecordOutcomes writes for a batch."""
    expression = recorder["Arguments"]["LogEvents"][2:-2]
    named = [{"messageId": f"m{at}", **record} for at, record in enumerate(records)]
    scope = {
        "records": named,
        "batch": [{"messageId": r["messageId"], "sentAtMs": NOW_MS - waited_ms} for r in named],
        "breaker": dict(breaker),
        "runId": "run",
    }
    written = Library().evaluate(expression, scope, Clock(NOW_MS))
    assert isinstance(written, list)
    return written


def counted(events: Sequence[Mapping[str, Any]]) -> Counted:
    """Counts the metrics in log events as CloudWatch does, all values of a metric together."""
    found: Counted = defaultdict(list)
    for event in events:
        for metric, values in embedded_metrics(event["Message"]).items():
            found[metric] += values
    return found
