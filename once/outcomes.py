"""What became of an event, in one word, and what each word means."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of an event; the same words as in rows, logs and metrics."""

    PROCESSED = "PROCESSED"
    DUPLICATE = "DUPLICATE"
    STALE = "STALE"
    PARKED = "PARKED"
    RETRY = "RETRY"


MEANING = {
    Outcome.PROCESSED: "acted on, once",
    Outcome.DUPLICATE: "a copy of an event that acts elsewhere: skipped",
    Outcome.STALE: "older than what was already known of its subject: skipped",
    Outcome.PARKED: "unreadable, refused for good or given up: kept in the parking queue",
    Outcome.RETRY: "never settled: see its reason",
}
SETTLED = frozenset(Outcome) - {Outcome.RETRY}
