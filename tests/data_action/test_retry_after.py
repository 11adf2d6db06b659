"""Every form of Retry-After that a destination may send."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_data_action.replies import retry_after_seconds

from tests.data_action.support import Bench

NOW = datetime(2026, 5, 4, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("0", 0),
        ("1", 1),
        ("12", 12),
        (" 7 ", 7),
        ("1.2", 2),
        ("180", 180),
        ("181", 181),
        ("86400", 86_400),
        ("86401", 86_400),
        ("9" * 400, 86_400),
        ("-5", 30),
        ("soon", 30),
        ("nan", 30),
        ("inf", 30),
        ("1e9", 30),
        ("0x10", 30),
        ("Thu, 32 Jan 2026 99:00:00 GMT", 30),
        ("Thu, 1 Jan 2026 3000000000:00:00 GMT", 30),
        ("Mon, 04 May 2020 10:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(either: Bench, header: str, wanted: int) -> None:
    either.server.script.add({"replies": [{"status": 429, "retryAfter": header}]})
    name, message = either.fails()
    assert name == "RateLimited"
    assert message["retryAfterSeconds"] == wanted
    assert message["status"] == 429


def test_a_rate_limit_without_a_time_waits_for_half_a_minute(either: Bench) -> None:
    either.server.script.add({"replies": [429]})
    assert either.fails()[1]["retryAfterSeconds"] == 30


def test_a_date_is_counted_from_now(either: Bench) -> None:
    either.server.script.add({"replies": [{"status": 429, "retryAfterDate": 90}]})
    assert 85 <= either.fails()[1]["retryAfterSeconds"] <= 90


def test_a_503_with_a_time_is_listened_to(either: Bench) -> None:
    either.server.script.add({"replies": [{"status": 503, "retryAfter": 20}]})
    name, message = either.fails()
    assert (name, message["retryAfterSeconds"], message["status"]) == ("RateLimited", 20, 503)


def test_a_503_with_garbage_is_transient(either: Bench) -> None:
    either.server.script.add({"replies": [{"status": 503, "retryAfter": "later"}]})
    assert either.fails()[0] == "Transient"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("Mon, 04 May 2026 10:00:30 GMT", 30),
        ("Monday, 04-May-26 10:00:30 GMT", 30),
        ("Mon May  4 10:00:30 2026", 30),
        ("Mon, 04 May 2026 12:00:30 +0200", 30),
        ("Mon, 04 May 2026 10:00:30 -0000", 30),
    ],
)
def test_each_form_of_date_is_read(header: str, wanted: int) -> None:
    assert retry_after_seconds(header, NOW) == wanted


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Za-z]{3} \d+ \d+:\d+:\d+ ?\S*"))
def test_no_header_makes_it_fail_or_wait_for_ever(header: str) -> None:
    wait = retry_after_seconds(header, NOW)
    assert wait is None or 0 <= wait <= 86_400
