"""The lint of the definition sees what it is there to see."""

import copy

import pytest

from proof.definition import lint
from proof.definition.asl import definition, states


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Comment: " + "x" * 111, "characters"),
        ("Type: Pass ", "blanks"),
        ("Output: {% (\n" + "1;\n" * 8 + ") %}", "10 lines"),
        ("Output: {% $match($x, /a+/) %}", "regular expression"),
    ],
)
def test_text_that_is_hard_to_read_is_found(line: str, expected: str) -> None:
    text = f"  SomeState:\n    {line}\n"
    (finding,) = [*lint.layout(text), *lint.expressions_too_long(text)]
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
