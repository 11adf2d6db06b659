"""What became of each delivery of a message, and equal ones that follow each other as one line."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from pydantic import Field

from once.operate import phrases as words
from once.operate.model import Model
from once.outcomes import Outcome
from once.records import OutcomeRecord

QUEUE_MS = 480_000  # the queue's own visibility, where no return time was set


class Delivery(Model):
    """One delivery, as it was recorded."""

    at_ms: int
    outcome: Outcome
    reason: str | None
    calls: int = Field(description="Calls to the destination.")
    tries: int | None = Field(description="Tries that it has cost so far; null where none counts.")
    status: int | None = Field(description="The destination's HTTP status, where it gave one.")
    cause: str | None = Field(description="What was wrong, in a sentence.")
    returns_at_ms: int | None = Field(description="When the queue shows the message again.")
    unmarked: bool
    idempotency_key: str | None
    execution: str | None

    @classmethod
    def of(cls, record: OutcomeRecord) -> "Delivery":
        return cls(
            at_ms=record.recorded_at_ms,
            outcome=record.outcome,
            reason=record.reason,
            calls=record.calls or 0,
            tries=record.tries or None,
            status=record.status,
            cause=record.cause,
            returns_at_ms=record.returns_at_ms,
            unmarked=bool(record.unmarked),
            idempotency_key=record.idempotency_key,
            execution=record.run,
        )

    @property
    def due_ms(self) -> int:
        """Of what was handed back: when it is to be tried once more."""
        return self.returns_at_ms or self.at_ms + QUEUE_MS

    @property
    def why(self) -> str:
        """The reason in words, with what the destination said."""
        acted = self.outcome is Outcome.PROCESSED
        parts = [words.why(self.reason, self.cause, None if acted else self.status)]
        if self.unmarked:
            parts.append("the end of its claim could not be written")
        return ": ".join(part for part in parts if part)

    @property
    def called(self) -> str:
        """How many calls it made, where it made any; what was answered is known of the last."""
        return words.called(self.calls)

    @property
    def answered(self) -> str:
        """Of one that acted, what the last call was answered."""
        if self.outcome is not Outcome.PROCESSED or not self.calls:
            return ""
        return f" answered {self.status}" if self.status else " acted"

    @property
    def _kind(self) -> tuple[object, ...]:
        if self.outcome is not Outcome.RETRY:
            return (id(self),)
        # A cause may hold a correlation id, which is another each time.
        return self.outcome, self.reason, self.status


def lines(
    deliveries: Sequence[Delivery], unfolded: bool, settled_as: str
) -> Iterator[tuple[int, str]]:
    """Each with its time; `settled_as` is the text of the first that was no hand-back.

    Equal hand-backs that follow each other are one line, unless unfolded.
    """
    settled = next((one for one in deliveries if one.outcome is not Outcome.RETRY), None)
    for _, group in groupby(deliveries, key=id if unfolded else lambda one: one._kind):
        together = list(group)
        if together[0] is settled:
            yield settled.at_ms, settled_as
        else:
            yield together[0].at_ms, _line(together, together[-1] is deliveries[-1])


def ended(delivery: Delivery, text: str, with_key: bool = False) -> str:
    """How the line of a delivery that settled its message reads; `text` is why."""
    said = f"{delivery.outcome}{delivery.called}{delivery.answered}"
    if with_key and delivery.idempotency_key:
        said += f", Idempotency-Key {delivery.idempotency_key}"
    if delivery.reason == "GAVE_UP":
        # Why it was given up is said by the verdict; here belongs what the call was answered.
        failed = delivery.cause or (f"HTTP {delivery.status}" if delivery.status else "")
        text = "; ".join(part for part in (failed, _last_try(delivery)) if part)
    return f"{said}: {text}" if text else said


def _last_try(delivery: Delivery) -> str:
    last = "its last try"
    return f"{last}, {delivery.tries} of {delivery.tries} (MaxTries)" if delivery.tries else last


def comes_back(returns_at_ms: int | None) -> str:
    if returns_at_ms is None:
        return "comes back after the queue's own time, some minutes"
    return f"comes back at {words.clock(returns_at_ms)[:8]}"


def _line(together: Sequence[Delivery], is_last: bool) -> str:
    newest = together[-1]
    if newest.outcome is not Outcome.RETRY:
        return ended(newest, newest.why)
    called = words.called(sum(one.calls for one in together))
    if len(together) > 1:
        first, last = (words.moment(one.at_ms)[:19] for one in (together[0], newest))
        if first[:10] == last[:10]:
            first, last = first[11:], last[11:]
        said = f"waited {len(together)} times, {first} to {last}{called}: {newest.why}"
    else:
        said = f"handed back{called}: {newest.why}"
    return f"{said}; {comes_back(newest.returns_at_ms)}" if is_last else said
