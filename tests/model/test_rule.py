"""The claim rule in memory, by the promises that it keeps."""

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


def settle(*events: Event, rows: Rows | None = None) -> list[str]:
    rows = rows or Rows()
    return [rows.settle(one, NOW_MS).reason for one in events]


def test_states_of_a_snapshot_act_if_they_change() -> None:
    states = [event("a", 0), event("b", 9_000), event("c", 20_000, "off"), event("d", 30_000)]
    assert settle(*states) == ["ACTED", "UNCHANGED", "ACTED", "ACTED"]


def test_an_ignored_state_between_two_equal_ones_makes_both_act() -> None:
    meal = event("b", 9_000, "meal", ignored="NO_ROUTE_MATCHED")
    assert settle(event("a"), meal, event("c", 20_000)) == ["ACTED", "NO_ROUTE_MATCHED", "ACTED"]


def test_an_ignored_state_of_the_same_millisecond_makes_an_equal_one_act() -> None:
    meal = event("b", 0, "meal", ignored="NO_ROUTE_MATCHED")
    assert settle(event("a"), meal, event("c", 20_000)) == ["ACTED", "NO_ROUTE_MATCHED", "ACTED"]


def test_an_ignored_newer_state_makes_no_wanted_one_stale() -> None:
    newer = event("a", 60_000, "connected", ignored="ROUTE_IS_NONE")
    assert settle(newer, event("b", 0, "alerting")) == ["ROUTE_IS_NONE", "ACTED"]


def test_a_route_that_wants_every_change_is_never_stale_nor_unchanged() -> None:
    every = [event("b", -60_000, "off", order="every"), event("c", 10_000, "off2", order="every")]
    assert settle(event("a"), *every, event("d", 20_000)) == ["ACTED"] * 4


def test_states_in_doubt_about_their_order_act_and_so_does_the_next() -> None:
    states = [event("a", 400), event("b", 0, "off"), event("c", 5_000)]
    assert settle(*states) == ["ACTED", "ACTED", "ACTED"]


def test_a_burst_that_two_integrations_publish_acts_once() -> None:
    first = [event("a", 0), event("b", 100, "off")]
    second = [event("c", 3), event("d", 103, "off")]
    assert settle(*first, *second) == ["ACTED", "ACTED", "SAME_KEY", "UNCHANGED"]


@pytest.mark.parametrize(("apart_ms", "reason"), [(900, "SAME_KEY"), (1_100, "ACTED")])
def test_equal_events_within_a_window_are_copies(apart_ms: int, reason: str) -> None:
    windowed = {"order": "none", "window_ms": 1_000}
    assert settle(event("a", 0, **windowed), event("b", apart_ms, **windowed))[1] == reason


def test_the_same_publishers_id_is_a_copy_at_any_time() -> None:
    copies = [event("a", event_id="1"), event("b", 90_000, event_id="1")]
    assert settle(*copies) == ["ACTED", "SAME_EVENT_ID"]


def test_the_same_message_keeps_its_outcome() -> None:
    rows = Rows()
    late = event("b", 0, "off")
    settle(event("a", 60_000), late, rows=rows)
    assert rows.settle(late, NOW_MS) == ("STALE", "SETTLED_BEFORE", "b")


def test_an_expired_event_claims_nothing() -> None:
    old = event("a", order="none", expires_ms=NOW_MS - 1)
    last = event("b", order="none", expires_ms=NOW_MS)
    assert settle(old, last) == ["EXPIRED", "ACTED"]


def test_a_message_that_holds_no_event_is_parked_once() -> None:
    element = {"firstMessageId": "a", "key": {"pk": "-/message/0", "sk": "v2/broken"}}
    broken = Event.of({**element, "broken": "UNREADABLE"})
    assert settle(broken, broken._replace(message_id="b")) == ["UNREADABLE", "SAME_KEY"]


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
