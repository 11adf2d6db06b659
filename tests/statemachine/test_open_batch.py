"""Input other than a batch fails the execution: success would delete unread messages."""

from typing import Any

import pytest

from proof.asl.jsonata import Clock, Library, QueryError
from proof.definition.asl import states

WHOLE = {"messageId": "a", "subjectKey": "s"}
BATCH = states()["OpenBatch"]["Assign"]["batch"][2:-2]


def opened(given: Any) -> Any:
    return Library().evaluate(BATCH, {"states": {"input": given}}, Clock(0))


@pytest.mark.parametrize("batch", [[], [WHOLE], [WHOLE] * 10])
def test_a_batch_passes(batch: list[Any]) -> None:
    assert opened(batch) == batch


@pytest.mark.parametrize(
    "given",
    [{}, {"messageId": "a"}, 5, "x", None, [1], [None], [WHOLE, {}], [WHOLE, {"messageId": "b"}]],
)
def test_anything_else_fails_the_execution(given: Any) -> None:
    with pytest.raises(QueryError, match="Was the enrichment replaced"):
        opened(given)
