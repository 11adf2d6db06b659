"""While no request may be sent, a message that was put back is put back again without a claim."""

from typing import Any

import pytest

from proof.asl.services import REFUSED
from tests.statemachine.playing import (
    ACTED,
    NOW_MS,
    OTHER,
    Play,
    claim,
    returning,
    row,
)

OPEN = row(since=NOW_MS - 100_000, open_until=NOW_MS + 20_000)
SHORT = ["ReadBreaker", "PutBack"]
WAITING = claim(status="FAILED", outcome="RETRY", due_at=NOW_MS - 1_000)


def looked(event: dict[str, Any], breaker: Any = OPEN) -> Play:
    answers = {"ClaimKey": [REFUSED, {}], "ReadClaim": [WAITING], "RunAction": [ACTED]}
    return Play([event], {**answers, "ReadBreaker": [breaker]})


def test_a_short_look_keeps_what_the_message_goes_on_from() -> None:
    event = returning(canary=True)
    assert looked(event).body("PutBack") == {
        "event": event["raw"],
        "once": {
            "firstMessageId": event["firstMessageId"],
            "firstSentAtMs": event["firstSentAtMs"],
            "waitsSinceMs": event["waitsSinceMs"],
            "after": OTHER,
            "reason": "BREAKER_OPEN",
            "dueAtMs": event["dueAtMs"],
            "canary": True,
        },
    }


@pytest.mark.parametrize(
    ("breaker", "reason"),
    [
        (OPEN, "BREAKER_OPEN"),
        (row(since=NOW_MS, not_before=NOW_MS + 9_000), "RATE_LIMITED"),
        (row(since=NOW_MS, not_before=NOW_MS + 9_000, held="deploying"), "PAUSED"),
        # The pause is over, and the probe after it failed.
        (
            row(since=0, not_before=NOW_MS - 1, open_until=NOW_MS + 9_000, held="deploying"),
            "BREAKER_OPEN",
        ),
    ],
)
def test_a_reason_that_changed_is_recorded(breaker: Any, reason: str) -> None:
    play = looked(returning("CALL_FAILED"), breaker)
    assert play.path == [*SHORT, "RecordOutcome"]
    assert play.outcome == ("RETRY", reason)
    assert looked(returning(reason), breaker).path == SHORT


@pytest.mark.parametrize(
    ("since_ms", "waits_ms", "seconds"),
    [
        (NOW_MS - 100_000, NOW_MS - 100_000, 21),
        (NOW_MS - 100_000, NOW_MS - 50_000, 23),
        (NOW_MS - 100_000, NOW_MS - 500_000, 21),
        (NOW_MS - 86_400_000, NOW_MS - 60_000, 800),
    ],
)
def test_events_come_back_in_their_order_and_soon_enough(
    since_ms: int, waits_ms: int, seconds: int
) -> None:
    """Earlier than 15 minutes after `dueAtMs`: copies would take its claim for abandoned."""
    breaker = row(since=since_ms, open_until=NOW_MS + 20_000)
    play = looked(returning(waitsSinceMs=waits_ms), breaker)
    assert play.asked("PutBack")["DelaySeconds"] == seconds


@pytest.mark.parametrize(
    "event",
    [
        returning(receives=2),
        returning(dueAtMs=NOW_MS - 820_000),
        {name: value for name, value in returning().items() if name != "dueAtMs"},
    ],
)
def test_some_messages_look_at_their_claim(event: dict[str, Any]) -> None:
    """A redelivery would multiply, and a copy would go on in the place of an overdue message."""
    assert "ClaimKey" in looked(event).path
