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
RIVALS = {one["letter"]: one["streams"] for one in RECORDED["contestants"]}
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
            seen = {what: RIVALS[rule.letter][name][what] for what in figures}
            del seen["acted_twice_told_apart"], seen["stale_overwrites_compared"]
            assert {what: figures[what] for what in seen} == seen, rule.title


@pytest.mark.parametrize("name", ORDERLY)
def test_what_a_race_adds_is_within_what_the_rule_says_it_may(name: str) -> None:
    for rule, figures, more in played(STREAMS[name]):
        least = figures["acted_twice"]
        assert least <= RIVALS[rule.letter][name]["acted_twice"] <= least + more, rule.title


def test_an_event_that_a_rule_cannot_read_is_said_to_be_one() -> None:
    home_made = {"detail-type": "Call", "detail": {"conversationId": "c", "status": "ended"}}
    answers = dict(zip([rule.letter for rule in RULES], _answers(home_made), strict=True))
    assert {letter for letter, one in answers.items() if one == Answer.CANNOT_READ} == set("bcdf")


def _answers(event: dict[str, object]) -> tuple[Answer, ...]:
    return Rivals({}, RULES).settle(Read.of(event), START_MS)
