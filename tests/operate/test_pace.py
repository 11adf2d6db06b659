"""The breaker's row in words, for every state that it can be in."""

from typing import Any

import pytest
from pacing import breaker_row

from once.operate import pace
from once.operate.pace import State

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
        (None, State.CLOSED, "breaker CLOSED: calls flow"),
        (
            row(since=NOW - 5_000, failed=["a", "b"]),
            State.CLOSED,
            "breaker CLOSED, calls flow, but 2 events failed since 2026-11-18 11:06:35 UTC and "
            "nobody was answered",
        ),
        (
            row(since=NOW - 60_000, failed=["a"] * 20, open_until=NOW + 20_000),
            State.OPEN,
            "breaker OPEN: no call was answered since 2026-11-18 11:05:40 UTC; one probes at "
            "11:07:00 UTC, in 20 s",
        ),
        (
            row(since=NOW - 60_000, failed=["a"] * 20, open_until=NOW - 1),
            State.HALF_OPEN,
            "breaker HALF_OPEN: no call was answered since 2026-11-18 11:05:40 UTC; the next event "
            "probes",
        ),
        (
            row(since=NOW - 1_000, not_before=NOW + 30_000),
            State.OPEN,
            "breaker OPEN: the destination answered 429; the next call at 11:07:10 UTC, in 30 s",
        ),
        (
            row(since=NOW, not_before=NOW + 7_200_000, held="repairs"),
            State.OPEN,
            "calls are held until 13:06:40 UTC, in 2 h: repairs",
        ),
        (
            row(since=NOW - 9_000, not_before=NOW - 1, held="repairs"),
            State.HALF_OPEN,
            "breaker HALF_OPEN: the hold has ended; the next event probes",
        ),
        (
            row(since=NOW - 9_000, not_before=NOW - 1),
            State.HALF_OPEN,
            "breaker HALF_OPEN: the destination answered 429; the next event probes",
        ),
        (
            row(since=NOW - 60_000, open_until=NOW - 9, not_before=NOW - 1, held="repairs"),
            State.HALF_OPEN,
            "breaker HALF_OPEN: no call was answered since 2026-11-18 11:05:40 UTC; the next event "
            "probes",
        ),
    ],
)
def test_the_breaker_in_words(item: dict[str, Any] | None, state: State, said: str) -> None:
    breaker = pace.read(item, NOW)
    assert breaker.state is state
    assert breaker.text(NOW) == said


def test_what_hold_writes_is_read_as_held() -> None:
    request = breaker_row.hold("claims", "repairs", NOW + 60_000, NOW)
    values = request["ExpressionAttributeValues"]
    written = {"since": values[":now"], "not_before": values[":new_not_before"]}
    assert pace.read({**written, "held": values[":by"]}, NOW).held == "repairs"
