"""One time axis for an event and whatever it met: a lane for each message, a mark for each moment.

The axis is not to scale: a gap is as wide as the logarithm of its length, since what happened
within milliseconds and what happened hours later matter alike.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import count, groupby, pairwise, takewhile

from once.keys import Owner
from once.operate import phrases as words
from once.operate.claims import Claim
from once.operate.destination import Call
from once.operate.model import Model
from once.operate.path import Path
from once.operate.story import Event, Message
from once.outcomes import Outcome
from once.records import OutcomeRecord

_LEFT, _RIGHT = 6.0, 94.0
_LETTER, _APART = 0.95, 1.0  # percent that they take of the narrowest axis that is drawn
# What of the states an operator wants to see at what time.
_STEPS = {
    "OpenBatch": "taken",
    "ClaimKey": "claimed",
    "ReadClaim": "claim refused",
    "RunAction": "requests",
    "ParkEvent": "parks",
}
_ENDS = {
    Outcome.PROCESSED: "done",
    Outcome.DUPLICATE: "copy",
    Outcome.STALE: "stale",
    Outcome.IGNORED: "ignored",
    Outcome.PARKED: "parked",
    Outcome.RETRY: "waits",
}
_RECORDED = "as recorded when its batch ended"


class Mark(Model):
    at_ms: int
    label: str
    title: str
    said: str
    kind: str
    x: float = 0
    level: int = 0
    until_ms: int | None = None
    until_x: float | None = None
    delivery: int | None = None


class Lane(Model):
    message_id: str
    event: str
    is_other: bool
    outcome: Outcome
    text: str
    marks: list[Mark]


class Tick(Model):
    x: float
    level: int = 0
    label: str
    title: str


class Axis(Model):
    ticks: list[Tick]
    lanes: list[Lane]

    @property
    def moments(self) -> list[tuple[Lane, Mark]]:
        """Returns the same in time order, for windows without room for an axis."""
        every = [(lane, mark) for lane in self.lanes for mark in lane.marks]
        return sorted(every, key=lambda one: one[1].at_ms)


def axis(
    event: Event,
    others: Iterable[Event],
    path: Path | None,
    calls: Sequence[Call],
    claim: Claim | None,
    now_ms: int,
) -> Axis:
    """Draws the lanes; `path` details that of its message, `calls` are what the destination got.

    A record is written when its batch ends; where `claim` knows when an event ended, it says so.
    """
    lanes = []
    called = _by_message(event, calls)
    for one in (event, *others):
        for message in one.messages:
            marks = _marks(message, claim if one is event else None, now_ms)
            got = called.get(message.message_id, []) if one is event else []
            if path is not None and path.message_id == message.message_id:
                marks += _steps(path, bool(got))
            marks += [mark for together in got for mark in _calls(together)]
            happened_ms = message.final.occurred_at_ms
            if happened_ms and message.outcome is not Outcome.DUPLICATE:
                marks.append(_mark(happened_ms, "happened", "happened", "happened"))
            lanes.append(
                Lane(
                    message_id=message.message_id,
                    event=one.text,
                    is_other=one is not event,
                    outcome=message.outcome,
                    text=message.text,
                    marks=sorted(marks, key=lambda mark: mark.at_ms),
                )
            )
    return Axis(ticks=_placed(lanes), lanes=lanes)


def _marks(message: Message, claim: Claim | None, now_ms: int) -> list[Mark]:
    """Marks what is recorded of it; equal returns that follow each other are one mark."""

    def kind(pair: tuple[int, OutcomeRecord]) -> tuple[object, ...]:
        number, one = pair
        return (one.reason, one.status) if one.outcome is Outcome.RETRY else (number,)

    found = []
    for _, group in groupby(enumerate(message.deliveries), key=kind):
        together = list(group)
        (first, begun), (last, newest) = together[0], together[-1]
        done_ms = _done_ms(claim, message, begun)
        said = begun.why if done_ms else ", ".join(filter(None, (begun.why, _RECORDED)))
        kind_of = str(begun.outcome).lower()
        mark = _mark(done_ms or begun.recorded_at_ms, _ENDS[begun.outcome], said, kind_of)
        mark.delivery = last
        if begun.outcome is Outcome.RETRY:
            mark.label = f"waits {len(together)} times" if len(together) > 1 else "waits"
            following = message.deliveries[last + 1 :]
            mark.until_ms = following[0].recorded_at_ms if following else newest.returns_at_ms
            if mark.until_ms and not following and mark.until_ms > now_ms:
                back = f"; back at {words.format_clock(mark.until_ms)[:8]} UTC"
                mark.title, mark.said = mark.title + back, mark.said + back
        elif first > 0 and message.deliveries[0].outcome is not Outcome.RETRY:
            mark.label = "again"
        found.append(mark)
    return found


def _done_ms(claim: Claim | None, message: Message, delivery: OutcomeRecord) -> int | None:
    """Marks its end as the claim has it: that of the delivery which settled it."""
    if (
        claim is None
        or claim.done_at is None
        or Owner.parse(claim.owner).message_id != message.message_id
    ):
        return None
    ends = [one for one in message.deliveries if one.outcome in (Outcome.PROCESSED, Outcome.PARKED)]
    is_it = delivery is next((one for one in ends if one.recorded_at_ms >= claim.done_at), None)
    return claim.done_at if is_it else None


def _steps(path: Path, called: bool) -> list[Mark]:
    """Marks the times that the execution log has."""
    found = []
    before = takewhile(lambda step: step.state != "ClaimKey", path.steps)
    rounds = [step.at_ms for step in before if step.state == "SettleEvents"]
    if len(rounds) > 1:
        earlier = "1 round" if len(rounds) == 2 else f"{len(rounds) - 1} rounds"
        said = f"after {earlier} of other events of its batch"
        found.append(_mark(rounds[-1], "its round", said, "step"))
    for step, following in pairwise([*path.steps, None]):
        if step is None or step.state not in _STEPS:
            continue
        refused = step.state == "ClaimKey" and following and following.state == "ReadClaim"
        if not refused and not (called and step.state == "RunAction"):
            found.append(
                _mark(step.at_ms, _STEPS[step.state], f"the execution entered {step.state}", "step")
            )
    return found


def _by_message(event: Event, calls: Iterable[Call]) -> dict[str, list[list[Call]]]:
    """Assigns calls to the message whose delivery made them, parted by delivery: the first that
    made calls and was recorded after them. The others belong to the message in work now."""
    made = sorted(
        (delivery.recorded_at_ms, message.message_id)
        for message in event.messages
        for delivery in message.deliveries
        if delivery.requests
    )
    working = event.messages[-1].message_id if event.messages else ""
    found: dict[tuple[int | None, str], list[Call]] = {}
    for call in calls:
        of = next(((at, one) for at, one in made if at >= call.at_ms), (None, working))
        found.setdefault(of, []).append(call)
    by_message: dict[str, list[list[Call]]] = {}
    for (_, message_id), together in found.items():
        by_message.setdefault(message_id, []).append(together)
    return by_message


def _calls(calls: Sequence[Call]) -> list[Mark]:
    return [
        _mark(
            call.at_ms,
            "no response" if call.status is None else str(call.status),
            f"attempt {number}: "
            + ("no response" if call.status is None else f"HTTP {call.status}")
            + (", acted" if call.acted else ""),
            "call good" if call.acted else "call bad",
        )
        for number, call in enumerate(calls, 1)
    ]


def _mark(at_ms: int, label: str, title: str, kind: str) -> Mark:
    shown = f"{words.format_time(at_ms)}: {title}"
    return Mark(at_ms=at_ms, label=label, title=shown, said=title, kind=kind)


def _placed(lanes: Sequence[Lane]) -> list[Tick]:
    """Gives each mark its place, and answers the ticks of the axis."""
    marks = [mark for lane in lanes for mark in lane.marks]
    ends = (mark.until_ms for mark in marks if mark.until_ms)
    moments = sorted({*(mark.at_ms for mark in marks), *ends})
    gaps = [later - at for at, later in pairwise(moments)]
    widths = [1 + math.log10(1 + gap / 20) / 2 for gap in gaps]
    scale = (_RIGHT - _LEFT) / max(sum(widths), 1e-9)
    places = {}
    at = _LEFT
    for moment, width in zip(moments, [*widths, 0.0], strict=False):
        places[moment] = round(at, 2)
        at += width * scale
    for mark in marks:
        mark.x = places[mark.at_ms]
        mark.until_x = places[mark.until_ms] if mark.until_ms else None
    for lane in lanes:
        _staggered(lane.marks)
    ticks = [
        Tick(
            x=places[moment],
            label=f"+{_length(moment - moments[number - 1])}"
            if number
            else words.format_clock(moment),
            title=words.format_time(moment),
        )
        for number, moment in enumerate(moments)
    ]
    _staggered(ticks)
    return ticks


def _staggered(labelled: Sequence[Mark] | Sequence[Tick]) -> None:
    """Puts labels that would run into each other on lines of their own."""
    ends: dict[int, float] = {}
    for one in labelled:
        half = len(one.label) * _LETTER / 2
        one.level = next(n for n in count() if one.x - half >= ends.get(n, -math.inf))
        ends[one.level] = one.x + half + _APART


def _length(milliseconds: int) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    if milliseconds < 10_000:
        return f"{milliseconds / 1000:.1f} s"
    return words.format_age(milliseconds)
