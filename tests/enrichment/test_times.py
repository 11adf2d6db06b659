"""Times in every spelling of the field, and which clock is believed."""

from datetime import UTC, datetime
from typing import Any

import pytest
from enrichment.times import as_iso, choose, iso, maybe_ms, to_ms
from hypothesis import given
from hypothesis import strategies as st

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
    assert to_ms(spelling) == MS


@pytest.mark.parametrize(
    "spelling", [1765551865, "1765551865", "2025-12-12T15:04:25Z", 1765551865.0]
)
def test_whole_seconds(spelling: Any) -> None:
    assert to_ms(spelling) == 1765551865000


@pytest.mark.parametrize(
    "nothing",
    [
        *("", "soon", "12:00", "9" * 30, "0001-01-01T00:00:00Z", "2025-13-01T00:00:00Z", "\ud800"),
        *(0, -1, LAST_MS + 1, 10**20, float("inf"), float("nan"), True, None, [], {}),
    ],
)
def test_what_is_no_time(nothing: Any) -> None:
    assert maybe_ms(nothing) is None
    assert as_iso(nothing) is None


def test_the_last_time_that_can_be_written() -> None:
    assert iso(LAST_MS) == "9999-12-31T23:59:59.999Z"
    assert maybe_ms(LAST_MS) == LAST_MS


@given(st.integers(min_value=1, max_value=LAST_MS))
def test_iso_is_what_the_library_writes(ms: int) -> None:
    text = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    assert iso(ms) == text.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if ms >= 100_000_000_000:
        assert to_ms(iso(ms)) == ms
        assert as_iso(iso(ms)) == iso(ms)


@given(st.text(max_size=30) | st.floats() | st.integers())
def test_whatever_comes_it_is_a_time_or_none(value: Any) -> None:
    ms = maybe_ms(value)
    assert ms is None or 0 < ms <= LAST_MS


@given(
    st.from_regex(
        r"[0-2][09][0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6]0:[0-6]0\.000Z", fullmatch=True
    )
)
def test_what_looks_like_a_time_is_one_or_none(text: str) -> None:
    """The 29th of February, the 25th hour, and years before any clock of ours."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        assert as_iso(text) is None
    else:
        assert as_iso(text) == (text if moment.timestamp() > 0 else None)


def test_a_week_date_is_rewritten() -> None:
    assert as_iso("2025-W50-5T15:04:25.431Z") == "2025-12-12T15:04:25.431Z"


SENT = MS + 10_000


@pytest.mark.parametrize(
    ("business", "published", "envelope", "chosen"),
    [
        (MS, MS + 300, "2025-12-12T15:04:25Z", (MS, 500, True)),
        (None, MS + 300, "2025-12-12T15:04:25Z", (MS + 300, 500, True)),
        (None, 1765551865000, None, (1765551865000, 1500, True)),
        (None, None, "2025-12-12T15:04:25Z", (1765551865000, 1500, False)),
        (None, None, None, (SENT, 60_000, False)),
        (SENT + 300_001, MS, None, (MS, 500, True)),
        (SENT + 300_001, SENT + 300_001, "2025-12-12T15:04:25Z", (1765551865000, 1500, False)),
        (None, None, "2099-01-01T00:00:00Z", (SENT, 60_000, False)),
    ],
)
def test_the_first_clock_that_is_believed(
    business: int | None, published: int | None, envelope: str | None, chosen: Any
) -> None:
    assert choose(business, published, envelope, SENT) == chosen


def test_without_a_queue_every_clock_is_believed() -> None:
    assert choose(MS * 10, None, None, None) == (MS * 10, 500, True)
    assert choose(None, None, None, None) is None
