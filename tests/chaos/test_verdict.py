"""The judge of a chaos run finds what is lost, doubled, or given up without a reason."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from once.genesys.server import Received
from once.outcomes import Outcome
from once.run.report import Ended, FaultsReport, LineReport, RepeatedAct, Report
from proof.chaos.events import Happening, Stream, chaos_stream
from proof.chaos.verdict import MAX_RECEIVES, Verdict, judge
from proof.template import RESOURCES

OLD, NEW = Happening("old", 1_000, latest_by="agent"), Happening("new", 2_000, latest_by="agent")
ALONE = Happening("alone", 1_500)
CUT = Happening("cut", 1_500, broken=True)
POISON = Happening("poison", 1_500, poison=True)
MAX_TRIES = 3
PROCESSED, DUPLICATE, STALE, PARKED, RETRY = Outcome


def event(line: int) -> dict[str, Any]:
    return {"detail-type": "topic", "detail": {"line": line}}


def request(
    line: int,
    key: str,
    status: int | None = 200,
    *,
    at_ms: int = 1,
    acted: bool = True,
    repeated: bool = False,
) -> Received:
    """What the destination received because of a line, under a key that it need not deserve."""
    body = {"topic": "topic", "body": event(line)["detail"]}
    return Received(
        at_ms, "webhook", {"idempotencyKey": key}, {}, body, b"", status, acted, repeated
    )


def verdict(
    said: Sequence[tuple[Happening, Outcome]],
    *requests: Received,
    repeated: Mapping[str, list[str]] | None = None,
    dead: Sequence[Ended] = (),
    given_up: Sequence[Ended] = (),
    reason: str | None = None,
) -> Verdict:
    """Lines count from 1, as they are told."""
    stream = Stream()
    for line, (happening, _) in enumerate(said, 1):
        stream.tell(happening, "{" if happening.broken else event(line))
    acts = [
        RepeatedAct(idempotency_key=key, line=1, acts=2, because=because)
        for key, because in (repeated or {}).items()
    ]
    report = Report(
        received=len(said),
        outcomes={},
        events=[
            LineReport(line=line, outcome=outcome, key=None, reason=reason, via="queue")
            for line, (_, outcome) in enumerate(said, 1)
        ],
        actions=[],
        dead_letters=len(dead),
        seconds=1,
        faults=FaultsReport(
            seed=1,
            happened={},
            repeated_acts=acts,
            dead_letters=list(dead),
            given_up=list(given_up),
        ),
    )
    return judge(stream, report, requests, MAX_TRIES)


def test_each_acted_once_with_its_copies_is_faultless() -> None:
    said = [(ALONE, DUPLICATE), (ALONE, PROCESSED), (NEW, PROCESSED), (OLD, STALE), (CUT, PARKED)]
    found = verdict(said, request(2, "a"), request(3, "n"))
    assert found.faultless
    assert (found.acted, found.stale, found.parked) == (2, 1, ["cut"])


def test_what_is_called_processed_but_never_acted_is_lost() -> None:
    assert verdict([(ALONE, PROCESSED)]).lost == ["alone"]
    assert verdict([(ALONE, PROCESSED)], request(1, "a", 500, acted=False)).lost == ["alone"]


def test_copies_of_which_none_acted_are_lost() -> None:
    assert verdict([(ALONE, DUPLICATE), (ALONE, DUPLICATE)]).lost == ["alone"]


def test_what_was_never_settled_is_lost() -> None:
    assert verdict([(ALONE, RETRY)]).lost == ["alone"]


def test_what_always_fails_may_be_left_waiting_alone() -> None:
    failed = request(1, "p", 500, acted=False)
    said = [(POISON, RETRY), (ALONE, PROCESSED)]
    alone = verdict(said, failed, request(2, "a"), reason="CALL_FAILED")
    assert (alone.faultless, alone.waiting) == (True, ["poison"])
    both = verdict([(POISON, RETRY), (ALONE, RETRY)], failed, reason="CALL_FAILED")
    assert (both.lost, both.waiting) == (["poison", "alone"], [])
    assert verdict(said, request(2, "a"), reason="THROTTLED").waiting == ["poison"]
    gone = verdict(said, request(2, "a"), reason="LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME")
    assert gone.lost == ["poison"]


def test_two_that_share_a_key_are_one_too_few() -> None:
    said = [(ALONE, PROCESSED), (NEW, PROCESSED)]
    assert verdict(said, request(1, "k"), request(2, "k", repeated=True)).lost == ["new"]


def test_copies_that_act_under_keys_of_their_own_act_twice() -> None:
    said = [(ALONE, PROCESSED), (ALONE, PROCESSED)]
    assert verdict(said, request(1, "one"), request(2, "other")).acted_twice == ["alone"]


def test_a_repeated_act_is_a_double_unless_its_answer_was_lost() -> None:
    said = [(ALONE, PROCESSED)]
    requests = [request(1, "a", None), request(1, "a", repeated=True)]
    excused = verdict(said, *requests, repeated={"a": ["destination.answer_lost"]})
    assert (excused.faultless, excused.repeated) == (True, 1)
    assert verdict(said, *requests, repeated={"a": []}).acted_twice == ["alone"]


def test_the_newest_state_is_never_stale() -> None:
    said = [(OLD, PROCESSED), (NEW, STALE)]
    assert verdict(said, request(1, "o")).stale_for_nothing == ["new"]
    assert verdict([(ALONE, STALE)]).stale_for_nothing == ["alone"]


def test_an_older_state_may_pass_a_newer_one_in_work_but_not_come_after_it() -> None:
    said = [(OLD, PROCESSED), (NEW, PROCESSED)]
    old, new = request(1, "o", at_ms=20_000), request(2, "n", at_ms=9_999)
    assert verdict(said, old, new).stale_over_newer == ["old"]
    assert verdict(said, old, request(2, "n", at_ms=10_000)).faultless
    assert verdict(said, request(1, "o"), request(2, "n", at_ms=90_000)).faultless
    refused = request(2, "n", 500, at_ms=1, acted=False)
    assert verdict(said, old, refused, request(2, "n", at_ms=90_000)).faultless
    elsewhere = Happening("elsewhere", 3_000, latest_by="another agent")
    said = [(OLD, PROCESSED), (elsewhere, PROCESSED)]
    assert verdict(said, old, request(2, "e")).faultless


def test_only_what_is_broken_or_refused_is_parked() -> None:
    assert verdict([(ALONE, PARKED)]).parked_for_nothing == ["alone"]
    assert verdict([(ALONE, PARKED)], request(1, "a", 422, acted=False)).faultless


def test_what_is_given_up_must_have_failed_as_often_as_it_may() -> None:
    failed = [request(1, "a", status, acted=False) for status in (500, None, 503)]
    given_up = verdict([(ALONE, PARKED)], *failed)
    assert (given_up.faultless, given_up.parked) == (True, ["alone"])
    assert verdict([(ALONE, PARKED)], *failed[1:]).parked_for_nothing == ["alone"]
    limited = request(1, "a", 429, acted=False)
    assert verdict([(ALONE, PARKED)], *failed[1:], limited).parked_for_nothing == ["alone"]


def test_what_always_fails_may_have_failed_more_often_than_was_seen() -> None:
    assert verdict([(POISON, PARKED)], request(1, "a", 500, acted=False)).faultless
    assert verdict([(POISON, PARKED)]).parked_for_nothing == ["poison"]


def test_a_function_that_was_killed_may_have_spent_a_try_before_it_called() -> None:
    failed = [request(1, "a", 500, acted=False)] * 2
    killed = Ended(line=1, reason="GAVE_UP", met={"data_action.killed": 1})
    assert verdict([(ALONE, PARKED)], *failed, given_up=[killed]).faultless
    other = Ended(line=1, reason="GAVE_UP", met={"table.throttled": 1})
    found = verdict([(ALONE, PARKED)], *failed, given_up=[other])
    assert found.parked_for_nothing == ["alone"]


def letter(line: int = 1, **met: int) -> Ended:
    return Ended(line=line, reason="SETUP_FAULT", met=met)


def test_a_dead_letter_wants_a_fault_for_each_of_its_receives() -> None:
    said = [(ALONE, RETRY)]
    assert verdict(said, dead=[letter()]).dead_for_nothing == ["alone"]
    assert verdict(said, dead=[letter(killed=MAX_RECEIVES - 1)]).dead_for_nothing == ["alone"]
    killed = verdict(said, dead=[letter(killed=MAX_RECEIVES - 1, throttled=1)])
    assert (killed.faultless, killed.dead) == (True, ["alone: SETUP_FAULT"])


def test_a_message_dies_after_as_many_receives_as_the_template_says() -> None:
    queue = RESOURCES["EventQueue"]["Properties"]
    assert queue["RedrivePolicy"]["maxReceiveCount"] == MAX_RECEIVES


def test_what_always_fails_is_lost_where_nothing_keeps_it() -> None:
    assert verdict([(POISON, RETRY)]).lost == ["poison"]
    assert verdict([(POISON, PROCESSED)]).lost == ["poison"]


def test_a_dead_letter_whose_copy_is_called_a_duplicate_is_lost() -> None:
    said = [(POISON, RETRY), (POISON, DUPLICATE)]
    assert verdict(said, dead=[letter()]).lost == ["poison"]


def test_a_stream_is_the_same_for_the_same_seed_and_has_copies_of_every_kind() -> None:
    stream = chaos_stream(7, 600)
    assert stream == chaos_stream(7, 600)
    assert stream.lines != chaos_stream(8, 600).lines
    assert len(stream.lines) == len(stream.said) == 600
    said = set(stream.said)
    kinds = {
        (happening.latest_by or "call").split()[0] for happening in said if not happening.broken
    }
    assert kinds == {"call", "presence", "routing", "snapshot", "chat", "member"}
    assert any(happening.broken for happening in said)
    assert not any(happening.poison for happening in said)
    assert 60 < len(stream.lines) - len(said) < 180
    for line, happening in zip(stream.lines, stream.said, strict=True):
        if not happening.broken:
            detail = json.loads(line)["detail"]
            topic = detail.get("topicName", "Conversation Status Change")
            assert stream.about(topic, detail.get("eventBody", detail)) == happening


def test_poison_is_in_the_stream_as_often_as_asked() -> None:
    stream = chaos_stream(7, 100, poison=3)
    poison = [happening for happening in stream.said if happening.poison]
    assert len(poison) == len(set(stream.poisoned)) == 3
    for happening, conversation in zip(poison, stream.poisoned, strict=True):
        line = stream.lines[stream.said.index(happening)]
        assert json.loads(line)["detail"]["eventBody"]["conversationId"] == conversation
