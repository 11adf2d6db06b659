"""The outcomes of an event, and every reason for which it ends or waits so.

The definition and the functions produce the codes. Commands, console, runbook and the tests of the
alarms read this table, so another reason is one more entry here.
"""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """An outcome, in the word that rows, logs and metrics have."""

    PROCESSED = "PROCESSED"
    DUPLICATE = "DUPLICATE"
    STALE = "STALE"
    IGNORED = "IGNORED"
    PARKED = "PARKED"
    RETRY = "RETRY"


MEANING = {
    Outcome.PROCESSED: "acted on",
    Outcome.DUPLICATE: "skipped: a copy, or an unchanged state",
    Outcome.STALE: "skipped: older than another event of its subject",
    Outcome.IGNORED: "skipped: no route wants it, or it is too old for its route",
    Outcome.PARKED: "in the dead-letter queue: unreadable, rejected or given up",
    Outcome.RETRY: "waits: its message was put back",
}
SIGN = {
    Outcome.PROCESSED: "✓",
    Outcome.DUPLICATE: "=",
    Outcome.STALE: "<",
    Outcome.IGNORED: "-",
    Outcome.PARKED: "!",
    Outcome.RETRY: "…",
}
SETTLED = frozenset(Outcome) - {Outcome.RETRY}


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

    code: str
    outcome: Outcome | None
    """None if the outcome is that of an earlier delivery."""
    sentence: str
    remedy: str = ""
    """The repair by an operator; empty if it passes by itself."""
    page: str = ""
    """A heading of docs/runbook.md."""
    acted: Acted = Acted.NO
    is_copy: bool = False
    """The message is a copy of another one."""
    has_full_cause: bool = False
    """The cause, if it is known, makes the sentence needless."""
    log: str = ""
    """The output of the stack that names the log group to read."""
    alarm: str = ""
    """The alarm of its own, by its name without the stack's."""

    @property
    def alarms(self) -> tuple[str, ...]:
        """The alarms that count it."""
        of_outcome = _ALARMS.get(self.outcome or _DONE, ())
        return (self.alarm, *of_outcome) if self.alarm else of_outcome


_DONE, _COPY, _STALE = Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.STALE
_IGNORED, _PARKED, _WAITS = Outcome.IGNORED, Outcome.PARKED, Outcome.RETRY
_ALARMS = {_WAITS: ("waiting-long",), _PARKED: ("events-parked", "parked-ageing")}

