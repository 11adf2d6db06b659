"""Measures of a run: requests, turns of the breaker, waits and outcomes of events."""

from array import array
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

from once_pacing.breaker import Row

from .destination import Reply
from .queue import Event, Message

HOUR_MS = 3_600_000


def most_within(times_ms: "array[int]", span_ms: int) -> int:
    """The most of them in any span so long."""
    most = begins = 0
    for at, time_ms in enumerate(times_ms):
        while times_ms[begins] <= time_ms - span_ms:
            begins += 1
        most = max(most, at - begins + 1)
    return most


def share(values: list[float], part: float) -> float:
    """The value that this part of them does not exceed."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else 0.0


@dataclass
class Measures:
    """Collected while a run goes on."""

    calls_ms: "array[int]" = field(default_factory=lambda: array("q"))
    results: Counter[str] = field(default_factory=Counter)
    failures_ms: "array[int]" = field(default_factory=lambda: array("q"))
    refused_ms: "array[int]" = field(default_factory=lambda: array("q"))
    acts: list[tuple[int, Event]] = field(default_factory=list)
    opened_ms: list[int] = field(default_factory=list)
    closed_ms: list[int] = field(default_factory=list)
    most_running: int = 0
    returned: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    pacing_calls: int = 0
    pacing_failed: int = 0
    crashes: int = 0

    def round(self, message: Message, now_ms: int) -> None:
        """A message was received."""
        self.rounds += 1
        message.event.rounds += 1
        if now_ms - message.sent_ms <= HOUR_MS:
            message.event.rounds_first_hour += 1

    def call(self, now_ms: int, event: Event, reply: Reply, running: int) -> None:
        """A function began; Lambda's refusal is no call."""
        self.most_running = max(self.most_running, running)
        self.results[reply.result] += 1
        if reply.result == "throttled":
            return
        event.calls += 1
        self.calls_ms.append(now_ms)
        if reply.result == "acted":
            self.acts.append((now_ms, event))
        elif reply.result == "failed":
            self.failures_ms.append(now_ms)
        elif reply.result == "rate limited":
            self.refused_ms.append(now_ms)

    def row(self, now_ms: int, before: Row | None, after: Row | None) -> None:
        """Notes when a request opens or closes the breaker."""
        was, now_open = (r is not None and r.open_until_ms is not None for r in (before, after))
        if now_open and not was:
            self.opened_ms.append(now_ms)
        elif was and not now_open:
            self.closed_ms.append(now_ms)

    def handed_back(self, reason: str) -> None:
        """A message stays."""
        self.returned[reason] += 1

    def acts_between(self, begins_ms: float, ends_ms: float) -> int:
        """Events that acted then."""
        times = [time_ms for time_ms, _ in self.acts]
        return bisect_left(times, ends_ms) - bisect_left(times, begins_ms)
