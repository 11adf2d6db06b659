"""Sequences of messages, each settled by the claim rule: which are acted on, and why the others are
not. The rules of identity are all here: state that returns, copy, second integration, late,
reordered."""

import copy
from typing import Any

import pytest

from once.model.reasons import Outcome
from once.model.rule import Event, Rows
from tests.enrichment.examples import (
    NINE_MS,
    ORGANISATION,
    USER,
    agent,
    event,
    presence,
    snapshot,
)
from tests.enrichment.sending import element, routes

Json = dict[str, Any]
MINUTE_MS = 60_000
LATER_MS = NINE_MS + 60 * MINUTE_MS
DAY_MS = 86_400_000

EVERY = '[[routes]]\nfamily = "user.*"\norder = "every"\naction = "send"\n'
STATES = """[[routes]]
family = "user.conversations"
facts = ["participants.*.calls.*.state"]
action = "send"
"""
UNHELD = """[[routes]]
family = "user.conversations"
when.body.participants.calls.held = [true]
action = "none"
"""


def settle(events: list[Json], text: str = "") -> list[str]:
    """Settles one event after the other, each sent at its `sent`, and returns the reasons."""
    rows, file = Rows(), routes(text)
    reasons = []
    for number, one in enumerate(copy.deepcopy(events)):
        sent_ms = one.pop("sent", LATER_MS)
        made = element(one, file, message_id=f"m{number}", sent_ms=sent_ms)
        verdict = rows.settle(Event.of(made), sent_ms)
        reasons.append("acted" if verdict.outcome is Outcome.PROCESSED else verdict.reason)
    return reasons


def at(one: Json, ms: int) -> Json:
    """Publishes a Genesys event at a time."""
    return {**one, "detail": {**one["detail"], "timestamp": NINE_MS + ms}}


def by_minute(states: list[Json]) -> list[Json]:
    return [at(state, n * MINUTE_MS + 1) for n, state in enumerate(states)]


def second(one: Json) -> Json:
    """The same event by another integration of the organisation."""
    return {**one, "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/second"}


def calls(*states: Json) -> list[Json]:
    return by_minute([snapshot(agent(**call)) for call in states])


def shown(status: str, ms: int, message: str = "") -> Json:
    """A presence, by its status."""
    definition = {"id": "d", "systemPresence": status}
    return presence(presenceDefinition=definition, message=message, modifiedDate=NINE_MS + ms)


def station(action: str, station_id: str = "s") -> Json:
    body = {"associatedStation": {"id": station_id}}
    return event("v2.users.{id}.station", body, USER, metadata={"action": action})


def test_call_of_nine_snapshots_acts_when_its_state_changes() -> None:
    on: Json = {"state": "connected"}
    recorded = on | {"recordingState": "active"}
    others = (recorded, recorded | {"label": "vip"}, on | {"held": True}, on, on | {"muted": True})
    states = calls({"state": "alerting"}, on, *others, on, {"state": "disconnected"})
    assert settle(states, STATES) == ["acted", "acted", *["UNCHANGED"] * 6, "acted"]


def test_facts_of_two_calls_that_swap_their_states_are_a_change() -> None:
    def held(which: str) -> Json:
        one, other = ({"id": name, "held": name == which} for name in "AB")
        return snapshot({"id": "p", "calls": [one, other]})

    text = STATES.replace("state", "held")
    assert settle(by_minute([held("A"), held("B")]), text) == ["acted"] * 2


def test_facts_without_an_id_are_compared_without_their_order() -> None:
    def listed(*states: str) -> Json:
        return snapshot({"id": "p", "calls": [{"state": state} for state in states]})

    burst = by_minute([listed("a", "b"), listed("b", "a")])
    assert settle(burst, STATES) == ["acted", "UNCHANGED"]


def test_renamed_field_makes_the_whole_body_count_with_a_note() -> None:
    renamed = calls({"held": True}, {"held": False})
    text = STATES.replace("calls.*.state", "phones.*.state")
    assert settle(renamed, text) == ["acted"] * 2
    assert "participants.*.phones.*.state" in element(renamed[0], routes(text))["note"]
    assert "note" not in element(renamed[0], routes(STATES))


def test_facts_are_never_in_the_key_and_hold_the_name_of_the_route() -> None:
    one = snapshot(agent())
    plain, facts = element(one, routes("")), element(one, routes(STATES))
    named = element(one, routes(STATES.replace("family", 'name = "other"\nfamily')))
    assert plain["key"] == facts["key"] == named["key"]
    assert len({made["facts"] for made in (plain, facts, named)}) == 3


