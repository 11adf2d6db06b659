"""What is no batch must make the execution fail, or the pipe would delete what nobody read."""

from typing import Any

import jsonata
import pytest

from proof.definition.asl import states

CONDITION = states()["CheckBatch"]["Choices"][0]["Condition"][2:-2]


def refused(given: Any) -> bool:
    null = jsonata.utils.Utils.NULL_VALUE
    states_variable = {"input": null if given is None else given}
    return bool(jsonata.Jsonata(CONDITION).evaluate(None, {"states": states_variable}))


@pytest.mark.parametrize("batch", [[], [{"messageId": "a"}], [{"messageId": "a"}] * 10])
def test_a_batch_passes(batch: list[Any]) -> None:
    assert not refused(batch)


@pytest.mark.parametrize(
    "given", [{}, {"messageId": "a"}, 5, "x", None, [1], [None], [{"messageId": "a"}, {}]]
)
def test_anything_else_fails_the_execution(given: Any) -> None:
    assert refused(given)
