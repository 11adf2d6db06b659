"""Says what an event is about in the words of a contact centre; times, ages and counts in words."""

import re
from datetime import UTC, datetime

from once.keys import Key

_FAMILIES = {
    "agent.state": "agent's state",
    "conversation.acd.end": "leaves the queue",
    "conversation.acd.start": "enters a queue",
    "conversation.acw": "after-call work ends",
    "conversation.attributes": "attributes change",
    "conversation.contact": "contact becomes known",
    "conversation.customer.end": "customer leaves",
    "conversation.customer.start": "customer arrives",
    "conversation.flow.end": "flow ends",
    "conversation.flow.outcome": "flow reaches an outcome",
    "conversation.flow.start": "flow starts",
    "conversation.outbound": "campaign dials",
    "conversation.status.change": "status",
    "conversation.transcription": "transcription",
    "conversation.user.end": "agent leaves",
    "conversation.user.start": "agent is offered it",
    "conversation.voicemail.end": "voicemail ends",
    "conversation.voicemail.start": "voicemail starts",
    "conversation.wrapup": "wrapped up",
    "routing.queue.conversations": "conversation as the queue sees it",
    "routing.queue.users": "member of the queue",
    "user.activity": "activity",
    "user.conversations": "conversation as the agent sees it",
    "user.conversationsummary": "number of conversations",
    "user.presence": "presence",
    "user.routingStatus": "routing status",
    "user.station": "station",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z_ ]*")
_LONG = re.compile(r"\b([0-9a-f]{8})(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{56})\b")
_SILENT = {"source=PURECLOUD", "primary=True"}  # of nearly every event, so it says nothing
_OTHERS = {"userId": "agent", "user.id": "agent", "queueId": "queue"}
_ABSENT = "~"  # the part of a key whose field the event does not have

OBSERVED = "Nothing is sent (ActionTarget is none): events are claimed and recorded only."


def describe_event(key: Key) -> str:
    """Names a family and its state, and who else took part, e.g. `routing status: IDLE`."""
    name = _FAMILIES.get(key.family, key.family.replace(".", " "))
    states, others = [], []
    for part in key.parts:
        field, equals, value = part.partition("=")
        if field in _OTHERS and value not in ("", _ABSENT):
            others.append(f"{_OTHERS[field]} {value[:8]}")
        elif not equals or field.lower().endswith("id") or part in _SILENT:
            continue
        elif value.lower() in ("true", "false"):
            states.append(field if value.lower() == "true" else f"not {field}")
        elif _WORD.fullmatch(value):
            states.append(value)
    said = f"{name}: {', '.join(states)}" if states else name
    return f"{said} ({', '.join(others)})" if others else said


def count_events(count: int, complete: bool = True) -> str:
    """Counts events; `complete` is false if at least so many are known."""
    said = "1 event" if count == 1 else f"{count:,} events"
    return said if complete else f"at least {said}"


def count_messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"


def count_times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def count_tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count:,} tries"


def count_requests(count: int, known: bool = True) -> str:
    """Counts requests; `known` is false if at most so many were sent."""
    said = "1 request" if count == 1 else f"{count:,} requests"
    return said if known else f"at most {said}"


def shorten_ids(text: str) -> str:
    """Keeps the beginning of each long id, which tells it from others."""
    return _LONG.sub(r"\1", text)


def format_time(at_ms: int) -> str:
    """Formats date and clock, in UTC like everything that Genesys and AWS say."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def format_second(at_ms: int) -> str:
    return format_time(at_ms)[:19]


def format_clock(at_ms: int) -> str:
    return format_time(at_ms)[11:]


def format_age(milliseconds: float) -> str:
    seconds = max(0, round(milliseconds / 1000))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def format_duration(milliseconds: int) -> str:
    """Formats a duration, with tenths of a second below one minute."""
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else format_age(milliseconds)


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
