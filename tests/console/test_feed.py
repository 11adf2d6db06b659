"""The rows follow from the records of the outcome log, read only when a page asks."""

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from once.console import feed as feeds
from once.console.feed import Feed
from once.console.rows import Filter
from once.operate import log
from tests.operate.deployed import NOW_MS, Deployed

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
PK, FAMILY = "-/conversation/c-1", "conversation.customer.start"
EVERY = Filter()


class World:
    """An outcome log in memory, and a clock."""

    def __init__(self) -> None:
        self.now_ms, self.seconds, self.reads = NOW_MS, 0.0, 0
        self.lines: list[tuple[int, str]] = []
        self.refused = False

    def record(self, message_id: str, outcome: str, reason: str, at_ms: int, **more: Any) -> None:
        sk = f"v1/{FAMILY}/p/{more.pop('event', 1)}"
        said = {"messageId": message_id, "outcome": outcome, "reason": reason, "sk": sk}
        self.lines.append((at_ms, json.dumps(said | {"pk": PK, "family": FAMILY} | more)))

    def get_paginator(self, _: str) -> Any:
        def paginate(startTime: int, **_: object) -> Any:  # noqa: N803 - boto3's name
            self.reads += 1
            if self.refused:
                raise EndpointConnectionError(endpoint_url="http://here")
            yield {
                "events": [
                    {"eventId": str(number), "timestamp": at_ms, "message": line}
                    for number, (at_ms, line) in enumerate(self.lines)
                    if at_ms >= startTime
                ]
            }

        return SimpleNamespace(paginate=paginate)

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds
        self.now_ms += round(seconds * 1000)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(log, "now_ms", lambda: made.now_ms)
    return made


@pytest.fixture
def feed(world: World) -> Feed:
    return Feed(Deployed(logs=world), lambda: world.seconds)


def rows(feed: Feed, wanted: Filter = EVERY) -> list[tuple[str, str | None, str]]:
    feed.refresh_rows()
    return [(one.id, one.outcome, one.verdict) for one in feed.find_rows(wanted)]


def test_a_row_is_an_event_with_its_copies_and_the_newest_comes_first(
    world: World, feed: Feed
) -> None:
    world.record("m1", "PROCESSED", "ACTED", NOW_MS - 2_000, requests=1)
    world.record("m2", "DUPLICATE", "SAME_KEY", NOW_MS - 1_000, because="run#m1")
    world.record("m3", "PARKED", "REJECTED", NOW_MS - 500, event=2)
    assert [one[:2] for one in rows(feed)] == [("m3", "PARKED"), ("m1", "PROCESSED")]
    (acted,) = feed.find_rows(Filter(outcome="DUPLICATE"))
    assert (acted.messages, acted.requests, acted.marks) == (2, 1, "✓=")


def test_the_log_is_read_once_for_all_pages_and_only_on_demand(world: World, feed: Feed) -> None:
    for _ in range(5):
        feed.refresh_rows()
    assert world.reads == 1
    world.record("m1", "PROCESSED", "ACTED", NOW_MS)
    assert rows(feed) == []
    world.pass_by(1.1)
    assert [one[0] for one in rows(feed)] == ["m1"]
    assert world.reads == 2


def test_an_event_that_waits_says_that_it_is_due_without_a_new_record(
    world: World, feed: Feed
) -> None:
    world.record("m1", "RETRY", "LIMITED", NOW_MS, returnsAtMs=NOW_MS + 5_000)
    world.record("m2", "PROCESSED", "ACTED", NOW_MS, event=2)
    assert "returns at" in rows(feed, Filter(outcome="RETRY"))[0][2]
    world.pass_by(11)
    assert rows(feed, Filter(outcome="RETRY"))[0][2].endswith("it is due now")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Filter(reason="REJECTED"), ["m3"]),
        (Filter(family=FAMILY), ["m3", "m1"]),
        (Filter(family="other"), []),
        (Filter(text="c-1"), ["m3", "m1"]),
        (Filter(text="m1"), ["m1"]),
        (Filter(text="Permanently Rejected"), ["m3"]),
        (Filter(minutes="5"), ["m3"]),
        (Filter(outcome="PROCESSED", minutes="60"), ["m1"]),
    ],
)
def test_a_filter_keeps_rows_that_fit_all_its_parts(
    world: World, feed: Feed, wanted: Filter, found: list[str]
) -> None:
    world.record("m1", "PROCESSED", "ACTED", NOW_MS - 10 * MINUTE)
    world.record("m3", "PARKED", "REJECTED", NOW_MS - MINUTE, event=2)
    assert [one[0] for one in rows(feed, wanted)] == found