_ALL = (
    Reason("ACTED", _DONE, "", acted=Acted.YES),
    Reason("OBSERVED", _DONE, "nothing was sent: ActionTarget is none, or it is a canary"),
    Reason("SAME_KEY", _COPY, "a copy of a settled event", is_copy=True),
    Reason(
        "SAME_EVENT_ID", _COPY, "a copy of a settled event, by its publisher's id", is_copy=True
    ),
    Reason("WAITS_ALREADY", _COPY, "a copy of an event that waits", is_copy=True),
    Reason(
        "UNCHANGED", _COPY, "the newest state of its subject has the same facts, and was acted on"
    ),
    Reason(
        "SETTLED_BEFORE", None, "an earlier delivery of the same message settled it", is_copy=True
    ),
    Reason("NEWER_STATE", _STALE, "a newer state of its subject came first"),
    Reason("NO_ROUTE_MATCHED", _IGNORED, "no route wants it"),
    Reason("ROUTE_IS_NONE", _IGNORED, "its route has the action none"),
    Reason("EXPIRED", _IGNORED, "it was older than max_age of its route"),
    Reason(
        "CALL_FAILED",
        _WAITS,
        "the request failed",
        remedy="repair the destination; events wait and come back by themselves",
        page="the-destination-fails",
        acted=Acted.MAYBE,
        has_full_cause=True,
    ),
    Reason(
        "RATE_LIMITED",
        _WAITS,
        "the destination answered 429, too many requests",
        remedy="wait; if it accepts requests earlier, resume; if it recurs, lower "
        "MaxActionsPerMinute",
        page="the-destination-limits-requests",
        acted=Acted.REJECTED,
        has_full_cause=True,
    ),
    Reason(
        "LIMITED",
        _WAITS,
        "MaxActionsPerMinute is used up",
        page="the-destination-limits-requests",
    ),
    Reason(
        "PAUSED",
        _WAITS,
        "an operator paused requests",
        remedy="ask the operator, then: once resume",
        page="destination-down",
        has_full_cause=True,
        alarm="destination-down",
    ),
    Reason(
        "BREAKER_OPEN",
        _WAITS,
        "no request was sent: the breaker was open",
        remedy="repair the destination; the next probe closes the breaker",
        page="destination-down",
        has_full_cause=True,
        alarm="destination-down",
    ),
    Reason(
        "SETUP_FAULT",
        _WAITS,
        "the destination's credentials, address or data action are wrong",
        remedy="repair what the cause names; the events come back by themselves",
        page="setup-fault",
        acted=Acted.REJECTED,
        has_full_cause=True,
        alarm="needs-repair",
    ),
    Reason(
        "FUNCTION_FAILED",
        _WAITS,
        "the function that sends the request failed, or did not end in time",
        remedy="read the function's log and repair the function; the destination is not the cause",
        page="the-function-fails",
        acted=Acted.MAYBE,
        log="DataActionLogGroupName",
        alarm="needs-repair",
    ),
    Reason(
        "THROTTLED",
        _WAITS,
        "Lambda did not run the function that sends the request: its reserved concurrency is 0 or "
        "used up, or the account's is",
        remedy="delete a reserved concurrency of 0, else free concurrency for the function",
        page="requests-are-throttled",
        alarm="needs-repair",
    ),
    Reason(
        "TOO_LATE",
        _WAITS,
        "this execution had no time left for a request; the next one sends it",
        has_full_cause=True,
    ),
    Reason("HELD", _WAITS, "another execution works on it"),
    Reason("BEHIND", _WAITS, "another event of its subject has its turn"),
    Reason(
        "TABLE_UNANSWERED",
        _WAITS,
        "the claim table refused or did not answer",
        remedy="repair the table: its permissions, its KMS key or a limit of its throughput",
        page="the-table-or-a-queue-fails",
        log="ExecutionLogGroupName",
        alarm="needs-repair",
    ),
    Reason(
        "PARKING_FAILED",
        _WAITS,
        "the dead-letter queue did not take it",
        remedy="repair the dead-letter queue: its policy or its KMS key",
        page="the-table-or-a-queue-fails",
        log="ExecutionLogGroupName",
        alarm="needs-repair",
    ),
    Reason(
        "REJECTED",
        _PARKED,
        "the destination permanently rejected it",
        remedy="remove the cause and replay it, or drop it",
        page="events-parked",
        acted=Acted.REJECTED,
    ),
    Reason(
        "UNCERTAIN",
        _PARKED,
        "the destination failed while it acted, so it may have acted",
        remedy="look at the destination, then replay it or drop it",
        page="events-parked",
        acted=Acted.MAYBE,
    ),
    Reason(
        "GAVE_UP",
        _PARKED,
        "its last try (MaxTries) failed, while requests of others succeeded",
        remedy="look at the destination, remove the cause and replay it, or drop it",
        page="events-parked",
        acted=Acted.MAYBE,
    ),
    Reason(
        "WAITED_TOO_LONG",
        _PARKED,
        "it waited for 10 days",
        remedy="decide if it still helps to act, then replay it or drop it",
        page="events-parked",
        acted=Acted.MAYBE,
    ),
    Reason(
        "UNREADABLE",
        _PARKED,
        "the message holds no event that can be read",
        remedy="correct its publisher, and drop it",
        page="events-parked",
    ),
)
REASONS: dict[str, Reason] = {reason.code: reason for reason in _ALL}

FOR_THE_BREAKER = ("BREAKER_OPEN", "PAUSED")
"""The reasons of events that wait because nothing may be sent, whatever is in them."""
OF_DESTINATION = ("CALL_FAILED", "SETUP_FAULT", "RATE_LIMITED")
"""The reasons of events that wait since a request failed or was rejected."""

UNRECORDED = {
    "NOT_DELIVERED": "the rule could not deliver it",
    "NOT_READ": "the enrichment cannot handle it",
    "NOT_RECORDED": "the queue gave it up, and nothing is recorded of its last try",
}
"""Explains a dead letter of which no record of an outcome tells."""


def describe(code: str | None) -> str:
    """Returns the sentence of a code; a code of another release is put in words."""
    if code is None:
        return ""
    if code in REASONS:
        return REASONS[code].sentence
    return UNRECORDED.get(code, code.replace("_", " ").lower())


def describe_end(code: str | None, cause: str | None, status: int | None = None) -> str:
    """Returns the sentence of a code with the cause, or the status of the response."""
    if cause and code in REASONS and REASONS[code].has_full_cause:
        return cause
    detail = cause or (f"HTTP {status}" if status is not None else "")
    return ": ".join(part for part in (describe(code), detail) if part)
