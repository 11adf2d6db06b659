"""Which rows the page shows for what a person types."""

import pytest
from enrichment.keys import opaque

from once.console.rows import Filter, row, summed
from once.operate.story import tell
from once.outcomes import Outcome
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
    assert Filter(id=typed).takes(row(event)) == is_shown


def test_the_sum_counts_events_by_their_end_and_copies_apart() -> None:
    def other(message_id: str, outcome: str, sk: str, **more: object) -> OutcomeRecord:
        changed = {"message_id": message_id, "outcome": Outcome(outcome), "sk": sk, **more}
        return RECORD.model_copy(update=changed)

    copy = other("m-2", "DUPLICATE", RECORD.sk or "", reason="SAME_KEY", because="run#m-1")
    waits = other("m-3", "RETRY", "v1/conversation.customer.start/p/1", reason="LIMITED")
    assert summed(tell([RECORD, copy, waits], [], 0)) == (
        "2 events: 1 acted, 1 not settled yet, 1 copy skipped"
    )