@pytest.fixture
def search(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_memory(
        _: object, pattern: str, since_ms: int, until_ms: int = NOW_MS + DAY
    ) -> log.Found:
        found = [
            feeds.OutcomeRecord.parse(line, at_ms)
            for at_ms, line in world.lines
            if since_ms <= at_ms <= until_ms and re.search(pattern, line)
        ]
        return log.Found([one for one in found if one], True)

    monkeypatch.setattr(log, "search", in_memory)


@pytest.mark.usefixtures("search")
def test_rows_of_the_day_before_come_from_the_log(world: World, feed: Feed) -> None:
    world.record("m2", "PARKED", "REJECTED", NOW_MS - 3 * HOUR, event=2)
    world.record("m1", "PROCESSED", "ACTED", NOW_MS - 2 * HOUR)
    older, end_ms = feed.find_older(NOW_MS - HOUR, EVERY)
    parked, _ = feed.find_older(NOW_MS - HOUR, Filter(outcome="PARKED", minutes="5"))
    assert [one.id for one in older] == ["m1", "m2"]
    assert end_ms == NOW_MS - 3 * HOUR
    assert [one.id for one in parked] == ["m2"]
    assert feed.find_older(end_ms, EVERY) == ([], end_ms - DAY)


@pytest.mark.usefixtures("search")
def test_an_event_that_was_settled_later_is_not_shown_as_waiting(world: World, feed: Feed) -> None:
    world.record("m1", "RETRY", "LIMITED", NOW_MS - 2 * HOUR)
    world.record("m2", "RETRY", "LIMITED", NOW_MS - 2 * HOUR, event=2)
    world.record("m1", "PROCESSED", "ACTED", NOW_MS - MINUTE)
    older, _ = feed.find_older(NOW_MS - HOUR, EVERY)
    assert [one.id for one in older] == ["m2"]


@pytest.mark.usefixtures("search")
def test_pages_lose_no_row_of_a_batch(world: World, feed: Feed) -> None:
    for number in range(feeds.SHOWN + 5):
        at_ms = NOW_MS - 2 * HOUR - number // 10
        world.record(f"m{number:03}", "PROCESSED", "ACTED", at_ms, event=number)
    first, end_ms = feed.find_older(NOW_MS - HOUR, EVERY)
    second, _ = feed.find_older(end_ms, EVERY)
    assert len({one.id for one in first + second}) == feeds.SHOWN + 5


def test_a_copy_of_an_event_before_the_table_is_a_copy(world: World, feed: Feed) -> None:
    world.record("m2", "DUPLICATE", "SAME_KEY", NOW_MS, because="run#m1")
    ((_, outcome, verdict),) = rows(feed)
    assert outcome == "DUPLICATE"
    assert "older than this table" in verdict


def test_records_read_before_a_failure_get_their_rows_after_it(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record("m1", "PROCESSED", "ACTED", NOW_MS)

    def fail(*_: object) -> None:
        raise EndpointConnectionError(endpoint_url="http://here")

    with monkeypatch.context() as broken:
        broken.setattr(feeds, "tell", fail)
        assert rows(feed) == []
    world.pass_by(2)
    assert [one[0] for one in rows(feed)] == ["m1"]


def test_rows_of_a_stack_that_is_gone_leave_with_it(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record("m1", "PROCESSED", "ACTED", NOW_MS)
    assert len(rows(feed)) == 1
    monkeypatch.setattr(feed.stack, "reconnect", lambda: True)
    world.refused = True
    world.pass_by(2)
    rows(feed)
    world.refused = False
    world.lines.clear()
    world.pass_by(2)
    assert rows(feed) == []


def test_an_unreadable_stack_keeps_its_rows_and_says_why(world: World, feed: Feed) -> None:
    world.record("m1", "PROCESSED", "ACTED", NOW_MS)
    assert len(rows(feed)) == 1
    world.refused = True
    world.pass_by(2)
    assert len(rows(feed)) == 1
    assert "cannot be reached" in feed.trouble
    world.refused = False
    world.pass_by(2)
    rows(feed)
    assert feed.trouble == ""


def test_too_many_records_drop_quiet_subjects_first(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_KEPT", 3)
    for number in range(5):
        world.record(
            f"m{number}", "PROCESSED", "ACTED", NOW_MS - 10_000 + number, pk=f"-/user/u{number}"
        )
    assert [one[0] for one in rows(feed)] == ["m4", "m3", "m2"]


def test_median_and_95th_percentile_are_of_successful_requests(world: World, feed: Feed) -> None:
    assert feed.find_durations() is None
    for number in range(1, 21):
        world.record(f"m{number}", "PROCESSED", "ACTED", NOW_MS, durationMs=number * 10)
    rows(feed)
    assert feed.find_durations() == (105, 200)
