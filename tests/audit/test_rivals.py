"""The rivals' rules do on a stream what the same rules did on real stores in the comparison."""

from dataclasses import asdict

import pytest

from bench import recorded
from bench.compare.destination import Act
from bench.compare.streams import FIFO_SECONDS, Stream, streams
from bench.compare.verdict import judge
from bench.events import START_MS
from once.audit.rivals import Answer, Read, Rivals, Rule, with_fifo_of

RECORDED = recorded.read("compare")
LETTERS = [one["letter"] for one in RECORDED["contestants"]]
# How a race between copies ends depends on the machine, so each run has its own figures.
RUNS = [dict(zip(LETTERS, run, strict=True)) for run in RECORDED["runs"]]
# The others have faults on the way, which no capture shows, or were received in another order
# than they were sent in.
ORDERLY = (
    "copies",
    "other ids",
    "same millisecond",
    "same state again",
    "late copies",
    "out of order",
)
STREAMS = {stream.name: stream for stream in streams(RECORDED["seed"])}
RULES = with_fifo_of(FIFO_SECONDS)


def played(stream: Stream) -> list[tuple[Rule, dict[str, int], int]]:
    """Each rule's figures, and how many acts more a race could have made."""
    acts: dict[str, list[Act]] = {rule.letter: [] for rule in RULES}
    raced = dict.fromkeys(acts, 0)
    rivals = Rivals({}, RULES)
    for message in sorted(stream.messages, key=lambda message: message.send_ms):
        answers = rivals.settle(Read.of(message.event), START_MS + message.send_ms)
        for rule, answer in zip(RULES, answers, strict=True):
            if answer == Answer.ACTS:
                act = Act(message.happening, message.happening.at_ms, "")
                acts[rule.letter].append(act)
            raced[rule.letter] += answer == Answer.MAY_ACT
    return [
        (rule, asdict(judge(stream, acts[rule.letter], set(), set())), raced[rule.letter])
        for rule in RULES
    ]


@pytest.mark.parametrize("name", ORDERLY)
def test_a_rule_without_races_gives_the_figures_of_the_comparison(name: str) -> None:
    for rule, figures, _ in played(STREAMS[name]):
        if not rule.unseen_ms:
            for what in ("lost", "acted_twice", "wrongly_skipped", "stale_overwrites"):
                assert figures[what] in {run[rule.letter][name][what] for run in RUNS}, rule.title


@pytest.mark.parametrize("name", ORDERLY)
def test_what_a_race_adds_is_within_what_the_rule_says_it_may(name: str) -> None:
    for rule, figures, more in played(STREAMS[name]):
        least = figures["acted_twice"]
        for run in RUNS:
            assert least <= run[rule.letter][name]["acted_twice"] <= least + more, rule.title


def test_an_event_that_a_rule_cannot_read_is_said_to_be_one() -> None:
    custom = {"detail-type": "Call", "detail": {"conversationId": "c", "status": "ended"}}
    answers = dict(zip([rule.letter for rule in RULES], _answers(custom), strict=True))
    assert {letter for letter, one in answers.items() if one == Answer.CANNOT_READ} == set("bcdf")


def _answers(event: dict[str, object]) -> tuple[Answer, ...]:
    return Rivals({}, RULES).settle(Read.of(event), START_MS)
