"""The breaker decides if requests flow, if none is sent, and if one probes; DynamoDB's conditions
judge the requests on its row and on those of the limit."""

from collections.abc import Callable
from typing import Any

import pytest
from once_data_action import breaker
from once_data_action.breaker import Open, Probe, Row, Times, Wait, judge

from tests.action.support import NOW, TABLE, Site

TIMES = Times.of()
SINCE = 1_777_888_800_000
KEY = "0a" * 32
FORTNIGHT = str(NOW // 1000 + 14 * 86_400)
Write = Callable[[dict[str, Any]], bool]


def test_no_row_lets_requests_flow() -> None:
    assert judge(None, SINCE, TIMES) is None


@pytest.mark.parametrize(
    ("failed", "lasted_ms", "opens"),
    [
        (2, 3_600_000, False),  # two events that always fail are no outage
        (3, 299_999, False),
        (3, 300_000, True),  # three of 20 events per hour
        (19, 299_999, False),
        (20, 11_999, False),  # a slow response may still succeed
        (20, 12_000, True),  # 20 of 50 events per second
    ],
)
def test_breaker_opens_by_failed_events_and_time_without_success(
    failed: int, lasted_ms: int, opens: bool
) -> None:
    row, now_ms = Row(SINCE, failed), SINCE + lasted_ms
    assert judge(row, now_ms, TIMES) == (Open(row, now_ms + 20_000) if opens else None)


@pytest.mark.parametrize(
    ("lasted_ms", "pause_ms"),
    [(32_000, 20_000), (600_000, 40_000), (4_500_000, 300_000), (86_400_000, 300_000)],
)
def test_pause_between_probes_is_a_fifteenth_of_the_outage_within_bounds(
    lasted_ms: int, pause_ms: int
) -> None:
    row, now_ms = Row(SINCE, failed=20, open_until_ms=SINCE + 32_000), SINCE + lasted_ms
    assert judge(row, now_ms, TIMES) == Probe(row, now_ms + pause_ms)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row(SINCE, not_before_ms=SINCE + 9), "RATE_LIMITED"),
        (Row(SINCE, not_before_ms=SINCE + 9, held="repair", held_by="ada"), "PAUSED"),
        (Row(SINCE, 3, SINCE + 9, SINCE + 9, "repair", "ada"), "PAUSED"),
        (Row(SINCE, 3, SINCE + 9, SINCE + 1, "repair", "ada"), "BREAKER_OPEN"),
        (Row(SINCE, 3, SINCE + 1, SINCE + 9), "RATE_LIMITED"),
    ],
)
def test_wait_names_its_reason_until_the_later_time_and_then_one_probes(
    row: Row, reason: str
) -> None:
    assert judge(row, SINCE + 8, TIMES) == Wait(reason)
    assert isinstance(judge(row, SINCE + 9, TIMES), Probe)


def test_faster_stack_still_opens_no_sooner_than_a_request_may_take() -> None:
    fast, row = Times.of(call_ms=2_000, scale=0.1), Row(SINCE, failed=20)
    assert judge(row, SINCE + 5_999, fast) is None
    assert judge(row, SINCE + 6_000, fast) == Open(row, SINCE + 8_000)


@pytest.fixture
def write(site: Site) -> Write:
    """Returns a function that makes a write and says if its condition held."""

    def make(request: dict[str, Any]) -> bool:
        verb = "update_item" if "UpdateExpression" in request else "delete_item"
        return site.driver._ask(getattr(site.table, verb), request) is not None

    return make


def test_failures_of_an_event_count_once_and_only_its_first(site: Site, write: Write) -> None:
    for since_ms in (NOW, NOW + 5):
        assert write(breaker.note_failure(TABLE, since_ms, KEY, NOW))
    assert write(breaker.note_failure(TABLE, NOW + 9, None, NOW))
    assert site.table.row() == Row(NOW, failed=1)


def test_set_of_failed_events_ends_at_twenty(site: Site, write: Write) -> None:
    keys = [f"{number:064x}"[::-1] for number in range(21)]
    taken = [write(breaker.note_failure(TABLE, NOW, key, NOW)) for key in keys]
    assert taken == [*[True] * 20, False]
    assert site.table.row() == Row(NOW, failed=20)


@pytest.mark.parametrize(
    ("started_ms", "cleared"), [(NOW - 1, False), (NOW, False), (NOW + 1, True)]
)
def test_success_clears_only_failures_from_before_its_request(
    site: Site, write: Write, started_ms: int, cleared: bool
) -> None:
    write(breaker.note_failure(TABLE, NOW, KEY, NOW))
    assert write(breaker.clear(TABLE, started_ms)) == cleared
    assert (site.table.row() is None) == cleared


def test_success_ends_no_429_and_no_pause_that_is_not_over(write: Write) -> None:
    assert write(breaker.note_rate_limited(TABLE, NOW, NOW + 30_000, NOW))
    assert not write(breaker.clear(TABLE, NOW + 29_999))
    assert not write(breaker.note_rate_limited(TABLE, NOW, NOW + 20_000, NOW))
    assert write(breaker.pause(TABLE, "repair", "ada", NOW + 60_000, NOW))
    assert not write(breaker.clear(TABLE, NOW + 59_999))
    assert write(breaker.clear(TABLE, NOW + 60_000))


def test_one_of_two_opens_and_one_of_two_probes(site: Site, write: Write) -> None:
    write(breaker.note_failure(TABLE, NOW, KEY, NOW))
    seen = Row(NOW, 1)
    assert [write(breaker.open_(TABLE, seen, NOW + 9, NOW)) for _ in "12"] == [True, False]
    seen = Row(NOW, 1, open_until_ms=NOW + 9)
    assert [write(breaker.probe(TABLE, seen, NOW + 20, NOW)) for _ in "12"] == [True, False]
    assert write(breaker.end_probe(TABLE, NOW + 20, NOW + 10))
    assert site.table.row() == Row(NOW, 1, open_until_ms=NOW + 10), "the next event may probe"


def test_slot_gives_its_tokens_and_no_more_and_is_kept_for_an_hour(
    site: Site, write: Write
) -> None:
    assert [write(breaker.take_token(TABLE, 7, 2, NOW)) for _ in "123"] == [True, True, False]
    assert write(breaker.take_token(TABLE, 8, 2, NOW))
    ends = [row["expires_at"]["N"] for row in site.table.rows.values() if row]
    assert ends == [str(NOW // 1000 + 3_600)] * 2


def test_every_write_renews_the_end_of_the_row(site: Site, write: Write) -> None:
    for request in (
        breaker.note_failure(TABLE, NOW, KEY, NOW),
        breaker.open_(TABLE, Row(NOW), NOW + 1, NOW),
        breaker.probe(TABLE, Row(NOW, open_until_ms=NOW + 1), NOW + 2, NOW),
        breaker.end_probe(TABLE, NOW + 2, NOW),
        breaker.note_rate_limited(TABLE, NOW, NOW + 9, NOW),
    ):
        for row in site.table.rows.values():
            assert row is None or row.pop("expires_at")
        assert write(request)
        assert [row["expires_at"]["N"] for row in site.table.rows.values() if row] == [FORTNIGHT]
