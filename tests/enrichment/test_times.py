"""Times in every spelling of the field, and which clock is believed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.envelope import Moment, choose, iso, maybe_ms

MS = 1765551865126
LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(
    "spelling",
    [
        MS,
        str(MS),
        MS / 1000,
        float(MS),
        "2025-12-12T15:04:25.126Z",
        "2025-12-12T15:04:25.126000Z",
        "2025-12-12T15:04:25.126999999Z",
        "2025-12-12T16:04:25.126+01:00",
        "2025-12-12T15:04:25.126",
        "2025-12-12T15:04:25.126+0000",
    ],
)
def test_one_moment_in_every_spelling(spelling: Any) -> None:
    assert maybe_ms(spelling) == MS


@pytest.mark.parametrize(
    "spelling", [1765551865, "1765551865", "2025-12-12T15:04:25Z", 1765551865.0]
)
def test_whole_seconds(spelling: Any) -> None:
    assert maybe_ms(spelling) == 1765551865000


def test_the_smallest_count_of_milliseconds_lies_in_1973() -> None:
    assert iso(maybe_ms(100_000_000_000)) == "1973-03-03T09:46:40.000Z"
    assert iso(maybe_ms(99_999_999_999)) == "5138-11-16T09:46:39.000Z"


@pytest.mark.parametrize(
    "nothing",
    [
        *("", "soon", "12:00", "9" * 30, "0001-01-01T00:00:00Z", "2025-13-01T00:00:00Z", "\ud800"),
        *(
            "20260504110005123",
            0,
            -1,
            LAST_MS + 1,
            10**20,
            float("inf"),
            float("nan"),
            True,
            None,
            [],
            {},
        ),
    ],
)
def test_other_values_are_no_time(nothing: Any) -> None:
    assert maybe_ms(nothing) is None


def test_the_last_time_that_can_be_written() -> None:
    assert iso(LAST_MS) == "9999-12-31T23:59:59.999Z"
    assert maybe_ms(LAST_MS) == LAST_MS


@given(st.integers(min_value=1, max_value=LAST_MS))
def test_iso_is_what_the_library_writes(ms: int) -> None:
    text = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    assert iso(ms) == text.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if ms >= 100_000_000_000:
        assert maybe_ms(iso(ms)) == ms


@given(st.text(max_size=30) | st.floats() | st.integers())
def test_whatever_comes_it_is_a_time_or_none(value: Any) -> None:
    ms = maybe_ms(value)
    assert ms is None or 0 < ms <= LAST_MS


SENT = MS + 10_000


@pytest.mark.parametrize(
    ("business", "published", "envelope", "chosen"),
    [
        (MS, MS + 300, "2025-12-12T15:04:25Z", Moment(MS, 500, True)),
        (None, MS + 300, "2025-12-12T15:04:25Z", Moment(MS + 300, 500, True)),
        (None, 1765551865000, None, Moment(1765551865000, 1500, True)),
        (None, None, "2025-12-12T15:04:25Z", Moment(1765551865000, 1500, False)),
        (None, None, None, Moment(SENT, 60_000, False)),
        (SENT + 300_000, MS, None, Moment(SENT + 300_000, 500, True)),
        (SENT + 300_001, MS, None, Moment(MS, 500, True)),
        (
            SENT + 300_001,
            SENT + 300_001,
            "2025-12-12T15:04:25Z",
            Moment(1765551865000, 1500, False),
        ),
        (None, None, "2099-01-01T00:00:00Z", Moment(SENT, 60_000, False)),
    ],
)
def test_the_first_clock_that_is_believed(
    business: int | None, published: int | None, envelope: str | None, chosen: Any
) -> None:
    assert choose(business, published, envelope, SENT) == chosen


def test_without_a_queue_every_clock_is_believed() -> None:
    assert choose(MS * 10, None, None, None) == Moment(MS * 10, 500, True)
    assert choose(LAST_MS, None, None, None) == Moment(LAST_MS, 500, True)
    assert choose(None, None, None, None) is None
