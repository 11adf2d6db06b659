"""Each switch is seen: a small definition that ends one way with it, another way without."""

from typing import Any

import pytest

from proof.asl.errors import Failure
from proof.asl.machine import PAYLOAD_BYTES
from proof.asl.readings import (
    Arguments,
    ChoiceAssign,
    Millis,
    Readings,
    WaitAssign,
)
from tests.asl.playing import ALL, STARTED_MS, Play, machine, passing, task

RULES = [{"Condition": "{% $states.input %}", "Next": "Tell"}]
TELL = passing(Output="{% $x %}")
CHOICE = {
    "Begin": passing(Assign={"x": "before"}, Next="Ask"),
    "Ask": {"Type": "Choice", "Choices": RULES, "Default": "Tell", "Assign": {"x": "assigned"}},
    "Tell": TELL,
}


def test_every_switch_has_another_side() -> None:
    assert sorted(dict(Readings().others())) == [
        "arguments-once",
        "choice_assign-always",
        "millis-call",
        "millis-expression",
        "states_all_catches_data_limit-true",
        "wait_assign-before",
    ]


@pytest.mark.parametrize(("caught", "expected"), [(False, None), (True, "caught")])
def test_states_all_and_the_data_limit(caught: bool, expected: str | None) -> None:
    """concepts-error-handling.html against error_handling/test_states_errors."""
    catch = [{"ErrorEquals": ALL, "Next": "Caught"}]
    states = {"Call": task(Catch=catch), "Caught": passing(Output="caught")}
    readings = Readings(states_all_catches_data_limit=caught)
    play = Play(machine(states, readings), 0, {"Call": ["x" * PAYLOAD_BYTES]})
    assert play.ended.output == expected


@pytest.mark.parametrize(
    ("reading", "matched", "otherwise"),
    [
        (ChoiceAssign.WITHOUT_MATCH, "before", "assigned"),
        (ChoiceAssign.ALWAYS, "assigned", "assigned"),
    ],
)
def test_a_choices_own_assign(reading: ChoiceAssign, matched: str, otherwise: str) -> None:
    """state-choice.html says both."""
    choosing = machine(CHOICE, Readings(choice_assign=reading))
    assert Play(choosing, True).output == matched
    assert Play(choosing, False).output == otherwise


def test_a_choices_own_assign_gives_way_to_the_rules() -> None:
    """state-choice.html: each rule "can have its own Assign block"."""
    rules = [{**RULES[0], "Assign": {"x": "of the rule"}}]
    states = {**CHOICE, "Ask": {**CHOICE["Ask"], "Choices": rules}}
    for reading in ChoiceAssign:
        choosing = machine(states, Readings(choice_assign=reading))
        assert Play(choosing, True).output == "of the rule"


@pytest.mark.parametrize(("reading", "seconds"), [(WaitAssign.AFTER, 5), (WaitAssign.BEFORE, 0)])
def test_the_assign_of_a_wait(reading: WaitAssign, seconds: int) -> None:
    """state-wait.html does not say."""
    wait = {"Type": "Wait", "Seconds": 5, "Assign": {"x": "{% $millis() %}"}, "Next": "Tell"}
    waiting = machine({"Sleep": wait, "Tell": TELL}, Readings(wait_assign=reading))
    assert Play(waiting).output == STARTED_MS + seconds * 1_000


@pytest.mark.parametrize(
    ("reading", "expected"),
    [(Arguments.EACH_TRY, [[0, 0], [1, 2_000]]), (Arguments.ONCE, [[0, 0], [0, 0]])],
)
def test_the_arguments_of_a_retry(reading: Arguments, expected: list[Any]) -> None:
    """concepts-error-handling.html does not say."""
    asking = task(
        Arguments=["{% $states.context.State.RetryCount %}", "{% $millis() - 1000000 %}"],
        Retry=[{"ErrorEquals": ALL, "IntervalSeconds": 2}],
    )
    play = Play(
        machine({"Call": asking}, Readings(arguments=reading)), 0, {"Call": [Failure("Own")]}
    )
    assert [call.arguments for call in play.calls] == expected


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        (Millis.STATE, [[0, 0], 0]),
        (Millis.EXPRESSION, [[0, 0], 1]),
        (Millis.CALL, [[0, 1], 1]),
    ],
)
def test_the_clock_stands_still_as_long_as_the_reading_says(
    reading: Millis, expected: list[Any]
) -> None:
    """https://docs.jsonata.org/date-time-functions promises one value within an expression."""
    twice = "{% [$millis() - 1000000, $millis() - 1000000] %}"
    states = {"Only": passing(Output=[twice, "{% $millis() - 1000000 %}"])}
    assert Play(machine(states, Readings(millis=reading))).output == expected
