"""The state machine as far as waiting meets it, over pacing's own steps.

A batch: read the breaker's row, ask, rounds with one event of each subject side by side, claims
with their tries, return. Claims cannot be lost here; the explorer proves them. Times of AWS's own
are rounded means and only say what overtakes what.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from once_data_action.breaker import FRESH_MS
from once_pacing import breaker_row, steps
from once_pacing.breaker import Row
from once_pacing.payload import Begin, Candidate, End, Pace, Returned
from once_pacing.settings import Settings
from once_pacing.times import LONGEST_WAIT_MS

from .destination import CALL_MS, Destination, Reply
from .kernel import Clock, Together
from .measure import Measures
from .queue import Event, Message, Pipe, Queue
from .table import PaceTable

_ENRICH_MS, _REQUEST_MS, _INVOKE_MS, _REPORT_MS = 60, 6, 15, 20
_DEADLINE_MS, _LEASE_MS = 165_000, 310_000
AT_ONCE = 10
_WAITS_FOR_HOLDER_MS = (1_000, 3_000, 6_000)
_SECOND_CALL_AFTER_MS = 1_000
_GIVES_A_REQUEST_UP_AFTER_MS = 2_000
MAX_TRIES = 20


class Crashed(Exception):  # noqa: N818
    """The batch, or pacing, died there without a report."""


@dataclass
class Faults:
    """The faults of pacing itself and of batches, each with its share."""

    pacing_crash: float = 0
    pacing_lost_answer: float = 0
    pacing_stall: float = 0
    unanswered_step: float = 0
    batch_crash: float = 0
    return_times_refused: float = 0
    stall_ms: int = 40_000
    # Until then what AWS answers to none, and large bodies are not stored.
    claims_unanswered_until_ms: float = 0
    parking_fails_until_ms: float = 0
    overflow_fails_until_ms: float = 0


@dataclass
class Batch:
    """The knowledge of one execution."""

    messages: Sequence[Message]
    started_ms: int
    row: Row | None
    deadline_ms: int
    lease_until_ms: int
    copies: dict[Event, list[Message]] = field(default_factory=dict)
    requests_allowed: int = 2
    request_until_ms: int = 0
    pace: Pace = field(default_factory=Pace)
    requests: int = 0
    answered: bool = False
    failures: list[str] = field(default_factory=list)
    failed_ms: int | None = None
    retry_after_seconds: float | None = None
    settled: set[Message] = field(default_factory=set)
    reasons: dict[Message, tuple[str, int | None]] = field(default_factory=dict)
    crashed: bool = False


class Machine:
    """Runs batches until their events are settled or back on the queue."""

    def __init__(
        self,
        clock: Clock,
        queue: Queue,
        pipe: Pipe,
        table: PaceTable,
        destination: Destination,
        settings: Settings,
        measures: Measures,
        rng: random.Random,
        *,
        own_lambda: bool = False,
        faults: Faults | None = None,
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._table = table
        self.destination = destination
        self._settings = settings
        self._measures = measures
        self._rng = rng
        self._own_lambda = own_lambda
        self._faults = faults or Faults()
        self.running = 0
        pipe.start_batch = self._start

    def _start(self, messages: list[Message], done: Callable[[], None]) -> None:
        self._clock.start(self._batch(messages), done)

    # A batch

    def _batch(self, messages: list[Message]) -> Generator[Any, Any, None]:
        try:
            yield from self._execute(messages)
        except Crashed:
            self._measures.crashes += 1
            for message in messages:
                message.return_ms = None
                self._queue.keep(message)

    def _execute(self, messages: list[Message]) -> Generator[Any, Any, None]:
        yield _ENRICH_MS + _REQUEST_MS
        now = self._clock.now_ms
        batch = Batch(messages, now, self._table.row, now + _DEADLINE_MS, now + _LEASE_MS)
        batch.request_until_ms = batch.deadline_ms
        for message in messages:
            batch.copies.setdefault(message.event, []).append(message)
            self._measures.round(message, now)
        kept = [copies[0] for copies in batch.copies.values()]
        ready = [message for message in kept if self._is_ready(message)]
        for message in kept:
            if message not in ready:
                batch.reasons[message] = ("OVERFLOW_FAILED", None)
        allowed = set(ready)
        if ready and (self._settings.limiter or batch.row):
            allowed = yield from self._ask(batch, ready)
        yield from self._rounds(batch, [message for message in ready if message in allowed])
        for message in kept:
            if message not in batch.settled:
                batch.reasons.setdefault(message, ("NOT_REACHED", None))
        self._may_crash()
        if self._something_to_say(batch):
            yield from self._return(batch)
        yield _REPORT_MS
        for copies in batch.copies.values():
            for message in copies:
                if copies[0] in batch.settled:
                    self._queue.delete()
                else:
                    self._measures.handed_back(batch.reasons[copies[0]][0])
                    self._queue.keep(message)

    def _is_ready(self, message: Message) -> bool:
        large = message.event.kind == "large"
        return not large or self._clock.now_ms >= self._faults.overflow_fails_until_ms

    def _ask(self, batch: Batch, kept: Sequence[Message]) -> Generator[Any, Any, set[Message]]:
        ask = Begin(
            batch.started_ms,
            batch.deadline_ms,
            batch.row,
            False,
            [
                Candidate(str(at), m.event.occurred_ms, m.receives, m.sent_ms)
                for at, m in enumerate(kept)
            ],
        )
        try:
            answer = yield from self._converse(steps.begin, ask)
        except Crashed:
            self._measures.pacing_failed += 1
            batch.requests_allowed = 1
            shut_until_ms = batch.row.until_ms if batch.row else 0
            if not self._settings.limiter and shut_until_ms <= self._clock.now_ms:
                return set(kept)
            old = {m for m in kept if batch.started_ms - m.sent_ms > LONGEST_WAIT_MS}
            for message in kept:
                if message not in old:
                    batch.reasons[message] = ("PACING_FAILED", None)
            return old
        batch.requests_allowed = answer["requestsAllowed"]
        batch.request_until_ms = answer["requestUntilMs"]
        batch.pace = Pace(answer.get("slot"), answer.get("tokens", 0), answer.get("probe"))
        for one in answer["returned"]:
            batch.reasons[kept[int(one["messageId"])]] = (one["reason"], None)
        return {message for message in kept if message not in batch.reasons}

    def _rounds(self, batch: Batch, messages: Sequence[Message]) -> Generator[Any, Any, None]:
        subjects: dict[int, list[Message]] = defaultdict(list)
        for message in sorted(messages, key=lambda m: m.event.occurred_ms):
            subjects[message.event.subject].append(message)
        while subjects:
            turn = [waiting.pop(0) for waiting in subjects.values()]
            yield Together([self._settled(batch, message) for message in turn], AT_ONCE)
            if batch.crashed:
                raise Crashed
            back = {m.event.subject for m in turn if m not in batch.settled}
            subjects = {s: rest for s, rest in subjects.items() if rest and s not in back}

    def _something_to_say(self, batch: Batch) -> bool:
        return (
            len(batch.settled) < len(batch.copies)
            or batch.row is not None
            or batch.pace.probe_ms is not None
            or batch.pace.tokens > batch.requests
            or (self._own_lambda and batch.failed_ms is not None)
        )

    def _return(self, batch: Batch) -> Generator[Any, Any, None]:
        receipts: dict[str, Message] = {}
        events = []
        for event, copies in batch.copies.items():
            if copies[0] in batch.settled:
                continue
            names = {f"{id(message)}": message for message in copies}
            receipts |= names
            reason, lease_ms = batch.reasons[copies[0]]
            own = {name: name for name in names}
            events.append(Returned(own, str(event.subject), copies[0].sent_ms, reason, lease_ms))
        ask = End(
            batch.started_ms,
            batch.row,
            batch.pace,
            batch.requests,
            batch.answered,
            batch.failures,
            batch.failed_ms if self._own_lambda else None,
            batch.retry_after_seconds,
            self._own_lambda,
            events,
        )
        try:
            yield from self._converse(steps.end, ask, receipts)
        except Crashed:
            self._measures.pacing_failed += 1

    # One event

    def _settled(self, batch: Batch, message: Message) -> Generator[Any, Any, None]:
        try:
            yield from self._settle(batch, message)
        except Crashed:
            batch.crashed = True

    def _settle(self, batch: Batch, message: Message) -> Generator[Any, Any, None]:
        event, clock = message.event, self._clock
        old = clock.now_ms - message.sent_ms > LONGEST_WAIT_MS
        if clock.now_ms > batch.request_until_ms and not old:
            batch.reasons[message] = ("TOO_LATE", None)
            return
        yield _REQUEST_MS
        for wait_ms in (*_WAITS_FOR_HOLDER_MS, None):
            if event.outcome is not None:
                batch.settled.add(message)
                return
            if event.holder is None or event.lease_until_ms < clock.now_ms:
                break
            if wait_ms is None:
                batch.reasons[message] = ("HELD", event.lease_until_ms)
                return
            yield wait_ms
        self._may_crash()
        if clock.now_ms < self._faults.claims_unanswered_until_ms:
            yield _GIVES_A_REQUEST_UP_AFTER_MS
            batch.reasons[message] = ("CLAIM_UNANSWERED", batch.lease_until_ms)
            return
        event.holder, event.lease_until_ms = batch, batch.lease_until_ms
        if old:
            self._park(batch, message, "WAITED_TOO_LONG")
            return
        reply = yield from self._call(batch, event)
        self._may_crash()
        yield _REQUEST_MS
        if event.holder is not batch:  # another took over meanwhile, and settles it
            batch.reasons[message] = ("HELD", event.lease_until_ms)
            return
        self._conclude(batch, message, reply)

    def _conclude(self, batch: Batch, message: Message, reply: Reply | None) -> None:
        event, now = message.event, self._clock.now_ms
        event.holder = None
        if reply is None:
            batch.reasons[message] = ("TOO_LATE", None)
        elif reply.result in ("acted", "rejected"):
            event.outcome = "PROCESSED" if reply.result == "acted" else "PARKED"
            event.reason = "ACTED" if reply.result == "acted" else "REJECTED"
            event.settled_ms = now
            batch.settled.add(message)
        elif reply.result == "failed":
            first = event.failed_at_ms is None
            if first or self._answered_since(batch, event.failed_at_ms):
                event.tries += 1
            event.failed_at_ms = now
            if event.tries >= MAX_TRIES:
                self._park(batch, message, "GAVE_UP")
            else:
                batch.reasons[message] = ("CALL_FAILED", None)
        else:
            words = {
                "paused": "BREAKER_OPEN",
                "throttled": "THROTTLED",
                "not authorised": "SETUP_FAULT",
            }
            batch.reasons[message] = (words.get(reply.result, "RATE_LIMITED"), None)

    def _answered_since(self, batch: Batch, failed_at_ms: int) -> bool:
        """A request succeeded since, as far as the row says that the batch read at its start."""
        row = batch.row
        answered = row is None or (row.since_ms is not None and row.since_ms > failed_at_ms)
        return answered and failed_at_ms < batch.started_ms

    def _park(self, batch: Batch, message: Message, reason: str) -> None:
        event = message.event
        event.holder = None
        if self._clock.now_ms < self._faults.parking_fails_until_ms:
            batch.reasons[message] = ("PARKING_FAILED", None)
            return
        event.outcome, event.reason = "PARKED", reason
        event.settled_ms = self._clock.now_ms
        batch.settled.add(message)

    def _call(self, batch: Batch, event: Event) -> Generator[Any, Any, Reply | None]:
        """The last reply, or None where no call was begun in time."""
        reply = None
        for attempt in range(batch.requests_allowed):
            if attempt:
                yield _SECOND_CALL_AFTER_MS
            yield _INVOKE_MS
            started = self._clock.now_ms
            if started > batch.request_until_ms:
                break
            if self._is_paused(batch, started):
                reply = reply or Reply("paused", 0)
                break
            self.running += 1
            reply = self.destination(event, started, self._rng)
            self._measures.call(started, event, reply, self.running)
            if reply.result != "throttled":
                batch.requests += 1
            yield reply.duration_ms
            self.running -= 1
            full = self._note(batch, event, started, reply, again=attempt > 0)
            if reply.result != "failed" or full or reply.duration_ms > CALL_MS:
                break
        return reply

    def _is_paused(self, batch: Batch, now_ms: int) -> bool:
        """Reads the row again as our data action does; a function of one's own does not."""
        row = self._table.row
        if self._own_lambda or row is None or now_ms - batch.started_ms < FRESH_MS:
            return False
        return now_ms < ((row.not_before_ms or 0) if batch.pace.probe_ms else row.until_ms)

    def _note(
        self, batch: Batch, event: Event, started_ms: int, reply: Reply, *, again: bool
    ) -> bool:
        """Writes what the data action notes immediately; an own Lambda's note waits."""
        now = self._clock.now_ms
        keys = [event.key] if event.failed_at_ms is None else []
        match reply.result:
            case "acted" | "rejected":
                if reply.result == "acted":
                    event.acts += 1
                batch.answered = True
                slow = reply.duration_ms > breaker_row.SLOW_MS
                if not self._own_lambda and (batch.row or slow or again):
                    self._write(steps.Clear(started_ms))
            case "failed":
                event.failed_calls += 1
                if batch.failed_ms is None:
                    batch.failed_ms = started_ms
                batch.failures += keys
                if not self._own_lambda:
                    self._write(steps.NoteFailure(started_ms, keys))
                    row = self._table.row
                    return row is not None and row.failed >= breaker_row.MOST_FAILED
            case "rate limited":
                asked = reply.retry_after_seconds
                batch.retry_after_seconds = max(
                    batch.retry_after_seconds or 0, 30 if asked is None else asked
                )
                if not self._own_lambda:
                    until_ms = breaker_row.rate_limited_until_ms(now, asked)
                    self._write(steps.NoteRateLimited(started_ms, until_ms))
        return False

    # Pacing, and what goes wrong with it

    def _converse(
        self, conversation: Any, ask: Any, receipts: dict[str, Message] | None = None
    ) -> Generator[Any, Any, steps.Answer]:
        """Runs pacing's steps, each taking its time."""
        yield _INVOKE_MS
        faults, rng = self._faults, self._rng
        self._measures.pacing_calls += 1
        talk = conversation(ask, self._settings, lambda: self._clock.now_ms, rng.random)
        try:
            step = next(talk)
            while True:
                if isinstance(step, steps.Sleep):
                    yield step.milliseconds
                    step = talk.send(None)
                    continue
                yield _REQUEST_MS
                if faults.pacing_crash and rng.random() < faults.pacing_crash:
                    raise Crashed
                if faults.pacing_stall and rng.random() < faults.pacing_stall:
                    yield faults.stall_ms
                lost = faults.unanswered_step and rng.random() < faults.unanswered_step
                if lost and rng.random() < 0.5:
                    step = talk.throw(steps.UnansweredError())
                    continue
                result = self._take(step, receipts or {})
                step = talk.throw(steps.UnansweredError()) if lost else talk.send(result)
        except StopIteration as stop:
            if faults.pacing_lost_answer and rng.random() < faults.pacing_lost_answer:
                raise Crashed from None
            answer: steps.Answer = stop.value
            return answer
        except steps.UnansweredError:
            raise Crashed from None

    def _take(self, step: Any, receipts: dict[str, Message]) -> Any:
        now = self._clock.now_ms
        match step:
            case steps.CountMessages():
                return self._queue.messages
            case steps.SetReturns(returns):
                refused = self._faults.return_times_refused
                taken = set()
                for one in returns:
                    if refused and self._rng.random() < refused:
                        continue
                    receipts[one.receipt].return_ms = now + 1_000 * one.seconds
                    taken.add(one.receipt)
                return taken
        return self._write(step)

    def _write(self, step: Any) -> Any:
        now, before = self._clock.now_ms, self._table.row
        result = self._table.take(step, now)
        self._measures.row(now, before, self._table.row)
        return result

    def _may_crash(self) -> None:
        if self._faults.batch_crash and self._rng.random() < self._faults.batch_crash:
            raise Crashed
