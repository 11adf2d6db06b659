"""Situations as scripts: what comes, what fails, what people do, and which acts follow.

Each is a sentence that docs/promises.md or docs/design.md could say. The tests play them on the
deployed definition; a broken definition has to fail one of them, a walk or a search.
"""

import json
from dataclasses import replace
from typing import Any

from proof.asl.machine import Machine
from proof.sim.events import DAY_MS, MINUTE_MS, START_MS, Event, Temper, body_of
from proof.sim.script import Script


def _state(name: str, at_s: float, state: str, **more: Any) -> Event:
    """A state of one subject whose changes count; names make bodies differ."""
    at_ms = START_MS + round(1_000 * at_s)
    return Event(name, at_ms, state, **{"order": "changes", "noise": name, **more})


def _windowed(name: str, at_s: float, name_of_copy: str = "") -> Event:
    at_ms = START_MS + round(1_000 * at_s)
    return Event(name, at_ms, order="latest", window_ms=500, name_of_copy=name_of_copy)


def _a(temper: Temper) -> Event:
    return Event("a", temper=temper)


def _meal(at_s: float, name: str = "meal") -> Event:
    return _state(name, at_s, "meal", noise="meal", wanted=False)


A = Event("a")
ON, OFF = _state("on", 0, "on"), _state("off", 5, "off")


