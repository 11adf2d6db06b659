"""The comparison's judge bites, and its world gives rivals the faults that streams plan."""

import pytest

from bench.compare import ours
from bench.compare.__main__ import broken
from bench.compare.judge import LOST, OLD, SKIPPED, TOLD_APART, TWICE, judge
from bench.compare.rivals import RIVALS, Rival, only_act
from bench.compare.streams import Stream, streams
from bench.compare.world import Acted, Result, World

STREAMS = {stream.name: stream for stream in streams(1)}
BY_LETTER = {rival.letter: rival for rival in RIVALS}


def acts(stream: Stream, *numbers: int) -> list[Acted]:
    happenings = stream.happenings
    return [Acted(happenings[number], str(at), at) for at, number in enumerate(numbers)]


def test_event_without_an_act_is_lost_after_a_fault_and_else_skipped_unless_it_is_kept() -> None:
    stream = STREAMS["crashes"]
    assert judge(stream, Result([], set())) == {LOST: 18, SKIPPED: 6}
    assert judge(stream, Result([], {each.name for each in stream.happenings})) == {}
    assert broken({"crashes": judge(stream, Result([], set()))})


def test_second_act_counts_apart_under_another_key() -> None:
    stream = STREAMS["copies"]
    every = acts(stream, *range(len(stream.happenings)))
    again = [every[0]._replace(at_ms=99), every[1]._replace(key="another", at_ms=99)]
    assert judge(stream, Result(every + again, set())) == {TWICE: 2, TOLD_APART: 1}


@pytest.mark.parametrize(
    ("acted", "counts"), [((0, 2, 1), {OLD: 1}), ((0, 2), {}), ((0, 1), {SKIPPED: 1})]
)
def test_older_state_may_be_skipped_and_not_be_acted_on(
    acted: tuple[int, ...], counts: dict[str, int]
) -> None:
    whole = STREAMS["there and back"]
    stream = Stream(whole.name, whole.what, whole.happenings[:3])
    assert judge(stream, Result(acts(stream, *acted), set())) == counts


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
    played = World(BY_LETTER[letter], STREAMS[stream], 1).play()
    assert set(judge(STREAMS[stream], played)) == counts


def test_world_delivers_every_message_and_redelivers_after_a_crash() -> None:
    stream = STREAMS["crashes"]
    result = World(Rival("x", "only acts", only_act), stream, 1).play()
    assert {act.happening for act in result.acts} == set(stream.happenings)


@pytest.mark.parametrize("name", ["late copies", "crashes", "failing action", "redelivery"])
def test_deployed_code_keeps_its_promises(name: str) -> None:
    assert judge(STREAMS[name], ours.play(STREAMS[name], 1)) == {}
