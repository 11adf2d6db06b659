"""Puts events, numbers and times in words, and reads times as people type them. All times are UTC,
like those of Genesys and AWS."""

import re
from datetime import UTC, datetime

from once.errors import OnceError

_FAMILIES = {
    "agent.state": "agent's state",
    "broken": "a message that holds no event",
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
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONG_ID = re.compile(r"\b([0-9a-f]{8})(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{56})\b")

OBSERVED = "Nothing is sent (ActionTarget is none): events are claimed and recorded only."


def describe_event(family: str, state: str | None) -> str:
    """Names a family and its state, e.g. `routing status: IDLE`."""
    name = _FAMILIES.get(family, family.replace(".", " "))
    return f"{name}: {state}" if state else name


def count(number: int, noun: str) -> str:
    """Counts things, e.g. `2 events`."""
    plural = "tries" if noun == "try" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def count_times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def shorten_ids(text: str) -> str:
    """Keeps the beginning of each long id, which tells it from others."""
    return _LONG_ID.sub(r"\1", text)


def capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]


def format_time(ms: int) -> str:
    """Formats date and clock, to the millisecond."""
    time = datetime.fromtimestamp(ms / 1000, UTC)
    return time.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def format_second(ms: int) -> str:
    return format_time(ms)[:19]


def format_clock(ms: int) -> str:
    """Formats the clock to the second."""
    return format_time(ms)[11:19]


def format_age(ms: float) -> str:
    """Formats a long duration in its largest unit of which there are two."""
    seconds = max(0, round(ms / 1000))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def format_duration(ms: int) -> str:
    """Formats a duration, with tenths of a second below one minute."""
    return f"{ms / 1000:.1f} s" if ms < 60_000 else format_age(ms)


def parse_duration(text: str) -> int | None:
    """Reads `30m` as milliseconds; returns None for any other text."""
    match = re.fullmatch(r"([0-9]{1,6})([smhd])", text.strip())
    return int(match[1]) * _UNITS_MS[match[2]] if match else None


def parse_since(text: str, now_ms: int) -> int:
    """Reads `2h` as that long ago, or a time, in UTC unless it has an offset."""
    if (duration_ms := parse_duration(text)) is not None:
        return now_ms - duration_ms
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        raise OnceError(
            f"--since {text} is no time: write it like 2h or 2026-05-04T08:00, which is in UTC, or "
            "with an offset, 2026-05-04T10:00+02:00."
        ) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
