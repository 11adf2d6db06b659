"""Sequences of messages, each settled by the claim rule: which are acted on, and why the others are
not. The rules of identity are all here: state that returns, copy, second integration, late,
reordered."""

import copy
from typing import Any

import pytest

from once.model.reasons import Outcome
from once.model.rule import Event, Rows
from tests.enrichment.disguise import disguised
from tests.enrichment.examples import NINE_MS, ORGANISATION, USER, agent, event, presence, snapshot
from tests.enrichment.sending import element, routes

Json = dict[str, Any]
MINUTE_MS = 60_000

STATES = """[[routes]]
family = "user.conversations"
facts = ["participants.*.calls.*.state"]
action = "send"
"""
ACT_ON_EACH = 'order = "every"\naction = "send"'
EVERY = '[[routes]]\nfamily = "user.*"\norder = "every"\naction = "send"\n'


def settle(events: list[Json], text: str = "") -> list[str]:
    """Settles one event after the other, each a minute after its time, and returns the reasons."""
    rows, file = Rows(), routes(text)
    reasons = []
    for number, one in enumerate(events):
        sent_ms = one.pop("sent", NINE_MS + 60 * MINUTE_MS)
        made = element(one, file, message_id=f"m{number}", sent_ms=sent_ms)
        verdict = rows.settle(Event.of(made), sent_ms)
        reasons.append("acted" if verdict.outcome is Outcome.PROCESSED else verdict.reason)
    return reasons


def at(one: Json, ms: int) -> Json:
    """Publishes a Genesys event at a time."""
    made = copy.deepcopy(one)
    made["detail"]["timestamp"] = NINE_MS + ms
    return made


def second(one: Json) -> Json:
    """The same event by another integration of the organisation."""
    return {**one, "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/second"}


def calls(*states: Json) -> list[Json]:
    return [at(snapshot(agent(**call)), n * MINUTE_MS + 1) for n, call in enumerate(states)]


CALL = (
    {"state": "alerting"},
    {"state": "connected"},
    {"state": "connected", "recordingState": "active"},
    {"state": "connected", "recordingState": "active", "label": "vip"},
    {"state": "connected", "held": True},
    {"state": "connected"},
    {"state": "connected", "muted": True},
    {"state": "connected"},
    {"state": "disconnected"},
)
"""The nine snapshots of one call."""


class TestFacts:
    def test_call_of_nine_snapshots_acts_when_its_state_changes(self) -> None:
        reasons = settle(calls(*CALL), STATES)
        assert [n for n, reason in enumerate(reasons) if reason == "acted"] == [0, 1, 8]
        assert {*reasons} == {"acted", "UNCHANGED"}

    def test_state_that_returns_acts_again(self) -> None:
        states = [{"state": s} for s in ("connected", "disconnected", "connected")]
        assert settle(calls(*states), STATES) == ["acted"] * 3

    def test_facts_of_two_calls_that_swap_their_states_are_a_change(self) -> None:
        def held(which: str) -> Json:
            one, other = ({"id": name, "held": name == which} for name in "AB")
            return snapshot({"id": "p", "calls": [one, other]})

        text = STATES.replace("state", "held")
        assert settle([at(held("A"), 1), at(held("B"), MINUTE_MS)], text) == ["acted"] * 2

    def test_facts_without_an_id_are_compared_without_their_order(self) -> None:
        def listed(*states: str) -> Json:
            return snapshot({"id": "p", "calls": [{"state": state} for state in states]})

        burst = [at(listed("a", "b"), 1), at(listed("b", "a"), MINUTE_MS)]
        assert settle(burst, STATES) == ["acted", "UNCHANGED"]

    def test_renamed_field_makes_the_whole_body_count_with_a_note(self) -> None:
        renamed = calls({"held": True}, {"held": False})
        text = STATES.replace("calls.*.state", "phones.*.state")
        assert settle(renamed, text) == ["acted"] * 2
        assert "participants.*.phones.*.state" in element(renamed[0], routes(text))["note"]
        assert "note" not in element(renamed[0], routes(STATES))

    def test_facts_are_never_in_the_key_and_hold_the_name_of_the_route(self) -> None:
        one = snapshot(agent())
        plain, facts = element(one, routes("")), element(one, routes(STATES))
        named = element(one, routes(STATES.replace("family", 'name = "other"\nfamily')))
        assert plain["key"] == facts["key"] == named["key"]
        assert len({made["facts"] for made in (plain, facts, named)}) == 3

    def test_facts_make_an_order_of_latest_into_changes(self) -> None:
        text = '[[routes]]\nfamily = "user.presence"\nfacts = ["presenceDefinition.systemPresence"]'
        text += '\naction = "send"\n'

        def shown(status: str, message: str, ms: int) -> Json:
            definition = {"id": "d", "systemPresence": status}
            return presence(
                presenceDefinition=definition, message=message, modifiedDate=NINE_MS + ms
            )

        states = [
            shown("BUSY", "", 1),
            shown("BUSY", "lunch", MINUTE_MS),
            shown("MEAL", "", 2 * MINUTE_MS),
        ]
        assert settle(states, text) == ["acted", "UNCHANGED", "acted"]
        assert settle(states) == ["acted"] * 3

    def test_facts_of_an_event_that_happens_once_are_none(self) -> None:
        text = '[[routes]]\nfamily = "*"\nfacts = ["a"]\naction = "send"\n'
        one = event("v2.new.{id}.things", {"eventTime": NINE_MS, "a": 1}, "a7")
        assert "facts" not in element(one, routes(text))

    def test_metadata_may_be_a_fact(self) -> None:
        text = '[[routes]]\nfamily = "user.station"\nfacts = ["metadata.action"]\naction = "send"\n'

        def station(action: str, station_id: str, ms: int) -> Json:
            body = {"associatedStation": {"id": station_id}}
            return at(event("v2.users.{id}.station", body, USER, metadata={"action": action}), ms)

        moved = [
            station("Associated", "s", 1),
            station("Associated", "t", MINUTE_MS),
            station("Disassociated", "t", 2 * MINUTE_MS),
        ]
        assert settle(moved, text) == ["acted", "UNCHANGED", "acted"]


