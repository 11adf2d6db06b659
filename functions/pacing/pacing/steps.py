"""Both conversations, step by step: each yields what is to be done and is sent what came of it.

So the same steps run in the Lambda, against the real table and queue, and in the simulation,
against a model of them in which hours pass in seconds. Whoever runs them raises UnansweredError
into them where the table or the queue gave no answer.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import returns
from .breaker import Flow, Open, Probe, Row, Wait, judge
from .breaker_row import rate_limited_until_ms
from .limiter import Limiter
from .payload import Begin, Candidate, End
from .settings import Settings
from .times import LONGEST_WAIT_MS, Times

# A batch that lost the row to another judges what that one wrote.
_LOOKS = 3
_WAITS = 2
# Longer waits for a slot happen on the queue, where they cost nothing.
_LONGEST_SLEEP_MS = 8_000

Clock = Callable[[], int]
Draw = Callable[[], float]
Answer = dict[str, Any]


class UnansweredError(Exception):
    """The table or the queue did not say whether it did what was asked."""


class Step(Protocol):
    """One thing to do."""


@dataclass(frozen=True)
class ReadRow:
    """Sent back: a Row, or None."""


@dataclass(frozen=True)
class NoteFailure:
    """Sent back: nothing of interest, as after each of those that follow without a note."""

    started_ms: int
    keys: Sequence[str]


@dataclass(frozen=True)
class NoteRateLimited:
    started_ms: int
    until_ms: int


@dataclass(frozen=True)
class Clear:
    started_ms: int


@dataclass(frozen=True)
class EndProbe:
    until_ms: int


@dataclass(frozen=True)
class TakeTokens:
    """Sent back: how many were used before, or None where the slot was used up."""

    slot: int
    wanted: int
    quota: int


@dataclass(frozen=True)
class GiveBackTokens:
    slot: int
    tokens: int


@dataclass(frozen=True)
class Sleep:
    milliseconds: int


@dataclass(frozen=True)
class CountMessages:
    """Sent back: how many are on the queue, in flight or not."""


@dataclass(frozen=True)
class Return:
    """One message's return time."""

    receipt: str
    seconds: int


@dataclass(frozen=True)
class SetReturns:
    """Sent back: the receipts that were taken."""

    returns: Sequence[Return]


Steps = Generator[Any, Any, Answer]


def begin(ask: Begin, settings: Settings, now_ms: Clock, draw: Draw) -> Steps:
    """Which events may be called for now. An unread row that stays unread is an error."""
    # By the clock of the state machine, which parks these.
    over_age = [e.message_id for e in ask.events if ask.started_ms - e.sent_ms > LONGEST_WAIT_MS]
    waiting = [e for e in ask.events if e.message_id not in over_age]
    answer: Answer = {"allowed": over_age, "callsAllowed": 2, "callUntilMs": ask.deadline_ms}
    if not waiting:
        return answer
    row = (yield ReadRow()) if ask.breaker_unread else ask.breaker
    verdict = yield from _turn(row, settings.times, now_ms)
    if isinstance(verdict, Wait):
        return answer | {"reason": verdict.reason}

    # In time order, so that what is left out of a subject is its newest.
    wanted = sorted(waiting, key=lambda e: (e.occurred_ms, e.message_id))
    if isinstance(verdict, Probe):
        wanted = [min(waiting, key=lambda e: (e.receives, e.occurred_ms, e.message_id))]
        # One that is held up until another probes comes too late to call.
        answer["callUntilMs"] = min(ask.deadline_ms, verdict.until_ms)
        answer |= {"callsAllowed": 1, "probe": verdict.until_ms, "reason": "BREAKER_OPEN"}
    if settings.limiter:
        answer["callsAllowed"] = 1
        tokens = yield from _tokens(settings.limiter, len(wanted), ask.deadline_ms, now_ms, draw)
        if not tokens["tokens"]:
            if "probe" in answer:
                yield EndProbe(answer.pop("probe"))
            return answer | {"reason": "LIMITED"}
        answer |= tokens
        until_ms = settings.limiter.call_until_ms(tokens["slot"])
        answer["callUntilMs"] = min(answer["callUntilMs"], until_ms)
        if tokens["tokens"] < len(wanted):
            answer["reason"] = "LIMITED"
        wanted = wanted[: tokens["tokens"]]
    return answer | {"allowed": [*over_age, *_ids(wanted)]}


