"""Each row of the table says what `once explain` says, whatever of it lies outside of the table."""

import json
import re
import threading
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from once.console import feed as feeds
from once.console.feed import Feed
from once.console.rows import Filter, Row
from once.operate import claims, executions, explain, log, status
from once.operate.claims import Claim
from once.operate.stack import Stack
from once.operate.story import Event, tell

NOW_MS = 1_795_000_100_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
PK, FAMILY = "-/conversation/c-1", "conversation.customer.start"
SK = f"v1/{FAMILY}/p/1"


class World:
    """An outcome log and a claim table in memory, read through the commands' own functions."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.lines: list[tuple[int, str]] = []
        self.claims: list[Claim] = []
        self.searches: list[str] = []
        self.paused = ""

    def record(
        self, message_id: str, outcome: str, reason: str, at_ms: int, sk: str = SK, **more: object
    ) -> None:
        said = {"messageId": message_id, "outcome": outcome, "reason": reason, "pk": PK, "sk": sk}
        self.lines.append((at_ms, json.dumps(said | {"family": FAMILY} | more)))

    def get_paginator(self, _: str) -> Any:
        def paginate(startTime: int, **_: object) -> Iterator[Any]:  # noqa: N803
            found = [(n, one) for n, one in enumerate(self.lines) if one[0] >= startTime]
            yield {
                "events": [
                    {"eventId": str(n), "timestamp": at_ms, "message": line}
                    for n, (at_ms, line) in found
                ]
            }

        return SimpleNamespace(paginate=paginate)

    def insights(
        self, _: object, __: str, since_ms: int, pattern: str, until_ms: int | None = None
    ) -> list[tuple[int, str]]:
        self.searches.append(pattern)
        until_ms = self.now_ms if until_ms is None else until_ms
        since_ms, until_ms = since_ms // 1000 * 1000, until_ms // 1000 * 1000 + 1_000
        return [
            (at_ms, line)
            for at_ms, line in sorted(self.lines)
            if since_ms <= at_ms <= until_ms and re.search(pattern, line)
        ][-log.MOST :]

    @property
    def waiting(self) -> list[Any]:
        waits = SimpleNamespace(reason="BREAKER_OPEN", said=self.paused)
        return [waits] if self.paused else []

    def explained(self, message_id: str) -> tuple[str | None, str, int]:
        for subject in explain.of(STACK, message_id, 14).subjects:
            for event in subject.events:
                if message_id in {one.message_id for one in event.messages}:
                    return event.outcome, event.verdict, len(event.messages)
        raise AssertionError(f"{message_id} is unknown to once explain")


STACK = cast(Stack, SimpleNamespace())


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    outputs = {"OutcomeLogGroupName": "outcomes", "EventBusName": "default", "EventQueueUrl": "q"}
    STACK.__dict__.update(
        embedded=True, up=None, name="once", outputs=outputs, parameters={}, only_observes=False
    )
    STACK.__dict__["client"] = lambda _: made
    monkeypatch.setattr(log, "insights", made.insights)
    monkeypatch.setattr(log, "now_ms", lambda: made.now_ms)
    monkeypatch.setattr(
        claims, "of_subject", lambda _, pk: ([one for one in made.claims if one.pk == pk], [])
    )
    monkeypatch.setattr(executions, "links", lambda *_: {})
    monkeypatch.setattr(explain, "depth", lambda *_: SimpleNamespace(total=0))
    monkeypatch.setattr(status, "of", lambda *_: SimpleNamespace(waiting=made.waiting))
    return made


@pytest.fixture
def feed(world: World) -> Iterator[Feed]:  # noqa: ARG001 - it reads this world
    made = Feed(STACK)
    yield made
    made.close()


def claim(owner: str, status: str = "DONE", occurrence: int = 1, **more: Any) -> Claim:
    return Claim.model_validate(
        {"pk": PK, "sk": SK, "status": status, "owner": owner, "family": FAMILY, "topic": "t"}
        | {"message_id": owner.rpartition("#")[2], "event_time": NOW_MS, "claimed_at": NOW_MS}
        | {"lease_until": NOW_MS, "expires_at": NOW_MS // 1000 + 1_000, "occurrence": occurrence}
        | more
    )


def said(row: Row) -> tuple[str | None, str, int]:
    return row.outcome, row.why, row.messages


def row_of(feed: Feed, message_id: str) -> Row:
    feed.read()
    feed.complete()
    (row,) = feed.rows(Filter(id=message_id))
    return row


def test_a_row_that_waits_for_the_breaker_says_what_is_known_now(world: World, feed: Feed) -> None:
    world.record("m-1", "RETRY", "BREAKER_OPEN", NOW_MS - 1_000, returnsAtMs=NOW_MS + MINUTE)
    assert said(row_of(feed, "m-1")) == world.explained("m-1")
    for now in ("the destination answers nobody", "the CRM is being repaired"):
        before = feed.version
        world.paused = now
        feed.look()
        assert feed.version > before, "the page is sent it"
        why = row_of(feed, "m-1").why
        assert f"not settled yet: {now}; comes back at" in why
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS, calls=1)
    assert said(row_of(feed, "m-1")) == world.explained("m-1")


@pytest.mark.parametrize("typed", ["c-1", "customer.start", "Customer arrives"])
def test_a_part_of_an_id_a_family_and_words_find_the_row(
    world: World, feed: Feed, typed: str
) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 1_000, calls=1)
    feed.read()
    assert [one.ids[-1] for one in feed.near(typed)] == ["m-1"]
    assert feed.near("user.start") == []


@pytest.mark.parametrize(("outcome", "reason"), [("RETRY", "CALL_FAILED"), ("PARKED", "REJECTED")])
def test_an_event_that_was_forgotten_and_did_not_act_again_says_so(
    world: World, feed: Feed, outcome: str, reason: str
) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - HOUR, calls=1)
    world.record("m-2", outcome, reason, NOW_MS - 1_000, calls=1, status=500)
    world.claims = [claim("run#m-2", "FAILED", occurrence=-(NOW_MS - MINUTE))]
    row = row_of(feed, "m-1")
    assert row.outcome == outcome
    assert said(row) == world.explained("m-1")


@pytest.mark.parametrize("is_known", [True, False])
def test_what_was_forgotten_on_the_page_says_so_though_no_record_does(
    world: World, feed: Feed, is_known: bool
) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - HOUR, calls=1)
    if is_known:
        assert row_of(feed, "m-1").why == "acted once"
    world.claims = [claim("run#m-1", "FAILED", occurrence=-(NOW_MS - MINUTE))]
    feed.doubt(PK)
    row = row_of(feed, "m-1")
    assert "forgotten on purpose" in row.why
    assert said(row) == world.explained("m-1")


def test_an_event_that_was_opened_and_acted_twice_says_why(world: World, feed: Feed) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - HOUR, calls=1)
    world.record("m-2", "PROCESSED", "ACTED", NOW_MS - 1_000, calls=1)
    world.claims = [claim("run#m-2", occurrence=-(NOW_MS - MINUTE), outcome="PROCESSED")]
    row = row_of(feed, "m-1")
    assert "on purpose" in row.why
    assert said(row) == world.explained("m-1")


def test_a_copy_of_what_acted_days_ago_says_what_explain_says(world: World, feed: Feed) -> None:
    world.record("m-1", "RETRY", "CALL_FAILED", NOW_MS - 3 * DAY - HOUR, calls=1)
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 3 * DAY, calls=1)
    world.record("m-2", "DUPLICATE", "SAME_KEY", NOW_MS - 1_000, because="run#m-1")
    world.claims = [claim("run#m-1", outcome="PROCESSED", done_at=NOW_MS - 3 * DAY)]
    row = row_of(feed, "m-2")
    assert (row.outcome, row.messages) == ("PROCESSED", 2)
    assert said(row) == world.explained("m-2")
    assert said(row_of(feed, "m-2")) == said(row)


def test_a_copy_that_is_recorded_before_what_acted_needs_no_search(
    world: World, feed: Feed
) -> None:
    world.record("m-2", "DUPLICATE", "SAME_KEY", NOW_MS - 100, because="run#m-1")
    feed.read()
    (row,) = feed.rows(Filter())
    assert row.why == "what acted in its place is being looked for"
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 99, calls=1)
    row = row_of(feed, "m-2")
    assert world.searches == []
    assert said(row) == world.explained("m-2")


def test_what_the_log_forgot_is_searched_once_and_known_by_its_claim(
    world: World, feed: Feed
) -> None:
    world.record("m-2", "DUPLICATE", "SAME_KEY", NOW_MS - 1_000, because="run#m-1")
    world.claims = [claim("run#m-1", outcome="PROCESSED", done_at=NOW_MS - 20 * DAY)]
    row = row_of(feed, "m-2")
    assert (row.outcome, said(row)) == ("PROCESSED", world.explained("m-2"))
    world.searches.clear()
    world.record("m-3", "DUPLICATE", "SAME_KEY", NOW_MS, because="run#m-1")
    assert row_of(feed, "m-3").messages == 2
    assert world.searches == []


def test_who_works_on_it_is_said_until_a_record_tells_its_end(world: World, feed: Feed) -> None:
    world.record("m-2", "RETRY", "HELD", NOW_MS - 1_000, because="run#m-1")
    world.claims = [claim("run#m-1", "IN_PROGRESS", lease_until=NOW_MS + HOUR)]
    row = row_of(feed, "m-2")
    assert row.why.startswith("being worked on")
    assert said(row) == world.explained("m-2")
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS, calls=1)
    world.claims = [claim("run#m-1", outcome="PROCESSED", done_at=NOW_MS)]
    feed.read()
    (row,) = feed.rows(Filter(id="m-2"))
    assert (row.outcome, row.why) == ("PROCESSED", "acted once")


def test_who_ends_while_claims_are_read_is_not_said_to_work_still(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record("m-2", "RETRY", "HELD", NOW_MS - 1_000, because="run#m-1")
    working = claim("run#m-1", "IN_PROGRESS", lease_until=NOW_MS + HOUR)

    def read_before_its_end(*_: object) -> tuple[list[Claim], list[Any]]:
        world.record("m-1", "PROCESSED", "ACTED", NOW_MS, calls=1)
        feed.read()
        return [working], []

    monkeypatch.setattr(claims, "of_subject", read_before_its_end)
    feed.read()
    feed.complete()
    (row,) = feed.rows(Filter(id="m-2"))
    assert (row.outcome, row.why) == ("PROCESSED", "acted once")


def older(feed: Feed, before_ms: int, message_id: str = "") -> feeds.Older:
    return feed.older((-before_ms, ""), Filter(id=message_id))


def test_what_was_settled_after_a_page_ends_is_on_the_newer_one_as_explain_says(
    world: World, feed: Feed
) -> None:
    at_ms = NOW_MS - 3 * DAY
    world.record("m-1", "RETRY", "CALL_FAILED", at_ms, calls=1, returnsAtMs=at_ms + MINUTE)
    world.record("m-1", "PROCESSED", "ACTED", at_ms + 5 * MINUTE, calls=1)
    assert older(feed, at_ms + 3 * MINUTE).rows == []
    (row,) = older(feed, at_ms + 6 * MINUTE).rows
    assert said(row) == world.explained("m-1")


def test_what_nobody_settled_stands_on_its_page_as_explain_says(world: World, feed: Feed) -> None:
    at_ms = NOW_MS - 3 * DAY
    world.record("m-1", "RETRY", "CALL_FAILED", at_ms, calls=1, returnsAtMs=at_ms + MINUTE)
    (row,) = older(feed, at_ms + 3 * MINUTE).rows
    assert "is it dead?" in row.why
    assert said(row) == world.explained("m-1")


def test_a_copy_whose_first_is_on_the_page_before_says_what_explain_says(
    world: World, feed: Feed
) -> None:
    at_ms = NOW_MS - 3 * DAY
    world.record("m-1", "PROCESSED", "ACTED", at_ms - 2 * DAY, calls=1)
    world.record("m-2", "DUPLICATE", "SAME_KEY", at_ms, because="run#m-1")
    world.claims = [claim("run#m-1", outcome="PROCESSED", done_at=at_ms - 2 * DAY)]
    (row,) = older(feed, at_ms + MINUTE).rows
    assert row.messages == 2
    assert said(row) == world.explained("m-2")


def test_older_goes_on_over_empty_days_until_something_is_found(world: World, feed: Feed) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 5 * DAY, calls=1)
    feed.read()
    place, days = (-NOW_MS, ""), 0
    while not (page := feed.older(place, Filter())).rows:
        assert page.next > place
        place, days = page.next, days + 1
    assert [one.id for one in page.rows] == ["m-1"]
    assert days < 5


@pytest.mark.parametrize("before_ms", [0, 1, 10**30])
def test_a_time_that_no_page_has_is_an_empty_page_or_the_whole_table(
    world: World, feed: Feed, before_ms: int
) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 1)
    feed.read()
    page = older(feed, before_ms)
    assert [one.id for one in page.rows] == (["m-1"] if before_ms > NOW_MS else [])
    assert page.since_ms >= 0


@pytest.mark.parametrize("back_ms", [0, 3 * DAY])
def test_no_row_of_a_millisecond_is_lost_between_two_pages(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch, back_ms: int
) -> None:
    monkeypatch.setattr(feeds, "SHOWN", 3)
    ids = {str(uuid.uuid4()) for _ in range(8)}
    for number, message_id in enumerate(sorted(ids)):
        world.record(message_id, "PROCESSED", "ACTED", NOW_MS - 1 - back_ms, sk=f"{SK}{number}")
    feed.read()
    seen: list[str] = []
    place = (-NOW_MS, "")
    for _ in range(5):
        page = feed.older(place, Filter())
        seen += [one.id for one in page.rows]
        place = page.next
    assert sorted(seen) == sorted(ids)


def test_what_waits_is_told_again_when_its_time_has_come_and_not_before(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon, late = NOW_MS + 5_000, NOW_MS + HOUR
    for number, returns_ms in enumerate((soon, late)):
        world.lines.append((NOW_MS, json.dumps(waiting(number, returns_ms))))
    feed.read()
    counts: list[int] = []

    def counted(*given: Any) -> list[Event]:
        counts.append(1)
        return tell(*given)

    monkeypatch.setattr(feeds, "tell", counted)
    world.now_ms += 4_000
    feed.read()
    assert counts == []
    world.now_ms += 2_000
    feed.read()
    assert counts == [1]
    whys = [one.why for one in feed.rows(Filter())]
    assert sum("it is due now" in why for why in whys) == 1


def waiting(number: int, returns_ms: int) -> dict[str, object]:
    return {
        "messageId": f"m-{number}",
        "outcome": "RETRY",
        "reason": "LIMITED",
        "pk": f"-/conversation/c-{number}",
        "sk": SK,
        "family": FAMILY,
        "returnsAtMs": returns_ms,
    }


def test_what_could_not_be_completed_is_tried_again(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS - 3 * DAY, calls=1)
    world.record("m-2", "DUPLICATE", "SAME_KEY", NOW_MS - 1_000, because="run#m-1")

    def refused(*_: object, **__: object) -> None:
        raise feeds.OnceError("no right to search the log")

    monkeypatch.setattr(log, "insights", refused)
    feed.refresh()
    assert feed.trouble == "no right to search the log"
    monkeypatch.setattr(log, "insights", world.insights)
    assert said(row_of(feed, "m-2")) == world.explained("m-2")


def test_one_trouble_does_not_hide_another(
    world: World, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise feeds.OnceError("no right to look at the pipe")

    monkeypatch.setattr(status, "of", refused)
    feed.refresh()
    assert feed.trouble == "no right to look at the pipe"
    world.record("m-1", "PROCESSED", "ACTED", NOW_MS)
    feed._read_at = 0
    feed.refresh()
    assert feed.rows(Filter())
    assert feed.trouble == "no right to look at the pipe"


def test_ctrl_c_closes_the_feed_in_the_midst_of_anything(feed: Feed) -> None:
    """Its handler runs wherever the main thread is, which may hold any lock."""
    closing = threading.Thread(target=feed.close, daemon=True)
    with feed._heard._cond, feed._lock:
        closing.start()
        closing.join(5)
        assert not closing.is_alive()
    assert feed.closed
