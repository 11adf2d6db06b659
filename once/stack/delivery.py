"""Sends lines into a stack and follows each one until it is settled, by the outcome log: the only
place that says it."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from once.lines import Line
from once.model.outcomes import Outcome
from once.model.records import Record
from once.model.report import Via
from once.stack.log import OutcomeLog
from once.stack.sending import Client, Sent, chain_by_claim, send_to_bus, send_to_queue
from once.stack.waiter import Waiter

_QUEUE_SECONDS = 1.0
# A message leaves the queue before its outcome can be read in the log.
_QUIET_SECONDS = 10.0
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
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
    """The progress of a delivery."""

    sent: int
    settled: int
    waiting: int
    """Lines whose event was put back."""
    seconds: float
    still_seconds: float
    """Since the last line was settled."""


class Delivery:
    """Sends lines and knows what became of each.

    `is_over` hears the standing after each look at the log, and ends the wait by returning true.
    """

    def __init__(
        self,
        client: Client,
        outputs: Mapping[str, str],
        is_over: Callable[[Standing], bool],
        *,
        since_ms: int = 0,
        poll_seconds: float = 0.1,
        source_prefix: str | None = None,
        ends_when_quiet: bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Sends through the bus if it is told which `source_prefix` the rule has.

        `ends_when_quiet` takes an empty queue for the end, as only an emulator counts exactly.
        """
        self._client, self._outputs, self._is_over = client, outputs, is_over
        log = OutcomeLog(client, outputs, since_ms)
        self._waiter = Waiter(log, poll_seconds, clock, sleep)
        self._clock = clock
        self._source_prefix = source_prefix
        self._ends_when_quiet = ends_when_quiet
        self._sent: dict[int, list[Sent]] = defaultdict(list)
        self._lines: dict[str, int] = {}
        self._unsettled: set[int] = set()
        self._began = self._moved = clock()
        self._looked = -math.inf
        self._quiet_since: float | None = None

    def send(self, lines: Iterable[Line]) -> None:
        """Sends all lines together, and does not wait."""
        if self._source_prefix is None:
            sent = send_to_queue(self._client, self._outputs, lines)
        else:
            sent = send_to_bus(self._client, self._outputs, lines, self._source_prefix)
        for one in sent:
            self._sent[one.line.number].append(one)
            self._lines[one.id] = one.line.number
            self._unsettled.add(one.line.number)

    def send_in_steps(self, lines: Iterable[Line]) -> bool:
        """Sends a copy or newer state when the one before it is settled. Returns false if it was
        over before all are."""
        chains = chain_by_claim(lines)
        while chains:
            self.send(chain[0] for chain in chains if not self._sent[chain[0].number])
            if not self._wait([chain[0] for chain in chains], any):
                return False
            for chain in chains:
                while chain and self._has_ended(chain[0]):
                    chain.popleft()
            chains = [chain for chain in chains if chain]
        return True

    def wait_for(self, lines: Sequence[Line]) -> bool:
        """Waits until these lines are settled or lost; returns false if it was over before."""
        return self._wait(lines, all)

    def records_of(self, line: Line) -> list[Record]:
        """Returns what was recorded of each message of the line."""
        sent = self._sent[line.number]
        return [record for one in sent for record in self._waiter.records.get(one.id, ())]

    def end_of(self, line: Line) -> Record | None:
        """Returns the record that says most of the line's event: RETRY if it waits."""
        return min(
            # The latest of those with the same outcome. SETTLED_BEFORE repeats an outcome without
            # its reason.
            reversed(self.records_of(line)),
            key=lambda record: (_ORDER.index(record.outcome), record.reason == "SETTLED_BEFORE"),
            default=None,
        )

    def via_of(self, line: Line) -> Via | None:
        """Returns the way that a line went; None if it was not sent."""
        sent = self._sent[line.number]
        return sent[0].via if sent else None

    def line_of(self, message_id: str) -> int | None:
        """Returns the number of the line that went as this message."""
        if message_id in self._lines:
            return self._lines[message_id]
        records = self._waiter.records.get(message_id, ())
        return next((self._lines.get(str(record.envelope_id)) for record in records), None)

    def _wait(self, lines: Sequence[Line], is_enough: Callable[[Iterable[bool]], bool]) -> bool:
        ended = False

        def stop() -> bool:
            nonlocal ended
            # Also at the end, so that the progress that a person sees is complete.
            is_over = self._is_over(self._look())
            ended = is_enough(self._has_ended(line) for line in lines)
            return ended or is_over

        self._waiter.wait(stop, math.inf)
        return ended

    def _look(self) -> Standing:
        before = len(self._unsettled)
        self._unsettled = {
            number
            for number in self._unsettled
            if not all(self._waiter.find_end(sent.id) for sent in self._sent[number])
        }
        now = self._clock()
        if len(self._unsettled) != before:
            self._moved = now
        if self._ends_when_quiet and now - self._looked >= _QUEUE_SECONDS:
            self._looked = now
            attributes = self._client("sqs").get_queue_attributes(
                QueueUrl=self._outputs["EventQueueUrl"], AttributeNames=list(_DEPTHS)
            )["Attributes"]
            is_empty = not any(int(attributes[name]) for name in _DEPTHS)
            self._quiet_since = (self._quiet_since or now) if is_empty else None
        waiting = sum(
            any(self._waiter.find_last(sent.id) for sent in self._sent[number])
            for number in self._unsettled
        )
        number_sent = sum(map(bool, self._sent.values()))
        return Standing(
            sent=number_sent,
            settled=number_sent - len(self._unsettled),
            waiting=waiting,
            seconds=now - self._began,
            still_seconds=now - self._moved,
        )

    def _has_ended(self, line: Line) -> bool:
        """A line of which nothing is left that could settle it has ended, too."""
        is_quiet = (
            self._quiet_since is not None and self._clock() - self._quiet_since >= _QUIET_SECONDS
        )
        return bool(self._sent[line.number]) and (line.number not in self._unsettled or is_quiet)
