"""Judges an event as the deployed machine does when every event before it is settled.

The claim rule of statemachine/, in memory: tests/audit compare it with the definition itself.
Leases, take-overs and retries happen only while other executions work and have no place here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from once.outcomes import Outcome

DAY_SECONDS = 86_400
_UNSURE_MS = 500  # two clocks of Genesys may have written the times of two states


class Event(NamedTuple):
    """The parts of a normalised event that the claim rule reads."""

    message_id: Any
    key: Any
    """Stands for pk and sk."""
    latest: Any
    """Stands for pk and the sort key of the latest event; None if order does not matter."""
    occurred_ms: int
    window_ms: int
    order: Literal["none", "latest", "changes"]
    event_id: Any
    """The publisher's own; false if it gave none."""
    ignored: str = ""
    """Why its route ignores it; empty if the route wants it."""
    expires_ms: int | None = None

    @classmethod
    def of(cls, element: Mapping[str, Any]) -> "Event":
        """Reads an element of kind `event`, as the enrichment writes it."""
        key, policy = element["key"], element["policy"]
        latest = policy.get("latest")
        return cls(
            element["messageId"],
            (key["pk"], key["sk"]),
            (key["pk"], latest) if latest is not None else None,
            element["occurredAtMs"],
            policy["windowMs"],
            policy["order"],
            element["trace"].get("eventId", ""),
            element.get("route", {}).get("ignored", ""),
            element.get("expiresAtMs"),
        )

    def is_copy_of(self, claim: "Claim") -> bool:
        """Tells a copy from another occurrence of the same key."""
        if self.event_id and claim.event_id == self.event_id:
            return True
        if self.order == "changes":
            return claim.occurred_ms == self.occurred_ms
        return not self.window_ms or abs(claim.occurred_ms - self.occurred_ms) <= self.window_ms


class Claim(NamedTuple):
    """A settled row of the claim table."""

    message_id: Any
    occurred_ms: int
    event_id: Any
    expires_s: int
    outcome: Outcome
    is_released: bool
    """An expired event: its copies expire too, and a fresh repeat is acted on."""


class Latest(NamedTuple):
    """The row that holds the newest event of a subject."""

    message_id: Any
    occurred_ms: int
    state: Any
    """The key of the newest state; None if that is unsure."""
    expires_s: int


class Verdict(NamedTuple):
    """The outcome of an event, and why."""

    outcome: Outcome
    reason: str
    because: Any = None
    """The message whose claim decided."""


_ACTED = Verdict(Outcome.PROCESSED, "ACTED")


@dataclass
class Rows:
    """The claim table."""

    claim_days: int = 30
    claims: dict[Any, Claim] = field(default_factory=dict)
    latest: dict[Any, Latest] = field(default_factory=dict)

    def settle(self, event: Event, now_ms: int) -> Verdict:
        """Decides about one event and keeps what the machine would keep."""
        now_s = now_ms // 1000
        held = self.claims.get(event.key)
        newest_ms = event.occurred_ms
        if held is not None and not _may_replace(held, event, now_s):
            refused = _refuse(held, event)
            if refused is not None:
                return refused
            if event.is_copy_of(held):
                newest_ms = max(newest_ms, held.occurred_ms)
        # A parked state waits for an operator: nothing settled it.
        was_settled = (
            held is not None and not held.is_released and held.outcome is not Outcome.PARKED
        )
        verdict = self._order(event, newest_ms, was_settled, now_s)
        if verdict == _ACTED:
            if event.ignored:
                verdict = Verdict(Outcome.IGNORED, event.ignored)
            elif event.expires_ms is not None and event.expires_ms < now_ms:
                verdict = Verdict(Outcome.IGNORED, "EXPIRED")
        self.claims[event.key] = Claim(
            event.message_id,
            newest_ms,
            event.event_id,
            self._expires_s(now_s),
            verdict.outcome,
            is_released=verdict.reason == "EXPIRED",
        )
        return verdict

    def _order(self, event: Event, newest_ms: int, was_settled: bool, now_s: int) -> Verdict:
        """Compares an event that won its claim with the newest one of its subject."""
        if event.latest is None:
            return _ACTED
        row = self.latest.get(event.latest)
        mine = Latest(event.message_id, newest_ms, event.key, self._expires_s(now_s))
        if row is not None and row.expires_s >= now_s and row.occurred_ms > newest_ms:
            unsure_ms = _UNSURE_MS if event.order == "changes" else event.window_ms
            if row.occurred_ms > newest_ms + unsure_ms:
                return Verdict(Outcome.STALE, "NEWER_STATE", row.message_id)
            mine = row._replace(state=None, expires_s=mine.expires_s)
        self.latest[event.latest] = mine
        is_repeat = event.order == "changes" and was_settled
        if is_repeat and row is not None and row.state == event.key:
            return Verdict(Outcome.DUPLICATE, "UNCHANGED", row.message_id)
        return _ACTED

    def _expires_s(self, now_s: int) -> int:
        return now_s + self.claim_days * DAY_SECONDS


def _may_replace(held: Claim, event: Event, now_s: int) -> bool:
    """Applies rules 2 and 6 of the claim: the others need an execution that is still at work."""
    if held.expires_s < now_s:
        return True
    if held.is_released or (event.window_ms == 0 and event.order != "changes"):
        return False
    return held.occurred_ms < event.occurred_ms and not event.is_copy_of(held)


def _refuse(held: Claim, event: Event) -> Verdict | None:
    """Says why an event is skipped; None if the claim was released and this is its successor."""
    if not event.is_copy_of(held):
        if held.occurred_ms > event.occurred_ms:
            return Verdict(Outcome.STALE, "NEWER_OCCURRENCE", held.message_id)
        return None
    if held.is_released:
        return None
    if held.message_id == event.message_id:
        return Verdict(held.outcome, "SETTLED_BEFORE", held.message_id)
    is_same_id = bool(event.event_id) and held.event_id == event.event_id
    reason = "SAME_EVENT_ID" if is_same_id else "SAME_KEY"
    return Verdict(Outcome.DUPLICATE, reason, held.message_id)
