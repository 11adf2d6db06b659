"""The judge of a chaos run finds what is lost, doubled, or given up without a reason."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from once_enrichment.normalise import normalise

from once.genesys.server import Received
from once.outcomes import Outcome
from once.run.report import LineReport, Report
from proof.chaos.effects import Ended, FaultsReport, RepeatedAct
from proof.chaos.events import Happening, Stream, chaos_stream
from proof.chaos.faults import OrderCheck
from proof.chaos.verdict import MAX_RECEIVES, UNDER_WAY_MS, Verdict, judge

OLD, NEW = Happening("old", 1_000, latest_by="agent"), Happening("new", 2_000, latest_by="agent")
ALONE = Happening("alone", 1_500)
CUT = Happening("cut", 1_500, broken=True)
POISON = Happening("poison", 1_500, poison=True)
STATE = Happening("state", 1_500, latest_by="call", returns=True)
MAX_TRIES = 3
PROCESSED, DUPLICATE, STALE, _, PARKED, RETRY = Outcome


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
    """Makes a request that the destination received for a line, under any key, from an execution
    that has the key's name."""
    body = {"topic": "topic", "body": event(line)["detail"]}
    facts, headers = {"idempotencyKey": key}, {"x-once-execution": key}
    return Received(at_ms, "webhook", facts, headers, body, b"", status, acted, repeated)


def verdict(
    said: Sequence[tuple[Happening, Outcome]],
    *requests: Received,
    repeated: Mapping[str, list[str]] | None = None,
    dead: Sequence[Ended] = (),
    given_up: Sequence[Ended] = (),
    reason: str | None = None,
    unsettled: Mapping[str, int] | None = None,
    asked: Mapping[str, float] | None = None,
) -> Verdict:
    """Lines count from 1, as they are told. Each request asked for a newer state right before, or
    when `asked` says of its key; the answer took half a millisecond."""
    stream = Stream()
    for line, (happening, _) in enumerate(said, 1):
        stream.tell(happening, "{" if happening.broken else event(line))
    acts = [
        RepeatedAct(idempotency_key=key, acts=2, because=because)
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
        seconds=1,
    )
    faults = FaultsReport(
        happened={},
        repeated_acts=acts,
        dead_letters=dead,
        given_up=given_up,
        unsettled=unsettled or {},
    )
    asked_ms = {one.facts["idempotencyKey"]: one.at_ms - 1.0 for one in requests} | (asked or {})
    checks = [
        OrderCheck(owner=key, asked_ms=at_ms, passed_ms=at_ms + 0.5)
        for key, at_ms in asked_ms.items()
    ]
    return judge(stream, report, faults, requests, checks, MAX_TRIES)


def names(found: Sequence[str]) -> list[str]:
    return [one.partition(":")[0] for one in found]


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


def test_an_unchanged_state_acts_twice_unless_a_fault_hid_that_it_was_settled() -> None:
    said = [(STATE, PROCESSED), (STATE, PROCESSED)]
    acts = request(1, "k.1"), request(2, "k.2")
    assert verdict(said, *acts).acted_twice == ["state"]
    assert verdict(said, *acts, unsettled={"other": 1}).acted_twice == ["state"]
    excused = verdict(said, *acts, unsettled={"k": 1})
    assert (excused.faultless, excused.unchanged) == (True, 1)
    assert verdict(said, *acts, request(1, "k.3"), unsettled={"k": 1}).acted_twice == ["state"]
    other = request(2, "other.2")
    assert verdict(said, acts[0], other, unsettled={"k": 1, "other": 1}).acted_twice == ["state"]
    said = [(ALONE, PROCESSED), (ALONE, PROCESSED)]
    assert verdict(said, *acts, unsettled={"k": 1}).acted_twice == ["alone"]


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


def test_an_older_state_that_asked_after_a_newer_one_had_passed_may_not_act() -> None:
    said = [(OLD, PROCESSED), (NEW, PROCESSED)]
    old, new = request(1, "o", at_ms=9_000), request(2, "n", at_ms=8_000)
    found = verdict(said, old, new, asked={"n": 5_000, "o": 5_001})
    assert found.stale_over_newer == ["old: asked 0.001 s after new had passed"]
    refused = request(2, "n", 500, at_ms=8_000, acted=False)
    assert verdict(said, old, refused, request(2, "n", at_ms=10_000)).faultless
    elsewhere = Happening("elsewhere", 3_000, latest_by="another agent")
    said = [(OLD, PROCESSED), (elsewhere, PROCESSED)]
    assert verdict(said, old, request(2, "e")).faultless


def test_an_older_state_that_had_asked_before_may_arrive_after_a_newer_one() -> None:
    """However long a busy machine lets its function begin."""
    said = [(OLD, PROCESSED), (NEW, PROCESSED)]
    new = request(2, "n", at_ms=6_000)
    slow, asked = request(1, "o", at_ms=5_000 + UNDER_WAY_MS), {"n": 5_500, "o": 5_000}
    assert verdict(said, slow, new, asked=asked).faultless
    slower = request(1, "o", at_ms=5_001 + UNDER_WAY_MS)
    found = verdict(said, slower, new, asked=asked)
    assert found.stale_over_newer == ["old: under way too long, after new"]
    assert verdict([(OLD, PROCESSED)], slower, asked=asked).faultless


