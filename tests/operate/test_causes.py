"""Each skip has one cause, told from the record of the message and that of the earlier one."""

from typing import Any

import pytest

from once.operate.causes import MEANING, Cause, cause_of, earlier_of
from once.records import OutcomeRecord


def record(message_id: str, outcome: str = "DUPLICATE", **more: Any) -> OutcomeRecord:
    return OutcomeRecord.model_validate(
        {"messageId": message_id, "outcome": outcome, "recordedAtMs": 0, **more}
    )


FIRST = record("m1", "PROCESSED", envelopeId="e1", source="sales", eventId="p1", occurredAtMs=1_000)


@pytest.mark.parametrize(
    ("later", "cause"),
    [
        ({"because": "run#m2", "reason": "SETTLED_BEFORE"}, Cause.SAME_MESSAGE),
        ({"envelopeId": "e1", "source": "sales"}, Cause.SAME_ENVELOPE),
        ({"envelopeId": "e2", "source": "service"}, Cause.SECOND_INTEGRATION),
        ({"envelopeId": "e2", "source": "sales", "occurredAtMs": 1_000}, Cause.REPUBLISHED),
        ({"reason": "SAME_EVENT_ID", "occurredAtMs": 9_000}, Cause.REPUBLISHED),
        (
            {"envelopeId": "e2", "source": "sales", "occurredAtMs": 1_200, "windowMs": 500},
            Cause.WITHIN_WINDOW,
        ),
        (
            {"envelopeId": "e2", "source": "sales", "occurredAtMs": 1_000, "windowMs": 500},
            Cause.REPUBLISHED,
        ),
        ({"reason": "HELD", "outcome": "RETRY"}, Cause.IN_PROGRESS),
        ({"reason": "NEWER_STATE", "outcome": "STALE"}, Cause.OLDER),
        ({"reason": "NEWER_OCCURRENCE", "outcome": "STALE"}, Cause.OLDER),
        ({}, Cause.COPY),
    ],
)
def test_a_skip_has_its_cause(later: dict[str, Any], cause: Cause) -> None:
    said = {"because": "run#m1", "reason": "SAME_KEY", **later}
    assert cause_of(record("m2", said.pop("outcome", "DUPLICATE"), **said), FIRST) is cause


@pytest.mark.parametrize("outcome", ["DUPLICATE", "STALE", "PARKED"])
def test_a_collapsed_copy_is_told_like_any_other_copy(outcome: str) -> None:
    copy = record("m2", outcome, reason="COLLAPSED", copyOf="m1", because="x#m9", envelopeId="e1")
    assert earlier_of(copy) == "m1"
    assert cause_of(copy, FIRST) is Cause.SAME_ENVELOPE


def test_an_earlier_message_that_the_log_forgot_leaves_only_that_it_is_a_copy() -> None:
    assert cause_of(record("m2", because="run#m1", reason="SAME_KEY"), None) is Cause.COPY


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [("PROCESSED", "ACTED"), ("PARKED", "REJECTED"), ("RETRY", "CALL_FAILED")],
)
def test_what_stood_for_itself_has_no_cause(outcome: str, reason: str) -> None:
    assert cause_of(record("m2", outcome, reason=reason), None) is None


def test_every_cause_is_put_in_words() -> None:
    assert set(MEANING) == set(Cause)


def test_the_code_of_a_cause_is_its_name() -> None:
    """Whoever reads `once explain --json` relies on it."""
    assert [cause.value for cause in Cause] == [cause.name for cause in Cause]
