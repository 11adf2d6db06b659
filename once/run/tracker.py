"""Follows every line of a run to its end: outcome log, dead letter queues, and what got lost."""

import json
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from once.embedded.pipe import Batch, Ending, Record
from once.errors import OnceError
from once.lines import Line
from once.outcomes import SETTLED, Outcome
from once.records import OutcomeLog, OutcomeRecord
from once.run.report import Key, LineReport, Via

# How long it waits for a batch to end before it looks at the queues.
_QUEUE_SECONDS = 1.0
# Between the delete of a message and the sight of its outcome lies only the polling of the log.
_LOST_AFTER_SECONDS = 10.0
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_ENDED_WELL = {Ending.SUCCEEDED, Ending.SKIPPED_TARGET, Ending.PARTIALLY_FAILED}
# What an event became says more than what became of its copies.
_RANKS = {
    outcome: rank
    for rank, outcome in enumerate(
        (Outcome.PROCESSED, Outcome.PARKED, Outcome.STALE, Outcome.DUPLICATE, Outcome.RETRY)
    )
}


@dataclass
class _Course:
    """What is known of one message; a line has several where faults send it twice."""

    line: Line
    via: Via
    delivered: bool
    record: OutcomeRecord | None = None
    handed_back: int = 0
    dead: bool = False
    lost: bool = False

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.record.outcome) if self.record else Outcome.RETRY

    @property
    def settled(self) -> bool:
        return self.dead or self.lost or self.outcome in SETTLED


@dataclass
class Standing:
    """How far a run is; what the progress display shows."""

    sent: int
    settled: int
    handed_back: int
    still_seconds: float = 0.0  # since one was settled


