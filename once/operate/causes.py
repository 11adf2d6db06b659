"""Names the cause why a message did not act by itself, from its record and the earlier one's."""

from enum import StrEnum

from once.outcomes import Outcome
from once.records import OutcomeRecord


class Cause(StrEnum):
    """Closed list; the text is what a person reads."""

    SAME_MESSAGE = "SAME_MESSAGE"
    SAME_ENVELOPE = "SAME_ENVELOPE"
    SECOND_INTEGRATION = "SECOND_INTEGRATION"
    REPUBLISHED = "REPUBLISHED"
    WITHIN_WINDOW = "WITHIN_WINDOW"
    OLDER = "OLDER"
    IN_PROGRESS = "IN_PROGRESS"
    COPY = "COPY"


MEANING = {
    Cause.SAME_MESSAGE: "the queue delivered the same message again",
    Cause.SAME_ENVELOPE: "EventBridge delivered the same event again (same envelope id)",
    Cause.SECOND_INTEGRATION: "a second integration sent it too",
    Cause.REPUBLISHED: "it was published again (new envelope id)",
    Cause.WITHIN_WINDOW: "the same change, sent again within its window",
    Cause.OLDER: "older than the latest that had passed",
    Cause.IN_PROGRESS: "still in progress elsewhere: it comes back until that is settled",
    Cause.COPY: "a copy of it; the log does not tell how it came to be",
}

_COPIES = {"SAME_KEY", "SAME_EVENT_ID", "COLLAPSED", "SETTLED_BEFORE"}


def message_of(owner: str | None) -> str | None:
    """The message that an owner of a claim worked on."""
    return owner.rpartition("#")[2] if owner else None


def earlier_of(record: OutcomeRecord) -> str | None:
    """The message because of which this one did not act by itself."""
    return record.copy_of or message_of(record.because)


def cause_of(record: OutcomeRecord, earlier: OutcomeRecord | None) -> Cause | None:
    """None where nothing earlier stood in its way. `earlier` is a record of `earlier_of`."""
    if record.reason == "HELD":
        return Cause.IN_PROGRESS
    if record.reason in _COPIES:
        return _kind_of_copy(record, earlier)
    if record.outcome is Outcome.STALE:
        return Cause.OLDER
    return None


def _kind_of_copy(record: OutcomeRecord, earlier: OutcomeRecord | None) -> Cause:
    if earlier_of(record) == record.message_id:
        return Cause.SAME_MESSAGE
    if earlier is None:
        return Cause.COPY
    if record.envelope_id is not None and record.envelope_id == earlier.envelope_id:
        return Cause.SAME_ENVELOPE
    if record.source is not None and earlier.source not in (None, record.source):
        return Cause.SECOND_INTEGRATION
    if record.reason == "SAME_EVENT_ID" or (
        record.event_id is not None and record.event_id == earlier.event_id
    ):
        return Cause.REPUBLISHED
    if (record.window_ms or earlier.window_ms) and record.occurred_at_ms != earlier.occurred_at_ms:
        return Cause.WITHIN_WINDOW
    if record.envelope_id is not None and earlier.envelope_id is not None:
        return Cause.REPUBLISHED
    return Cause.COPY
