"""Which integration and family came when, and what stopped while others go on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from once.operate.arrivals import (
    Arrivals,
    Hour,
    find_silences,
    judge,
    read_hours,
    view_arrivals,
)
from once.records import OutcomeRecord
from tests.operate.deployed import deployed

MINUTE, HOUR = 60_000, 3_600_000
DAY = 24 * HOUR
NOW_MS = 1_777_888_800_000  # on a Monday, 10:00 UTC
OFFICE = range(7, 19)


def hours(
    family: str,
    *,
    until_ms: int,
    days: int = 14,
    a_day: range = range(24),
    a_week: range = range(7),
    each: int = 60,
    source: str = "live",
) -> Iterator[Hour]:
    """So many an hour, every so many days back, until so long ago."""
    for first_ms in range(NOW_MS - days * DAY, NOW_MS - until_ms + 1, HOUR):
        weekday, hour = (first_ms // DAY + 3) % 7, first_ms // HOUR % 24
        if hour in a_day and weekday in a_week:
            last_ms = min(first_ms + HOUR - MINUTE, NOW_MS - until_ms)
            yield Hour(source, family, each, first_ms, last_ms)


def others(days: int = 14) -> Iterator[Hour]:
    """Makes events of a family that arrives at all hours."""
    return hours("user.presence", until_ms=MINUTE, days=days)


def stopped(*found: Iterator[Hour]) -> set[str]:
    judged = judge([hour for some in found for hour in some])
    return {one.family for one in judged if one.stopped}


def test_a_family_that_comes_no_more_while_others_go_on_has_stopped() -> None:
    assert stopped(hours("conversation.acd.start", until_ms=2 * HOUR), others()) == {
        "conversation.acd.start"
    }


@pytest.mark.parametrize("silent_days", [1, 3, 6, 9, 13])
def test_a_family_that_stopped_days_ago_is_still_named(silent_days: int) -> None:
    old = hours("conversation.acd.start", until_ms=silent_days * DAY)
    assert stopped(old, others()) == {"conversation.acd.start"}


def test_a_young_stack_is_compared_with_yesterday() -> None:
    old = hours("conversation.acd.start", until_ms=2 * HOUR, days=2)
    assert stopped(old, others(days=2)) == {"conversation.acd.start"}
    first_day = hours("conversation.acd.start", until_ms=2 * HOUR, days=1)
    assert stopped(first_day, others(days=1)) == set(), "nobody knows yet what is usual"


def test_where_everything_is_quiet_nothing_has_stopped() -> None:
    """That is what the alarm events-silent is for."""
    some = hours("conversation.acd.start", until_ms=3 * HOUR)
    assert stopped(some, hours("user.presence", until_ms=3 * HOUR)) == set()


def test_a_contact_centre_that_sleeps_at_night_and_on_sundays_has_not_stopped() -> None:
    """It is Monday, 10:00, and its day begins at 12 while others never sleep."""
    until_ms = 36 * HOUR + MINUTE  # the end of its Saturday

    def works(a_day: range) -> Iterator[Hour]:
        return hours("conversation.acd.start", until_ms=until_ms, a_day=a_day, a_week=range(6))

    assert stopped(works(range(12, 22)), others()) == set()
    assert stopped(works(OFFICE), others()) == {"conversation.acd.start"}, "it begins at 7"


def test_a_rare_family_has_not_stopped_when_it_takes_its_time() -> None:
    rare = hours("quality.evaluations", until_ms=5 * HOUR, each=1)
    assert stopped(rare, others()) == set()


def said(found: list[Arrivals], verbose: bool = False) -> list[str]:
    return list(view_arrivals(found, NOW_MS, verbose))


def test_each_kind_of_event_is_shown_with_its_last_arrival_where_there_are_few() -> None:
    old = hours("conversation.acd.start", until_ms=5 * HOUR, source="old")
    found = judge([*old, *hours("user.presence", until_ms=2 * MINUTE)])
    assert said(found) == [
        "  live: 2 min ago",
        "    user.presence: 2 min ago",
        "  old: 5 h ago",
        "    conversation.acd.start: 5 h ago; stopped?",
    ]


def test_families_that_stopped_are_grouped_by_source() -> None:
    """Switched off, an integration takes all its families along."""
    start = list(hours("conversation.acd.start", until_ms=5 * HOUR, source="old"))
    end = list(hours("conversation.acd.end", until_ms=6 * HOUR, source="old"))
    ((first, second),) = find_silences(judge([*start, *end, *others()]))
    assert (first.family, first.usual) == ("conversation.acd.start", 240)
    assert second.source == "old"


def test_of_many_kinds_only_the_source_is_shown_unless_asked() -> None:
    found = judge([Hour("live", f"family.{number}", 1, NOW_MS, NOW_MS) for number in range(9)])
    assert said(found) == ["  live: 0 s ago; families: 9 (--verbose)"]
    assert "    family.3: 0 s ago" in said(found, verbose=True)


def test_what_logs_insights_counted_is_read_however_it_writes_a_time() -> None:
    times = {"first": "1777888000000", "last": "1.7778888E12"}
    named = {"first": "2026-05-03 10:00:00.000", "last": "2026-05-04 10:00:00.000"}
    stack = deployed(
        counted=[
            {"source": "live", "family": "user.presence", "events": "7", **times},
            {"family": "user.presence", "events": "2", **named},
        ]
    )
    live, unknown = judge(read_hours(stack, NOW_MS))
    assert (live.source, live.events, live.last_ms) == ("live", 7, NOW_MS)
    assert unknown.source == "unknown"
    assert unknown.last_ms - unknown.first_ms == 24 * HOUR


def test_a_kind_of_event_that_only_fails_has_not_stopped() -> None:
    """None of it is settled, and each delivery is recorded."""

    def rows(family: str, until_ms: int) -> Iterator[dict[str, str]]:
        for one in hours(family, until_ms=until_ms):
            times = {"first": str(one.first_ms), "last": str(one.last_ms)}
            yield {"source": "live", "family": family, "events": "60", **times}

    start, every = "conversation.acd.start", ("user.presence", MINUTE)
    stack = deployed(counted=[*rows(*every), *rows(start, 5 * HOUR)])
    said = {"messageId": "m", "outcome": "RETRY", "reason": "CALL_FAILED", "source": "live"}
    waits = OutcomeRecord.model_validate(
        {**said, "family": start, "occurredAtMs": NOW_MS - MINUTE, "recordedAtMs": NOW_MS}
    )
    assert [one.family for one in judge(read_hours(stack, NOW_MS)) if one.stopped] == [start]
    found = judge(read_hours(stack, NOW_MS), [waits])
    assert [one.family for one in found if one.stopped] == []


def test_a_second_look_searches_only_newer_records() -> None:
    def row(at_ms: int, events: int) -> dict[str, str]:
        named = {"source": "live", "family": "user.presence", "events": str(events)}
        return {**named, "first": str(at_ms - at_ms % HOUR), "last": str(at_ms)}

    stack = deployed(counted=[row(NOW_MS - DAY, 5), row(NOW_MS, 2)])
    logs = stack.client("logs")
    (first,) = judge(read_hours(stack, NOW_MS))
    logs.counted = [row(NOW_MS + MINUTE, 3)]
    (again,) = judge(read_hours(stack, NOW_MS + MINUTE))
    assert (first.events, again.events) == (7, 8), "an hour is counted once"
    assert logs.since_ms == [NOW_MS - 14 * DAY, NOW_MS - HOUR]


def of(family: str, **more: Any) -> OutcomeRecord:
    said = {"messageId": "m", "outcome": "PROCESSED", "family": family, **more}
    record = OutcomeRecord.parse(json.dumps(said), NOW_MS)
    assert record is not None
    return record


def test_canaries_are_no_arrivals() -> None:
    assert judge([], [of("once.check", outcome="RETRY", occurredAtMs=NOW_MS)]) == []
    assert judge([], [of("user.presence", outcome="RETRY", occurredAtMs=NOW_MS)]) != []


def test_an_old_event_that_waits_does_not_say_how_far_the_log_goes_back() -> None:
    old = hours("conversation.acd.start", until_ms=2 * HOUR, days=2)
    late = of("user.presence", outcome="RETRY", occurredAtMs=NOW_MS - 30 * DAY)
    judged = judge([*old, *others(days=2)], [late])
    assert {one.family for one in judged if one.stopped} == {"conversation.acd.start"}