class Tracker:
    """Told what was sent, it finds out what became of it. Observes the pipe as well."""

    def __init__(
        self,
        most_failures: int | None = None,
        patience_seconds: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Gives up after so many failed batches, where none has ended well before; and waits no
        longer than its patience where no line is settled any more."""
        self._most_failures = most_failures
        self._patience_seconds, self._clock = patience_seconds, clock
        self._settled_before, self._moved_at = 0, clock()
        self._failures: list[str] = []
        self._courses: dict[int, list[_Course]] = defaultdict(list)
        self._of_message: dict[str, _Course] = {}
        self._of_envelope: dict[str, _Course] = {}
        self._messages_of_envelope: dict[str, list[str]] = defaultdict(list)
        self._in_flight = 0
        # Records can overtake the answer of the send that names their message.
        self._unclaimed: list[OutcomeRecord] = []
        self._lock = threading.Lock()
        self._batch_ended = threading.Event()
        self._queues_read_at = 0.0
        self._quiet_since: float | None = None

    def watch(self, client: Callable[[str], Any], outputs: Mapping[str, str]) -> None:
        """Name the stack to ask. It observes the pipe from before that is known, and its patience
        begins now."""
        self._moved_at = self._clock()
        self._log = OutcomeLog(client("logs"), outputs["OutcomeLogGroupName"])
        self._sqs = client("sqs")
        self._outputs = outputs

    def sent_to_queue(self, line: Line, message_id: str) -> None:
        with self._lock:
            course = _Course(line, "queue", delivered=True)
            self._courses[line.number].append(course)
            self._of_message[message_id] = course

    def sent_to_bus(self, line: Line, envelope_id: str) -> None:
        with self._lock:
            messages = self._messages_of_envelope[envelope_id]
            course = _Course(line, "bus", delivered=bool(messages))
            self._courses[line.number].append(course)
            self._of_envelope[envelope_id] = course
            for message_id in messages:
                self._of_message[message_id] = course

    def received(self, records: Sequence[Record]) -> None:
        """Learns which message carries which envelope, as the bus does not say."""
        with self._lock:
            self._in_flight += 1
            for record in records:
                envelope_id, message_id = _envelope_id(record["body"]), record["messageId"]
                self._messages_of_envelope[envelope_id].append(message_id)
                course = self._of_envelope.get(envelope_id)
                if course is not None:
                    self._of_message[message_id] = course
                    course.delivered = True

    def ended(self, batch: Batch) -> None:
        with self._lock:
            self._in_flight -= 1
            if batch.ending is Ending.TARGET_FAILED:
                self._failures.append(batch.detail)
            elif batch.ending in _ENDED_WELL:
                self._most_failures = None
        # What became of it is in the log by now: the machine writes it before it answers.
        self._batch_ended.set()

    def wait(self, lines: Iterable[Line], show: Callable[[Standing], None]) -> None:
        """Until each of these lines is settled, or is known to have got lost."""
        self.wait_for_one([list(lines)], show)

    def wait_for_one(
        self, groups: Sequence[Sequence[Line]], show: Callable[[Standing], None]
    ) -> list[bool]:
        """Until all lines of a group are settled, or known to have got lost; of which groups. Of
        none, where its patience has ended."""
        while True:
            self._refresh()
            standing = self.standing()
            show(standing)
            settled = [all(self._settled(line.number) for line in group) for group in groups]
            if any(settled):
                return settled
            with self._lock:
                most, failures = self._most_failures, list(self._failures)
            if most is not None and len(failures) >= most:
                raise OnceError(
                    f"The state machine has failed {len(failures)} times and settled nothing: no "
                    f"event gets through it. It said: {failures[-1]}"
                )
            if standing.still_seconds > self._patience_seconds:
                return settled
            self._batch_ended.wait(_QUEUE_SECONDS)

    def wait_until_empty(self) -> None:
        """Until nothing is left on the queue that could come once more."""
        while self._quiet_since is None:
            self._refresh()
            self._batch_ended.wait(_QUEUE_SECONDS)
        self._refresh()

    def standing(self) -> Standing:
        settled = sum(self._settled(number) for number in self._courses)
        if settled != self._settled_before:
            self._settled_before, self._moved_at = settled, self._clock()
        return Standing(
            sent=len(self._courses),
            settled=settled,
            handed_back=sum(
                any(course.handed_back and not course.settled for course in courses)
                for courses in self._courses.values()
            ),
            still_seconds=self._clock() - self._moved_at,
        )

    def line_of(self, message_id: str) -> int | None:
        course = self._of_message.get(message_id)
        return course.line.number if course else None

    def report(self, line: Line) -> LineReport:
        """Of several messages, that which came furthest speaks for its line."""
        courses = self._courses.get(line.number) or [_Course(line, "queue", delivered=False)]
        return self._report(min(courses, key=lambda c: _RANKS[c.outcome]))

    @property
    def dead_letters(self) -> int:
        return sum(any(course.dead for course in courses) for courses in self._courses.values())

    def dead(self) -> list[LineReport]:
        """What is known of each message that ended in a dead letter queue."""
        courses = (course for courses in self._courses.values() for course in courses)
        return [self._report(course) for course in courses if course.dead]

    def _settled(self, number: int) -> bool:
        return all(course.settled for course in self._courses[number])

    def _report(self, course: _Course) -> LineReport:
        record = course.record
        reason = record.reason if record else None
        if course.lost and not course.delivered:
            reason = "NO_RULE_TOOK_IT"
        elif course.lost:
            reason = "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
        elif course.dead and record is None:
            reason = "DEAD_LETTER"
        elif course.line.number not in self._courses:
            reason = "NOT_SENT"
        because = record.because.rpartition("#")[2] if record and record.because else None
        earlier = self.line_of(because) if because else None
        return LineReport(
            line=course.line.number,
            outcome=course.outcome,
            key=Key(pk=record.pk, sk=record.sk) if record and record.pk and record.sk else None,
            reason=reason,
            via=course.via,
            because_of_line=earlier if earlier != course.line.number else None,
        )

    def _refresh(self) -> None:
        self._batch_ended.clear()  # first, so that one that ends meanwhile is not missed
        new = list(self._log.new())
        with self._lock:
            waiting = [*self._unclaimed, *new]
            self._unclaimed = [record for record in waiting if not self._take(record)]
        if time.monotonic() - self._queues_read_at >= _QUEUE_SECONDS:
            self._queues_read_at = time.monotonic()
            self._look_for_dead_letters()
            self._look_for_lost_lines()

    def _take(self, record: OutcomeRecord) -> bool:
        course = self._of_message.get(record.message_id)
        if course is None:
            return False
        # A message delivered twice may be judged twice.
        if (
            course.outcome is Outcome.RETRY
            or _RANKS[Outcome(record.outcome)] < _RANKS[course.outcome]
        ):
            course.record = record
            course.handed_back += course.outcome is Outcome.RETRY
        return True

    def _look_for_dead_letters(self) -> None:
        for name in ("EventDeadLettersUrl", "RuleDeadLettersUrl"):
            while messages := self._receive(self._outputs[name]):
                for message in messages:
                    course = self._of_message.get(
                        message["MessageId"],
                        self._of_envelope.get(_envelope_id(message["Body"])),
                    )
                    if course is not None:
                        course.dead = True

    def _receive(self, url: str) -> list[dict[str, Any]]:
        # Hidden from the next look, not deleted: it is still what the run left behind.
        answer = self._sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=3600
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def _look_for_lost_lines(self) -> None:
        attributes = self._sqs.get_queue_attributes(
            QueueUrl=self._outputs["EventQueueUrl"], AttributeNames=list(_DEPTHS)
        )["Attributes"]
        if self._in_flight or any(int(attributes[name]) for name in _DEPTHS):
            self._quiet_since = None
            return
        now = time.monotonic()
        self._quiet_since = self._quiet_since or now
        if now - self._quiet_since >= _LOST_AFTER_SECONDS:
            for courses in self._courses.values():
                for course in courses:
                    course.lost = not course.settled


def _envelope_id(body: str) -> str:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    found = event.get("id") if isinstance(event, dict) else None
    return found if isinstance(found, str) else ""
