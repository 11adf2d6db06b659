"""Judges an event as the deployed machine does when every event before it is settled.

The claim rule of statemachine/, in memory: a test compares it with the definition itself. Leases,
turns, take-overs and retries happen only while other executions work and have no place here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from once.model.reasons import Outcome

_DAY_SECONDS = 86_400
_UNSURE_MS = 500  # two clocks of Genesys may have written the times of two states
_SETTLED = (Outcome.PROCESSED, Outcome.DUPLICATE)


class Event(NamedTuple):
    """The parts of an element that the claim rule reads."""

    message_id: Any
    key: Any
    """Stands for pk and sk."""
    latest: Any
    """Stands for pk and the sort key of the newest state; None if order does not matter."""
    occurred_ms: int
    window_ms: int
    order: Literal["none", "latest", "changes", "every"]
    event_id: Any
    """The publisher's own; false if it gave none."""
    facts: Any = ""
    """The hash of the fields that count; empty unless the order is `changes`."""
    ignored: str = ""
    """Why its route ignores it; empty if the route wants it."""
    expires_ms: int | None = None
    broken: str = ""

    @classmethod
    def of(cls, element: Mapping[str, Any]) -> "Event":
        """Reads an element as the enrichment writes it; a broken one has a key alone."""
        key, policy = element["key"], element.get("policy", {})
        latest = policy.get("latest")
        return cls(
            element["firstMessageId"],
            (key["pk"], key["sk"]),
            (key["pk"], latest) if latest is not None else None,
            element.get("occurredAtMs", 0),
            policy.get("windowMs", 0),
            policy.get("order", "none"),
            element.get("trace", {}).get("eventId", ""),
            element.get("facts", ""),
            element.get("route", {}).get("ignored", ""),
            element.get("expiresAtMs"),
            element.get("broken", ""),
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


@dataclass
class Latest:
    """The row that holds the newest state of a subject."""

    expires_s: int
    occurred_ms: int | None = None
    facts: Any = ""
    """Empty if the newest state is unsure."""
    message_id: Any = None
    key: Any = None
    unwanted_ms: int = 0


class Verdict(NamedTuple):
    """The outcome of an event, and why."""

    outcome: Outcome
    reason: str
    because: Any = None
    """The message whose claim or turn decided."""


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
        expires_s = now_s + self.claim_days * _DAY_SECONDS
        ignored = event.ignored
        if not ignored and event.expires_ms is not None and event.expires_ms < now_ms:
            ignored = "EXPIRED"
        if event.latest and (event.order == "every" or (ignored and event.order == "changes")):
            self._note_break(event, expires_s)
        if ignored:
            return Verdict(Outcome.IGNORED, ignored)

        held = self.claims.get(event.key)
        if held is not None and held.expires_s < now_s:
            held = None
        if held is not None:
            if event.is_copy_of(held):
                return _skip_copy(held, event)
            if held.occurred_ms > event.occurred_ms:
                return Verdict(Outcome.STALE, "NEWER_STATE", held.message_id)
        if event.broken:
            verdict = Verdict(Outcome.PARKED, event.broken)
        elif event.latest is None or event.order == "every":
            verdict = _ACTED
        else:
            verdict = self._take_turn(event, held, now_s, expires_s)
        self.claims[event.key] = Claim(
            event.message_id, event.occurred_ms, event.event_id, expires_s, verdict.outcome
        )
        return verdict

    def _note_break(self, event: Event, expires_s: int) -> None:
        row = self.latest.setdefault(event.latest, Latest(expires_s))
        # A copy of the newest wanted state that came too late is no state in between.
        if (row.occurred_ms, row.facts) != (event.occurred_ms, event.facts):
            row.unwanted_ms = max(row.unwanted_ms, event.occurred_ms)

    def _take_turn(self, event: Event, held: Claim | None, now_s: int, expires_s: int) -> Verdict:
        """Compares an event that has its claim with the newest state of its subject."""
        row = self.latest.get(event.latest)
        if row is None or row.expires_s < now_s:
            row = self.latest[event.latest] = Latest(expires_s)
        newest_ms = row.occurred_ms
        is_repeat = (
            event.order == "changes"
            and newest_ms is not None
            and event.occurred_ms >= newest_ms
            and row.facts == event.facts != ""
            and row.unwanted_ms < newest_ms
            and self._is_settled(row, event, held)
        )
        met = row.message_id
        facts = event.facts
        if newest_ms is not None and newest_ms > event.occurred_ms:
            unsure_ms = _UNSURE_MS if event.order == "changes" else event.window_ms
            if newest_ms > event.occurred_ms + unsure_ms:
                return Verdict(Outcome.STALE, "NEWER_STATE", met)
            if (
                event.order == "changes"
                and held is not None
                and held.outcome in _SETTLED
                and event.occurred_ms - held.occurred_ms <= _UNSURE_MS
            ):
                # Another integration published the same burst by another clock.
                return Verdict(Outcome.DUPLICATE, "SAME_KEY", held.message_id)
            facts = ""
        row.occurred_ms = max(newest_ms or 0, event.occurred_ms)
        row.facts, row.message_id, row.key, row.expires_s = (
            facts,
            event.message_id,
            event.key,
            expires_s,
        )
        return Verdict(Outcome.DUPLICATE, "UNCHANGED", met) if is_repeat else _ACTED

    def _is_settled(self, row: Latest, event: Event, held: Claim | None) -> bool:
        claim = held if row.key == event.key else self.claims.get(row.key)
        return (
            claim is not None and claim.message_id == row.message_id and claim.outcome in _SETTLED
        )


def _skip_copy(held: Claim, event: Event) -> Verdict:
    if held.message_id == event.message_id:
        return Verdict(held.outcome, "SETTLED_BEFORE", held.message_id)
    is_same_id = bool(event.event_id) and held.event_id == event.event_id
    reason = "SAME_EVENT_ID" if is_same_id else "SAME_KEY"
    return Verdict(Outcome.DUPLICATE, reason, held.message_id)
