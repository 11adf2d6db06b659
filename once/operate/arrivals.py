"""Which integration and which kind of event came last when, and what stopped while others go on.

Read from the outcome log without what was handed back: that is recorded again at each delivery. Of
what still waits its own time counts, or a kind of event that only fails would seem to have stopped.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeGuard
from weakref import WeakKeyDictionary

from pydantic import Field

from once.operate import log
from once.operate import phrases as words
from once.operate.model import Model
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeRecord

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_WEEK_MS = 7 * _DAY_MS
# A silence of up to a week can be compared with the week before it.
_BACK_MS = 2 * _WEEK_MS
# Fewer may be missing by chance.
_ENOUGH = 10
_FEW = 8  # kinds of event that do not drown the rest of a status
_CANARIES = "once.check"
_QUERY = f"""
filter ispresent(messageId) and ispresent(family) and family != "{_CANARIES}" and outcome != "RETRY"
| stats count(*) as events, min(@timestamp) as first, max(@timestamp) as last \
by source, family, bin(1h)
| sort last desc
| limit 10000
"""


class Arrivals(Model):
    """Events of one family that one source sent."""

    source: str = Field(description="Last segment of the source: which integration sent them.")
    family: str
    events: int
    first_ms: int
    last_ms: int
    usual: int = Field(
        description="How many came a week before, in the same hours, while none come now and "
        "others go on; a day before where the log goes back less far."
    )
    stopped: bool = Field(description="Whether these are too many to be missing by chance.")


@dataclass(frozen=True)
class Hour:
    """What of it came within an hour, or a part of it."""

    source: str
    family: str
    events: int
    first_ms: int
    last_ms: int

    @property
    def place(self) -> tuple[str, str]:
        return self.source, self.family


_Hours = dict[tuple[str, str, int], Hour]
# The console asks every half minute, and AWS takes money for each gigabyte that is searched.
_KNOWN: WeakKeyDictionary[Stack, _Hours] = WeakKeyDictionary()


def read(stack: Stack, now_ms: int, waits: Iterable[OutcomeRecord]) -> list[Arrivals]:
    """Of the last 14 days, with what waits; the newest first."""
    known = _KNOWN.get(stack, {})
    oldest_ms = now_ms - _BACK_MS
    # What was logged last may not have been found then.
    newest_ms = max((hour.last_ms for hour in known.values()), default=0)
    since_ms = max(oldest_ms, (newest_ms // _HOUR_MS - 1) * _HOUR_MS)
    found = known | {
        (*hour.place, hour.first_ms // _HOUR_MS): hour for hour in _of(stack, since_ms)
    }
    _KNOWN[stack] = {at: hour for at, hour in found.items() if hour.last_ms >= oldest_ms}
    return judged(_KNOWN[stack].values(), waits)


def judged(settled: Iterable[Hour], waits: Iterable[OutcomeRecord] = ()) -> list[Arrivals]:
    """By source and family, each with whether it stopped; the newest first."""
    settled = list(settled)
    # How far the log goes back; what waits may have happened before that.
    oldest_ms = min((hour.first_ms for hour in settled), default=0)
    hours = sorted([*settled, *_waiting(waits)], key=lambda hour: hour.place)
    newest_ms = max((hour.last_ms for hour in hours), default=0)
    found = []
    for (source, family), group in groupby(hours, lambda hour: hour.place):
        own = list(group)
        last_ms = max(hour.last_ms for hour in own)
        back_ms = _WEEK_MS if oldest_ms <= last_ms - _WEEK_MS else _DAY_MS
        usual = sum(
            hour.events
            for hour in own
            if last_ms < hour.first_ms + back_ms and hour.last_ms + back_ms <= newest_ms
        )
        found.append(
            Arrivals(
                source=source,
                family=family,
                events=sum(hour.events for hour in own),
                first_ms=min(hour.first_ms for hour in own),
                last_ms=last_ms,
                usual=usual,
                stopped=usual >= _ENOUGH and newest_ms > last_ms + _HOUR_MS,
            )
        )
    return sorted(found, key=lambda one: (-one.last_ms, one.source, one.family))


def lines(arrivals: Sequence[Arrivals], now_ms: int, verbose: bool) -> Iterator[str]:
    """When each source last sent something, and what, where that is short or asked for."""
    every = verbose or len(arrivals) <= _FEW
    by_source = sorted(arrivals, key=lambda one: one.source)
    for source, group in groupby(by_source, lambda one: one.source):
        families = list(group)
        last_ms = max(one.last_ms for one in families)
        kinds = "1 kind" if len(families) == 1 else f"{len(families)} kinds"
        more = "" if every else f"; {kinds} of event: --verbose"
        yield f"  {source}: {words.age(now_ms - last_ms)} ago{more}"
        for one in families if every else ():
            stopped = "; stopped?" if one.stopped else ""
            yield f"    {one.family}: {words.age(now_ms - one.last_ms)} ago{stopped}"


def silences(arrivals: Sequence[Arrivals], now_ms: int) -> Iterator[str]:
    """What stopped, a sentence for each source: switched off, it takes all its families along."""
    by_source = sorted((one for one in arrivals if one.stopped), key=lambda one: one.source)
    for source, group in groupby(by_source, lambda one: one.source):
        first, *more = group
        what = f"{first.family} of {source}"
        if more:
            what = f"{len(more) + 1} kinds of event of {source}, the last of them {first.family}"
        yield (
            f"{what}, none for {words.age(now_ms - first.last_ms)} in which {first.usual:,} are "
            "usual, and others go on"
        )


def of_records(records: Iterable[OutcomeRecord], waits: Iterable[OutcomeRecord]) -> list[Arrivals]:
    """The embedded Logs Insights count nothing."""
    settled = (
        _one(record, record.family, record.recorded_at_ms)
        for record in records
        if _is_real(record.family) and record.outcome is not Outcome.RETRY
    )
    return judged(settled, waits)


def _is_real(family: str | None) -> TypeGuard[str]:
    return family is not None and family != _CANARIES


def _waiting(waits: Iterable[OutcomeRecord]) -> Iterator[Hour]:
    for one in waits:
        if _is_real(one.family) and one.occurred_at_ms is not None:
            yield _one(one, one.family, min(one.occurred_at_ms, one.recorded_at_ms))


def _one(record: OutcomeRecord, family: str, at_ms: int) -> Hour:
    return Hour(record.source or "unknown", family, 1, at_ms, at_ms)


def _of(stack: Stack, since_ms: int) -> Iterator[Hour]:
    for row in log.rows(stack, stack.outputs["OutcomeLogGroupName"], _QUERY, since_ms):
        if "events" not in row:
            return  # the embedded AWS, reached as if it were AWS, answers lines
        yield Hour(
            row.get("source", "unknown"),
            row["family"],
            int(row["events"]),
            _ms(row["first"]),
            _ms(row["last"]),
        )


def _ms(text: str) -> int:
    """Epoch milliseconds, which Logs Insights may write as 1.7E12."""
    if not re.fullmatch(r"[0-9.]+(E[0-9]+)?", text):
        return log.epoch_ms(text)
    return round(float(text))
