"""Says what an event is about in the words of a contact centre, and why it ended as it did."""

import re
from datetime import UTC, datetime
from urllib.parse import unquote

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

REASONS = {
    "ACTED": "",
    "OBSERVED": "nobody was called: the target or the mapping says so",
    "SAME_KEY": "a copy of it was settled",
    "SAME_EVENT_ID": "an event of the same publisher's id was settled",
    "COLLAPSED": "a copy of it was in the same batch",
    "SETTLED_BEFORE": "settled by an earlier delivery of the same message",
    "NEWER_STATE": "a newer state had passed",
    "NEWER_OCCURRENCE": "a newer occurrence of the same state had passed",
    "CALL_FAILED": "the destination failed it",
    "RATE_LIMITED": "the destination answered 429, too many calls",
    "LIMITED": "MaxActionsPerMinute was used up",
    "BREAKER_OPEN": "calls paused: the destination was down or limited them, or a person held them",
    "THROTTLED": "Lambda refused to run the call's function: too many at once",
    "TOO_LATE": "no time was left for a call",
    "SETUP_FAULT": "credentials, address or mapping of the destination are wrong",
    "HELD": "another execution worked on it",
    "CLAIM_UNANSWERED": "the claim table did not answer",
    "CLAIM_UNREADABLE": "the claim table did not answer",
    "ORDER_UNKNOWN": "the claim table did not answer",
    "PARKING_FAILED": "the parking queue did not take it",
    "NOT_REACHED": "an earlier event of its subject was handed back, or its batch had no time left",
    "PACING_FAILED": "the pacing function did not say whether the limit allows a call",
    "ROUND_FAILED": "its round failed in the state machine; report this",
    "OVERFLOW_FAILED": "the overflow bucket did not take its body",
    "OVERFLOW_NOT_CONFIGURED": "the enrichment was deployed without its overflow bucket",
    "BATCH_TOO_LARGE": "its batch is too large for the state machine: lower BatchSize",
    "NOT_RECORDED": "given up by the queue; nothing is recorded of its last try",
    "NOT_DELIVERED": "the rule could not deliver it",
    "NOT_OURS": "nothing that this stack parked",
    "REJECTED": "the destination refused it for good",
    "UNCERTAIN": "the destination failed in the middle of it and may have acted",
    "GAVE_UP": "given up after its last try (MaxTries), though the destination answered others",
    "WAITED_TOO_LONG": "it waited for 10 days",
    "BODY_MISSING": "the message has no body",
    "NOT_JSON": "its text is not JSON",
    "TOO_SLOW": "it took too much time to read",
    "NOT_AN_OBJECT": "its JSON is not an object",
    "NOT_AN_EVENT": "it is a heartbeat, not an event",
    "UNKNOWN_SHAPE": "no event of a known shape is in it",
    "NO_SUBJECT": "it does not say what it is about",
    "NO_TIME": "it tells no time",
    "TOO_DEEP": "its JSON is nested too deeply",
    "NUMBER_OUT_OF_RANGE": "a number in it is larger than JSON on AWS can carry",
    "UNEXPECTED": "the enrichment failed on it; report this",
    "INVALID_REPLAY": "it is not an element of ours to replay",
}

# What was said is the whole reason; of the others it is a detail.
_SAID_BY_CAUSE = {"CALL_FAILED", "NOT_JSON", "RATE_LIMITED", "SETUP_FAULT", "TOO_LATE"}

OBSERVED = "Nobody is called (ActionTarget is none): what acted was only observed."


def event(family: str, key: str) -> str:
    """A family and its state, and who else took part, e.g. `routing status: IDLE`."""
    name = _FAMILIES.get(family, family.replace(".", " "))
    # Organisation, subject type and subject come first, then version and family.
    parts = [unquote(part) for part in key.split("/")[5:]]
    states = [state for part in parts if (state := _state(part))]
    others = [other for part in parts if (other := _other(part))]
    said = f"{name}: {', '.join(states)}" if states else name
    return f"{said} ({', '.join(others)})" if others else said


def reason(code: str | None) -> str:
    if code is None:
        return ""
    return REASONS.get(code, code.replace("_", " ").lower())


def why(code: str | None, cause: str | None, status: int | None) -> str:
    """The reason, with what the destination said of it."""
    if cause and code in _SAID_BY_CAUSE:
        return cause
    said = cause or (f"HTTP {status}" if status is not None else None)
    return ": ".join(part for part in (reason(code), said) if part)


def events(count: int, complete: bool = True) -> str:
    """Not complete, it is known of so many at least."""
    said = "1 event" if count == 1 else f"{count:,} events"
    return said if complete else f"at least {said}"


def times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def tries(count: int) -> str:
    return "1 try" if count == 1 else f"{count:,} tries"


def called(count: int) -> str:
    """Behind what a delivery ended in; of several calls only the last is known."""
    if not count:
        return ""
    return ", 1 call" if count == 1 else f", {count:,} calls, the last"


def short(text: str) -> str:
    """Of every long id in it the beginning, which is enough to tell it from others."""
    return _LONG.sub(r"\1", text)


def moment(at_ms: int) -> str:
    """Date and clock, in UTC like everything that Genesys and AWS say."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return at.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def clock(at_ms: int) -> str:
    return moment(at_ms)[11:]


def age(milliseconds: float) -> str:
    seconds = max(0, round(milliseconds / 1000))
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def length(milliseconds: int) -> str:
    """Of what may be short: to a tenth of a second, while that says something."""
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else age(milliseconds)


def _other(part: str) -> str | None:
    """An agent or a queue beside the subject, by the beginning of its id."""
    name, _, value = part.partition("=")
    return f"{_OTHERS[name]} {value[:8]}" if name in _OTHERS and value else None


def _state(part: str) -> str | None:
    name, equals, value = part.partition("=")
    if not equals or name.lower().endswith("id") or part in _SILENT:
        return None
    if value.lower() in ("true", "false"):
        return name if value.lower() == "true" else f"not {name}"
    return value if _WORD.fullmatch(value) else None
