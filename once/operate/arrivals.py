"""Which integration and which kind of event came last when, and what stopped while others go on.

Read from the outcome log without what was handed back: that is recorded again at each delivery.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from pydantic import Field

from once.operate import log
from once.operate import phrases as words
from once.operate.model import Model
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeRecord

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
# Of fewer nobody can tell how often they come.
_ENOUGH = 10
# A pause of so many times the usual interval, and of an hour at least, is no chance.
_INTERVALS = 10
_QUERY = """
filter ispresent(messageId) and ispresent(family) and outcome != "RETRY"
| stats count(*) as events, min(@timestamp) as first, max(@timestamp) as last by source, family
| limit 10000
"""


class Arrivals(Model):
    """Events of one family that one source sent in the last day."""

    source: str = Field(description="Last segment of the source: which integration sent them.")
    family: str
    events: int
    first_ms: int
    last_ms: int
    stopped: bool = Field(
        default=False, description="None came for much longer than usual, while others went on."
    )

    def text(self, now_ms: int) -> str:
        interval = words.age(self._interval_ms)
        return (
            f"{self.family} of {self.source}, none for {words.age(now_ms - self.last_ms)}; "
            f"before that one in {interval}, and others go on"
        )

    @property
    def _interval_ms(self) -> int:
        return (self.last_ms - self.first_ms) // max(1, self.events - 1)

    @property
    def quiet_after_ms(self) -> int:
        return max(_HOUR_MS, _INTERVALS * self._interval_ms)


def read(stack: Stack, now_ms: int) -> list[Arrivals]:
    """Of the last day; the newest first."""
    return judged(_of_query(stack, now_ms))


def judged(found: Iterable[Arrivals]) -> list[Arrivals]:
    """Each with whether it stopped; the newest first."""
    arrivals = sorted(found, key=lambda one: (-one.last_ms, one.source, one.family))
    newest_ms = max((one.last_ms for one in arrivals), default=0)
    for one in arrivals:
        went_on = newest_ms > one.last_ms + one.quiet_after_ms
        one.stopped = one.events >= _ENOUGH and went_on
    return arrivals


def lines(arrivals: Sequence[Arrivals], now_ms: int) -> Iterator[str]:
    """When each source last sent something, and which families stopped."""
    by_source = sorted(arrivals, key=lambda one: one.source)
    for source, group in groupby(by_source, lambda one: one.source):
        last_ms = max(one.last_ms for one in group)
        yield f"source {source}: the last one {words.age(now_ms - last_ms)} ago"
    for one in arrivals:
        if one.stopped:
            yield f"stopped? {one.text(now_ms)}: once check"


def _of_query(stack: Stack, now_ms: int) -> Iterator[Arrivals]:
    group = stack.outputs["OutcomeLogGroupName"]
    for row in log.rows(stack, group, _QUERY, now_ms - _DAY_MS):
        yield Arrivals(
            source=row.get("source", "unknown"),
            family=row["family"],
            events=int(row["events"]),
            first_ms=_ms(row["first"]),
            last_ms=_ms(row["last"]),
        )


def _ms(text: str) -> int:
    """Epoch milliseconds, which Logs Insights may write as 1.7E12."""
    if not re.fullmatch(r"[0-9.]+(E[0-9]+)?", text):
        return log.epoch_ms(text)
    return round(float(text))


def of_records(records: Iterable[OutcomeRecord]) -> list[Arrivals]:
    """The embedded Logs Insights count nothing."""
    found: dict[tuple[str, str], Arrivals] = {}
    for record in records:
        if record.family is None or record.outcome is Outcome.RETRY:
            continue
        source, at_ms = record.source or "unknown", record.recorded_at_ms
        one = found.setdefault(
            (source, record.family),
            Arrivals(source=source, family=record.family, events=0, first_ms=at_ms, last_ms=at_ms),
        )
        one.events += 1
        one.last_ms = max(one.last_ms, at_ms)
    return judged(found.values())
