"""A wrong definition is refused before anything runs, with the place and the reason."""

from typing import Any

import pytest

from proof.asl.definition import DefinitionError, check
from proof.definition.asl import definition
from tests.asl.playing import ALL, END, machine, passing, task


def test_our_definition_is_known() -> None:
    check(definition())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a type of state": ({"Type": "Map", "ItemProcessor": {}, "End": True}, "of type Map"),
    "a field": (passing(ResultPath="$"), "field ResultPath"),
    "a field of another type": (passing(Retry=[]), "field Retry"),
    "JSONPath": (passing(QueryLanguage="JSONPath"), "only QueryLanguage JSONata"),
    "all before others": (
        task(Retry=[{"ErrorEquals": ALL}, {"ErrorEquals": ["X"]}]),
        "States.ALL stands in the last rule",
    ),
    "an unknown field of a retrier": (
        task(Retry=[{"ErrorEquals": ALL, "MaxTries": 1}]),
        "field MaxTries",
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
