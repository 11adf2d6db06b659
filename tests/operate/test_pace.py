"""The breaker's row in words, for every state that it can be in."""

from typing import Any

import pytest
from once_pacing import breaker_row

from once.operate.pace import State, parse_breaker

NOW = 1_795_000_000_000


def row(**fields: Any) -> dict[str, Any]:
    return {
        name: {"SS" if isinstance(v, list) else "S" if isinstance(v, str) else "N": v}
        if isinstance(v, list | str)
        else {"N": str(v)}
        for name, v in fields.items()
    }


@pytest.mark.parametrize(
    ("item", "state", "said"),
    [
        (None, State.CLOSED, "breaker CLOSED: requests are sent"),
        (
            row(since=NOW - 5_000, failed=["a", "b"]),
            State.CLOSED,
            "breaker CLOSED: requests are sent, but 2 events failed and no request succeeded since "
            "2026-11-18 11:06:35 UTC",
        ),
        (
            row(since=NOW - 60_000, failed=["a"] * 20, open_until=NOW + 20_000),
            State.OPEN,
            "breaker OPEN: no request succeeded since 2026-11-18 11:05:40 UTC; the next request "
            "is at 11:07:00 UTC, in 20 s",
        ),
        (
            row(since=NOW - 60_000, failed=["a"] * 20, open_until=NOW - 1),
            State.HALF_OPEN,
            "breaker HALF_OPEN: no request succeeded since 2026-11-18 11:05:40 UTC; the next event "
            "probes",
        ),
        (
            row(since=NOW - 1_000, not_before=NOW + 30_000),
            State.OPEN,
            "breaker OPEN: the destination answered 429; the next request is at "
            "11:07:10 UTC, in 30 s",
        ),
        (
            row(since=NOW - 60_000, not_before=NOW - 9, open_until=NOW + 16_000),
            State.OPEN,
            "breaker OPEN: the destination answered 429; the next request is at "
            "11:06:56 UTC, in 16 s",
        ),
        (
            row(since=NOW, not_before=NOW + 10_560_000, held="repairs"),
            State.OPEN,
            "requests are paused: repairs; until 2026-11-18 14:02:40 UTC, in 2 h 56 min",
        ),
        (
            row(since=NOW - 9_000, not_before=NOW - 1, held="repairs"),
            State.HALF_OPEN,
            "breaker HALF_OPEN: a pause has ended; the next event probes",
        ),
        (
            row(since=NOW - 9_000, not_before=NOW - 1),
            State.HALF_OPEN,
            "breaker HALF_OPEN: the destination answered 429; the next event probes",
        ),
        (
            row(since=NOW - 60_000, open_until=NOW - 9, not_before=NOW - 1, held="repairs"),
            State.HALF_OPEN,
            "breaker HALF_OPEN: no request succeeded since 2026-11-18 11:05:40 UTC; the next event "
            "probes",
        ),
    ],
)
def test_the_breaker_in_words(item: dict[str, Any] | None, state: State, said: str) -> None:
    breaker = parse_breaker(item, NOW)
    assert breaker.state is state
    assert breaker.text(NOW) == said


def test_a_pause_is_read_as_it_is_written() -> None:
    request = breaker_row.pause("claims", "repairs", "ada", NOW + 60_000, NOW)
    values = request["ExpressionAttributeValues"]
    written = {
        "since": values[":now"],
        "not_before": values[":new_not_before"],
        "held": values[":reason"],
        "held_by": values[":by"],
        "held_at": values[":now"],
    }
    pause = parse_breaker(written, NOW).pause
    assert pause is not None
    assert (pause.reason, pause.by, pause.since_ms, pause.until_ms) == (
        *("repairs", "ada"),
        *(NOW, NOW + 60_000),
    )
