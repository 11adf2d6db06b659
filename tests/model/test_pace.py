"""The breaker's row in an operator's words, against the function that decides by it."""

from typing import Any

import pytest
from once_data_action.breaker import Row, Times, Wait, judge

from once.model.status import Breaker, State

NOW_MS = 1_800_000_000_000
PAUSE = {"held": "repair", "held_by": "ada", "held_at": NOW_MS - 1}


def row(**values: Any) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name, value in values.items():
        kind = "SS" if isinstance(value, list) else "S" if isinstance(value, str) else "N"
        item[name] = {kind: str(value) if kind == "N" else value}
    return item


@pytest.mark.parametrize(
    ("values", "state", "why"),
    [
        (None, State.CLOSED, ""),
        ({"since": NOW_MS - 1, "failed": ["a"]}, State.CLOSED, ""),
        ({"since": NOW_MS - 1, "failed": ["a"], "open_until": NOW_MS + 9}, State.OPEN, "outage"),
        ({"since": NOW_MS - 1, "failed": ["a"], "open_until": NOW_MS}, State.HALF_OPEN, "outage"),
        ({"since": NOW_MS - 1, "not_before": NOW_MS + 9}, State.OPEN, "429"),
        ({"since": NOW_MS - 1, "not_before": NOW_MS + 9, **PAUSE}, State.OPEN, "pause"),
        ({"since": NOW_MS - 9, "not_before": NOW_MS - 1, **PAUSE}, State.HALF_OPEN, "pause"),
        (
            {"since": 1, "failed": ["a"], "open_until": NOW_MS - 1, "not_before": NOW_MS + 9},
            State.OPEN,
            "429",
        ),
        (
            {"since": 1, "failed": ["a"], "open_until": NOW_MS + 9, "not_before": NOW_MS + 9},
            State.OPEN,
            "429",
        ),
    ],
)
def test_the_row_says_how_requests_flow(values: Any, state: State, why: str) -> None:
    item = None if values is None else row(**values)
    breaker = Breaker.parse(item, NOW_MS)
    assert (breaker.state, breaker.why) == (state, why)
    assert breaker.failed == len((values or {}).get("failed", []))
    assert (breaker.until_ms == NOW_MS + 9) is (state is State.OPEN)
    assert f"breaker {state.name}" in breaker.model_copy(update={"pause": None}).text(NOW_MS)
    assert isinstance(judge(Row.of(item), NOW_MS, Times.of()), Wait) == (state is State.OPEN)


def test_a_pause_names_its_operator_until_it_is_over() -> None:
    item = row(since=1, not_before=NOW_MS + 60_000, **PAUSE)
    breaker = Breaker.parse(item, NOW_MS)
    assert breaker.pause is not None
    assert (breaker.pause.by, breaker.pause.since_ms) == ("ada", NOW_MS - 1)
    assert "repair" in breaker.text(NOW_MS)
    assert Breaker.parse(item, NOW_MS + 60_000).pause is None
