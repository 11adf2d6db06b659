"""Which rows the page shows for what a person types."""

import pytest
from once_enrichment.keys import opaque

from once.console.rows import Filter, make_row
from once.operate.story import tell
from once.records import OutcomeRecord

RECORD = OutcomeRecord.model_validate(
    {
        "messageId": "m-1",
        "outcome": "PROCESSED",
        "recordedAtMs": 0,
        "pk": f"-/conversation/{opaque('jane1985')}",
        "sk": "v1/conversation.status.change/status=connected",
    }
)


@pytest.mark.parametrize(
    ("typed", "is_shown"),
    [("", True), ("jane1985", True), ("m-1", True), ("m-", True), ("jane", False), ("m-2", False)],
)
def test_a_row_is_found_by_the_id_that_its_key_hides_too(typed: str, is_shown: bool) -> None:
    (event,) = tell([RECORD], [], 0)
    assert Filter(text=typed).fits(make_row(event), 0) == is_shown
