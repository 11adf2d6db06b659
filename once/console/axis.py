"""One time axis for an event and what it met: a lane for each chain of messages, a mark for each
moment.

The axis is not to scale: a gap is as wide as the logarithm of its length, since moments that are
milliseconds apart and moments that are hours apart matter alike.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from once.model import words
from once.model.reasons import Outcome
from once.model.story import Chain, Story

_LEFT, _RIGHT = 6.0, 94.0
_LETTER, _APART = 1.05, 1.0  # percent that they take of the narrowest axis that is drawn
_STEPS = {"ClaimKey": "claims", "RunAction": "requests", "PutBack": "put back", "Parked": "parks"}


@dataclass
class Mark:
    """A moment in a lane, or a tick of the axis."""

    ms: int
    label: str
    title: str
    kind: str
    until_ms: int | None = None
    x: float = 0
    until_x: float | None = None
    level: int = 0


@dataclass
class Lane:
    chain: Chain
    story: Story
    marks: list[Mark] = field(default_factory=list)

    @property
    def levels(self) -> int:
        return max((mark.level for mark in self.marks), default=0)


def draw(
    story: Story, others: Iterable[Story], steps: Sequence[tuple[str, int]], shown: Chain | None
) -> tuple[list[Lane], list[Mark]]:
    """Returns the lanes, and the ticks of the axis; `steps` are the states of the chain shown."""
    lanes = [Lane(chain, told) for told in (story, *others) for chain in told.chains]
    for lane in lanes:
        records = lane.chain.records
        for record, following in pairwise([*records, None]):
            if record is None:
                continue
            waits = record.outcome is Outcome.RETRY
            until_ms = following.recorded_at_ms if following else record.due_at_ms
            kind, label = record.outcome.lower(), "waits" if waits else record.outcome
            ms = record.recorded_at_ms
            lane.marks.append(Mark(ms, label, record.why, kind, until_ms if waits else None))
        if lane.chain is shown:
            lane.marks += [
                Mark(ms, _STEPS[state], f"entered {state}", "step")
                for state, ms in steps
                if state in _STEPS
            ]
        if records[0].occurred_at_ms and lane.chain.cause is None:
            lane.marks.append(Mark(records[0].occurred_at_ms, "occurred", "", "occurred"))
        lane.marks.sort(key=lambda mark: mark.ms)
    return lanes, _place(lanes)


def _place(lanes: Sequence[Lane]) -> list[Mark]:
    """Places the marks, and returns the ticks."""
    marks = [mark for lane in lanes for mark in lane.marks]
    moments = sorted({ms for mark in marks for ms in (mark.ms, mark.until_ms) if ms})
    widths = [1 + math.log10(1 + (end - begin) / 20) / 2 for begin, end in pairwise(moments)]
    scale = (_RIGHT - _LEFT) / max(sum(widths), 1e-9)
    places, x = dict[int, float](), _LEFT
    for moment, width in zip(moments, [*widths, 0.0], strict=True):
        places[moment], x = round(x, 2), x + width * scale
    for mark in marks:
        mark.x = places[mark.ms]
        mark.until_x = places[mark.until_ms] if mark.until_ms else None
    ticks = [Mark(ms, words.format_clock(ms), words.format_time(ms), "tick") for ms in moments[:1]]
    for begin, ms in pairwise(moments):
        apart = f"{ms - begin} ms" if ms - begin < 1_000 else words.format_duration(ms - begin)
        ticks.append(Mark(ms, f"+{apart}", words.format_time(ms), "tick"))
    for tick in ticks:
        tick.x = places[tick.ms]
    for labelled in (*(lane.marks for lane in lanes), ticks):
        _stagger(labelled)
    return ticks


def _stagger(labelled: Sequence[Mark]) -> None:
    """Puts labels that would run into each other on lines of their own."""
    ends: dict[int, float] = {}
    for mark in labelled:
        half = len(mark.label) * _LETTER / 2
        mark.level = next(n for n in count() if mark.x - half >= ends.get(n, -math.inf))
        ends[mark.level] = mark.x + half + _APART
