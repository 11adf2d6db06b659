"""The tries of an event: those of its failures that say something about the event itself.

A failure is a try if it is the event's first, or if a request has succeeded since its last one.
So an outage costs an event at most one try.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Tries:
    """The tries of an event, and when it failed last; 0 if it never has."""

    count: int = 0
    failed_at_ms: int = 0

    def after_failure(self, since_ms: int | None, now_ms: int) -> "Tries":
        """Counts a failure. `since_ms` is the row's after the failure was noted; None if unknown.

        The next success deletes the row, so a row that began after the event's last failure
        proves that a request succeeded between them.
        """
        succeeded = since_ms is not None and since_ms > self.failed_at_ms
        return Tries(self.count + (not self.count or succeeded), now_ms)

    def are_over(self, most: int, before: "Tries") -> bool:
        """Returns true if this failure was the last try. A later one in an outage never is."""
        return self.count >= most and self.count > before.count
