"""Identity as a library: tells the function of anybody which events are copies of one another.

It reads the event alone. Remembering what has been acted on, and in which order, is the caller's.
"""

from dataclasses import dataclass
from typing import Any

from once_enrichment.contract import ParkedReason
from once_enrichment.envelope import UnfitError
from once_enrichment.family import Order
from once_enrichment.normalise import normalise


@dataclass(frozen=True)
class Identified:
    """The identity of an event."""

    key: str
    """The same for copies. If `order` is `changes` it names a state, which may return."""
    family: str
    subject_type: str
    subject_id: str
    order: Order
    window_ms: int
    """0: the key alone decides. Otherwise events of the same key are copies within this window."""
    occurred_at_ms: int
    note: str | None
    """Says why the identity had to fall back, if Genesys sent another form than is declared."""

    @property
    def occurrence(self) -> str:
        """The key for a store that compares nothing else: a state that returns has another one."""
        return f"{self.key}.{self.occurred_at_ms}" if self.order == "changes" else self.key


def identify(event: Any, received_ms: int | None = None) -> Identified:
    """Identifies an event as a function gets it from EventBridge, SNS or SQS.

    `received_ms` dates an event that tells no time. Raises UnfitError if it holds no event.
    """
    attributes = {} if received_ms is None else {"SentTimestamp": str(received_ms)}
    element = normalise({"body": event, "attributes": attributes})
    if element["kind"] != "event":
        raise UnfitError(ParkedReason(element["reason"]), element["detail"])
    policy, subject = element["policy"], element["subject"]
    return Identified(
        key=element["idempotencyKey"],
        family=element["family"],
        subject_type=subject["type"],
        subject_id=subject["id"],
        order=policy["order"],
        window_ms=policy["windowMs"],
        occurred_at_ms=element["occurredAtMs"],
        note=element.get("note"),
    )
