"""What the deployed machine decides about an event when every event before it is settled.

The claim rule of statemachine/, in memory: tests/audit holds it to the definition itself. What only
happens while others are at work, such as leases, take-overs and retries, has no place here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from once.outcomes import Outcome

DAY_SECONDS = 86_400


Row = TypeVar("Row")


class Store(Protocol[Row]):
    """As much of a dict as is needed here, so that a long capture need not lie in memory."""

    def get(self, key: Any, /) -> Row | None: ...

    def __setitem__(self, key: Any, row: Row, /) -> None: ...


class Event(NamedTuple):
    """What the claim rule reads of a normalised event."""

    message_id: Any
    key: Any
    """Stands for pk and sk."""
    latest: Any
    """Stands for pk and the sort key of the latest event; None where order does not matter."""
    occurred_ms: int
    window_ms: int
    event_id: Any
    """The publisher's own; false where it gave none."""

    @classmethod
    def of(cls, element: Mapping[str, Any]) -> "Event":
        """Of an element of kind `event`, as the enrichment writes it."""
        key, policy = element["key"], element["policy"]
        latest = policy.get("latest")
        return cls(
            element["messageId"],
            (key["pk"], key["sk"]),
            (key["pk"], latest) if latest is not None else None,
            element["occurredAtMs"],
            policy["windowMs"],
            element["trace"].get("eventId", ""),
        )


class Claim(NamedTuple):
    """A settled row of the claim table."""

    message_id: Any
    occurred_ms: int
    event_id: Any
    expires_s: int
    outcome: Outcome


class Latest(NamedTuple):
    """The row that says how new the newest event of a subject is."""

    message_id: Any
    occurred_ms: int
    expires_s: int


class Verdict(NamedTuple):
    outcome: Outcome
    reason: str
    because: Any = None
    """The message whose claim decided."""


@dataclass
class Rows:
    """The claim table."""

    claims: Store[Claim]
    latest: Store[Latest]
    claim_days: int = 30

    def settle(self, event: Event, now_ms: int) -> Verdict:
        """Decides about one event and keeps what the machine would keep."""
        now_s = now_ms // 1000
        held = self.claims.get(event.key)
        if held is not None and not _may_claim(held, event, now_s):
            return _refused(held, event)
        verdict = self._ordered(event, now_s)
        expires_s = now_s + self.claim_days * DAY_SECONDS
        self.claims[event.key] = Claim(
            event.message_id, event.occurred_ms, event.event_id, expires_s, verdict.outcome
        )
        return verdict

    def _ordered(self, event: Event, now_s: int) -> Verdict:
        """Of a claim that was won: whether a newer state has passed already."""
        acted = Verdict(Outcome.PROCESSED, "ACTED")
        if event.latest is None:
            return acted
        row = self.latest.get(event.latest)
        if row is None or row.expires_s < now_s or row.occurred_ms <= event.occurred_ms:
            expires_s = now_s + self.claim_days * DAY_SECONDS
            self.latest[event.latest] = Latest(event.message_id, event.occurred_ms, expires_s)
            return acted
        if row.occurred_ms > event.occurred_ms + event.window_ms:
            return Verdict(Outcome.STALE, "NEWER_STATE", row.message_id)
        # Within the window of its clock it is not older, only unsure.
        return acted


def _may_claim(held: Claim, event: Event, now_s: int) -> bool:
    """Rules 2 and 6 of the claim: the others need somebody who is still at work."""
    if held.expires_s < now_s:
        return True
    came_again = event.window_ms > 0 and held.occurred_ms < event.occurred_ms - event.window_ms
    return came_again and not _same_event_id(held, event)


def _refused(held: Claim, event: Event) -> Verdict:
    same_event_id = _same_event_id(held, event)
    later = event.window_ms > 0 and held.occurred_ms > event.occurred_ms + event.window_ms
    if later and not same_event_id:
        return Verdict(Outcome.STALE, "NEWER_OCCURRENCE", held.message_id)
    if held.message_id == event.message_id:
        return Verdict(held.outcome, "SETTLED_BEFORE", held.message_id)
    reason = "SAME_EVENT_ID" if same_event_id else "SAME_KEY"
    return Verdict(Outcome.DUPLICATE, reason, held.message_id)


def _same_event_id(held: Claim, event: Event) -> bool:
    return bool(event.event_id) and bool(held.event_id == event.event_id)
