"""The requests on the rows, judged by DynamoDB's conditions."""

from collections.abc import Callable
from typing import Any

import pytest
from once_data_action import breaker
from once_data_action.breaker import Row

from tests.action.support import NOW, TABLE, Site

KEY = "0a" * 32
FORTNIGHT = str(NOW // 1000 + 14 * 86_400)


Write = Callable[[dict[str, Any]], bool]


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


def test_open_and_probe_leave_a_cleared_row_alone(site: Site, write: Write) -> None:
    seen = Row(NOW, 3, open_until_ms=NOW + 9)
    assert not write(breaker.open_(TABLE, Row(NOW, 3), NOW + 9, NOW))
    assert not write(breaker.probe(TABLE, seen, NOW + 20, NOW))
    assert site.table.row() is None


def test_pause_of_a_healthy_stack_ends_without_a_trace(site: Site, write: Write) -> None:
    assert write(breaker.pause(TABLE, "repair", "ada", NOW + 60_000, NOW))
    assert site.table.row() == Row(NOW, 0, None, NOW + 60_000, "repair", "ada")
    assert write(breaker.end_pause(TABLE))
    assert site.table.row() is None


def test_pause_in_an_outage_ends_but_its_beginning_stays(site: Site, write: Write) -> None:
    write(breaker.note_failure(TABLE, NOW, KEY, NOW))
    write(breaker.pause(TABLE, "repair", "ada", NOW + 60_000, NOW + 1))
    assert not write(breaker.end_pause(TABLE))
    assert write(breaker.resume(TABLE))
    assert site.table.row() == Row(NOW)


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
