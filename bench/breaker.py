"""Simulates the breaker at small and large sites.

Run: python -m bench.breaker. Writes bench/results/breaker.json, in a minute.

Events arrive at random and requests fail at random, alone of each other. The verdict and the
delays are those of the function; the row is a model of the table's. An environment knows the row
as it was up to a second ago.
"""

import heapq
import itertools
import random
import sys
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from statistics import median

from once_data_action.action import FRESH_MS, SLOW_MS
from once_data_action.breaker import MOST_FAILED, Open, Probe, Row, Times, judge, retry_in_seconds

from bench import sources

HOUR_MS = 3_600_000
TIMES = Times.of()
SITES = {"20 per hour": (20, 240), "1 per second": (3_600, 3), "50 per second": (180_000, 1 / 3)}
SHARES = (0.1, 0.2, 0.5)  # of requests that fail
KINDS = {"503 in 0.2 s": 200, "no response in 8 s": 8_000}


@dataclass
class Site:
    """A destination that fails a share of all requests, and the row that they leave."""

    share: float
    failure_ms: int
    draw: random.Random
    row: Row | None = None
    failed: set[int] = field(default_factory=set)
    times: list[int] = field(default_factory=lambda: [0])
    rows: list[Row | None] = field(default_factory=lambda: [None])
    first_open_ms: int | None = None
    failed_until_open: int = 0
    opened: int = 0
    paused_ms: int = 0

    def set_row(self, row: Row | None, now_ms: int) -> None:
        self.row = row
        self.times.append(now_ms)
        self.rows.append(row)

    def seen(self, now_ms: int) -> Row | None:
        """Returns the row as an environment remembers it."""
        age_ms = self.draw.random() * FRESH_MS
        return self.rows[bisect_right(self.times, now_ms - age_ms) - 1]

    def note_failure(self, event: int, is_first: bool, started_ms: int, now_ms: int) -> None:
        row = self.row or Row(since_ms=started_ms)
        if self.row is None:
            self.failed = set()
        if is_first and len(self.failed) < MOST_FAILED:
            self.failed.add(event)
            self.failed_until_open += self.first_open_ms is None
        self.set_row(replace(row, failed=len(self.failed)), now_ms)

    def note_success(self, started_ms: int, now_ms: int) -> None:
        if self.row and (self.row.since_ms or 0) < started_ms:
            self.set_row(None, now_ms)

    def request(self, now_ms: int) -> tuple[bool, int]:
        """Returns whether a request succeeds, and when it ends."""
        if self.draw.random() < self.share:
            return False, now_ms + self.failure_ms
        return True, now_ms + round(self.draw.lognormvariate(5.2, 0.5))

    def act(self, event: int, since_ms: int, is_first: bool, now_ms: int) -> Iterator[int]:
        """Yields when to go on, until the event is settled."""
        while True:
            row = self.seen(now_ms)
            verdict = judge(row, now_ms, TIMES)
            reason = "BREAKER_OPEN"
            if isinstance(verdict, Open | Probe) and row == self.row:
                if isinstance(verdict, Open):
                    self.opened += 1
                    self.first_open_ms = self.first_open_ms or now_ms
                self.paused_ms += verdict.until_ms - now_ms
                row = replace(verdict.seen, open_until_ms=verdict.until_ms)
                self.set_row(row, now_ms)
            if verdict is None or (isinstance(verdict, Probe) and row == self.row):
                for again in (False, True):
                    started_ms = now_ms
                    succeeded, now_ms = self.request(now_ms)
                    yield now_ms
                    if succeeded:
                        if row or again or now_ms - started_ms > SLOW_MS:
                            self.note_success(started_ms, now_ms)
                        return
                    self.note_failure(event, is_first, started_ms, now_ms)
                    row, is_first = self.row, False
                    if row and (row.opened or row.failed >= MOST_FAILED):
                        break
                    now_ms += round(self.draw.random() * 1_000)
                    yield now_ms
                reason = "CALL_FAILED"
            u = self.draw.random()
            now_ms += 1_000 * retry_in_seconds(reason, since_ms, row, now_ms, u, TIMES)
            yield now_ms


def simulate(per_hour: int, hours: float, share: float, failure_ms: int, seed: int) -> Site:
    draw = random.Random(seed)  # noqa: S311 - a simulation
    site = Site(share, failure_ms, draw)
    ends_ms, now_ms, numbers = hours * HOUR_MS, 0, itertools.count()
    due: list[tuple[int, int, Iterator[int] | None]] = [(0, next(numbers), None)]
    while due:
        now_ms, number, steps = heapq.heappop(due)
        if now_ms > ends_ms or (share == 1 and site.first_open_ms):
            break
        if steps is None:
            wait_ms = draw.expovariate(per_hour / HOUR_MS)
            heapq.heappush(due, (now_ms + round(wait_ms), next(numbers), None))
            steps = site.act(number, now_ms, True, now_ms)
        if (next_ms := next(steps, None)) is not None:
            heapq.heappush(due, (next_ms, next(numbers), steps))
    return site


def main() -> int:
    rows = []
    for (name, (per_hour, hours)), (kind, failure_ms) in itertools.product(
        SITES.items(), KINDS.items()
    ):
        some = [simulate(per_hour, hours, share, failure_ms, seed=0) for share in SHARES]
        down = [simulate(per_hour, hours, 1.0, failure_ms, seed) for seed in range(20)]
        row = {
            "events": name,
            "failure": kind,
            "openedPerHour": [round(site.opened / hours, 1) for site in some],
            "opensAfterSeconds": round(median(site.first_open_ms or 0 for site in down) / 1_000),
            "failedEvents": round(median(site.failed_until_open for site in down)),
        }
        print(row, flush=True)
        rows.append(row)
    sources.write("breaker", {"shares": SHARES, "rows": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
