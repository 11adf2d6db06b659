"""Follows the lines of a run until they are settled, or nothing is left that could settle them."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from once.errors import OnceError
from once.lines import Line
from once.local.pipe import Batch, Ending
from once.outcomes import Outcome
from once.records import OutcomeLog, OutcomeRecord
from once.run.report import Key, LineReport
from once.sending import Client, Sent
from once.waiter import Waiter

_POLL_SECONDS = 0.1
_QUEUE_SECONDS = 1.0
# A message leaves the queue before its outcome can be read in the log.
_QUIET_SECONDS = 10.0
_MOST_FAILURES = 3
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_ENDED_WELL = {Ending.SUCCEEDED, Ending.SKIPPED_TARGET, Ending.PARTIALLY_FAILED}
# The outcome of a line that went as several messages is the one that says most of its event.
_ORDER = (
    Outcome.PROCESSED,
    Outcome.PARKED,
    Outcome.STALE,
    Outcome.IGNORED,
    Outcome.DUPLICATE,
    Outcome.RETRY,
)


@dataclass(frozen=True)
class Standing:
    """The progress of a run."""

    sent: int
    settled: int
    returned: int
    still_seconds: float = 0.0
    """Since the last line was settled."""


class Tracker:
    def __init__(
        self,
        client: Client,
        outputs: Mapping[str, str],
        patience_seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Ends a wait when no line was settled for `patience_seconds`."""
        log = OutcomeLog(client("logs"), outputs["OutcomeLogGroupName"])
        self._waiter = Waiter(log, _POLL_SECONDS, clock, sleep)
        self._sqs, self._outputs = client("sqs"), outputs
        self._patience_seconds, self._clock = patience_seconds, clock
        self._sent: dict[int, list[Sent]] = defaultdict(list)
        self._lines: dict[str, int] = {}
        self._unsettled: set[int] = set()
        self._moved_at = clock()
        self._looked_at = -math.inf
        self._quiet_since: float | None = None

    def follow(self, sent: Iterable[Sent]) -> None:
        for one in sent:
            self._sent[one.line.number].append(one)
            self._lines[one.id] = one.line.number
            self._unsettled.add(one.line.number)

    def wait_for_one(
        self, groups: Sequence[Sequence[Line]], show: Callable[[Standing], None]
    ) -> list[bool]:
        """Returns which groups are settled or lost; none of them if the patience has ended."""
        ended: list[bool] = []

        def is_enough() -> bool:
            standing = self._look()
            show(standing)
            is_lost = self.is_quiet()
            ended[:] = [
                is_lost or self._unsettled.isdisjoint(line.number for line in group)
                for group in groups
            ]
            return any(ended) or standing.still_seconds > self._patience_seconds

        self._waiter.wait(is_enough, math.inf)
        return ended

    def is_quiet(self) -> bool:
        """Returns whether the queue has been empty for so long that nothing is left to come."""
        now = self._clock()
        if now - self._looked_at >= _QUEUE_SECONDS:
            self._looked_at = now
            answer = self._sqs.get_queue_attributes(
                QueueUrl=self._outputs["EventQueueUrl"], AttributeNames=list(_DEPTHS)
            )
            is_empty = not any(int(answer["Attributes"][name]) for name in _DEPTHS)
            self._quiet_since = (self._quiet_since or now) if is_empty else None
        return self._quiet_since is not None and now - self._quiet_since >= _QUIET_SECONDS

    def line_of(self, message_id: str) -> int | None:
        """Returns the number of the line that went as this message."""
        if message_id in self._lines:
            return self._lines[message_id]
        records = self._waiter.records.get(message_id, ())
        return next((self._lines.get(str(record.envelope_id)) for record in records), None)

    def records_of(self, line: Line) -> list[OutcomeRecord]:
        """Returns what was recorded of each delivery of the line's messages."""
        sent = self._sent.get(line.number, [])
        return [record for one in sent for record in self._waiter.records.get(one.id, ())]

    def report(self, line: Line) -> LineReport:
        sent, records = self._sent.get(line.number, []), self.records_of(line)
        via = sent[0].via if sent else "queue"
        # The latest of those with the same outcome; SETTLED_BEFORE repeats an outcome without its
        # reason.
        record = min(
            reversed(records),
            key=lambda one: (_ORDER.index(one.outcome), one.reason == "SETTLED_BEFORE"),
            default=None,
        )
        if record is not None:
            reason = record.reason
        elif not sent:
            reason = "NOT_SENT"
        else:
            reason = "NO_RULE_TOOK_IT" if via == "bus" else "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
        because = record.because.rpartition("#")[2] if record and record.because else None
        earlier = self.line_of(because) if because else None
        return LineReport(
            line=line.number,
            outcome=record.outcome if record else Outcome.RETRY,
            key=Key(pk=record.pk, sk=record.sk) if record and record.pk and record.sk else None,
            reason=reason,
            via=via,
            because_of_line=earlier if earlier != line.number else None,
        )

    def _look(self) -> Standing:
        before = len(self._unsettled)
        self._unsettled = {
            number
            for number in self._unsettled
            if any(self._waiter.end_of(one.id) is None for one in self._sent[number])
        }
        if len(self._unsettled) != before:
            self._moved_at = self._clock()
        returned = sum(
            any(one.id in self._waiter.records for one in self._sent[number])
            for number in self._unsettled
        )
        return Standing(
            sent=len(self._sent),
            settled=len(self._sent) - len(self._unsettled),
            returned=returned,
            still_seconds=self._clock() - self._moved_at,
        )


class Failures:
    """Ends a run whose state machine fails on everything."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._is_armed = True

    def note(self, batch: Batch) -> None:
        """Observes the pipe."""
        if batch.ending is Ending.TARGET_FAILED:
            self._said.append(batch.detail)
        elif batch.ending in _ENDED_WELL:
            self._is_armed = False

    def check(self) -> None:
        if self._is_armed and len(self._said) >= _MOST_FAILURES:
            raise OnceError(
                f"The state machine has failed {len(self._said)} times and settled nothing: no "
                f"event gets through it. It said: {self._said[-1]}"
            )
