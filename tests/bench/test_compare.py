"""The comparison's judge bites, and its world gives rivals the faults that streams plan."""

from dataclasses import replace

import pytest

from bench.compare import ours
from bench.compare.__main__ import broken
from bench.compare.judge import LOST, OLD, SKIPPED, TOLD_APART, TWICE, judge
from bench.compare.rivals import RIVALS, Rival, only_act
from bench.compare.streams import Stream, streams
from bench.compare.world import Acted, Result, World

STREAMS = {stream.name: stream for stream in streams(1)}
BY_LETTER = {rival.letter: rival for rival in RIVALS}
NOTHING = Rival("x", "only acts", only_act)


def verdict(letter: str, stream: str) -> dict[str, int]:
    return judge(STREAMS[stream], World(BY_LETTER[letter], STREAMS[stream], 1).play())


def acts(stream: Stream, *numbers: int) -> list[Acted]:
    happenings = stream.happenings
    return [Acted(happenings[number], str(at), at) for at, number in enumerate(numbers)]


def test_event_without_an_act_is_lost_after_a_fault_and_else_skipped() -> None:
    nothing = Result([], set())
    assert judge(STREAMS["crashes"], nothing) == {LOST: 18, SKIPPED: 6}


def test_kept_event_is_not_lost() -> None:
    stream = STREAMS["crashes"]
    assert judge(stream, Result([], {each.name for each in stream.happenings})) == {}


def test_second_act_counts_apart_under_another_key() -> None:
    stream = STREAMS["copies"]
    every = acts(stream, *range(len(stream.happenings)))
    again = [every[0]._replace(at_ms=99), every[1]._replace(key="another", at_ms=99)]
    assert judge(stream, Result(every + again, set())) == {TWICE: 2, TOLD_APART: 1}


def test_older_state_after_a_newer_one_counts_and_a_replaced_state_is_not_skipped() -> None:
    stream = replace(STREAMS["there and back"], messages=STREAMS["there and back"].messages[:3])
    assert judge(stream, Result(acts(stream, 0, 2, 1), set())) == {OLD: 1}
    assert judge(stream, Result(acts(stream, 0, 2), set())) == {}
    assert judge(stream, Result(acts(stream, 0, 1), set())) == {SKIPPED: 1}


@pytest.mark.parametrize(
    ("letter", "stream", "counts"),
    [
        ("a", "redelivery", {TWICE}),
        ("b", "crashes", {LOST}),
        ("h", "failing action", {LOST}),
        ("h", "same state again", {SKIPPED}),
        ("i", "late copies", {TWICE}),
        ("j", "out of order", {OLD}),
        ("g", "crashes", set()),
    ],
)
def test_rival_fails_where_its_lines_say_so(letter: str, stream: str, counts: set[str]) -> None:
    assert set(verdict(letter, stream)) == counts


def test_world_delivers_every_message_and_redelivers_after_a_crash() -> None:
    stream = STREAMS["crashes"]
    result = World(NOTHING, stream, 1).play()
    assert {act.happening for act in result.acts} == set(stream.happenings)


def test_worlds_of_one_seed_are_alike() -> None:
    stream = STREAMS["burst"]
    assert World(BY_LETTER["a"], stream, 1).play() == World(BY_LETTER["a"], stream, 1).play()


@pytest.mark.parametrize("name", ["late copies", "crashes", "failing action", "redelivery"])
def test_deployed_code_keeps_its_promises(name: str) -> None:
    assert judge(STREAMS[name], ours.play(STREAMS[name], 1)) == {}


def test_promise_of_ours_is_named_if_it_breaks() -> None:
    assert broken({"crashes": judge(STREAMS["crashes"], Result([], set()))})
