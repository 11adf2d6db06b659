"""The claim rule in memory, with streams that chance seldom or never brings."""

from typing import Any

import pytest

from once.model.rule import Event, Rows

NOW_MS = 1_800_000_000_000
SUBJECT = ("pk", "latest/family")


def event(message: str, at_ms: int = 0, state: str = "on", **fields: Any) -> Event:
    """A state of a subject, its facts in its key."""
    known = {"window_ms": 0, "order": "changes", "event_id": "", "facts": state, **fields}
    latest = SUBJECT if known["order"] != "none" else None
    return Event(message, ("pk", state), latest, NOW_MS + at_ms, **known)


def settle(*events: Event) -> list[str]:
    rows = Rows()
    return [rows.settle(one, NOW_MS).reason for one in events]


def test_a_burst_that_two_integrations_publish_acts_once() -> None:
    first = [event("a", 0), event("b", 100, "off")]
    second = [event("c", 3), event("d", 103, "off")]
    assert settle(*first, *second) == ["ACTED", "ACTED", "SAME_KEY", "UNCHANGED"]


@pytest.mark.parametrize("at_ms", [9_000, 0])
def test_an_ignored_state_between_two_equal_ones_makes_both_act(at_ms: int) -> None:
    meal = event("b", at_ms, "meal", ignored="NO_ROUTE_MATCHED")
    assert settle(event("a"), meal, event("c", 20_000)) == ["ACTED", "NO_ROUTE_MATCHED", "ACTED"]


def test_an_event_expires_after_its_last_millisecond() -> None:
    old = event("a", order="none", expires_ms=NOW_MS - 1)
    last = event("b", order="none", expires_ms=NOW_MS)
    assert settle(old, last) == ["EXPIRED", "ACTED"]


@pytest.mark.parametrize(
    ("days", "seconds", "reason"), [(30, 0, "SAME_KEY"), (30, 1, "ACTED"), (1, 1, "ACTED")]
)
def test_a_claim_lasts_its_days(days: int, seconds: int, reason: str) -> None:
    rows = Rows() if days == 30 else Rows(claim_days=days)
    first, copy = event("a", order="none"), event("b", order="none")
    rows.settle(first, NOW_MS)
    later_ms = NOW_MS + (days * 86_400 + seconds) * 1000
    assert rows.settle(copy, later_ms).reason == reason


@pytest.mark.parametrize(("apart_ms", "reason"), [(500, "ACTED"), (501, "NEWER_STATE")])
def test_a_state_is_stale_if_it_is_older_than_two_clocks_differ(apart_ms: int, reason: str) -> None:
    assert settle(event("a", apart_ms), event("b", 0, "off")) == ["ACTED", reason]