def _ids(events: Sequence[Candidate]) -> list[str]:
    return [event.message_id for event in events]


def _turn(row: Row | None, times: Times, now_ms: Clock) -> Generator[Any, Any, Flow | Wait | Probe]:
    """Whether calls flow, none is made, or this batch probes."""
    for _ in range(_LOOKS):
        verdict = judge(row, now_ms(), times)
        if isinstance(verdict, Flow | Wait):
            return verdict
        if (yield verdict):
            return Wait("BREAKER_OPEN") if isinstance(verdict, Open) else verdict
        row = yield ReadRow()
    return Wait("BREAKER_OPEN")


def _tokens(
    limiter: Limiter, wanted: int, deadline_ms: int, now_ms: Clock, draw: Draw
) -> Generator[Any, Any, Answer]:
    for wait in range(_WAITS + 1):
        slot = limiter.slot_at(now_ms())
        used = yield TakeTokens(slot, wanted, limiter.quota)
        if used is not None and (granted := limiter.granted(wanted, used)):
            return {"slot": slot, "tokens": granted}
        sleep_ms = limiter.wait_ms(now_ms(), draw())
        if wait == _WAITS or sleep_ms > _LONGEST_SLEEP_MS or now_ms() + sleep_ms > deadline_ms:
            break
        yield Sleep(sleep_ms)
    return {"tokens": 0}


def end(ask: End, settings: Settings, now_ms: Clock, draw: Draw) -> Steps:
    """What the breaker learns, when the rest comes back, and the tokens that were left.

    No step is worth losing the next ones for, since the queue's own visibility holds as it is. The
    tokens come last: giving back twice would be too much, so nothing may fail after it.
    """
    yield from _learn(ask, now_ms)
    if ask.pace.probe_ms is not None and not ask.calls:
        yield from _tried(EndProbe(ask.pace.probe_ms))
    done = yield from _set_returns(ask, settings, now_ms, draw)
    left = ask.pace.tokens - ask.calls
    limiter = settings.limiter
    if (
        limiter
        and ask.pace.slot is not None
        and left > 0
        and now_ms() < limiter.ends_ms(ask.pace.slot)
    ):
        yield from _tried(GiveBackTokens(ask.pace.slot, left))
    return {"returns": done}


def _learn(ask: End, now_ms: Clock) -> Generator[Any, Any, None]:
    """What our own data action function notes while it calls, and what it could not note because
    it crashed, or never began."""
    if ask.own_action and ask.answered and ask.breaker:
        yield from _tried(Clear(ask.started_ms))
    if ask.failed_ms is not None:
        yield from _tried(NoteFailure(ask.failed_ms, ask.failures))
    if ask.own_action and ask.retry_after_seconds is not None:
        now = now_ms()
        until_ms = rate_limited_until_ms(now, ask.retry_after_seconds)
        yield from _tried(NoteRateLimited(now, until_ms))


def _set_returns(
    ask: End, settings: Settings, now_ms: Clock, draw: Draw
) -> Generator[Any, Any, list[Answer]]:
    events = ask.events
    if not events:
        return []
    try:
        row = yield ReadRow()
    except UnansweredError:
        row = ask.breaker
    backlog = None
    if settings.limiter and any(event.reason == "LIMITED" for event in events):
        messages = yield from _tried(CountMessages())
        backlog = returns.Backlog(messages or 0, settings.limiter.per_minute)
    now = now_ms()
    subjects = {event.subject: draw() for event in events}
    seconds = {
        event.message_id: returns.whole_seconds(
            returns.delay_ms(
                returns.Waiting(event.sent_ms, event.reason, event.lease_until_ms),
                row,
                backlog,
                now,
                subjects[event.subject],
                settings.times,
            )
        )
        for event in events
    }
    taken = yield from _tried(
        SetReturns(
            [
                Return(receipt, seconds[event.message_id])
                for event in events
                for receipt in event.receipts
            ]
        )
    )
    return [
        {"messageId": event.message_id, "returnsAtMs": now + 1_000 * seconds[event.message_id]}
        for event in events
        if taken and event.receipts[0] in taken
    ]


def _tried(step: Step) -> Generator[Any, Any, Any]:
    try:
        return (yield step)
    except UnansweredError:
        return None
