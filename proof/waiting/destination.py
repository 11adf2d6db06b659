"""What a destination does with a call, at what time, for what kind of event."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .queue import Event

Result = Literal["acted", "rejected", "failed", "rate limited", "throttled", "not authorised"]
# Our data action function ends a call after so long; for an own Lambda the machine does, later,
# and that it does not repeat.
CALL_MS = 8_000
OWN_CALL_MS = 15_000


@dataclass(frozen=True)
class Reply:
    """How a call ended, and after how long."""

    result: Result
    duration_ms: float
    retry_after_seconds: float | None = None


Destination = Callable[[Event, int, random.Random], Reply]
Span = tuple[float, float]


def quick(rng: random.Random) -> float:
    """A healthy answer: 200 ms in the middle."""
    return 120 + rng.expovariate(1 / 80)


def well(event: Event, now_ms: int, rng: random.Random) -> Reply:  # noqa: ARG001
    """Acts; an event whose kind is poison fails for good."""
    if event.kind == "poison":
        return Reply("failed", quick(rng))
    return Reply("acted", quick(rng))


def slow(answer_ms: float) -> Destination:
    """Answers well, after so long; poison fails after as long."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:  # noqa: ARG001
        result: Result = "failed" if event.kind == "poison" else "acted"
        return Reply(result, answer_ms * rng.uniform(0.95, 1.05))

    return destination


def down(*spans_ms: Span, hanging_ms: float = 0, result: Result = "failed") -> Destination:
    """Well, but for these spans of time: an error at once, or no answer until the call is ended."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if any(begins <= now_ms < ends for begins, ends in spans_ms):
            return Reply(result, hanging_ms or quick(rng))
        return well(event, now_ms, rng)

    return destination


def failing_at_random(share: float) -> Destination:
    """Fails this share of all calls, whatever they are for."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if rng.random() < share:
            return Reply("failed", quick(rng))
        return well(event, now_ms, rng)

    return destination


def rate_limiting(per_minute: int, retry_after_seconds: float | None) -> Destination:
    """Takes so many calls in a fixed minute and answers 429 to the rest of it."""
    minute, calls = -1, 0

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        nonlocal minute, calls
        if now_ms // 60_000 != minute:
            minute, calls = now_ms // 60_000, 0
        calls += 1
        if calls > per_minute:
            return Reply("rate limited", 50, retry_after_seconds)
        return well(event, now_ms, rng)

    return destination


def throttled_above(at_once: int, running: Callable[[], int]) -> Destination:
    """Lambda refuses what would run beyond so many at once."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if running() > at_once:
            return Reply("throttled", 5)
        return well(event, now_ms, rng)

    return destination
