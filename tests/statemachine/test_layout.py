"""The lint of the definition sees what it is there to see."""

import copy
from collections.abc import Callable

import pytest

from proof.definition import lint
from proof.definition.asl import ASL_PATH, definition, states


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            lambda text: text.replace("Comment: Each end", "Comment: " + "x" * 111),
            "characters",
        ),
        (lambda text: text.replace("QueryLanguage: JSONata", "QueryLanguage: JSONata "), "blanks"),
    ],
)
def test_a_text_that_nobody_can_read_is_found(broken: Callable[[str], str], said: str) -> None:
    assert any(said in line for line in lint.layout(broken(ASL_PATH.read_text("utf-8"))))


def test_a_state_without_a_comment_is_found() -> None:
    machine = copy.deepcopy(definition())
    del states(machine)["JudgeOrder"]["Comment"]
    assert list(lint.uncommented(machine)) == ["JudgeOrder has no Comment"]


def test_retries_that_differ_without_a_reason_are_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["CloseClaim"]["Retry"][1]["MaxDelaySeconds"] = 60
    assert [line.split()[0] for line in lint.retries(machine)] == ["CloseClaim"]


def test_an_expression_with_a_mistake_is_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["OpenBatch"]["Assign"]["limit"] = "{% (1 + %}"
    assert list(lint.unparsed(machine))