def test_an_ordered_state_may_not_act_without_asking() -> None:
    said = [(OLD, PROCESSED), (NEW, PROCESSED)]
    new, second = request(2, "n", at_ms=6_000), request(1, "o", at_ms=9_000)
    found = verdict(said, new, second, asked={"n": 5_500, "o": 9_500})
    assert found.stale_over_newer == ["old: without asking for a newer state"]


def test_only_what_is_broken_or_refused_is_parked() -> None:
    assert names(verdict([(ALONE, PARKED)]).parked_for_nothing) == ["alone"]
    assert verdict([(ALONE, PARKED)], request(1, "a", 422, acted=False)).faultless


def test_what_is_given_up_must_have_failed_as_often_as_it_may() -> None:
    failed = [request(1, "a", status, acted=False) for status in (500, None, 503)]
    given_up = verdict([(ALONE, PARKED)], *failed)
    assert (given_up.faultless, given_up.parked) == (True, ["alone"])
    assert names(verdict([(ALONE, PARKED)], *failed[1:]).parked_for_nothing) == ["alone"]
    limited = request(1, "a", 429, acted=False)
    assert names(verdict([(ALONE, PARKED)], *failed[1:], limited).parked_for_nothing) == ["alone"]


def test_what_always_fails_may_have_failed_more_often_than_was_seen() -> None:
    assert verdict([(POISON, PARKED)], request(1, "a", 500, acted=False)).faultless
    assert names(verdict([(POISON, PARKED)]).parked_for_nothing) == ["poison"]


def test_a_function_that_did_not_end_may_have_spent_a_try_before_it_called() -> None:
    failed = [request(1, "a", 500, acted=False)] * 2
    for fault in ("data_action.killed", "data_action.timed_out"):
        ended = Ended(line=1, reason="GAVE_UP", met={fault: 1})
        assert verdict([(ALONE, PARKED)], *failed, given_up=[ended]).faultless
    for met in (
        {"table.throttled": 1},
        # The same request: the destination was silent, so the function waited in vain.
        {"data_action.timed_out": 1, "destination.silent": 1},
    ):
        other = Ended(line=1, reason="GAVE_UP", met=met)
        found = verdict([(ALONE, PARKED)], *failed, given_up=[other])
        assert names(found.parked_for_nothing) == ["alone"]


def letter(line: int = 1, **met: int) -> Ended:
    return Ended(line=line, reason="SETUP_FAULT", met=met)


def test_a_dead_letter_wants_a_fault_for_each_of_its_receives() -> None:
    said = [(ALONE, RETRY)]
    assert verdict(said, dead=[letter()]).dead_for_nothing == ["alone"]
    assert verdict(said, dead=[letter(killed=MAX_RECEIVES - 1)]).dead_for_nothing == ["alone"]
    killed = verdict(said, dead=[letter(killed=MAX_RECEIVES - 1, throttled=1)])
    assert (killed.faultless, killed.dead) == (True, ["alone: SETUP_FAULT"])


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


def test_a_snapshot_with_another_attribute_is_a_change_and_a_copy_is_none() -> None:
    stream = chaos_stream(7, 600)
    bodies: dict[str, set[str]] = {}
    for line, happening in zip(stream.lines, stream.said, strict=True):
        if (happening.latest_by or "").startswith(("snapshot", "member")):
            assert happening.returns
            body = json.dumps(json.loads(line)["detail"]["eventBody"])
            bodies.setdefault(happening.name, set()).add(body)
    assert all(len(said) == 1 for said in bodies.values())
    distinct = {body for [body] in bodies.values()}
    assert len(distinct) == len(bodies)
    assert any('"de"' in one and one.replace('"de"', '"en"') in distinct for one in distinct)


@pytest.mark.parametrize("seed", [1, 7, 14])
def test_the_enrichment_tells_apart_what_the_stream_does(seed: int) -> None:
    """A family that is keyed otherwise is seen here, and not as a double of a long run."""
    stream = chaos_stream(seed, 1_000)
    keys: dict[Happening, set[tuple[str, str]]] = {}
    for line, happening in zip(stream.lines, stream.said, strict=True):
        if not happening.broken:
            element = normalise({"messageId": "m", "receiptHandle": "r", "body": line})
            keys.setdefault(happening, set()).add((element["key"]["pk"], element["key"]["sk"]))
            order = element["policy"]["order"]
            assert happening.returns == (order == "changes")
            assert (happening.latest_by is None) == (order == "none")
    assert {len(of_its_copies) for of_its_copies in keys.values()} == {1}
    # A chat's status comes again, and its time tells which one it is.
    lasting = [key for one, [key] in keys.items() if not (one.latest_by or "").startswith("chat")]
    assert len(set(lasting)) == len(lasting)
