"""Destinations of the simulation: how each responds, by time and kind of event."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .queue import Event

Result = Literal[
    "acted", "rejected", "failed", "rate limited", "throttled", "not authorised", "paused"
]
# Our data action function ends a call after so long; for an own Lambda the machine does, later,
# and that it does not repeat.
CALL_MS = 8_000
OWN_CALL_MS = 15_000


@dataclass(frozen=True)
class Reply:
    """The end of a request, and its duration."""

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
    """Succeeds, except in these spans: then it fails immediately, or hangs until the timeout."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if any(begins <= now_ms < ends for begins, ends in spans_ms):
            return Reply(result, hanging_ms or quick(rng))
        return well(event, now_ms, rng)

    return destination


def failing_at_random(share: float) -> Destination:
    """Fails this share of all requests, whatever their event."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if rng.random() < share:
            return Reply("failed", quick(rng))
        return well(event, now_ms, rng)

    return destination


def rate_limiting(per_minute: int, retry_after_seconds: float | None) -> Destination:
    """Accepts this many requests per clock minute, and answers 429 to the others."""
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
    """Refuses as Lambda does if more than this many functions would run at the same time."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> Reply:
        if running() > at_once:
            return Reply("throttled", 5)
        return well(event, now_ms, rng)

    return destination
