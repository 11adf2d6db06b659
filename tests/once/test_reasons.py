"""The table of reasons names each code that something produces, and agrees with what reads it."""

import ast
import json
import re
from typing import get_args

import pytest
from once_enrichment.contract import IgnoredReason, ParkedReason, RetryReason

from once.operate.claims import Status
from once.operate.log import Part
from once.outcomes import Outcome
from once.reasons import REASONS, UNRECORDED, describe, describe_end
from proof.definition.asl import ROOT, definition
from proof.template import of_type
from schemas.models import ReturnedMessage

ENRICHMENT = ROOT / "functions/enrichment/once_enrichment"
RUNBOOK = (ROOT / "docs/runbook.md").read_text("utf-8")
QUOTED = re.compile(r"""['"]([A-Z]+(?:_[A-Z]+)*)['"]""")
# Words of the definition that are no reasons: of DynamoDB and Step Functions, of claim and order.
_AWS = {"S", "N", "FULL", "INLINE", "ALL_OLD"}
OTHERS = {*_AWS, "SETTLED", "OLDER", "FREE", "PASSED", "UNSURE", *Outcome, *Status}


def of_the_definition() -> set[str]:
    machine = definition()
    del machine["States"]["RecordOutcomes"]  # it counts the reasons that the others gave
    return set(QUOTED.findall(json.dumps(machine))) - OTHERS


def of_the_functions() -> set[str]:
    of_pacing = get_args(ReturnedMessage.model_fields["reason"].annotation)
    return {*IgnoredReason, *ParkedReason, *RetryReason, *of_pacing}


def of_the_commands() -> set[str]:
    """The codes that a command says itself, as they stand in the code of once/."""
    return {
        node.value
        for path in (ROOT / "once").rglob("*.py")
        if path != ROOT / "once/reasons.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and node.value in UNRECORDED
    }


def test_every_reason_that_is_produced_is_declared_and_no_other() -> None:
    assert set(REASONS) == of_the_definition() | of_the_functions()


def test_every_reason_of_the_enrichment_is_used() -> None:
    words = [
        f"{words.__name__}.{one.name}"
        for words in (ParkedReason, RetryReason, IgnoredReason)
        for one in words
    ]
    code = "".join(path.read_text("utf-8") for path in ENRICHMENT.glob("*.py"))
    assert [word for word in words if not re.search(rf"\b{word}\b", code)] == []


def test_every_reason_of_a_command_is_declared_and_no_other() -> None:
    assert set(UNRECORDED) == of_the_commands()
    assert not set(UNRECORDED) & set(REASONS)


def test_every_page_of_a_reason_is_in_the_runbook() -> None:
    headings = {
        heading.lower().replace(",", "").replace(" ", "-")
        for heading in re.findall(r"^### (.+)$", RUNBOOK, re.MULTILINE)
    }
    assert {one.runbook for one in REASONS.values() if one.runbook} <= headings


def test_every_alarm_and_log_of_a_reason_is_in_the_template() -> None:
    named = {alarm for one in REASONS.values() for alarm in one.alarms}
    alarms = of_type("AWS::CloudWatch::Alarm").values()
    assert {f"${{AWS::StackName}}-{name}" for name in named} <= {
        alarm["Properties"]["AlarmName"]["Sub"] for alarm in alarms
    }
    assert {one.log for one in REASONS.values() if one.log} <= set(Part)


def test_reasons_of_a_person_have_a_page_and_those_that_pass_have_no_remedy() -> None:
    assert all(one.runbook for one in REASONS.values() if one.remedy)
    settled = (Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.STALE)
    assert not any(one.remedy for one in REASONS.values() if one.outcome in settled)
    assert all(one.remedy for one in REASONS.values() if one.outcome is Outcome.PARKED)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [(None, ""), ("NOT_JSON", "its text is not JSON"), ("A_NEW_ONE", "a new one")],
)
def test_a_code_is_put_in_words(code: str | None, sentence: str) -> None:
    assert describe(code) == sentence


@pytest.mark.parametrize(
    ("code", "cause", "status", "sentence"),
    [
        ("CALL_FAILED", "the destination answered 503", 503, "the destination answered 503"),
        ("CALL_FAILED", None, 503, "the request failed: HTTP 503"),
        ("NOT_JSON", "line 1", None, "its text is not JSON: line 1"),
        ("ACTED", None, None, ""),
    ],
)
def test_the_cause_of_a_failed_request_stands_alone(
    code: str, cause: str | None, status: int | None, sentence: str
) -> None:
    assert describe_end(code, cause, status) == sentence
