"""Situations as scripts: what comes, what fails, what people do, and which acts follow.

Each is a sentence that docs/promises.md or docs/design.md could say. The tests play them on the
deployed definition; a broken definition has to fail one of them, a walk or a search.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from proof.sim.events import DAY_MS, MINUTE_MS, START_MS, Event
from proof.sim.promises import Known
from proof.sim.script import Script
from proof.sim.table import Key
from proof.sim.world import World

New = Callable[..., Script]  # a script on the machine that is to be judged
SITUATIONS: dict[str, Callable[[New], None]] = {}

A = Event("a")
REJECTED = replace(A, temper="rejected")


def situation(play: Callable[[New], None]) -> Callable[[New], None]:
    SITUATIONS[play.__name__] = play
    return play


def _state(name: str, at_s: float, state: str, **more: Any) -> Event:
    """A state of one subject whose changes count; names make bodies differ."""
    at_ms = START_MS + round(1_000 * at_s)
    return Event(name, at_ms, state, order="changes", noise=name, **more)


def _acts(new: New, *arrivals: tuple[float, Event]) -> list[str]:
    script = new()
    for at_s, event in arrivals:
        script.arrives(event, at_s)
    return script.plays().acts


# Copies.


@situation
def copies_are_skipped(new: New) -> None:
    script = new().arrives(A).arrives(A, 1).arrives(A, 300).plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"] == ["PROCESSED ACTED", "DUPLICATE SAME_KEY"]


@situation
def a_message_that_sqs_delivers_twice_acts_once(new: New) -> None:
    script = new().arrives(A).fails("receive", "twice").plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"] == ["PROCESSED ACTED", "PROCESSED SETTLED_BEFORE"]


@situation
def a_message_whose_deletion_is_lost_keeps_its_outcome(new: New) -> None:
    script = new().arrives(A).fails("delete", "not deleted").plays()
    assert script.outcomes["a"] == ["PROCESSED ACTED", "PROCESSED SETTLED_BEFORE"]


@situation
def the_same_publisher_id_is_a_copy_whenever_it_comes(new: New) -> None:
    first = _state("a", 0, "on", event_id="e1")
    again = replace(first, at_ms=START_MS + 60_000)
    script = new().arrives(first).arrives(replace(again, name="again", name_of_copy="a"), 60)
    assert script.plays().acts == ["a"]
    assert script.outcomes["again"] == ["DUPLICATE SAME_EVENT_ID"]


@situation
def copies_within_a_window_are_one_and_a_repeat_acts(new: New) -> None:
    first = Event("a", START_MS, "on", order="latest", window_ms=500)
    copy = replace(first, name="copy", at_ms=START_MS + 400, name_of_copy="a")
    repeat = replace(first, name="repeat", at_ms=START_MS + 5_000)
    script = new().arrives(first).arrives(copy, 1).arrives(repeat, 6).plays()
    assert script.acts == ["a", "repeat"]
    assert script.outcomes["copy"] == ["DUPLICATE SAME_KEY"]


@situation
def a_successor_keeps_the_key_of_the_first_copy(new: New) -> None:
    first = Event("w0", START_MS, "w", order="latest", window_ms=500, name_of_copy="w")
    copy = replace(first, name="w1", at_ms=START_MS + 400)
    script = new().arrives(first).arrives(copy, 100).fails("sends", "killed", "w0").plays()
    assert len(script.acts) == 2  # the killed request may have arrived
    assert len(script.world.promises.known["w"].keys) == 1


@situation
def a_successor_keeps_the_newest_time_of_all_copies(new: New) -> None:
    first = Event("w1", START_MS + 400, "w", order="latest", window_ms=500, name_of_copy="w")
    older = replace(first, name="w0", at_ms=START_MS)
    newer = replace(first, name="w2", at_ms=START_MS + 800)
    script = new().arrives(first).arrives(older, 1).arrives(newer, 600)
    script.fails("RunAction", "dies", "w1").plays()
    assert script.acts == ["w0"]
    assert script.outcomes["w2"] == ["DUPLICATE SAME_KEY"]


@situation
def an_older_occurrence_is_stale(new: New) -> None:
    newer = Event("newer", START_MS + 5_000, "on", order="latest", window_ms=500)
    older = replace(newer, name="older", at_ms=START_MS)
    script = new().arrives(newer).arrives(older, 1).plays()
    assert script.acts == ["newer"]
    assert script.outcomes["older"] == ["STALE NEWER_STATE"]


@situation
def a_copy_of_an_event_in_work_waits_for_its_owner(new: New) -> None:
    script = new().arrives(A).arrives(A, 0.02).plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"] == ["PROCESSED ACTED", "DUPLICATE SAME_KEY"]


@situation
def a_copy_of_a_slow_event_is_put_back_until_its_lease_is_over(new: New) -> None:
    script = new().arrives(A).arrives(A, 0.02).fails("RunAction", "dies").plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"][0] == "RETRY HELD"
    assert script.looks("a") <= 4


@situation
def a_claim_whose_days_are_over_is_claimed_again(new: New) -> None:
    script = new().arrives(A).does(60, _days_are_over).arrives(A, 120).plays()
    assert script.acts == ["a", "a"]


def _days_are_over(world: World) -> None:
    _expire(world, A.key)
    world.promises.known["a"] = Known(first_ids=world.promises.known["a"].first_ids, acts=1)


def _expire(world: World, key: Key) -> None:
    """DynamoDB removes a row days after it expired."""
    world.rows[key] = {**world.rows[key], "expires_at": {"N": str(START_MS // 1_000)}}


# Deaths and lost responses.


@situation
def an_execution_that_dies_is_followed_after_its_lease(new: New) -> None:
    script = new().arrives(A).fails("RunAction", "dies").plays()
    assert script.acts == ["a"]
    assert script.world.now_ms - START_MS < 5 * MINUTE_MS


@situation
def a_claim_whose_response_is_lost_is_ones_own(new: New) -> None:
    script = new().arrives(A).fails("ClaimKey", "lost").plays()
    assert script.outcomes["a"] == ["PROCESSED ACTED"]


@situation
def a_late_claim_changes_nothing(new: New) -> None:
    script = new().arrives(A).fails("ClaimKey", "late").plays()
    assert script.outcomes["a"] == ["PROCESSED ACTED"]


@situation
def a_late_claim_of_an_earlier_look_changes_nothing(new: New) -> None:
    script = new().weather("500", 0, 1).arrives(A)
    script.does(5, lambda _: script.fails("ClaimKey", "late").fails("sends", "200 slow"))
    script.plays()
    assert script.outcomes["a"] == ["RETRY CALL_FAILED", "PROCESSED ACTED"]


@situation
def a_claim_that_never_responds_is_put_back_after_its_lease(new: New) -> None:
    script = new().arrives(A).fails("ClaimKey", "down").plays()
    assert script.outcomes["a"] == ["RETRY TABLE_UNANSWERED", "PROCESSED ACTED"]


@situation
def a_completion_that_is_lost_puts_nothing_back(new: New) -> None:
    script = new().arrives(A).fails("Processed", "down").plays()
    assert script.outcomes["a"] == ["PROCESSED ACTED"]
    assert script.requests("a") == 1


@situation
def a_function_that_dies_keeps_its_claim(new: New) -> None:
    script = new().arrives(A).arrives(A, 1).fails("sends", "killed").plays()
    assert script.acts == ["a", "a"]  # the killed request may have arrived
    assert "RETRY FUNCTION_FAILED" in script.outcomes["a"]


@situation
def a_function_that_goes_on_unseen_meets_no_second_request(new: New) -> None:
    old, newer = _state("old", 0, "on"), _state("newer", 1, "off")
    script = new().arrives(old).arrives(newer, 1).fails("RunAction", "goes on unseen", "old")
    script.fails("sends", "200 slow", "old")
    assert script.plays().acts[-1] == "newer"


@situation
def an_event_that_ends_the_function_again_and_again_is_given_up(new: New) -> None:
    script = new().arrives(replace(A, temper="crashes"))
    for n in range(40):
        script.arrives(Event(f"well{n}", subject=f"well{n}"), 300 * n)
    script.plays(hours=24)
    assert script.parked == ["GAVE_UP"]
    assert 3 <= script.requests("a") <= 6


@situation
def a_broken_deployment_gives_up_no_event(new: New) -> None:
    script = new().arrives(A)
    script.world.is_broken = lambda now_ms: now_ms < START_MS + 120 * MINUTE_MS
    script.plays()
    assert script.acts == ["a"]
    assert script.parked == []


@situation
def a_throttled_function_is_no_failure(new: New) -> None:
    script = new().arrives(A).fails("RunAction", "throttled").plays()
    assert script.outcomes["a"] == ["RETRY THROTTLED", "PROCESSED ACTED"]


@situation
def an_outcome_that_the_log_refuses_stands(new: New) -> None:
    script = new().arrives(A).fails("RecordOutcome", "down").plays()
    assert script.acts == ["a"]
    assert script.looks("a") == 1


# The destination.


@situation
def a_request_that_fails_is_repeated_immediately(new: New) -> None:
    script = new().arrives(A).fails("sends", "500").plays()
    assert script.outcomes["a"] == ["PROCESSED ACTED"]
    assert script.requests("a") == 2


@situation
def an_event_that_fails_twice_waits_and_keeps_its_key(new: New) -> None:
    script = new().arrives(A).fails("sends", "500", times=2).plays()
    assert script.outcomes["a"] == ["RETRY CALL_FAILED", "PROCESSED ACTED"]
    assert len(script.world.promises.known["a"].keys) == 1


@situation
def an_event_that_always_fails_is_given_up_among_others(new: New) -> None:
    script = new().arrives(replace(A, temper="fails"))
    for n in range(100):
        script.arrives(Event(f"well{n}", subject=f"well{n}"), 200 * n)
    script.plays(hours=24)
    assert script.parked == ["GAVE_UP"]
    # The third try is the last: each look but the first may have been in a row of one failure.
    assert script.looks("a") == 5


@situation
def an_outage_gives_up_no_event(new: New) -> None:
    script = new().weather("500", 0, 3_600)
    for n in range(22):
        script.arrives(Event(f"e{n}", subject=f"e{n}"), n)
    script.plays(hours=3)
    assert len(script.acts) == 22
    assert script.parked == []
    assert script.looks("e0") < 60
    assert sum(script.requests(f"e{n}") for n in range(22)) < 150  # the breaker opens


@situation
def a_destination_that_asks_to_wait_is_not_asked_meanwhile(new: New) -> None:
    script = new().weather("429 forever", 0, 600).arrives(A).plays()
    assert script.acts == ["a"]
    assert script.requests("a") <= 6


@situation
def a_configuration_error_waits_for_its_repair(new: New) -> None:
    script = new().weather("401", 0, 3_600).arrives(A).plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"][0] == "RETRY SETUP_FAULT"


@situation
def a_limit_holds_for_a_burst(new: New) -> None:
    script = new(per_minute=12)
    for n in range(20):
        script.arrives(Event(f"e{n}", subject=f"e{n}"), n / 10)
    script.plays()
    assert len(script.acts) == 20
    assert script.world.now_ms - START_MS < 20 * MINUTE_MS


@situation
def a_limit_holds_while_the_table_does_not_respond(new: New) -> None:
    script = new(per_minute=12).fails("update", "unanswered", times=30)
    for n in range(20):
        script.arrives(Event(f"e{n}", subject=f"e{n}"), n / 10)
    assert len(script.plays().acts) == 20


@situation
def a_success_that_began_before_a_pause_does_not_end_it(new: New) -> None:
    script = new().weather("500", 0, 2).arrives(A).arrives(Event("slow", subject="s2"), 5)
    script.fails("sends", "200 slow", "slow").pauses(6, 600)
    script.arrives(Event("later", subject="s3"), 30).plays()
    assert script.outcomes["later"][0] == "RETRY PAUSED"
    assert set(script.acts) == {"a", "slow", "later"}


@situation
def a_success_that_began_before_a_failure_says_nothing_about_it(new: New) -> None:
    script = new().arrives(Event("slow", subject="s2")).fails("sends", "200 slow", "slow")
    script.arrives(A, 2).weather("500", 1, 5).plays(hours=0.003)
    assert script.acts == ["slow"]
    assert ("pace", "breaker") in script.world.rows


@situation
def a_pause_holds_all_requests(new: New) -> None:
    script = new().pauses(0, 1_800)
    for n in range(5):
        script.arrives(Event(f"e{n}", subject=f"e{n}"), 1 + n)
    script.plays()
    assert len(script.acts) == 5
    assert script.outcomes["e0"] == ["RETRY PAUSED", "PROCESSED ACTED"]
    # A short look has no record while its reason stays the same.
    looks = sum(script.looks(f"e{n}") for n in range(5))
    assert len(script.world.promises.outcomes) < looks


@situation
def a_copy_in_a_long_pause_finds_that_the_event_waits(new: New) -> None:
    copy = replace(A, name="copy", name_of_copy="a")
    script = new().pauses(0, 9_000).arrives(A, 1).arrives(copy, 5_000).plays(hours=2)
    assert script.outcomes["copy"] == ["DUPLICATE WAITS_ALREADY"]


@situation
def a_short_look_whose_deletion_is_lost_leaves_no_second_message(new: New) -> None:
    script = new().pauses(0, 9_000).arrives(A, 1)
    script.does(890, lambda _: script.fails("delete", "not deleted"))
    script.plays(hours=2)
    assert len(script.world.queue) == 1


@situation
def a_short_look_with_another_reason_has_a_record(new: New) -> None:
    script = new().weather("429 forever", 0, 600).arrives(A).pauses(100, 6_000).plays(hours=0.15)
    assert script.outcomes["a"] == ["RETRY RATE_LIMITED", "RETRY PAUSED"]


@situation
def a_short_look_ends_with_the_pause(new: New) -> None:
    script = new().pauses(0, 2_400).arrives(A, 1).plays()
    assert script.acts == ["a"]
    assert script.world.now_ms - START_MS < 60 * MINUTE_MS


# For a person.


@situation
def a_rejected_event_is_parked_and_its_copies_are_skipped(new: New) -> None:
    script = new().arrives(REJECTED, copies=2).plays()
    assert script.parked == ["REJECTED"]
    assert script.requests("a") == 1
    assert "DUPLICATE SAME_KEY" in script.outcomes["a"]


@situation
def a_parked_event_that_is_redriven_twice_acts_once(new: New) -> None:
    script = new().arrives(REJECTED).redrives(60, times=2).plays()
    assert script.acts == ["a"]
    assert script.outcomes["a"] == [
        "PARKED REJECTED", "PROCESSED ACTED", "PROCESSED SETTLED_BEFORE"
    ]  # fmt: skip


@situation
def a_redriven_event_goes_on_though_the_table_fails_first(new: New) -> None:
    script = new().arrives(REJECTED).redrives(60).does(59, lambda _: _claims_fail(script))
    assert script.plays().acts == ["a"]


def _claims_fail(script: Script) -> None:
    script.fails("ClaimKey", "down")


@situation
def a_parked_event_begins_its_tries_anew(new: New) -> None:
    script = new().arrives(replace(A, temper="fails"))
    for n in range(100):
        script.arrives(Event(f"well{n}", subject=f"well{n}"), 200 * n)
    script.redrives(20_500).plays(hours=24)
    assert script.acts[-1] == "a"
    assert script.parked == []


@situation
def a_broken_message_is_parked(new: New) -> None:
    script = new().arrives(Event("b", temper="broken")).plays()
    assert script.parked == ["UNREADABLE"]
    assert script.outcomes["b"] == ["PARKED UNREADABLE"]


@situation
def an_event_is_parked_after_ten_days(new: New) -> None:
    since_ms = START_MS - 10 * DAY_MS + 30 * MINUTE_MS
    once = {"waitsSinceMs": since_ms, "firstSentAtMs": since_ms}
    script = new().weather("500", 0, 86_400)
    script.knows(A)
    script.does(0, lambda world: world.send("a", json.dumps({"once": once, "event": "{}"})))
    script.plays()
    assert script.parked == ["WAITED_TOO_LONG"]
    assert script.world.now_ms >= since_ms + 10 * DAY_MS


@situation
def an_event_that_cannot_be_parked_waits(new: New) -> None:
    script = new().arrives(REJECTED).fails("Parked", "down").plays()
    assert script.outcomes["a"] == ["RETRY PARKING_FAILED", "PARKED REJECTED"]


@situation
def a_death_after_parking_leaves_one_parked_event_or_two_messages(new: New) -> None:
    script = new().arrives(REJECTED).fails("CloseClaim", "dies").redrives(1_200).plays()
    assert script.acts == ["a"]


# Put back.


@situation
def a_put_back_that_is_denied_loses_nothing(new: New) -> None:
    script = new(receives=3).weather("500", 0, 1_200).arrives(A).denies(0, 2_000)
    assert script.redrives(2_001).plays().acts == ["a"]


@situation
def a_second_put_back_that_is_denied_loses_nothing(new: New) -> None:
    script = new(receives=3).weather("500", 0, 1_200).arrives(A).denies(20, 2_000)
    assert script.redrives(2_001).plays().acts == ["a"]


@situation
def a_message_delivered_twice_and_denied_goes_on(new: New) -> None:
    script = new(receives=3).weather("500", 0, 1_200).arrives(A).fails("receive", "twice")
    assert script.denies(0.2, 900).redrives(901).plays().acts == ["a"]


@situation
def copies_of_a_waiting_event_do_not_circulate(new: New) -> None:
    script = new().weather("500", 0, 900).arrives(A, copies=5).arrives(A, 60)
    script.plays()
    assert script.acts == ["a"]
    assert "DUPLICATE WAITS_ALREADY" in script.outcomes["a"]
    assert script.looks("a") < 40


@situation
def a_released_event_goes_on_at_its_next_look(new: New) -> None:
    script = new().weather("500", 0, 1).arrives(A).plays()
    assert script.acts == ["a"]
    assert script.world.now_ms - START_MS < 2 * MINUTE_MS


@situation
def a_purged_queue_heals_by_a_replay_half_an_hour_later(new: New) -> None:
    script = new().weather("500", 0, 900).arrives(A).purges(600).arrives(A, 600 + 31 * 60)
    assert script.plays().acts == ["a"]


@situation
def a_look_that_fails_keeps_its_heir(new: New) -> None:
    script = new().weather("500", 0, 100).arrives(A).does(1, lambda _: _claims_fail(script))
    assert script.plays().acts == ["a"]


# Ordered subjects.


@situation
def an_older_state_is_stale(new: New) -> None:
    newer, older = _state("newer", 5, "on"), _state("older", 0, "off")
    script = new().arrives(newer).arrives(older, 1).plays()
    assert script.acts == ["newer"]
    assert script.outcomes["older"] == ["STALE NEWER_STATE"]


@situation
def a_change_and_back_acts_each_time(new: New) -> None:
    on, off = Event("on", state="on", order="changes"), _state("off", 5, "off")
    back = replace(on, name="back", at_ms=START_MS + 10_000)
    assert _acts(new, (0, on), (5, off), (10, back)) == ["on", "off", "back"]


@situation
def the_newest_of_states_that_come_together_is_the_last(new: New) -> None:
    states = [(0.0, _state(f"s{n}", n, str(n))) for n in range(6)]
    assert _acts(new, *states)[-1] == "s5"


@situation
def states_within_two_clocks_all_act(new: New) -> None:
    first, second = _state("first", 0.3, "on"), _state("second", 0, "off")
    assert _acts(new, (0, first), (1, second)) == ["first", "second"]


@situation
def a_copy_from_another_integration_is_skipped_within_two_clocks(new: New) -> None:
    first, second = _state("first", 0, "on"), _state("second", 0.2, "off")
    copy = replace(first, name="copy", at_ms=START_MS + 100, name_of_copy="first")
    script = new().arrives(first).arrives(second, 1).arrives(copy, 2).plays()
    assert script.acts == ["first", "second"]
    assert script.outcomes["copy"] == ["DUPLICATE SAME_KEY"]


@situation
def an_unsure_state_makes_the_next_one_act(new: New) -> None:
    first, unsure = _state("first", 0.3, "on"), _state("unsure", 0, "off")
    again = _state("again", 5, "on")
    assert _acts(new, (0, first), (1, unsure), (5, again)) == ["first", "unsure", "again"]


@situation
def a_death_silences_its_subject_for_a_lease_at_most(new: New) -> None:
    script = new().fails("RunAction", "dies", "s0")
    for n in range(6):
        script.arrives(_state(f"s{n}", 5 * n, str(n)), 5 * n)
    script.plays()
    assert script.acts[-1] == "s5"
    assert script.world.now_ms - START_MS < 6 * MINUTE_MS


@situation
def an_outage_ends_with_the_newest_state(new: New) -> None:
    script = new().weather("500", 0, 600)
    for n in range(7):
        script.arrives(_state(f"s{n}", 5 * n, str(n)), 5 * n)
    assert script.plays().acts == ["s6"]


# Facts.


@situation
def the_same_facts_act_once(new: New) -> None:
    states = [(5.0 * n, _state(f"s{n}", 5 * n, "on")) for n in range(7)]
    assert _acts(new, *states) == ["s0"]


@situation
def the_same_facts_act_once_though_turns_are_over(new: New) -> None:
    states = [(200.0 * n, _state(f"s{n}", 200 * n, "on")) for n in range(3)]
    assert _acts(new, *states) == ["s0"]


@situation
def the_same_facts_act_after_a_rejected_state(new: New) -> None:
    first = _state("first", 0, "on", temper="rejected")
    assert _acts(new, (0, first), (200, _state("again", 200, "on"))) == ["again"]


@situation
def the_same_facts_act_while_the_first_state_waits(new: New) -> None:
    script = new().weather("500", 0, 4)
    script.arrives(_state("first", 0, "on")).arrives(_state("again", 6, "on"), 6)
    assert script.plays().acts == ["again"]


@situation
def the_same_state_again_is_unchanged(new: New) -> None:
    on = Event("on", state="on", order="changes")
    again = replace(on, name="again", at_ms=START_MS + 60_000)
    script = new().arrives(on).arrives(again, 60).plays()
    assert script.acts == ["on"]
    assert script.outcomes["again"] == ["DUPLICATE UNCHANGED"]


# Unwanted states, and routes that want every change.


def _meal(at_s: float, **more: Any) -> Event:
    return replace(_state("meal", at_s, "meal"), wanted=False, **more)


@situation
def an_unwanted_state_between_makes_a_change(new: New) -> None:
    on, again = _state("on", 0, "on"), _state("again", 10, "on")
    script = new().arrives(on).arrives(_meal(5), 5).arrives(again, 10).plays()
    assert script.acts == ["on", "again"]
    assert script.outcomes["meal"] == ["IGNORED ROUTE_IS_NONE"]


@situation
def an_unwanted_state_at_the_same_time_makes_a_change(new: New) -> None:
    on, again = _state("on", 10, "on"), _state("again", 12, "on")
    assert _acts(new, (0, on), (1, _meal(10)), (2, again)) == ["on", "again"]


@situation
def an_unwanted_state_before_makes_no_change(new: New) -> None:
    on, again = _state("on", 10, "on"), _state("again", 12, "on")
    assert _acts(new, (0, on), (1, _meal(9.8)), (2, again)) == ["on"]


@situation
def an_older_unwanted_state_takes_nothing_back(new: New) -> None:
    on, again = _state("on", 10, "on"), _state("again", 30, "on")
    lunch = replace(_meal(11), name="lunch", at_ms=START_MS + 20_000)
    assert _acts(new, (0, on), (1, lunch), (2, _meal(5)), (3, again)) == ["on", "again"]


@situation
def an_unwanted_state_passes_no_wanted_one(new: New) -> None:
    script = new().weather("500", 0, 4).arrives(_state("alerting", 0, "alerting"))
    script.arrives(replace(_meal(6), name="connected"), 6)
    assert script.plays().acts == ["alerting"]


@situation
def an_unwanted_state_is_noted_though_the_table_fails_first(new: New) -> None:
    on, again = _state("on", 0, "on"), _state("again", 300, "on")
    script = new().arrives(on).arrives(_meal(5), 5).arrives(again, 300)
    assert script.fails("NoteBreak", "down").plays().acts == ["on", "again"]


@situation
def an_expired_state_is_ignored(new: New) -> None:
    on, again = _state("on", 0, "on"), _state("again", 10, "on")
    old = replace(_state("old", 5, "off"), expires_ms=START_MS + 4_000)
    script = new().arrives(on).arrives(old, 5).arrives(again, 10).plays()
    assert script.acts == ["on", "again"]
    assert script.outcomes["old"] == ["IGNORED EXPIRED"]


@situation
def a_late_copy_of_the_newest_state_is_no_state_between(new: New) -> None:
    on, again = _state("on", 10, "on"), _state("again", 120, "on")
    late = replace(on, name="late", name_of_copy="on", expires_ms=START_MS + 30_000)
    script = new().arrives(on).arrives(late, 60).arrives(again, 120).plays()
    assert script.acts == ["on"]
    assert script.outcomes["late"] == ["IGNORED EXPIRED"]


@situation
def the_same_facts_act_when_the_days_of_their_row_are_over(new: New) -> None:
    on, again = _state("on", 0, "on"), _state("again", 120, "on")
    script = new().arrives(on).does(60, lambda world: _expire(world, on.row))
    assert script.arrives(again, 120).plays().acts == ["on", "again"]


@situation
def the_same_state_acts_when_the_days_of_its_claim_are_over(new: New) -> None:
    on = Event("on", state="on", order="changes")
    again = replace(on, name="again", at_ms=START_MS + 120_000)
    script = new().arrives(on).does(60, lambda world: _expire(world, on.key))
    assert script.arrives(again, 120).plays().acts == ["on", "again"]


@situation
def a_route_that_wants_every_change_gets_each(new: New) -> None:
    script = new().weather("500", 0, 600)
    for n in range(7):
        script.arrives(replace(_state(f"s{n}", 5 * n, str(n)), order="every"), 5 * n)
    assert sorted(script.plays().acts) == [f"s{n}" for n in range(7)]


@situation
def an_older_change_is_wanted_as_well(new: New) -> None:
    newer = replace(_state("newer", 10, "on"), order="every")
    older = replace(_state("older", 0, "off"), order="every")
    assert _acts(new, (0, newer), (1, older)) == ["newer", "older"]


@situation
def each_change_between_makes_a_change(new: New) -> None:
    off = replace(_state("off", 5, "off"), order="every")
    acts = _acts(new, (0, _state("on", 0, "on")), (5, off), (10, _state("again", 10, "on")))
    assert acts == ["on", "off", "again"]