def test_facts_make_an_order_of_latest_into_changes() -> None:
    text = STATES.replace("user.conversations", "user.presence")
    text = text.replace("participants.*.calls.*.state", "presenceDefinition.systemPresence")
    states = [shown("BUSY", 1), shown("BUSY", 60_000, "lunch"), shown("MEAL", 120_000)]
    assert settle(states, text) == ["acted", "UNCHANGED", "acted"]
    assert settle(states) == ["acted"] * 3


def test_facts_of_an_event_that_happens_once_are_none() -> None:
    text = '[[routes]]\nfamily = "*"\nfacts = ["a"]\naction = "send"\n'
    one = event("v2.new.{id}.things", {"eventTime": NINE_MS, "a": 1}, "a7")
    assert "facts" not in element(one, routes(text))


def test_metadata_may_be_a_fact() -> None:
    text = '[[routes]]\nfamily = "user.station"\nfacts = ["metadata.action"]\naction = "send"\n'
    moved = [station("Associated"), station("Associated", "t"), station("Disassociated", "t")]
    assert settle(by_minute(moved), text) == ["acted", "UNCHANGED", "acted"]


def test_every_acts_on_a_late_older_state_and_not_on_its_copy() -> None:
    newer, late = at(snapshot(agent(held=True)), 5_001), at(snapshot(agent()), 1)
    assert settle([newer, late, second(late)], EVERY) == ["acted", "acted", "SAME_KEY"]
    assert settle([newer, late]) == ["acted", "NEWER_STATE"]


def test_every_acts_on_an_unchanged_state_at_another_time() -> None:
    one, file = snapshot(agent()), routes(EVERY)
    assert settle([at(one, 1), at(one, 30_001)], EVERY) == ["acted"] * 2
    first, later = element(at(one, 1), file), element(at(one, 2), file)
    assert first["key"]["sk"].endswith(f"/{NINE_MS + 1}")
    assert first["keyHash"] != later["keyHash"]


def test_every_keeps_an_order_for_changes_and_none_for_latest_or_without_a_clock() -> None:
    changes, latest = element(snapshot(), routes(EVERY)), element(presence(), routes(EVERY))
    assert changes["policy"] == {
        "windowMs": 0,
        "order": "every",
        "latest": f"latest/user.conversations/{USER}",
    }
    assert latest["policy"] == {"windowMs": 0, "order": "none"}
    assert "facts" not in changes
    undated = snapshot(agent())
    del undated["detail"]["timestamp"]
    assert element(undated, routes(EVERY))["policy"] == {"windowMs": 1500, "order": "none"}


def test_state_that_no_route_wants_passes_no_other() -> None:
    states = [at(snapshot(agent(held=True)), 5_001), at(snapshot(agent()), 1)]
    assert settle(states, UNHELD) == ["ROUTE_IS_NONE", "acted"]
    assert settle(calls({}, {"held": True}, {}), UNHELD) == ["acted", "ROUTE_IS_NONE", "acted"]


@pytest.mark.parametrize(
    ("lunch", "reason"),
    [('action = "none"', "ROUTE_IS_NONE"), ('order = "every"\naction = "send"', "acted")],
)
def test_facts_that_return_after_another_route_act_again(lunch: str, reason: str) -> None:
    text = '[[routes]]\nfamily = "user.presence"\nwhen.state = ["ON_QUEUE"]'
    text += '\nfacts = ["presenceDefinition.systemPresence"]\naction = "send"\n'
    text += f'[[routes]]\nfamily = "user.presence"\n{lunch}\n'
    statuses = ("ON_QUEUE", "MEAL", "ON_QUEUE", "ON_QUEUE")
    states = [shown(status, n * MINUTE_MS + 1) for n, status in enumerate(statuses)]
    assert settle(states, text) == ["acted", reason, "acted", "UNCHANGED"]


def test_burst_of_a_second_integration_acts_once() -> None:
    """Its clock is behind: the older state comes after the newer state was acted on."""
    ringing = at(snapshot(agent(state="alerting")), 0)
    connected = at(snapshot(agent(state="connected")), 120)
    reasons = settle([ringing, connected, second(at(ringing, 50)), second(at(connected, 170))])
    assert reasons[:2] == ["acted", "acted"]
    assert "acted" not in reasons[2:]


@pytest.mark.parametrize("more", [[], {}, None])
def test_spelling_of_a_snapshot_is_no_change(more: Any) -> None:
    one = snapshot(agent(), {"id": "p2", "calls": []})
    other = snapshot({"id": "p2", "calls": [], "new": more}, agent())
    third = snapshot(agent(), agent(), {"id": "p2", "calls": []})
    assert settle(by_minute([one, other, third])) == ["acted", "UNCHANGED", "acted"]


