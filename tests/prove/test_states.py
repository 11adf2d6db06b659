"""The questions about states, put to Step Functions as our own interpreter plays it."""

from pathlib import Path
from typing import Any

import pytest

from proof.definition.asl import states
from proof.prove import definition
from proof.prove.ledger import Ledger
from proof.prove.question import Answer, Verdict, put
from proof.prove.site import Site
from tests.prove.aws import OnlyStepFunctions, OurStepFunctions

QUESTIONS = [q for q in definition.questions() if q.name.startswith("state ")]


def site(tmp_path: Path, stepfunctions: OurStepFunctions) -> Site:
    return Site(OnlyStepFunctions(stepfunctions), Ledger.open("prove-test", {}, tmp_path))


def answers(tmp_path: Path, stepfunctions: OurStepFunctions, state: str) -> dict[str, Answer]:
    here = site(tmp_path, stepfunctions)
    chosen = [q for q in QUESTIONS if q.name.startswith(f"state {state} ")]
    return {question.name: put(question, here) for question in chosen}


def test_every_state_is_asked_about() -> None:
    assert {question.name.split()[1] for question in QUESTIONS} == set(states())


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question.name))
def test_what_our_interpreter_does_is_confirmed_and_what_is_broken_told_apart(
    question: Any, tmp_path: Path
) -> None:
    answer = put(question, site(tmp_path, OurStepFunctions()))
    assert answer.verdict is Verdict.CONFIRMED, answer.said


def claim_is_caught_by_another_name(machine: Any) -> None:
    inner = machine["States"]["SettleEvents"]["ItemProcessor"]["States"]
    inner["ClaimKey"]["Catch"][0]["ErrorEquals"] = ["DynamoDb.ConditionalCheckFailedException"]


def test_an_aws_with_other_error_names_differs(tmp_path: Path) -> None:
    found = answers(tmp_path, OurStepFunctions(claim_is_caught_by_another_name), "ClaimKey")
    refused = found["state ClaimKey CAUGHT_ERROR ReadClaim catch 0"]
    assert refused.verdict is Verdict.DIFFERS
    assert "catch is 1, expected 0" in refused.said
    assert "next is Returned, expected ReadClaim" in refused.said


def an_assignment_is_otherwise(machine: Any) -> None:
    machine["States"]["OpenBatch"]["Assign"]["claimSeconds"] = 1


def test_another_value_of_a_variable_differs(tmp_path: Path) -> None:
    (answer,) = answers(
        tmp_path, OurStepFunctions(an_assignment_is_otherwise), "OpenBatch"
    ).values()
    assert answer.verdict is Verdict.DIFFERS
    assert answer.said == "assigned/claimSeconds is 1, expected 2592000"


class SaysNothingOfVariables(OurStepFunctions):
    def test_state(self, **request: Any) -> Any:
        said = super().test_state(**request)
        said["inspectionData"].pop("variables", None)
        return said


def test_a_service_that_hides_variables_does_not_answer(tmp_path: Path) -> None:
    (answer,) = answers(tmp_path, SaysNothingOfVariables(), "OpenBatch").values()
    assert answer.verdict is Verdict.NOT_ANSWERED
    assert answer.said == "TestState does not say here which variables are assigned"
