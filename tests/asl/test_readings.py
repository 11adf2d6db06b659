"""Each switch is seen: a small definition that ends one way with it, another way without."""

from collections.abc import Mapping
from typing import Any

import pytest

from proof.asl.errors import Failure
from proof.asl.machine import PAYLOAD_BYTES
from proof.asl.readings import Arguments, ChoiceAssign, Millis, Readings, WaitAssign
from tests.asl.playing import ALL, Play, machine, passing, task

TELL = passing(Output="{% $x %}")
CATCH = [{"ErrorEquals": ALL, "Next": "Caught"}]
LARGE = {"Call": task(Catch=CATCH), "Caught": passing(Output="caught")}
WAIT = {"Type": "Wait", "Seconds": 5, "Assign": {"x": "{% $millis() - 1000000 %}"}, "Next": "Tell"}
CLOCK = ["{% [$millis() - 1000000, $millis() - 1000000] %}", "{% $millis() - 1000000 %}"]
RETRY = task(
    Arguments=["{% $states.context.State.RetryCount %}", "{% $millis() - 1000000 %}"],
    Retry=[{"ErrorEquals": ALL, "IntervalSeconds": 2}],
)


def choosing(**assigned: Any) -> dict[str, Any]:
    rule = {"Condition": "{% $states.input %}", "Next": "Tell", **assigned}
    ask = {"Type": "Choice", "Choices": [rule], "Default": "Tell", "Assign": {"x": "the choice's"}}
    return {"Begin": passing(Assign={"x": "before"}, Next="Ask"), "Ask": ask, "Tell": TELL}


CHOICE = choosing()
OWN_ASSIGN = choosing(Assign={"x": "the rule's"})

# A reading, states, their input, and the output. The sources are in readings.py.
CASES: list[tuple[Readings, Mapping[str, Any], Any, Any]] = [
    (Readings(choice_assign=ChoiceAssign.WITHOUT_MATCH), CHOICE, True, "before"),
    (Readings(choice_assign=ChoiceAssign.ALWAYS), CHOICE, True, "the choice's"),
    (Readings(choice_assign=ChoiceAssign.WITHOUT_MATCH), CHOICE, False, "the choice's"),
    (Readings(choice_assign=ChoiceAssign.ALWAYS), CHOICE, False, "the choice's"),
    # state-choice.html: each rule "can have its own Assign block".
    (Readings(choice_assign=ChoiceAssign.WITHOUT_MATCH), OWN_ASSIGN, True, "the rule's"),
    (Readings(choice_assign=ChoiceAssign.ALWAYS), OWN_ASSIGN, True, "the rule's"),
    (Readings(wait_assign=WaitAssign.AFTER), {"Sleep": WAIT, "Tell": TELL}, None, 5_000),
    (Readings(wait_assign=WaitAssign.BEFORE), {"Sleep": WAIT, "Tell": TELL}, None, 0),
    (Readings(millis=Millis.STATE), {"Only": passing(Output=CLOCK)}, None, [[0, 0], 0]),
    (Readings(millis=Millis.EXPRESSION), {"Only": passing(Output=CLOCK)}, None, [[0, 0], 1]),
    (Readings(millis=Millis.CALL), {"Only": passing(Output=CLOCK)}, None, [[0, 1], 1]),
]


def test_every_switch_has_another_side() -> None:
    assert len(dict(Readings().others())) == 6


@pytest.mark.parametrize("case", range(len(CASES)))
def test_output_is_that_of_the_reading(case: int) -> None:
    readings, states, given, output = CASES[case]
    assert Play(machine(states, readings), given).output == output


@pytest.mark.parametrize(("caught", "expected"), [(False, None), (True, "caught")])
def test_states_all_and_the_data_limit(caught: bool, expected: str | None) -> None:
    readings = Readings(states_all_catches_data_limit=caught)
    play = Play(machine(LARGE, readings), 0, {"Call": ["x" * PAYLOAD_BYTES]})
    assert play.ended.output == expected


@pytest.mark.parametrize(
    ("reading", "expected"),
    [(Arguments.EACH_TRY, [[0, 0], [1, 2_000]]), (Arguments.ONCE, [[0, 0], [0, 0]])],
)
def test_the_arguments_of_a_retry(reading: Arguments, expected: list[Any]) -> None:
    retrying = machine({"Call": RETRY}, Readings(arguments=reading))
    play = Play(retrying, 0, {"Call": [Failure("Own")]})
    assert [call.arguments for call in play.calls] == expected