class Situation(Script):
    """One of its methods is played."""

    # Copies.

    def copies_are_skipped(self) -> None:
        self.arrives(A, 0, 1, 300).ends("a", a="PROCESSED ACTED, DUPLICATE SAME_KEY")

    def a_message_that_sqs_delivers_twice_acts_once(self) -> None:
        self.arrives(A).fails("receive", "twice")
        self.ends("a", a="PROCESSED ACTED, PROCESSED SETTLED_BEFORE")

    def a_message_whose_deletion_is_lost_keeps_its_outcome(self) -> None:
        self.arrives(A).fails("delete", "not deleted")
        self.ends("a", a="PROCESSED ACTED, PROCESSED SETTLED_BEFORE")

    def the_same_publisher_id_is_a_copy_whenever_it_comes(self) -> None:
        first = _state("a", 0, "on", event_id="e1")
        again = replace(first, name="again", at_ms=START_MS + 60_000, name_of_copy="a")
        self.comes(first, again).ends("a", again="DUPLICATE SAME_EVENT_ID")

    def copies_within_a_window_are_one_and_a_repeat_acts(self) -> None:
        self.comes(_windowed("a", 0)).arrives(_windowed("copy", 0.4, "a"), 1)
        self.arrives(_windowed("repeat", 5), 6).ends("a repeat", copy="DUPLICATE SAME_KEY")

    def a_successor_keeps_the_key_of_the_first_copy(self) -> None:
        self.comes(_windowed("w0", 0, "w")).arrives(_windowed("w1", 0.4, "w"), 100)
        self.fails("sends", "killed", "w0").plays()
        assert len(self.acts) == 2  # the killed request may have arrived
        assert len(self.known("w0").keys) == 1

    def a_successor_keeps_the_newest_time_of_all_copies(self) -> None:
        self.arrives(_windowed("w1", 0.4, "w"), 0).arrives(_windowed("w0", 0, "w"), 1)
        self.arrives(_windowed("w2", 0.8, "w"), 600).fails("RunAction", "dies", "w1")
        self.ends("w0", w2="DUPLICATE SAME_KEY")

    def an_older_occurrence_is_stale(self) -> None:
        self.arrives(_windowed("newer", 5), 0).arrives(_windowed("older", 0), 1)
        self.ends("newer", older="STALE NEWER_STATE")

    def a_copy_of_an_event_in_work_waits_for_its_owner(self) -> None:
        self.arrives(A, 0, 0.02).ends("a", a="PROCESSED ACTED, DUPLICATE SAME_KEY")

    def a_copy_of_a_slow_event_is_put_back_until_its_lease_is_over(self) -> None:
        self.arrives(A, 0, 0.02).fails("RunAction", "dies").ends("a")
        assert self.outcomes["a"][0] == "RETRY HELD"
        assert self.known("a").looks <= 4

    def a_claim_whose_days_are_over_is_claimed_again(self) -> None:
        self.arrives(A, 0, 120).expires(60, A.key).ends("a a")

    # Deaths and lost responses.

    def an_execution_that_dies_is_followed_after_its_lease(self) -> None:
        self.arrives(A).fails("RunAction", "dies").ends("a")
        assert self.minutes < 5

    def a_claim_whose_response_is_lost_is_ones_own(self) -> None:
        self.arrives(A).fails("ClaimKey", "lost").ends("a", a="PROCESSED ACTED")

    def a_late_claim_changes_nothing(self) -> None:
        self.arrives(A).fails("ClaimKey", "late").ends("a", a="PROCESSED ACTED")

    def a_late_claim_of_an_earlier_look_changes_nothing(self) -> None:
        self.weather("500", 0, 1).arrives(A)
        self.fails("ClaimKey", "late", from_s=5).fails("sends", "200 slow", from_s=5)
        self.ends("a", a="RETRY CALL_FAILED, PROCESSED ACTED")

    def a_claim_that_never_responds_is_put_back_after_its_lease(self) -> None:
        self.arrives(A).fails("ClaimKey", "down")
        self.ends("a", a="RETRY TABLE_UNANSWERED, PROCESSED ACTED")

    def a_completion_that_is_lost_puts_nothing_back(self) -> None:
        self.arrives(A).fails("Processed", "down").ends("a", a="PROCESSED ACTED")
        assert self.known("a").requests == 1

    def a_function_that_dies_keeps_its_claim(self) -> None:
        self.arrives(A, 0, 1).fails("sends", "killed").ends("a a")  # the first may have arrived
        assert "RETRY FUNCTION_FAILED" in self.outcomes["a"]

    def a_function_that_goes_on_unseen_meets_no_second_request(self) -> None:
        self.comes(_state("old", 0, "on"), _state("newer", 1, "off"))
        self.fails("RunAction", "goes on unseen", "old").fails("sends", "200 slow", "old").plays()
        assert self.acts[-1] == "newer"

    def an_event_that_ends_the_function_again_and_again_is_given_up(self) -> None:
        self.arrives(_a("crashes")).crowd(40, 300).plays(hours=24)
        assert self.parked == ["GAVE_UP"]
        assert 3 <= self.known("a").requests <= 6

    def a_broken_deployment_gives_up_no_event(self) -> None:
        self.arrives(A).breaks(0, 7_200).ends("a", a="RETRY FUNCTION_FAILED, PROCESSED ACTED")
        assert self.parked == [], "its first delivery after the repair acts"

    def a_throttled_function_is_no_failure(self) -> None:
        self.arrives(A).fails("RunAction", "throttled")
        self.ends("a", a="RETRY THROTTLED, PROCESSED ACTED")

    def an_outcome_that_the_log_refuses_stands(self) -> None:
        self.arrives(A).fails("RecordOutcome", "down").ends("a")
        assert self.known("a").looks == 1

    # The destination.

    def a_request_that_fails_is_repeated_immediately(self) -> None:
        self.arrives(A).fails("sends", "500").ends("a", a="PROCESSED ACTED")
        assert self.known("a").requests == 2

    def an_event_that_fails_twice_waits_and_keeps_its_key(self) -> None:
        self.arrives(A).fails("sends", "500", times=2)
        self.ends("a", a="RETRY CALL_FAILED, PROCESSED ACTED")
        assert len(self.known("a").keys) == 1

    def an_event_that_always_fails_is_given_up_among_others(self) -> None:
        self.arrives(_a("fails")).crowd(100, 200).plays(hours=24)
        assert self.parked == ["GAVE_UP"]
        # The third try is the last: each look but the first may have been in a row of one failure.
        assert self.known("a").looks == 5

    def an_outage_gives_up_no_event(self) -> None:
        self.weather("500", 0, 3_600).crowd(22, 1).plays(hours=3)
        assert (len(self.acts), self.parked) == (22, [])
        assert self.known("e0").looks < 60
        assert sum(self.known(name).requests for name in self.events) < 150  # the breaker opens

    def a_destination_that_asks_to_wait_is_not_asked_meanwhile(self) -> None:
        self.weather("429 forever", 0, 600).arrives(A).ends("a")
        assert self.known("a").requests <= 6

    def a_configuration_error_waits_for_its_repair(self) -> None:
        self.weather("401", 0, 3_600).arrives(A).ends("a")
        assert self.outcomes["a"][0] == "RETRY SETUP_FAULT"

    def a_limit_holds_for_a_burst(self) -> None:
        self.limits(12).crowd(20, 0.1).plays()
        assert len(self.acts) == 20
        assert self.minutes < 20

    def a_limit_holds_while_the_table_does_not_respond(self) -> None:
        self.limits(12).fails("update", "unanswered", times=30).crowd(20, 0.1).plays()
        assert len(self.acts) == 20

    def a_success_that_began_before_a_pause_does_not_end_it(self) -> None:
        self.weather("500", 0, 2).arrives(A).arrives(Event("slow", subject="s2"), 5)
        self.fails("sends", "200 slow", "slow").pauses(6, 600)
        self.arrives(Event("later", subject="s3"), 30).plays()
        assert self.outcomes["later"][0] == "RETRY PAUSED"
        assert set(self.acts) == {"a", "slow", "later"}

    def a_success_that_began_before_a_failure_says_nothing_about_it(self) -> None:
        self.arrives(Event("slow", subject="s2")).fails("sends", "200 slow", "slow")
        self.arrives(A, 2).weather("500", 1, 5).ends("slow", hours=0.003)
        assert ("pace", "breaker") in self.world.rows

    def a_pause_holds_all_requests(self) -> None:
        self.pauses(0, 1_800).crowd(5, 1, first_s=1).plays()
        assert len(self.acts) == 5
        assert self.outcomes["e0"] == ["RETRY PAUSED", "PROCESSED ACTED"]
        # A short look has no record while its reason stays the same.
        looks = sum(self.known(name).looks for name in self.events)
        assert len(self.world.promises.outcomes) < looks

    def a_copy_in_a_long_pause_finds_that_the_event_waits(self) -> None:
        copy = replace(A, name="copy", name_of_copy="a")
        self.pauses(0, 9_000).arrives(A, 1).arrives(copy, 5_000)
        self.ends("", hours=2, copy="DUPLICATE WAITS_ALREADY")

    def a_short_look_whose_deletion_is_lost_leaves_no_second_message(self) -> None:
        self.pauses(0, 9_000).arrives(A, 1).fails("delete", "not deleted", from_s=890)
        self.ends("", hours=2)
        assert len(self.world.queue) == 1

    def a_short_look_with_another_reason_has_a_record(self) -> None:
        self.weather("429 forever", 0, 600).arrives(A).pauses(100, 6_000)
        self.ends("", hours=0.15, a="RETRY RATE_LIMITED, RETRY PAUSED")

    def a_short_look_ends_with_the_pause(self) -> None:
        self.pauses(0, 2_400).arrives(A, 1).ends("a")
        assert self.minutes < 60

    # For a person.

    def a_rejected_event_is_parked_and_its_copies_are_skipped(self) -> None:
        self.arrives(_a("rejected"), 0, 0).ends("")
        assert self.parked == ["REJECTED"]
        assert self.known("a").requests == 1
        assert "DUPLICATE SAME_KEY" in self.outcomes["a"]

    def a_parked_event_that_is_redriven_twice_acts_once(self) -> None:
        self.arrives(_a("rejected")).redrives(60, times=2)
        self.ends("a", a="PARKED REJECTED, PROCESSED ACTED, PROCESSED SETTLED_BEFORE")

    def a_redriven_event_goes_on_though_the_table_fails_first(self) -> None:
        self.arrives(_a("rejected")).redrives(60).fails("ClaimKey", "down", from_s=59).ends("a")

    def a_parked_event_begins_its_tries_anew(self) -> None:
        self.arrives(_a("fails")).crowd(100, 200).redrives(20_500).plays(hours=24)
        assert (self.acts[-1], self.parked) == ("a", [])

    def a_broken_message_is_parked(self) -> None:
        self.arrives(_a("broken")).ends("", a="PARKED UNREADABLE")
        assert self.parked == ["UNREADABLE"]

    def an_event_is_parked_after_ten_days(self) -> None:
        since_ms = START_MS - 10 * DAY_MS + 30 * MINUTE_MS
        once = {"waitsSinceMs": since_ms, "firstSentAtMs": since_ms}
        body = json.dumps({"once": once, "event": body_of(A)})
        self.weather("500", 0, 86_400).knows(A).does(0, lambda world: world.send("a", body))
        self.ends("")
        assert self.parked == ["WAITED_TOO_LONG"]
        assert self.world.now_ms >= since_ms + 10 * DAY_MS

    def an_event_that_cannot_be_parked_waits(self) -> None:
        self.arrives(_a("rejected")).fails("Parked", "down")
        self.ends("", a="RETRY PARKING_FAILED, PARKED REJECTED")

    def a_death_after_parking_leaves_one_parked_event_or_two_messages(self) -> None:
        self.arrives(_a("rejected")).fails("CloseClaim", "dies").redrives(1_200).ends("a")

    # Put back.

    def a_put_back_that_is_denied_loses_nothing(self) -> None:
        self.receives(3).weather("500", 0, 1_200).arrives(A).denies(0, 2_000)
        self.redrives(2_001).ends("a")

    def a_second_put_back_that_is_denied_loses_nothing(self) -> None:
        self.receives(3).weather("500", 0, 1_200).arrives(A).denies(20, 2_000)
        self.redrives(2_001).ends("a")

    def a_message_delivered_twice_and_denied_goes_on(self) -> None:
        self.receives(3).weather("500", 0, 1_200).arrives(A).fails("receive", "twice")
        self.denies(0.2, 900).redrives(901).ends("a")

    def copies_of_a_waiting_event_do_not_circulate(self) -> None:
        self.weather("500", 0, 900).arrives(A, 0, 0, 0, 0, 0, 60).ends("a")
        assert "DUPLICATE WAITS_ALREADY" in self.outcomes["a"]
        assert self.known("a").looks < 40

    def a_released_event_goes_on_at_its_next_look(self) -> None:
        self.weather("500", 0, 1).arrives(A).ends("a")
        assert self.minutes < 2

    def a_purged_queue_heals_by_a_replay_half_an_hour_later(self) -> None:
        self.weather("500", 0, 900).arrives(A, 0, 600 + 31 * 60).purges(600).ends("a")

    def a_look_that_fails_keeps_its_heir(self) -> None:
        self.weather("500", 0, 100).arrives(A).fails("ClaimKey", "down", from_s=1).ends("a")

    # Ordered subjects.

    def an_older_state_is_stale(self) -> None:
        self.arrives(_state("newer", 5, "on"), 0).arrives(_state("older", 0, "off"), 1)
        self.ends("newer", older="STALE NEWER_STATE")

    def a_change_and_back_acts_each_time(self) -> None:
        back = replace(ON, name="back", at_ms=START_MS + 10_000)
        self.comes(ON, OFF, back).ends("on off back")

    def the_newest_of_states_that_come_together_is_the_last(self) -> None:
        for n in range(6):
            self.arrives(_state(f"s{n}", n, str(n)), 0)
        assert self.plays().acts[-1] == "s5"

    def states_within_two_clocks_all_act(self) -> None:
        self.arrives(_state("first", 0.3, "on"), 0).arrives(_state("second", 0, "off"), 1)
        self.ends("first second")

    def a_copy_from_another_integration_is_skipped_within_two_clocks(self) -> None:
        copy = replace(ON, name="copy", at_ms=START_MS + 100, name_of_copy="on")
        self.comes(ON).arrives(_state("second", 0.2, "off"), 1).arrives(copy, 2)
        self.ends("on second", copy="DUPLICATE SAME_KEY")

    def an_unsure_state_makes_the_next_one_act(self) -> None:
        self.arrives(_state("first", 0.3, "on"), 0).arrives(_state("unsure", 0, "off"), 1)
        self.comes(_state("again", 5, "on")).ends("first unsure again")

    def a_death_silences_its_subject_for_a_lease_at_most(self) -> None:
        self.fails("RunAction", "dies", "s0").changes(6, 5).plays()
        assert self.acts[-1] == "s5"
        assert self.minutes < 6

    def an_outage_ends_with_the_newest_state(self) -> None:
        self.weather("500", 0, 600).changes(7, 5).ends("s6")

    # Facts.

    def the_same_facts_act_once(self) -> None:
        self.changes(7, 5, state="on").ends("s0")

    def the_same_facts_act_once_though_turns_are_over(self) -> None:
        self.changes(3, 200, state="on").ends("s0")

    def the_same_facts_act_after_a_rejected_state(self) -> None:
        first = _state("first", 0, "on", temper="rejected")
        self.comes(first, _state("again", 200, "on")).ends("again")

    def the_same_facts_act_while_the_first_state_waits(self) -> None:
        self.weather("500", 0, 4).comes(ON, _state("again", 6, "on")).ends("again")

    def the_same_state_again_is_unchanged(self) -> None:
        again = replace(ON, name="again", at_ms=START_MS + 60_000)
        self.comes(ON, again).ends("on", again="DUPLICATE UNCHANGED")

    # Unwanted states, and routes that want every change.

    def an_unwanted_state_between_makes_a_change(self) -> None:
        self.comes(ON, _meal(5), _state("again", 10, "on"))
        self.ends("on again", meal="IGNORED NO_ROUTE_MATCHED")

    def an_unwanted_state_at_the_same_time_makes_a_change(self) -> None:
        self.arrives(_state("on", 10, "on"), 0).arrives(_meal(10), 1)
        self.arrives(_state("again", 12, "on"), 2).ends("on again")

    def an_unwanted_state_before_makes_no_change(self) -> None:
        self.arrives(_state("on", 10, "on"), 0).arrives(_meal(9.8), 1)
        self.arrives(_state("again", 12, "on"), 2).ends("on")

    def an_older_unwanted_state_takes_nothing_back(self) -> None:
        self.arrives(_state("on", 10, "on"), 0).arrives(_meal(20, "lunch"), 1)
        self.arrives(_meal(5), 2).arrives(_state("again", 30, "on"), 3).ends("on again")

    def an_unwanted_state_passes_no_wanted_one(self) -> None:
        self.weather("500", 0, 4).comes(ON, _meal(6)).ends("on")

    def an_unwanted_state_is_noted_though_the_table_fails_first(self) -> None:
        self.comes(ON, _meal(5), _state("again", 300, "on")).fails("NoteBreak", "down")
        self.ends("on again")

    def an_expired_state_is_ignored(self) -> None:
        old = replace(OFF, name="old", expires_ms=START_MS + 4_000)
        self.comes(ON, old, _state("again", 10, "on")).ends("on again", old="IGNORED EXPIRED")

    def a_late_copy_of_the_newest_state_is_no_state_between(self) -> None:
        late = replace(ON, name="late", name_of_copy="on", expires_ms=START_MS + 30_000)
        self.comes(ON).arrives(late, 60).comes(_state("again", 120, "on"))
        self.ends("on", late="IGNORED EXPIRED")

    def the_same_facts_act_when_the_days_of_their_row_are_over(self) -> None:
        self.comes(ON, _state("again", 120, "on")).expires(60, ON.row).ends("on again")

    def the_same_state_acts_when_the_days_of_its_claim_are_over(self) -> None:
        again = replace(ON, name="again", at_ms=START_MS + 120_000)
        self.comes(ON, again).expires(60, ON.key).ends("on again")

    def a_route_that_wants_every_change_gets_each(self) -> None:
        self.weather("500", 0, 600).changes(7, 5, order="every").plays()
        assert sorted(self.acts) == [f"s{n}" for n in range(7)]

    def an_older_change_is_wanted_as_well(self) -> None:
        self.arrives(_state("newer", 10, "on", order="every"), 0)
        self.arrives(_state("older", 0, "off", order="every"), 1).ends("newer older")

    def each_change_between_makes_a_change(self) -> None:
        self.comes(ON, replace(OFF, order="every"), _state("again", 10, "on"))
        self.ends("on off again")


SITUATIONS = [name for name in vars(Situation) if not name.startswith("_")]


def play_situation(name: str, machine: Machine, most_moves: int = 100_000) -> None:
    """Raises AssertionError or BrokenError if it ends in another way."""
    getattr(Situation(machine, most_moves=most_moves), name)()
