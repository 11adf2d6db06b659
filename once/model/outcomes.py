"""The outcomes of an event, and their meaning."""

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
