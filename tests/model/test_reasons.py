"""The table of reasons against the code that produces them, the runbook and the words."""

import re
from pathlib import Path

import pytest
import yaml

from once.model import reasons
from once.model.reasons import REASONS, Acted, Outcome, describe, describe_end
from schemas import checks

ROOT = Path(__file__).parents[2]
DEFINITION = (ROOT / "statemachine" / "once.asl.yaml").read_text("utf-8")
FUNCTIONS = "\n".join(
    file.read_text("utf-8") for file in (ROOT / "functions").glob("*/once_*/*.py")
)
TEMPLATE = (ROOT / "template.yaml").read_text("utf-8")
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text("utf-8")


@pytest.mark.parametrize("code", REASONS)
def test_each_reason_is_produced_somewhere(code: str) -> None:
    assert re.search(rf"\b{code}\b", DEFINITION + FUNCTIONS)
    assert REASONS[code].outcome in (*Outcome, None)


def test_the_definition_gives_no_other_reason() -> None:
    states = yaml.safe_load(DEFINITION)["States"]
    given = re.findall(r"'?reason'?: '?([A-Z_]{4,})\b", str(states))
    assert len(given) > 5, "the pattern still finds them"
    assert {*given} - {*REASONS} == set()


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_a_reason_leads_to_a_heading_of_the_runbook(reason: reasons.Reason) -> None:
    headings = {h.lower().replace(" ", "-") for h in re.findall(r"^#+ (.+)$", RUNBOOK, re.M)}
    assert not reason.page or reason.page in headings
    assert {*reason.alarms} <= headings
    assert bool(reason.page) or not reason.remedy


def test_files_made_from_the_models_are_written() -> None:
    assert checks.find(ROOT) == []


def test_a_reason_names_a_log_group_of_the_stack() -> None:
    outputs = re.findall(r"^  (\w+LogGroupName):", TEMPLATE, re.M)
    assert {reason.log for reason in REASONS.values()} - {""} <= {*outputs}
    assert {REASONS[code].log for code in ("FUNCTION_FAILED", "TABLE_UNANSWERED")} <= {*outputs}


def test_a_reason_for_a_person_says_what_to_do_and_has_an_alarm() -> None:
    parked = [reason for reason in REASONS.values() if reason.outcome is Outcome.PARKED]
    assert all(reason.remedy and "events-parked" in reason.alarms for reason in parked)


def test_only_reasons_with_a_request_may_have_acted() -> None:
    silent = {"PAUSED", "BREAKER_OPEN", "LIMITED", "HELD", "BEHIND", "TOO_LATE", "THROTTLED"}
    assert all(REASONS[code].acted is Acted.NO for code in silent)


def test_a_code_of_another_release_is_put_in_words() -> None:
    assert describe("SOME_NEW_CODE") == "some new code"
    assert all(describe(code) == sentence for code, sentence in reasons.UNRECORDED.items())
    assert {"NOT_DELIVERED", "NOT_READ", "NOT_RECORDED"} == {*reasons.UNRECORDED}
    assert describe_end("REJECTED", "HTTP 422").endswith("HTTP 422")


def test_a_cause_stands_alone_if_it_says_all() -> None:
    alone = {code for code in REASONS if describe_end(code, "a cause") == "a cause"}
    of_waits = {"CALL_FAILED", "RATE_LIMITED", "PAUSED", "BREAKER_OPEN", "SETUP_FAULT", "TOO_LATE"}
    assert alone == of_waits | {"ACTED"}
