"""A throwaway stack on the embedded AWS: what it answers, and that nothing of it stays."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.embedded.aws import EmbeddedAws
from once.prove import ledger, run, sink, throwaway
from once.prove.command import OnEmbedded
from once.prove.ledger import Ledger
from once.prove.question import Verdict, put
from once.prove.report import Report
from once.prove.site import Site, new_run

pytestmark = pytest.mark.embedded
# Half a minute, where AWS is given hours.
HOURS = 0.008
LISTS = {
    "cloudformation": ("describe_stacks", "Stacks"),
    "cloudwatch": ("describe_alarms", "MetricAlarms"),
    "dynamodb": ("list_tables", "TableNames"),
    "events": ("list_event_buses", "EventBuses"),
    "iam": ("list_roles", "Roles"),
    "lambda": ("list_functions", "Functions"),
    "logs": ("describe_log_groups", "logGroups"),
    "pipes": ("list_pipes", "Pipes"),
    "s3": ("list_buckets", "Buckets"),
    "sns": ("list_topics", "Topics"),
    "sqs": ("list_queues", "QueueUrls"),
    "stepfunctions": ("list_state_machines", "stateMachines"),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws.start() as running:
        yield running


def all_that_is_there(aws: EmbeddedAws) -> dict[str, int]:
    return {
        service: len(getattr(aws.client(service), operation)().get(field, []))
        for service, (operation, field) in LISTS.items()
    }


@pytest.fixture(scope="module")
def before(aws: EmbeddedAws) -> dict[str, int]:
    return all_that_is_there(aws)


@pytest.fixture(scope="module")
def report(
    aws: EmbeddedAws, before: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Report:
    """By the command line, on an embedded AWS that outlives the command."""
    assert before["events"] == 1  # the default bus
    folder = tmp_path_factory.mktemp("run")
    command = ["prove", "--embedded", "--deploy", "--hours", str(HOURS), "--json", "report.json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(EmbeddedAws, "start", lambda: nullcontext(aws))
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
        f"{HOURS:g} hours of messages",
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


def test_alarms_whose_history_is_not_kept_are_not_answered(report: Report) -> None:
    alarms = [one for one in report.answers if one.question.startswith("deployed: alarm ")]
    assert len(alarms) > 20
    assert {one.verdict for one in alarms} == {Verdict.NOT_ANSWERED}


def test_a_deployed_stack_is_gone_with_what_it_retains(
    aws: EmbeddedAws, before: dict[str, int], report: Report
) -> None:
    assert report.answers
    assert all_that_is_there(aws) == before


@pytest.mark.parametrize(
    "moment",
    [
        "deploying (sam deploy)",
        "creating the stack",
        "changing which function",
        "waiting until all are settled",
        "deleting the stack",
        "deleting the table",
    ],
)
def test_an_interrupted_deployment_leaves_nothing(
    aws: EmbeddedAws, before: dict[str, int], tmp_path: Path, moment: str
) -> None:
    interrupted = []

    def step(what: str) -> None:
        if what.startswith(moment) and not interrupted:
            interrupted.append(what)
            raise KeyboardInterrupt

    site = Site(OnEmbedded(aws), Ledger.open(new_run(), {}, tmp_path), step)
    try:
        with throwaway.deployed(site, aws) as stack:
            if not moment.startswith("deleting"):
                put(next(sink.questions(stack)), site)
    except KeyboardInterrupt:
        pass
    else:
        with pytest.raises(KeyboardInterrupt):
            site.clean()
    assert interrupted
    site.ledger.release()
    for left in ledger.kept(tmp_path):
        Site(OnEmbedded(aws), left).clean()
    assert all_that_is_there(aws) == before
    assert ledger.kept(tmp_path) == []
