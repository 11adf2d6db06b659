"""The lint of the definition sees what it is there to see."""

import copy
from collections.abc import Callable

import pytest

from proof.definition import lint
from proof.definition.asl import ASL_PATH, definition, states

TEXT = ASL_PATH.read_text("utf-8")


def test_the_definition_can_be_read() -> None:
    findings = [*lint.layout(TEXT), *lint.expressions_too_long(TEXT)]
    assert [*findings, *lint.uncommented(definition()), *lint.retries(definition())] == []


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda text: text.replace("Comment: Most likely", "Comment: " + "x" * 111), "characters"),
        (lambda text: text.replace("QueryLanguage: JSONata", "QueryLanguage: JSONata "), "blanks"),
    ],
)
def test_a_long_or_ragged_line_is_found(broken: Callable[[str], str], expected: str) -> None:
    assert any(expected in line for line in lint.layout(broken(TEXT)))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{% (\n" + "1;\n" * 8 + ") %}", "10 lines"),
        ("{% $match($x, /a+/) %}", "regular expression"),
    ],
)
def test_an_expression_that_holds_too_much_is_found(expression: str, expected: str) -> None:
    (finding,) = lint.expressions_too_long(f"  SomeState:\n    Output: {expression}\n")
    assert "SomeState" in finding
    assert expected in finding


def test_a_state_without_a_comment_is_found() -> None:
    machine = copy.deepcopy(definition())
    del states(machine)["JudgeClaim"]["Comment"]
    assert list(lint.uncommented(machine)) == ["JudgeClaim has no Comment"]


def test_retries_that_differ_without_a_reason_are_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["CloseClaim"]["Retry"][1]["MaxDelaySeconds"] = 60
    assert [line.split()[0] for line in lint.retries(machine)] == ["CloseClaim"]


def test_an_expression_with_a_mistake_is_found() -> None:
    machine = copy.deepcopy(definition())
    states(machine)["OpenEvent"]["Assign"]["me"] = "{% (1 + %}"
    assert list(lint.unparsed(machine))
