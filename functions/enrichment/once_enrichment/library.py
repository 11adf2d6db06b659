"""Identity as a library: tells any function which events are copies of one another.

It reads the event alone. Remembering what has been acted on, and in which order, is the caller's.
It needs neither boto3 nor another package.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from once_enrichment.envelope import UnfitError
from once_enrichment.handler import normalise
from once_enrichment.routes import Route, Routes


@dataclass(frozen=True)
class Identified:
    """The identity of an event."""

    key: str
    """The same for copies. If `order` is `changes` it names a state, which may return."""
    family: str
    subject_type: str
    subject_id: str
    order: Literal["none", "latest", "changes"]
    """`none`: every key is acted on, early or late. `latest`: the event is stale if an event with
    the same `series` and a later `occurred_at_ms` was acted on. `changes`: the same, and it is
    unchanged if the latest event of its `series` has the same `facts`."""
    facts: str | None
    """A hash of the fields that count, if `order` is `changes`. It is in no key: a store that knows
    only keys cannot tell an unchanged state, and acts again on each that is published."""
    series: str | None
    """Names what `order` compares: events of the same series supersede one another."""
    window_ms: int
    """0: the key alone decides. Otherwise events of the same key are copies within this window."""
    occurred_at_ms: int
    note: str | None
    """Says why the identity or the facts had to fall back, if the event has another form than is
    declared."""

    @property
    def occurrence(self) -> str:
        """The key for a store that compares nothing else: a state that returns has another one."""
        return f"{self.key}.{self.occurred_at_ms}" if self.order == "changes" else self.key


def identify(event: Any, received_ms: int | None = None, facts: Sequence[str] = ()) -> Identified:
    """Identifies an event as a function gets it from EventBridge, SNS or SQS.

    `received_ms` dates an event that tells no time. `facts` are paths as in routes.toml, such as
    "participants.*.calls.*.state": they make order `latest` into `changes`. Raises UnfitError if it
    holds no event.
    """
    attributes = {} if received_ms is None else {"SentTimestamp": str(received_ms)}
    text = event if isinstance(event, str) else json.dumps(event)
    routes = Routes((Route(name="", family="*", action="send", facts=facts),))
    element = normalise({"body": text, "attributes": attributes}, routes)
    if "broken" in element:
        raise UnfitError(element["detail"])
    policy, subject, key = element["policy"], element["subject"], element["key"]
    return Identified(
        key=element["keyHash"],
        family=element["family"],
        subject_type=subject["type"],
        subject_id=subject["id"],
        order=policy["order"],
        facts=element.get("facts"),
        series=f"{key['pk']} {policy['latest']}" if "latest" in policy else None,
        window_ms=policy["windowMs"],
        occurred_at_ms=element["occurredAtMs"],
        note=element.get("note"),
    )
