"""Every reason for which an event ends or waits as it does, with everything that is known about it.

The definition and the functions produce the codes. Commands, console, documents and the tests of
the alarms read this table, so another reason is one more entry here.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from once.outcomes import Outcome


class Acted(StrEnum):
    """Says if the destination acted on the event, in a delivery with this reason."""

    NO = "no"
    """No request was sent."""
    REJECTED = "rejected"
    """The last response says that it did nothing."""
    MAYBE = "perhaps"
    """A request was sent, or perhaps sent, and its effect is unknown."""
    YES = "yes"


@dataclass(frozen=True)
class Reason:
    """One reason, and all that is known about it."""

    outcome: Outcome | None
    """The end of a message; None if it shares the outcome of another message or delivery."""
    sentence: str
    acted: Acted = Acted.NO
    is_try: bool = False
    """The event's own failure: it counts towards MaxTries if others succeeded meanwhile."""
    is_copy: bool = False
    """The message is a copy of another one."""
    is_said_by_cause: bool = False
    """The cause of a failed request, if it is known, makes the sentence needless."""
    awaits: str = "a retry"
    """The thing that the event waits for, if it was returned to the queue."""
    remedy: str = ""
    """The repair by an operator; empty if it passes by itself."""
    runbook: str = ""
    """A heading of docs/runbook.md."""
    log: str = ""
    """Whose log to read."""
    alarms: tuple[str, ...] = ()
    """The alarms that count it, by their names without the stack's."""

    @property
    def page(self) -> str:
        return f"docs/runbook.md#{self.runbook}" if self.runbook else ""


_OURS = ("mostly-returned",)
_NEEDS_REPAIR = ("needs-repair", *_OURS)


# What many reasons have in common.
_PARKED = Reason(
    Outcome.PARKED,
    "",
    remedy="remove the cause and replay the event, or drop it",
    runbook="events-parked",
    alarms=("events-parked",),
)
_UNANSWERED = Reason(
    Outcome.RETRY,
    "",
    remedy="repair what does not respond; nothing is lost for 10 days",
    runbook="mostly-returned",
    alarms=_OURS,
)
_FUNCTION = Reason(
    Outcome.RETRY,
    "",
    acted=Acted.MAYBE,
    is_try=True,
    awaits="a repair",
    remedy="read the function's log and repair the function; the destination is not the cause",
    runbook="the-function-fails",
    log="data-action",
    alarms=_NEEDS_REPAIR,
)

