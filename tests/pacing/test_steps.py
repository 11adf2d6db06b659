"""Both conversations against the rows: what a batch may call, and what it leaves behind."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from once_pacing import steps
from once_pacing.breaker import Open, Probe, Row
from once_pacing.limiter import Limiter
from once_pacing.payload import Begin, Candidate, End, Pace, Returned
from once_pacing.settings import Settings
from once_pacing.times import DAY_MS, Times

from proof.waiting.table import PaceTable

NOW = 1_777_888_800_000
PLAIN = Settings(None, Times.of())
LIMITED = Settings(Limiter(300), Times.of())
OPEN_SINCE = Row(NOW - 30_000, 20, open_until_ms=NOW - 1_000)


@dataclass
class World:
    """Takes the steps; what it is asked to fail it fails, and time passes as it sleeps."""

    table: PaceTable = field(default_factory=PaceTable)
    unanswered: tuple[type, ...] = ()
    refused_receipts: frozenset[str] = frozenset()
    messages: int = 0
    now_ms: int = NOW
    before: Callable[[Any], None] = lambda _: None
    taken: list[Any] = field(default_factory=list)
    visible_in: dict[str, int] = field(default_factory=dict)

    def run(self, conversation: steps.Steps) -> steps.Answer:
        try:
            step = next(conversation)
            while True:
                self.before(step)
                self.taken.append(step)
                if isinstance(step, self.unanswered):
                    step = conversation.throw(steps.UnansweredError())
                else:
                    step = conversation.send(self.take(step))
        except StopIteration as stop:
            return dict(stop.value)

    def take(self, step: Any) -> Any:
        match step:
            case steps.Sleep(milliseconds):
                self.now_ms += milliseconds
                return None
            case steps.CountMessages():
                return self.messages
            case steps.SetReturns(returns):
                done = [r for r in returns if r.receipt not in self.refused_receipts]
                self.visible_in |= {r.receipt: r.seconds for r in done}
                return {r.receipt for r in done}
        return self.table.take(step, self.now_ms)

    def begin(self, ask: Begin, settings: Settings = PLAIN) -> steps.Answer:
        return self.run(steps.begin(ask, settings, lambda: self.now_ms, lambda: 0.5))

    def end(self, ask: End, settings: Settings = PLAIN) -> steps.Answer:
        return self.run(steps.end(ask, settings, lambda: self.now_ms, lambda: 0.5))


def event(name: str, receives: int = 1, age_ms: int = 1_000) -> Candidate:
    return Candidate(name, NOW - age_ms, receives, NOW - age_ms)


def batch(*events: Candidate, row: Row | None = None, unread: bool = False) -> Begin:
    return Begin(NOW, NOW + 165_000, row, unread, events or (event("a"), event("b")))


def ended(**changes: Any) -> End:
    plain = End(NOW, None, Pace(), 0, False, (), None, None, False, ())
    return replace(plain, **changes)


def returned(name: str, reason: str = "CALL_FAILED", *copies: str) -> Returned:
    receipts = {one: f"receipt of {one}" for one in (name, *copies)}
    return Returned(receipts, f"subject of {name}", NOW, reason, None)


def waits(answer: steps.Answer) -> dict[str, str]:
    """Returns which messages are returned for now, and why."""
    return {one["messageId"]: one["reason"] for one in answer["returned"]}


def both(reason: str) -> dict[str, str]:
    return {"a": reason, "b": reason}


def test_with_a_row_that_only_counts_every_event_may_be_called_for_twice() -> None:
    answer = World().begin(batch(row=Row(NOW - 1_000, 3)))
    assert answer == {"returned": [], "requestsAllowed": 2, "requestUntilMs": NOW + 165_000}


def test_the_batch_that_opens_the_breaker_calls_nobody_and_nor_does_the_next() -> None:
    counting = Row(NOW - 9_000, 20)
    world = World(PaceTable(counting))
    assert waits(world.begin(batch(row=counting))) == both("BREAKER_OPEN")
    assert world.table.row == replace(counting, open_until_ms=NOW + 20_000)
    assert waits(world.begin(batch(row=world.table.row))) == both("BREAKER_OPEN")


def test_one_of_two_batches_probes_with_its_freshest_event() -> None:
    world = World(PaceTable(OPEN_SINCE))
    poison, fresh = event("poison", receives=9), event("fresh", receives=2)
    first = world.begin(batch(poison, fresh, row=OPEN_SINCE))
    second = world.begin(batch(event("c"), row=OPEN_SINCE))
    assert waits(first) == {"poison": "BREAKER_OPEN"}, "it waits for the breaker"
    assert first["requestsAllowed"] == 1
    assert first["probe"] == NOW + 20_000
    assert waits(second) == {"c": "BREAKER_OPEN"}


def test_a_probe_that_is_held_up_for_its_turn_does_not_call_beside_the_next() -> None:
    answer = World(PaceTable(OPEN_SINCE)).begin(batch(row=OPEN_SINCE))
    assert answer["requestUntilMs"] == answer["probe"] < batch().deadline_ms


def test_a_batch_that_loses_the_turn_to_a_success_sends_immediately() -> None:
    world = World(PaceTable(None))
    assert waits(world.begin(batch(row=OPEN_SINCE))) == {}


def test_a_batch_that_loses_every_turn_sends_nothing() -> None:
    table = PaceTable(OPEN_SINCE)

    def move_the_row(step: Any) -> None:
        if isinstance(step, Probe):
            table.row = replace(step.seen, failed=20, open_until_ms=step.seen.until_ms + 1)

    world = World(table, before=move_the_row)
    assert waits(world.begin(batch(row=OPEN_SINCE))) == both("BREAKER_OPEN")
    assert [type(step) for step in world.taken].count(Probe) == 3


def test_an_unread_row_is_read_again_and_counts() -> None:
    world = World(PaceTable(replace(OPEN_SINCE, open_until_ms=NOW + 5_000)))
    assert waits(world.begin(batch(unread=True))) == both("BREAKER_OPEN")


def test_a_row_that_stays_unread_is_an_error_for_the_machine_to_decide() -> None:
    with pytest.raises(steps.UnansweredError):
        World(unanswered=(steps.ReadRow,)).begin(batch(unread=True))


def test_an_event_older_than_ten_days_is_allowed_whatever_the_pace_says() -> None:
    opened = replace(OPEN_SINCE, open_until_ms=NOW + 5_000)
    old = event("old", age_ms=10 * DAY_MS + 1)
    world = World(PaceTable(opened))
    answer = world.begin(batch(old, event("young"), row=opened))
    assert waits(answer) == {"young": "BREAKER_OPEN"}
    alone = World().begin(batch(old), LIMITED)
    assert waits(alone) == {}
    assert "tokens" not in alone


def test_a_batch_takes_a_token_for_each_event_and_calls_each_once() -> None:
    answer = World().begin(batch(), LIMITED)
    slot = NOW // 2_156
    assert answer == {
        "returned": [],
        "requestsAllowed": 1,
        "slot": slot,
        "tokens": 2,
        "requestUntilMs": (slot + 1) * 2_156 + 1_500,
    }


def test_the_oldest_events_get_the_last_tokens_of_a_slot() -> None:
    world = World()
    world.table.used[NOW // 2_156] = 9
    answer = world.begin(batch(event("new", age_ms=1), event("old", age_ms=9)), LIMITED)
    assert waits(answer) == {"new": "LIMITED"}


def test_a_batch_waits_twice_for_a_slot_and_then_lets_the_queue_wait() -> None:
    world = World()
    world.table.used |= {NOW // 2_156 + ahead: 10 for ahead in range(9)}
    answer = world.begin(batch(), LIMITED)
    assert waits(answer) == both("LIMITED")
    assert [type(step).__name__ for step in world.taken].count("Sleep") == 2
    assert world.now_ms - NOW < 3 * 2_156


def test_no_batch_waits_for_a_slot_beyond_its_deadline() -> None:
    world = World()
    world.table.used[NOW // 2_156] = 10
    world.begin(replace(batch(), deadline_ms=NOW + 10), LIMITED)
    assert world.now_ms == NOW


def test_a_probe_takes_a_token_and_without_one_leaves_the_turn_to_the_next() -> None:
    world = World(PaceTable(OPEN_SINCE))
    assert world.begin(batch(row=OPEN_SINCE), LIMITED)["tokens"] == 1
    world = World(PaceTable(OPEN_SINCE))
    world.table.used |= {NOW // 2_156 + ahead: 10 for ahead in range(9)}
    answer = world.begin(batch(row=OPEN_SINCE), LIMITED)
    assert waits(answer) == both("LIMITED")
    assert "probe" not in answer
    assert world.table.row
    assert world.table.row.open_until_ms == world.now_ms


def test_a_hold_stops_every_batch_until_it_ends_or_somebody_resumes() -> None:
    world = World()
    world.table.pause("repairs", NOW + 1_800_000, NOW)
    assert waits(world.begin(batch(row=world.table.row))) == both("BREAKER_OPEN")
    world.table.resume()
    assert world.table.row is None
    assert waits(world.begin(batch(row=world.table.row))) == {}


def test_an_answer_of_a_batch_that_began_before_the_hold_does_not_end_it() -> None:
    counting = Row(NOW - 5_000, 3)
    world = World(PaceTable(counting))
    world.table.pause("repairs", NOW + 1_800_000, NOW)
    world.end(ended(own_action=True, answered=True, requests=1, breaker=counting))
    assert world.table.row
    assert world.table.row.held == "repairs"


def test_for_an_own_lambda_the_end_notes_failures_and_an_answer_deletes_the_row() -> None:
    world = World()
    world.end(ended(own_action=True, failures=["k1", "k2"], failed_ms=NOW - 8_000, requests=2))
    assert world.table.row == Row(NOW - 8_000, 2)
    world.end(ended(own_action=True, answered=True, breaker=world.table.row, requests=1))
    assert world.table.row is None


def test_an_answer_to_a_call_of_before_the_first_failure_does_not_delete_the_row() -> None:
    younger = Row(NOW - 1_000, 4)
    world = World(PaceTable(younger))
    stale = {"breaker": Row(NOW - 60_000, 4), "started_ms": NOW - 50_000}
    world.end(ended(own_action=True, answered=True, requests=1, **stale))
    assert world.table.row == younger


def test_an_answer_that_comes_after_the_opening_still_closes() -> None:
    counting = Row(NOW - 9_000, 20)
    world = World(PaceTable(replace(counting, open_until_ms=NOW + 20_000)))
    world.end(ended(own_action=True, answered=True, breaker=counting, requests=1))
    assert world.table.row is None


def test_our_own_function_has_noted_what_it_could() -> None:
    world = World()
    world.end(ended(retry_after_seconds=9, answered=True))
    assert world.table.row is None
    assert world.taken == []


def test_a_failure_that_our_own_function_could_not_note_is_noted_for_it() -> None:
    world = World()
    world.end(ended(failures=["k1"], failed_ms=NOW))
    assert world.table.row == Row(NOW, 1)


def test_a_429_of_an_own_lambda_is_obeyed_for_all() -> None:
    world = World()
    world.end(ended(own_action=True, retry_after_seconds=600, requests=1))
    assert world.table.row == Row(NOW, not_before_ms=NOW + 180_000)


def test_a_probe_that_made_no_call_lets_the_next_batch_probe() -> None:
    probing = replace(OPEN_SINCE, open_until_ms=NOW + 20_000)
    world = World(PaceTable(probing))
    world.end(ended(pace=Pace(probe_ms=NOW + 20_000)))
    assert world.table.row == replace(probing, open_until_ms=NOW)


def test_a_probe_that_failed_changes_nothing() -> None:
    probing = replace(OPEN_SINCE, open_until_ms=NOW + 20_000)
    world = World(PaceTable(probing))
    world.end(ended(pace=Pace(probe_ms=NOW + 20_000), requests=1))
    assert world.table.row == probing


def test_copies_return_with_the_event_they_wait_for() -> None:
    world = World()
    answer = world.end(ended(events=[returned("a", "CALL_FAILED", "b", "c")]))
    assert world.visible_in == {f"receipt of {one}": 30 for one in "abc"}
    assert answer["returns"] == [{"messageId": one, "returnsAtMs": NOW + 30_000} for one in "abc"]


def test_a_return_time_that_the_queue_refused_is_not_claimed() -> None:
    world = World(refused_receipts=frozenset({"receipt of a"}))
    answer = world.end(ended(events=[returned("a"), returned("b")]))
    assert [r["messageId"] for r in answer["returns"]] == ["b"]


def test_tokens_that_were_not_used_go_back_while_their_slot_lasts() -> None:
    slot = NOW // 2_156
    world = World()
    world.table.used[slot] = 10
    world.end(ended(pace=Pace(slot, tokens=10), requests=7), LIMITED)
    assert world.table.used[slot] == 7
    world.now_ms += 2_156
    world.end(ended(pace=Pace(slot, tokens=3), requests=0), LIMITED)
    assert world.table.used[slot] == 7


@pytest.mark.parametrize(
    "lost",
    [
        steps.ReadRow,
        steps.CountMessages,
        steps.NoteFailure,
        steps.NoteRateLimited,
        steps.Clear,
        steps.EndProbe,
    ],
)
def test_whatever_is_not_answered_at_the_end_the_return_times_are_set(lost: type) -> None:
    world = World(unanswered=(lost,))
    ask = ended(
        own_action=True,
        answered=True,
        breaker=OPEN_SINCE,
        failures=["k"],
        failed_ms=NOW,
        retry_after_seconds=5,
        pace=Pace(NOW // 2_156, 2, NOW + 20_000),
        events=[returned("a", "LIMITED")],
    )
    assert world.end(ask, LIMITED)["returns"]
    assert lost in {type(step) for step in world.taken}


def test_nothing_comes_after_the_tokens_that_can_fail_and_make_somebody_ask_again() -> None:
    world = World(unanswered=(steps.GiveBackTokens,))
    world.table.used[NOW // 2_156] = 5
    ask = ended(pace=Pace(NOW // 2_156, 5), events=[returned("a")])
    world.end(ask, LIMITED)
    assert isinstance(world.taken[-1], steps.GiveBackTokens)


@pytest.mark.parametrize("lost", [Open, Probe])
def test_a_turn_whose_write_was_not_answered_makes_no_call(lost: type) -> None:
    row = OPEN_SINCE if lost is Probe else Row(NOW - 9_000, 20)
    world = World(PaceTable(row), unanswered=(lost,))
    with pytest.raises(steps.UnansweredError):
        world.begin(batch(row=row))


def test_events_of_one_subject_return_together_and_others_when_they_like() -> None:
    same = replace(returned("b"), subject="subject of a")
    ask = ended(events=[returned("a"), same, returned("c")])
    draws = iter([0.0, 0.0, 1.0])
    world = World()
    world.run(steps.end(ask, PLAIN, lambda: NOW, lambda: next(draws)))
    assert list(world.visible_in.values()) == [15, 15, 45]


def test_long_slots_return_events_to_the_queue() -> None:
    slow = Settings(Limiter(10), Times.of())
    now = NOW // slow.limiter.slot_ms * slow.limiter.slot_ms  # type: ignore[union-attr]
    world = World(now_ms=now)
    world.table.used[now // slow.limiter.slot_ms] = 1  # type: ignore[union-attr]
    assert waits(world.begin(batch(), slow)) == both("LIMITED")
    assert world.now_ms == now


def test_a_batch_that_waited_for_a_slot_calls_with_the_tokens_of_the_next() -> None:
    world = World()
    world.table.used[NOW // 2_156] = 10
    answer = world.begin(batch(), LIMITED)
    assert (answer["slot"], answer["tokens"]) == (NOW // 2_156 + 1, 2)
    assert waits(answer) == {}


def test_no_call_begins_after_the_deadline_however_long_the_slot_lasts() -> None:
    answer = World().begin(replace(batch(), deadline_ms=NOW + 10), LIMITED)
    assert answer["requestUntilMs"] == NOW + 10


@pytest.mark.parametrize(("calls", "settings"), [(2, LIMITED), (3, LIMITED), (0, PLAIN)])
def test_a_batch_without_tokens_gives_none_back(calls: int, settings: Settings) -> None:
    world = World()
    world.end(ended(pace=Pace(NOW // 2_156, tokens=2), requests=calls), settings)
    assert world.taken == []


def test_those_over_the_limit_return_by_how_many_wait_with_them() -> None:
    for messages, seconds in ((0, 2), (3_000, 241)):
        world = World(messages=messages)
        world.end(ended(events=[returned("a", "LIMITED")]), LIMITED)
        assert world.visible_in == {"receipt of a": seconds}


def test_an_answer_that_met_no_row_asks_nothing_of_the_table() -> None:
    world = World()
    world.end(ended(own_action=True, answered=True, requests=1))
    assert world.taken == []


@pytest.mark.parametrize(
    ("age_ms", "waiting"),
    [(10 * DAY_MS, {"a": "BREAKER_OPEN"}), (10 * DAY_MS + 1, {})],
    ids=["young", "old"],
)
def test_ten_days_to_the_millisecond_is_not_too_old(age_ms: int, waiting: dict[str, str]) -> None:
    opened = replace(OPEN_SINCE, open_until_ms=NOW + 5_000)
    assert waits(World().begin(batch(event("a", age_ms=age_ms), row=opened))) == waiting


def test_copies_are_returned_with_the_event_that_was_kept() -> None:
    opened = replace(OPEN_SINCE, open_until_ms=NOW + 5_000)
    kept = replace(event("a"), copies=("copy",))
    assert waits(World().begin(batch(kept, row=opened))) == {
        "a": "BREAKER_OPEN",
        "copy": "BREAKER_OPEN",
    }
