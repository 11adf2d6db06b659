"""Which integration and which family came last when, and what stopped while others go on.

Settled events are counted by hour in the outcome log; a returned event is recorded again at each
delivery, so of what waits its own time counts, or a family that only fails would seem to have
stopped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from weakref import WeakKeyDictionary

from pydantic import Field

from once.operate import canaries, log
from once.operate import phrases as words
from once.operate.model import Model
from once.operate.stack import Stack
from once.records import OutcomeRecord

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_WEEK_MS = 7 * _DAY_MS
# A silence of up to a week can be compared with the week before it.
_BACK_MS = 2 * _WEEK_MS
# Fewer may be missing by chance.
_ENOUGH = 10
_FEW = 8  # families that do not drown the rest of a status
_QUERY = (
    f'filter ispresent(messageId) and ispresent(family) and family != "{canaries.FAMILY}"'
    ' and outcome != "RETRY" | stats count(*) as events, min(@timestamp) as first,'
    " max(@timestamp) as last by source, family, bin(1h) | sort last desc | limit 10000"
)


class Arrivals(Model):
    """Events of one family that one source sent."""

    source: str = Field(description="Last segment of the source: which integration sent them.")
    family: str
    events: int
    first_ms: int
    last_ms: int
    usual: int = Field(
        description="How many came a week before, in the same hours, while none come now and "
        "others go on; a day before if the log goes back less far."
    )
    stopped: bool = Field(description="These are too many to be missing by chance.")


@dataclass(frozen=True)
class Hour:
    """The events that one source sent of one family within an hour."""

    source: str
    family: str
    events: int
    first_ms: int
    last_ms: int

    @property
    def place(self) -> tuple[str, str]:
        return self.source, self.family


# The console asks again and again, and AWS charges for each gigabyte that is searched.
_KNOWN: WeakKeyDictionary[Stack, list[Hour]] = WeakKeyDictionary()


def read_hours(stack: Stack, now_ms: int) -> list[Hour]:
    """Reads what was settled in each hour of the last 14 days."""
    known = _KNOWN.get(stack, [])
    # What was logged last may not have been found then.
    newest_ms = max((hour.last_ms for hour in known), default=0)
    since_ms = max(now_ms - _BACK_MS, (newest_ms // _HOUR_MS - 1) * _HOUR_MS)
    rows = log.query(stack, stack.outputs["OutcomeLogGroupName"], _QUERY, since_ms)
    found = [hour for hour in known if now_ms - _BACK_MS <= hour.first_ms < since_ms]
    for row in rows:
        first_ms, last_ms = log.epoch_ms(row["first"]), log.epoch_ms(row["last"])
        source = row.get("source", "unknown")
        found.append(Hour(source, row["family"], int(row["events"]), first_ms, last_ms))
    _KNOWN[stack] = found
    return found


def forget(stack: Stack) -> None:
    """Forgets what was read, since another stack has taken its place."""
    _KNOWN.pop(stack, None)


def judge(settled: Sequence[Hour], waiting: Iterable[OutcomeRecord] = ()) -> list[Arrivals]:
    """Says by source and family what came, and whether it stopped; the newest first."""
    # How far the log goes back; what waits may have happened before that.
    oldest_ms = min((hour.first_ms for hour in settled), default=0)
    waits = []
    for one in waiting:
        if one.family not in (None, canaries.FAMILY) and one.occurred_at_ms is not None:
            at_ms = min(one.occurred_at_ms, one.recorded_at_ms)
            if one.recorded_at_ms - at_ms > _BACK_MS:  # no event waits so long: it was sent later
                at_ms = one.recorded_at_ms
            waits.append(Hour(one.source or "unknown", one.family or "", 1, at_ms, at_ms))
    hours = sorted([*settled, *waits], key=lambda hour: hour.place)
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


def view_arrivals(arrivals: Sequence[Arrivals], now_ms: int, verbose: bool) -> Iterator[str]:
    """Shows when each source last sent an event, and each family if they are few or asked for."""
    every = verbose or len(arrivals) <= _FEW
    by_source = sorted(arrivals, key=lambda one: one.source)
    for source, group in groupby(by_source, lambda one: one.source):
        families = list(group)
        last_ms = max(one.last_ms for one in families)
        more = "" if every else f"; families: {len(families)} (--verbose)"
        yield f"  {source}: {words.format_age(now_ms - last_ms)} ago{more}"
        for one in families if every else ():
            stopped = "; stopped?" if one.stopped else ""
            yield f"    {one.family}: {words.format_age(now_ms - one.last_ms)} ago{stopped}"


def find_silences(arrivals: Sequence[Arrivals]) -> list[list[Arrivals]]:
    """Finds what stopped, by source: switched off, it takes all its families along."""
    stopped = sorted((one for one in arrivals if one.stopped), key=lambda one: one.source)
    return [list(group) for _, group in groupby(stopped, lambda one: one.source)]
