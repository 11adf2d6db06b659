"""Every form of Retry-After that a destination may send."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from once_data_action.errors import Failed, RateLimited
from once_data_action.outbound import error_of, retry_after_seconds

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
        ("-5", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("0x10", None),
        ("Thu, 32 Jan 2026 99:00:00 GMT", None),
        ("Thu, 1 Jan 2026 3000000000:00:00 GMT", None),
        ("Mon, 04 May 2020 10:00:00 GMT", 0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400),
    ],
)
def test_rate_limit_says_how_long_to_wait(header: str, wanted: int | None) -> None:
    error = error_of(429, header)
    assert isinstance(error, RateLimited)
    assert (error.status, error.retry_after_seconds) == (429, wanted)


def test_503_is_a_rate_limit_only_with_a_time() -> None:
    error = error_of(503, "20")
    assert isinstance(error, RateLimited)
    assert error.retry_after_seconds == 20
    assert {type(error_of(503, header)) for header in ("later", None)} == {Failed}


@pytest.mark.parametrize(
    "header",
    [
        "Mon, 04 May 2026 10:00:30 GMT",
        "Monday, 04-May-26 10:00:30 GMT",
        "Mon May  4 10:00:30 2026",
        "Mon, 04 May 2026 12:00:30 +0200",
        "Mon, 04 May 2026 10:00:30 -0000",
    ],
)
def test_date_is_read_in_each_form(header: str) -> None:
    assert retry_after_seconds(header, NOW) == 30


@settings(max_examples=50)
@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Za-z]{3} \d+ \d+:\d+:\d+ ?\S*"))
def test_no_header_crashes_or_waits_without_end(header: str) -> None:
    wait = retry_after_seconds(header, NOW)
    assert wait is None or 0 <= wait <= 86_400
