"""The lint of the definition sees what it is there to see."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from proof.definition import lint
from proof.definition.asl import ASL_PATH, definition, states

Machine = dict[str, Any]


def test_the_definition_is_laid_out_to_be_read() -> None:
    text = ASL_PATH.read_text("utf-8")
    assert [*lint.layout(text), *lint.story(definition()), *lint.retries(definition())] == []


def test_every_expression_parses() -> None:
    assert len(lint.expressions(definition())) > 90
    assert list(lint.unparsed(definition())) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda text: text + "\n" * 1_000, "lines, more than"),
        (
            lambda text: text.replace("Comment: What the pipe", "Comment: " + "x" * 111),
            "characters",
        ),
        (lambda text: text.replace("QueryLanguage: JSONata", "QueryLanguage: JSONata "), "blanks"),
    ],
)
def test_a_text_that_nobody_can_read_is_found(broken: Callable[[str], str], said: str) -> None:
    assert any(said in line for line in lint.layout(broken(ASL_PATH.read_text("utf-8"))))


def _more_states(machine: Machine) -> None:
    for number in range(10):
        machine["States"][f"More{number}"] = {"Type": "Pass", "Comment": "one too many"}


def _no_reason(machine: Machine) -> None:
    del states(machine)["JudgeOrder"]["Comment"]


@pytest.mark.parametrize(("change", "count"), [(_more_states, 2), (_no_reason, 1)])
def test_a_story_that_nobody_can_follow_is_found(
    change: Callable[[Machine], None], count: int
) -> None:
    machine = copy.deepcopy(definition())
    change(machine)
    assert len(list(lint.story(machine))) == count


def test_retries_that_differ_without_a_reason_are_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["ReleaseClaim"]["Retry"][1]["MaxDelaySeconds"] = 60
    assert [line.split()[0] for line in lint.retries(machine)] == ["ReleaseClaim"]


def test_an_expression_with_a_mistake_is_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["OpenBatch"]["Assign"]["limit"] = "{% (1 + %}"
    assert list(lint.unparsed(machine))