class TestEvery:
    def test_late_older_state_acts_and_its_copy_does_not(self) -> None:
        newer, late = at(snapshot(agent(held=True)), 5_001), at(snapshot(agent()), 1)
        assert settle([newer, late, second(late)], EVERY) == ["acted", "acted", "SAME_KEY"]
        assert settle([newer, late]) == ["acted", "NEWER_STATE"]

    def test_unchanged_state_at_another_time_acts(self) -> None:
        one = snapshot(agent())
        assert settle([at(one, 1), at(one, 30_001)], EVERY) == ["acted"] * 2

    def test_policy_is_every_for_changes_and_none_for_latest(self) -> None:
        changes, latest = element(snapshot(), routes(EVERY)), element(presence(), routes(EVERY))
        assert changes["policy"] == {
            "windowMs": 0,
            "order": "every",
            "latest": f"latest/user.conversations/{USER}",
        }
        assert latest["policy"] == {"windowMs": 0, "order": "none"}
        assert "facts" not in changes

    def test_time_is_in_the_key_and_in_the_idempotency_key(self) -> None:
        one, file = snapshot(agent()), routes(EVERY)
        first, later = element(at(one, 1), file), element(at(one, 2), file)
        assert first["key"]["sk"].endswith(f"/{NINE_MS + 1}")
        assert first["idempotencyKey"] != later["idempotencyKey"]

    def test_event_without_a_clock_that_orders_stays_windowed(self) -> None:
        undated = snapshot(agent())
        del undated["detail"]["timestamp"]
        assert element(undated, routes(EVERY))["policy"] == {"windowMs": 1500, "order": "none"}


class TestUnwanted:
    IGNORED = (
        '[[routes]]\nfamily = "user.conversations"\nwhen.body.participants.calls.held = [true]'
    )
    IGNORED += '\naction = "none"\n'

    def test_state_that_no_route_wants_passes_no_other(self) -> None:
        states = [at(snapshot(agent(held=True)), 5_001), at(snapshot(agent()), 1)]
        assert settle(states, self.IGNORED) == ["ROUTE_IS_NONE", "acted"]

    def test_state_that_returns_after_an_unwanted_one_acts(self) -> None:
        states = calls({}, {"held": True}, {})
        assert settle(states, self.IGNORED) == ["acted", "ROUTE_IS_NONE", "acted"]

    @pytest.mark.parametrize(
        ("lunch", "reason"), [('action = "none"', "ROUTE_IS_NONE"), (ACT_ON_EACH, "acted")]
    )
    def test_facts_that_return_after_another_route_act_again(self, lunch: str, reason: str) -> None:
        text = '[[routes]]\nfamily = "user.presence"\nwhen.state = ["ON_QUEUE"]'
        text += '\nfacts = ["presenceDefinition.systemPresence"]\naction = "send"\n'
        text += f'[[routes]]\nfamily = "user.presence"\n{lunch}\n'
        states = [
            presence(
                presenceDefinition={"id": "d", "systemPresence": status},
                modifiedDate=NINE_MS + n * MINUTE_MS + 1,
            )
            for n, status in enumerate(("ON_QUEUE", "MEAL", "ON_QUEUE", "ON_QUEUE"))
        ]
        assert settle(states, text) == ["acted", reason, "acted", "UNCHANGED"]


class TestCopies:
    def test_burst_of_a_second_integration_acts_once(self) -> None:
        """Its clock is behind: the older state comes after the newer state was acted on."""
        ringing = at(snapshot(agent(state="alerting")), 0)
        connected = at(snapshot(agent(state="connected")), 120)
        copies = [second(at(ringing, 50)), second(at(connected, 170))]
        reasons = settle([ringing, connected, *copies])
        assert reasons[:2] == ["acted", "acted"]
        assert "acted" not in reasons[2:]

    @pytest.mark.parametrize("more", [[], {}, None])
    def test_spelling_of_a_snapshot_is_no_change(self, more: Any) -> None:
        one = snapshot(agent(), {"id": "p2", "calls": []})
        other = at(copy.deepcopy(one), MINUTE_MS)
        other["detail"]["eventBody"]["participants"].reverse()
        other["detail"]["eventBody"]["participants"][0]["new"] = more
        third = at(snapshot(agent(), agent(), {"id": "p2", "calls": []}), 2 * MINUTE_MS)
        assert settle([at(one, 0), other, third]) == ["acted", "UNCHANGED", "acted"]

    def test_disguised_copy_of_each_kind_is_skipped(self) -> None:
        for one in (presence(), snapshot(agent()), event("v2.new.{id}.x", {"a": 1}, "a7")):
            copied = disguised(one, 1)
            copied["detail"]["timestamp"] = one["detail"]["timestamp"]
            assert settle([one, copied])[1] in ("SAME_KEY", "UNCHANGED")
