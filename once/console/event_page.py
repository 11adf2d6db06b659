"""All about one event: what `once explain` tells of it, its claim, its times and its path."""

from pydantic import Field

from once.console.axis import Axis, axis
from once.errors import NotFoundError
from once.keys import IdempotencyKey, Key
from once.operate import destination, log
from once.operate.claims import Claim, read_subject
from once.operate.destination import Call
from once.operate.explain import Explanation, find_links, read_explanation
from once.operate.model import Model
from once.operate.path import Path, read_path
from once.operate.stack import Stack
from once.operate.story import Event
from once.outcomes import Outcome

_DAYS_MS = 14 * 86_400_000
_OTHERS = 4


class EventPage(Model):
    explanation: Explanation
    event: Event
    others: list[Event]
    claim: Claim | None
    path: Path | None
    delivery: int = Field(description="Of the message whose path is shown, counted from 0.")
    axis: Axis


def read_event(stack: Stack, name: str, message_id: str = "", delivery: int = -1) -> EventPage:
    """Reads the event of a message or key, `name`; the path shown is that of one delivery."""
    if not name.strip("/ "):
        raise NotFoundError("Which event? Give a message of it, or its key: /event?of=…")
    explanation = read_explanation(stack, name, log.now_ms() - _DAYS_MS)
    explanation.executions = find_links(stack, explanation)
    event = _find_event(explanation, name)
    met = {message.because_of for message in event.messages} - {None}
    others = [
        one
        for subject in explanation.subjects
        for one in subject.events
        if one is not event and any(message.message_id in met for message in one.messages)
    ][:_OTHERS]
    path, at = None, -1
    # The message that was asked for; else one that was no copy.
    named = [one for one in event.messages if one.message_id == message_id]
    own = [one for one in event.messages if one.outcome is not Outcome.DUPLICATE]
    shown = next(iter([*named, *own, *event.messages]), None)
    if shown is not None and shown.deliveries:
        last = len(shown.deliveries) - 1
        at = delivery if 0 <= delivery <= last else last
        path = read_path(stack, shown, shown.deliveries[at])
    key, claim = event.parsed_key, None
    if key is not None:
        rows, _ = read_subject(stack, key.subject)
        claim = next((row for row in rows if row.key == key), None)
    calls = _read_calls(stack, key)
    return EventPage(
        explanation=explanation,
        event=event,
        others=others,
        claim=claim,
        path=path,
        delivery=at,
        axis=axis(event, others, path, calls, claim, log.now_ms()),
    )


def _find_event(explanation: Explanation, name: str) -> Event:
    for subject in explanation.subjects:
        for event in subject.events:
            ids = {i for one in event.messages for i in (one.message_id, one.final.envelope_id)}
            if name == event.key or name in ids:
                return event
    raise NotFoundError(f"Nothing is known of {name}. If it was just sent, look again in a moment.")


def _read_calls(stack: Stack, key: Key | None) -> list[Call]:
    """Returns nothing but on a local stack, whose destination says what it got."""
    if not stack.is_local or key is None:
        return []
    digest = key.idempotency_key.digest
    sent = [
        (call, IdempotencyKey.parse(call.idempotency_key or ""))
        for call in destination.read_calls(stack)
    ]
    return [call for call, one in sent if one is not None and one.digest == digest]
