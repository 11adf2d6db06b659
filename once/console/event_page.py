"""All about one event: what `once explain` says of it, its claim, its times and its way."""

from typing import Any

from enrichment.keys import idempotency_key
from pydantic import Field

from once.console.acts import ask
from once.console.axis import Axis, axis
from once.errors import OnceError
from once.operate import claims, destination, explain, log, way
from once.operate.claims import Claim
from once.operate.deliveries import Delivery
from once.operate.destination import Call
from once.operate.explain import Explanation
from once.operate.model import Model
from once.operate.stack import Stack
from once.operate.story import Event, Message
from once.operate.way import Way
from once.outcomes import Outcome

_DAYS = 14
_OTHERS = 4


class EventPage(Model):
    explanation: Explanation
    event: Event
    others: list[Event]
    claim: Claim | None
    idempotency_key: str | None
    way: Way | None
    delivery: int = Field(description="Of the message whose way is shown, counted from 0.")
    calls: list[Delivery] = Field(description="Those in which the destination was asked.")
    axis: Axis


def of(stack: Stack, name: str, message_id: str = "", delivery: int = -1) -> EventPage:
    """`name` is a message of the event, or its key; the way shown is that of one delivery."""
    if not name.strip("/ "):
        raise OnceError("Which event? Give a message of it, or its key: /event?of=…")
    explanation = explain.of(stack, name, _DAYS)
    event = _named(explanation, name)
    met = {message.because_of for message in event.messages} - {None}
    others = [
        one
        for subject in explanation.subjects
        for one in subject.events
        if one is not event and any(message.message_id in met for message in one.messages)
    ]
    shown = _shown(event, message_id)
    taken, at = None, -1
    if shown is not None and shown.deliveries:
        last = len(shown.deliveries) - 1
        at = delivery if 0 <= delivery <= last else last
        taken = way.of(stack, shown, shown.deliveries[at])
    calls, claim = _calls(stack, event), _claim(stack, event)
    made = (one for message in event.messages for one in message.deliveries if one.calls)
    return EventPage(
        explanation=explanation,
        event=event,
        others=others[:_OTHERS],
        claim=claim,
        idempotency_key=_sent_key(event),
        way=taken,
        delivery=at,
        calls=sorted(made, key=lambda one: one.at_ms),
        axis=axis(event, others[:_OTHERS], taken, calls, claim, log.now_ms()),
    )


def _named(explanation: Explanation, name: str) -> Event:
    for subject in explanation.subjects:
        for event in subject.events:
            ids = {i for one in event.messages for i in (one.message_id, one.envelope_id)}
            if name == event.key or name in ids:
                return event
    raise OnceError(f"Nothing is known of {name}. If it was just sent, look again in a moment.")


def _shown(event: Event, message_id: str) -> Message | None:
    """The one that was asked for; else the one that acted, or would have."""
    named = [one for one in event.messages if one.message_id == message_id]
    own = [one for one in event.messages if one.outcome is not Outcome.DUPLICATE]
    return next(iter([*named, *own, *event.messages]), None)


def _claim(stack: Stack, event: Event) -> Claim | None:
    if event.key is None:
        return None
    rows, _ = claims.of_subject(stack, "/".join(event.key.split("/")[:3]))
    return next((row for row in rows if row.key == event.key), None)


def _sent_key(event: Event) -> str | None:
    """What it was called under, as far as it is recorded."""
    sent = [d.idempotency_key for m in event.messages for d in m.deliveries if d.idempotency_key]
    asked = event.asked.keys if event.asked else []
    return next(iter([*sent[::-1], *asked[::-1]]), None)


def _plain_key(key: str) -> str:
    parts = key.split("/", 3)
    return idempotency_key("/".join(parts[:3]), parts[3])


def _calls(stack: Stack, event: Event) -> list[Call]:
    """Only an embedded stack's destination says what it got."""
    if stack.up is None or event.key is None:
        return []
    received: Any = ask(stack, destination.received).answered
    ours = _plain_key(event.key)
    return [
        call for call in received.calls if (call.idempotency_key or "").partition(".")[0] == ours
    ]
