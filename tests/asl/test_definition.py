"""A wrong definition is refused before anything runs, with the place and the reason."""

from typing import Any

import pytest

from proof.asl.definition import DefinitionError, check
from proof.definition.asl import definition
from tests.asl.playing import ALL, END, machine, passing, task


def choice(**fields: Any) -> dict[str, Any]:
    rule = {"Condition": "{% true %}", "Next": "End"}
    return {"Type": "Choice", "Choices": [rule], "Default": "End", **fields}


def test_our_definition_is_known() -> None:
    check(definition())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a type of state": ({"Type": "Map", "ItemProcessor": {}, "End": True}, "of type Map"),
    "a field": (passing(ResultPath="$"), "field ResultPath"),
    "a field of another type": (passing(Retry=[]), "field Retry"),
    "JSONPath": (passing(QueryLanguage="JSONPath"), "only QueryLanguage JSONata"),
    "an end and a next": ({**passing(Next="End"), "End": True}, "exactly one of Next and End"),
    "neither": ({"Type": "Pass"}, "exactly one of Next and End"),
    "a state that is not there": (passing(Next="Nowhere"), "Next names Nowhere"),
    "a default that is not there": (choice(Default="Nowhere"), "Default names Nowhere"),
    "a rule to nowhere": (
        choice(Choices=[{"Condition": "", "Next": "X"}]),
        "a rule's Next names X",
    ),
    "a catch to nowhere": (task(Catch=[{"ErrorEquals": ALL, "Next": "X"}]), "Catch's Next names X"),
    "a task of nothing": ({"Type": "Task", "End": True}, "a Task needs Resource"),
    "all among others": (
        task(Catch=[{"ErrorEquals": ["States.ALL", "X"], "Next": "End"}]),
        "States.ALL stands alone",
    ),
    "all before others": (
        task(Retry=[{"ErrorEquals": ALL}, {"ErrorEquals": ["X"]}]),
        "States.ALL stands alone and in the last rule",
    ),
    "no error names": (task(Retry=[{"ErrorEquals": []}]), "an ErrorEquals is empty"),
    "attempts below zero": (task(Retry=[{"ErrorEquals": ALL, "MaxAttempts": -1}]), "MaxAttempts"),
    "an interval of nothing": (
        task(Retry=[{"ErrorEquals": ALL, "IntervalSeconds": 0}]),
        "IntervalSeconds is 0",
    ),
    "shrinking intervals": (task(Retry=[{"ErrorEquals": ALL, "BackoffRate": 0.5}]), "BackoffRate"),
    "an unknown jitter": (
        task(Retry=[{"ErrorEquals": ALL, "JitterStrategy": "SOME"}]),
        "JitterStrategy",
    ),
    "half an expression": (passing(Output="{% 1 "), "is missing"),
    "$eval": (passing(Output="{% $eval('1') %}"), r"\$parse, not \$eval"),
    "a result in arguments": (task(Arguments="{% $states.result %}"), "not there yet"),
    "a result in a pass": (passing(Output="{% $states.result %}"), "not there yet"),
    "an error without a catch": (task(Output="{% $states.errorOutput %}"), "only a Catch"),
    "an unknown context": (passing(Output="{% $states.context.Task.Token %}"), "Task.Token"),
    "a reserved name": (passing(Assign={"states": 1}), "no variable is called states"),
    "a part of a variable": (passing(Assign={"x.y": 1}), r"no variable is called x\.y"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_unknown_or_invalid_fields_are_refused(what: str) -> None:
    """concepts-error-handling.html, transforming-data.html, workflow-variables.html, state-*.html:
    the rule of each is named where it is checked."""
    state, words = REFUSED[what]
    with pytest.raises(DefinitionError, match=words):
        machine({"First": state, "End": END})


def test_a_machine_in_jsonpath_is_refused() -> None:
    """transforming-data.html: the default is JSONPath, which nobody here reads."""
    with pytest.raises(DefinitionError, match="only QueryLanguage JSONata"):
        check({"StartAt": "Only", "States": {"Only": END}})