REASONS: dict[str, Reason] = {
    # Acted on, or skipped.
    "ACTED": Reason(Outcome.PROCESSED, "", acted=Acted.YES),
    "OBSERVED": Reason(Outcome.PROCESSED, "nothing was sent: the target is none", acted=Acted.NO),
    "SAME_KEY": Reason(Outcome.DUPLICATE, "a copy of a settled event", is_copy=True),
    "SAME_EVENT_ID": Reason(
        Outcome.DUPLICATE, "a copy of a settled event, by the publisher's id", is_copy=True
    ),
    "UNCHANGED": Reason(Outcome.DUPLICATE, "the newest settled state is the same"),
    "COLLAPSED": Reason(None, "a copy of another message in its batch", is_copy=True),
    "SETTLED_BEFORE": Reason(
        None, "an earlier delivery of the same message settled it", is_copy=True
    ),
    "NEWER_STATE": Reason(Outcome.STALE, "a newer state of its subject came first"),
    "NEWER_OCCURRENCE": Reason(Outcome.STALE, "a newer occurrence of the same state came first"),
    "NO_ROUTE_MATCHED": Reason(Outcome.IGNORED, "no route wants it"),
    "ROUTE_IS_NONE": Reason(Outcome.IGNORED, "its route has the action none"),
    "EXPIRED": Reason(Outcome.IGNORED, "it was older than max_age of its route", acted=Acted.MAYBE),
    # Returned to the queue: because of the destination, or of a limit on it.
    "CALL_FAILED": Reason(
        Outcome.RETRY,
        "the request failed",
        acted=Acted.MAYBE,
        is_said_by_cause=True,
        is_try=True,
        runbook="data-action-failing",
    ),
    "RATE_LIMITED": Reason(
        Outcome.RETRY,
        "the destination answered 429, too many requests",
        acted=Acted.REJECTED,
        is_said_by_cause=True,
        awaits="the destination",
        runbook="the-destination-answers-429",
    ),
    "LIMITED": Reason(
        Outcome.RETRY,
        "MaxActionsPerMinute is used up",
        awaits="the limit",
        runbook="events-wait-for-the-limit",
    ),
    "BREAKER_OPEN": Reason(
        Outcome.RETRY,
        "no request was sent: the breaker was open, or an operator had paused requests",
        is_said_by_cause=True,
        awaits="the breaker",
        runbook="breaker-open",
    ),
    "NOT_REACHED": Reason(
        Outcome.RETRY,
        "an earlier event of its subject was returned, or its batch had no time left",
        is_said_by_cause=True,
    ),
    # Returned to the queue: because of the stack.
    "FUNCTION_FAILED": replace(
        _FUNCTION, sentence="the function that sends the request failed itself"
    ),
    "FUNCTION_TIMED_OUT": replace(
        _FUNCTION, sentence="the function that sends the request did not end in time"
    ),
    "SETUP_FAULT": Reason(
        Outcome.RETRY,
        "the destination's credentials, address or data action are wrong",
        acted=Acted.REJECTED,
        is_said_by_cause=True,
        awaits="a repair",
        remedy="repair what the cause names; the events then return by themselves",
        runbook="setup-fault",
        alarms=_NEEDS_REPAIR,
    ),
    "THROTTLED": Reason(
        Outcome.RETRY,
        "Lambda did not run the function that sends the request: its reserved concurrency is 0 or "
        "used up, or the account's is",
        awaits="concurrency",
        remedy="delete a reserved concurrency of 0, else free concurrency for the function",
        runbook="requests-are-throttled",
        alarms=_OURS,
    ),
    "TOO_LATE": Reason(
        Outcome.RETRY, "no time was left for a request", is_said_by_cause=True, alarms=_OURS
    ),
    "HELD": Reason(
        Outcome.RETRY, "another execution works on it", awaits="another execution", alarms=_OURS
    ),
    "PACING_FAILED": Reason(
        Outcome.RETRY,
        "the pacing function did not say whether the limit allows a request",
        remedy="read the pacing function's log",
        runbook="pacing-unanswered",
        log="pacing",
        alarms=_NEEDS_REPAIR,
    ),
    "ROUND_FAILED": Reason(
        Outcome.RETRY,
        "its round failed in the state machine",
        remedy="open the failed execution, and report it",
        runbook="batches-failing",
        alarms=_OURS,
    ),
    "BATCH_TOO_LARGE": Reason(
        Outcome.RETRY,
        "its batch is too large for the state machine",
        remedy="deploy with a smaller BatchSize",
        runbook="mostly-returned",
        alarms=_OURS,
    ),
    "ROUTES_INVALID": Reason(
        Outcome.RETRY,
        "the enrichment was deployed with a file of routes that cannot be used",
        awaits="a repair",
        remedy="correct the line that once routes check names, and deploy",
        runbook="the-routes-are-invalid",
        alarms=_NEEDS_REPAIR,
    ),
    "CLAIM_UNANSWERED": replace(_UNANSWERED, sentence="the claim table did not respond"),
    "CLAIM_UNREADABLE": replace(_UNANSWERED, sentence="the claim table could not be read"),
    "ORDER_UNKNOWN": replace(_UNANSWERED, sentence="the row of the newest state did not respond"),
    "PARKING_FAILED": replace(_UNANSWERED, sentence="the parking queue did not take it"),
    "OVERFLOW_FAILED": replace(_UNANSWERED, sentence="the overflow bucket did not take its body"),
    "OVERFLOW_NOT_CONFIGURED": replace(
        _UNANSWERED, sentence="the enrichment was deployed without its overflow bucket"
    ),
    # Parked.
    "REJECTED": replace(
        _PARKED, sentence="the destination permanently rejected it", acted=Acted.REJECTED
    ),
    "UNCERTAIN": replace(
        _PARKED,
        sentence="the destination failed while it acted, so it may have acted",
        acted=Acted.MAYBE,
        remedy="look at the destination before you replay it",
    ),
    "RESPONSE_TOO_LARGE": replace(
        _PARKED,
        sentence="the function that sends the request returned more than 256 KiB, so it may have "
        "acted",
        acted=Acted.MAYBE,
        remedy="repair the function, and look at the destination before you replay the event",
        runbook="the-function-fails",
        log="data-action",
    ),
    "GAVE_UP": replace(
        _PARKED,
        sentence="its last try (MaxTries) failed, while requests of others succeeded",
        acted=Acted.MAYBE,
        runbook="events-given-up",
        is_try=True,
    ),
    "WAITED_TOO_LONG": replace(
        _PARKED,
        sentence="it waited for 10 days",
        remedy="decide whether it still helps to act",
        runbook="events-waited-too-long",
    ),
    "BODY_MISSING": replace(_PARKED, sentence="the message has no body"),
    "NOT_JSON": replace(_PARKED, sentence="its text is not JSON"),
    "TOO_SLOW": replace(_PARKED, sentence="it took too much time to read"),
    "TOO_DEEP": replace(_PARKED, sentence="its JSON is nested too deeply"),
    "NUMBER_OUT_OF_RANGE": replace(
        _PARKED, sentence="a number in it is larger than JSON on AWS can carry"
    ),
    "NOT_AN_OBJECT": replace(_PARKED, sentence="its JSON is not an object"),
    "NOT_AN_EVENT": replace(_PARKED, sentence="it is a heartbeat, not an event", remedy="drop it"),
    "UNKNOWN_SHAPE": replace(_PARKED, sentence="it holds no event of a known shape"),
    "NO_SUBJECT": replace(_PARKED, sentence="it does not say what it is about"),
    "NO_TIME": replace(_PARKED, sentence="it has no time"),
    "UNEXPECTED": replace(_PARKED, sentence="the enrichment failed on it; report this"),
    "INVALID_REPLAY": replace(
        _PARKED, sentence="it is a replay of something that this stack did not park"
    ),
}

# What a command says of a message when no record of an outcome does.
UNRECORDED: dict[str, str] = {
    "NOT_RECORDED": "the queue gave it up; nothing is recorded of its last try",
    "NOT_DELIVERED": "the rule could not deliver it",
    "NOT_OURS": "this stack did not park it",
    "NOTHING_RECORDED": "nothing is recorded of it yet",
    "NO_RULE_TOOK_IT": "no rule took it from the bus: see DetailTypes and SourcePrefix",
    "NOT_SENT": "the copy or state before was not settled",
    "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME": "it left the queue, and no outcome was recorded",
}


def describe(code: str | None) -> str:
    """The sentence of a code; a code of another release is put in words."""
    if code is None:
        return ""
    if code in REASONS:
        return REASONS[code].sentence
    return UNRECORDED.get(code, code.replace("_", " ").lower())


def describe_end(code: str | None, cause: str | None, status: int | None) -> str:
    """The sentence of a code with what the destination said."""
    if cause and code in REASONS and REASONS[code].is_said_by_cause:
        return cause
    said = cause or (f"HTTP {status}" if status is not None else "")
    return ": ".join(part for part in (describe(code), said) if part)
