"""Which integration and family came when, and what stopped while others go on."""

from typing import Any

import pytest

from once.operate import arrivals
from once.operate.arrivals import Arrivals

MINUTE, HOUR = 60_000, 3_600_000
NOW_MS = 1_777_888_800_000


def came(family: str, *, every_ms: int, until_ms: int, source: str = "live") -> Arrivals:
    """Regularly, from a day ago until so long ago."""
    first_ms, last_ms = NOW_MS - 24 * HOUR, NOW_MS - until_ms
    events = (last_ms - first_ms) // every_ms + 1
    return Arrivals(source=source, family=family, events=events, first_ms=first_ms, last_ms=last_ms)


def stopped(*found: Arrivals) -> set[str]:
    return {one.family for one in arrivals.judged(found) if one.stopped}


def test_a_family_that_comes_no_more_while_others_go_on_has_stopped() -> None:
    presence = came("user.presence", every_ms=MINUTE, until_ms=2 * HOUR)
    other = came("conversation.acd.start", every_ms=MINUTE, until_ms=MINUTE)
    assert stopped(presence, other) == {"user.presence"}


def test_where_everything_is_quiet_nothing_has_stopped() -> None:
    """That is what the alarm events-silent is for; and contact centres sleep."""
    presence = came("user.presence", every_ms=MINUTE, until_ms=3 * HOUR)
    other = came("conversation.acd.start", every_ms=MINUTE, until_ms=3 * HOUR)
    assert stopped(presence, other) == set()


@pytest.mark.parametrize("every_ms", [30 * MINUTE, 2 * HOUR])
def test_a_rare_family_has_not_stopped_when_it_takes_its_time(every_ms: int) -> None:
    rare = came("quality.evaluations", every_ms=every_ms, until_ms=2 * HOUR)
    other = came("conversation.acd.start", every_ms=MINUTE, until_ms=MINUTE)
    assert stopped(rare, other) == set()


def test_a_source_that_comes_no_more_is_named_with_when_it_last_did() -> None:
    old = came("conversation.acd.start", every_ms=MINUTE, until_ms=5 * HOUR, source="old")
    live = came("conversation.acd.start", every_ms=MINUTE, until_ms=2 * MINUTE, source="live")
    assert list(arrivals.lines(arrivals.judged([old, live]), NOW_MS)) == [
        "source live: the last one 2 min ago",
        "source old: the last one 5 h ago",
        "stopped? conversation.acd.start of old, none for 5 h; before that one in 60 s, "
        "and others go on: once check",
    ]


class FakeLogs:
    def __init__(self, *rows: dict[str, str]) -> None:
        self._rows = rows

    def start_query(self, **asked: Any) -> dict[str, str]:
        assert 'outcome != "RETRY"' in asked["queryString"], "each delivery would be an arrival"
        return {"queryId": "q"}

    def get_query_results(self, **_: str) -> dict[str, Any]:
        cells = [[{"field": k, "value": v} for k, v in row.items()] for row in self._rows]
        return {"status": "Complete", "results": cells}


class FakeStack:
    """A deployed one, whose log answers this."""

    def __init__(self, *rows: dict[str, str]) -> None:
        self.embedded = False
        self.outputs = {"OutcomeLogGroupName": "outcomes"}
        self._logs = FakeLogs(*rows)

    def client(self, _: str) -> FakeLogs:
        return self._logs


def test_what_logs_insights_counted_is_read_however_it_writes_a_time() -> None:
    times = {"first": "1777802400000", "last": "1.7778888E12"}
    named = {"first": "2026-05-03 10:00:00.000", "last": "2026-05-04 10:00:00.000"}
    stack: Any = FakeStack(
        {"source": "live", "family": "user.presence", "events": "7", **times},
        {"family": "user.presence", "events": "2", **named},
    )
    live, unknown = arrivals.read(stack, NOW_MS)
    assert (live.source, live.events, live.last_ms) == ("live", 7, NOW_MS)
    assert unknown.source == "unknown"
    assert unknown.last_ms - unknown.first_ms == live.last_ms - live.first_ms == 24 * HOUR
