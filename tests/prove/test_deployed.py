"""A throwaway stack on the emulator: what it answers, and that nothing of it stays."""

from contextlib import nullcontext
from typing import Any

import pytest
from typer.testing import CliRunner

from once.local.aws import Emulator
from proof.prove import run
from proof.prove.command import app
from proof.prove.question import Verdict
from proof.prove.report import Report
from proof.template import of_type
from tests.prove.conftest import all_that_is_there

pytestmark = pytest.mark.local
# Eighteen seconds, where AWS is given hours.
HOURS = 0.005


@pytest.fixture(scope="module")
def report(
    aws: Emulator, before: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Report:
    """By the command line, on an emulator that outlives the command."""
    assert before["events"] == 1  # the default bus
    folder = tmp_path_factory.mktemp("run")
    command = ["--local", "--deploy", "--hours", str(HOURS), "--json", "report.json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(Emulator, "start", lambda _: nullcontext(aws))
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert list((folder / ".once" / "prove").iterdir()) == []
    return Report.model_validate_json((folder / "report.json").read_text("utf-8"))


def answer(report: Report, question: str) -> Any:
    (found,) = [one for one in report.answers if one.question.startswith(f"deployed: {question}")]
    return found


@pytest.mark.parametrize(
    "question",
    [
        "once check",
        "the example story",
        "copies at once",
        "each event acts once at a destination",
        "a return time",
        "many in flight",
        f"{HOURS:g} hours of returned messages",
        "returned messages beside good ones",
        "an execution that fails",
        "an enrichment without concurrency",
        "the execution log in class STANDARD",
        "the execution log in class INFREQUENT_ACCESS",
    ],
)
def test_what_a_running_stack_shows_is_confirmed(report: Report, question: str) -> None:
    found = answer(report, question)
    assert found.verdict is Verdict.CONFIRMED, found.said


def test_the_questions_that_need_no_stack_are_asked_as_well(report: Report) -> None:
    asked = [one.question for one in report.answers]
    assert asked[: len(run.questions())] == [question.name for question in run.questions()]


def test_what_teststate_does_not_run_here_is_not_answered(report: Report) -> None:
    assert answer(report, "a missing table").verdict is Verdict.NOT_ANSWERED


def test_a_backup_that_the_emulator_does_not_make_is_not_answered(report: Report) -> None:
    assert answer(report, "a deleted table").verdict is Verdict.NOT_ANSWERED


def test_alarms_whose_history_is_not_kept_are_not_answered(report: Report) -> None:
    alarms = [one for one in report.answers if one.question.startswith("deployed: alarm ")]
    assert len(alarms) == len(of_type("AWS::CloudWatch::Alarm"))
    assert {one.verdict for one in alarms} == {Verdict.NOT_ANSWERED}


@pytest.mark.parametrize("question", ["the metric of a batch", "the bytes of the execution log"])
def test_metrics_that_are_not_counted_here_are_not_answered(report: Report, question: str) -> None:
    assert answer(report, question).verdict is Verdict.NOT_ANSWERED


def test_a_deployed_stack_is_gone_with_what_it_retains(
    aws: Emulator, before: dict[str, int], report: Report
) -> None:
    assert report.answers
    assert all_that_is_there(aws) == before