RETURNING = {
    "snapshot": [snapshot(agent(**call)) for call in ({}, {"muted": True}, {}, {"held": True}, {})],
    "station": [station(action) for action in ("Associated", "Disassociated", "Associated")],
    "counters": [
        event("v2.users.{id}.conversationsummary", {"call": {"active": number}}, USER)
        for number in (1, 2, 1)
    ],
}


@pytest.mark.parametrize("states", RETURNING.values(), ids=RETURNING)
@pytest.mark.parametrize("apart_ms", [7, MINUTE_MS])
def test_state_that_returns_acts_each_time_and_an_unchanged_repeat_never(
    states: list[Json], apart_ms: int
) -> None:
    """Each state is published a second time, unchanged, after half the distance to the next."""
    twice = [state for state in states for _ in range(2)]
    events = [at(state, n * apart_ms // 2 + 1) for n, state in enumerate(twice)]
    assert settle(events) == ["acted", "UNCHANGED"] * len(states)


def own(sent_ms: int = LATER_MS, **fields: Any) -> Json:
    """An event that people made themselves; a `timestamp` counts from nine o'clock."""
    detail = {"conversationId": "c-1", **fields}
    if "timestamp" in fields:
        detail["timestamp"] += NINE_MS
    return {"detail-type": "Case Change", "detail": detail, "sent": sent_ms}


OWN: dict[str, tuple[list[Json], str]] = {
    "another status without a time": (
        [own(status="queued", eventId="e1"), own(status="up", eventId="e2")],
        "acted acted",
    ),
    "a copy without a time, and a real repeat after minutes": (
        [own(LATER_MS + ms, status="up", eventId=f"e{ms}") for ms in (0, 3, 5 * MINUTE_MS)],
        "acted SAME_KEY acted",
    ),
    "a status that returns": (
        [
            own(status=status, timestamp=n * 5_000 + 1)
            for n, status in enumerate(("up", "on", "up"))
        ],
        "acted acted acted",
    ),
    "an older status that arrives late": (
        [own(status="up", timestamp=5_001), own(status="queued", timestamp=1)],
        "acted NEWER_STATE",
    ),
    "bursts of copies": (
        [
            own(status=status, timestamp=ms + n, eventId=f"e-{ms}-{n}")
            for ms, status in ((1, "queued"), (2_001, "up"))
            for n in (0, 9)
        ],
        "acted SAME_KEY acted SAME_KEY",
    ),
    "two states in one millisecond": (
        [own(state="alerting", timestamp=1), own(state="connected", timestamp=1)],
        "acted acted",
    ),
    "a change in a field that nobody knows": (
        [own(state="up", timestamp=1, held=held) for held in (True, False)],
        "acted acted",
    ),
    "an id that is no event id": (
        [own(state=state, id="u", timestamp=n * 60_000 + 1) for n, state in enumerate("oxo")],
        "acted acted acted",
    ),
    "events without a status by their ids, days later too": (
        [own(eventId="e1"), own(eventId="e2"), own(LATER_MS + 3 * DAY_MS, eventId="e1")],
        "acted acted SAME_EVENT_ID",
    ),
    "an event id without a status is the identity": (
        [own(eventId="e", attempt=n, timestamp=n * 60_000 + 1) for n in (0, 1)],
        "acted SAME_EVENT_ID",
    ),
    "other data without a status, an id and a time": (
        [own(held=True), own(held=False), own(held=True)],
        "acted acted SAME_KEY",
    ),
    "an object without a status that returns": (
        [own(tier=tier, timestamp=n * 60_000 + 1) for n, tier in enumerate("xyx")],
        "acted acted acted",
    ),
    **{
        f"two things by {name}": (
            [own(status="up", timestamp=ms, **{name: text}) for text, ms in (("A", 901), ("B", 1))],
            "acted acted",
        )
        for name in ("leg", "agentEmail", "queueId")
    },
    **{
        f"notes of the publisher in {name}": (
            [own(status="up", timestamp=1, **{name: text}) for text in ("ivr", "bot")],
            f"acted {reason}",
        )
        for name, reason in (
            *((name, "acted") for name in ("source", "version")),
            *((name, "SAME_KEY") for name in ("correlationId", "correlation_id", "metadata")),
        )
    },
}


@pytest.mark.parametrize(("events", "reasons"), OWN.values(), ids=OWN)
def test_home_made_events_act_once_each(events: list[Json], reasons: str) -> None:
    assert settle(events) == reasons.split()
