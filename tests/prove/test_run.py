"""A whole run on the emulator, one that is broken off anywhere, and what is left of it."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from once.local.aws import Emulator
from once.project import ROOT
from proof.prove import ledger, run
from proof.prove.command import SERVER
from proof.prove.ledger import Ledger
from proof.prove.question import Question, Verdict
from proof.prove.report import Report
from proof.prove.site import Site, new_run
from tests.prove.aws import BrokenOff, DeployedStack

pytestmark = pytest.mark.local
# One of each kind: with a role, with a bucket, with stacks.
FEW = [
    question
    for question in run.questions()
    if question.name.startswith(("change set", "state ReportBatch", "policy PipeRole sqs"))
]


@pytest.fixture(scope="module")
def aws() -> Iterator[Emulator]:
    with Emulator.start([SERVER]) as running:
        yield running


def made(place: DeployedStack, folder: Path, questions: Sequence[Question]) -> Report:
    return run.run(Site(place, Ledger.open(new_run(), {}, folder)), questions)


def all_that_is_there(place: DeployedStack) -> dict[str, list[Any]]:
    stacks = place.client("cloudformation").describe_stacks()["Stacks"]
    return {
        "buckets": place.client("s3").list_buckets().get("Buckets", []),
        "roles": place.client("iam").list_roles()["Roles"],
        "stacks": [stack["StackName"] for stack in stacks],
    }


NOTHING: dict[str, list[Any]] = {"buckets": [], "roles": [], "stacks": []}


@pytest.fixture(scope="module")
def place(aws: Emulator) -> DeployedStack:
    return DeployedStack(aws)


@pytest.fixture(scope="module")
def report(place: DeployedStack, tmp_path_factory: pytest.TempPathFactory) -> Report:
    return made(place, tmp_path_factory.mktemp("run"), run.questions())


def test_every_question_is_put_and_nothing_differs(report: Report) -> None:
    assert len(report.answers) == len(run.questions())
    assert report.counts[Verdict.DIFFERS] == 0


# What AWS itself asks for on behalf of the caller.
ON_BEHALF = {"iam:PassRole", "s3:GetObject"}


def test_the_documented_rights_are_those_that_a_run_needs(
    place: DeployedStack, report: Report
) -> None:
    assert report.answers
    text = (ROOT / "docs" / "prove.md").read_text("utf-8")
    policy = json.loads(text.partition("```json\n")[2].partition("```")[0])
    documented = {action for one in policy["Statement"] for action in one["Action"]}
    assert documented - ON_BEHALF == place.called


def verdicts(report: Report, beginning: str) -> set[Verdict]:
    return {answer.verdict for answer in report.answers if answer.question.startswith(beginning)}


def test_answers_that_the_emulator_never_refuses_are_not_confirmed(report: Report) -> None:
    assert verdicts(report, "definition") == {Verdict.NOT_ANSWERED}
    assert verdicts(report, "state ClaimKey") == {Verdict.NOT_ANSWERED}
    assert verdicts(report, "policy PacingRole table/ClaimTable with") == {Verdict.NOT_ANSWERED}


def test_what_it_does_look_at_is_confirmed(report: Report) -> None:
    assert verdicts(report, "rule ") == {Verdict.CONFIRMED}
    assert verdicts(report, "policy PipeRole") == {Verdict.CONFIRMED}


def test_a_whole_run_leaves_nothing(aws: Emulator, report: Report, tmp_path: Path) -> None:
    assert report.answers
    assert all_that_is_there(DeployedStack(aws)) == NOTHING
    assert ledger.kept(tmp_path) == []


@pytest.fixture(scope="module")
def calls_of_a_run(aws: Emulator, tmp_path_factory: pytest.TempPathFactory) -> int:
    place = BrokenOff(aws, at=0, answered=False)
    made(place, tmp_path_factory.mktemp("calls"), FEW)
    return place.made


@pytest.mark.parametrize("tenth", range(1, 11))
@pytest.mark.parametrize("answered", [False, True], ids=["before it arrives", "after it acted"])
def test_a_run_that_is_interrupted_leaves_nothing(
    aws: Emulator, calls_of_a_run: int, tmp_path: Path, tenth: int, answered: bool
) -> None:
    at = max(1, calls_of_a_run * tenth // 10)
    place = BrokenOff(aws, at, answered)
    try:
        interrupted = made(place, tmp_path, FEW).interrupted
    except KeyboardInterrupt:  # while it was deleting
        interrupted = True
    assert interrupted
    for left in ledger.kept(tmp_path):
        Site(DeployedStack(aws), left).clean()
    assert all_that_is_there(DeployedStack(aws)) == NOTHING
    assert ledger.kept(tmp_path) == []


def test_a_run_that_was_killed_is_cleaned_by_the_next_process(
    aws: Emulator, tmp_path: Path
) -> None:
    killed = Site(DeployedStack(aws), Ledger.open(new_run(), {}, tmp_path))
    for question in FEW:
        question.ask(killed, False)
    assert all_that_is_there(DeployedStack(aws)) != NOTHING
    assert ledger.kept(tmp_path) == []  # as long as it lives it cleans up itself
    killed.ledger.release()
    (left,) = ledger.kept(tmp_path)
    Site(DeployedStack(aws), left).clean()
    assert all_that_is_there(DeployedStack(aws)) == NOTHING


def test_cleaning_twice_is_no_fault(aws: Emulator, tmp_path: Path) -> None:
    one = Site(DeployedStack(aws), Ledger.open("once-prove-again", {}, tmp_path))
    one.bucket()
    one.role()
    again = Ledger.open("once-prove-again-too", {}, tmp_path)
    for thing in reversed(one.ledger.left()):
        again.creating(*thing)
    one.clean()
    again.release()
    Site(DeployedStack(aws), again).clean()
    assert ledger.kept(tmp_path) == []
