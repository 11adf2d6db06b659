"""A throwaway stack on the emulator: what it answers, and that nothing of it stays."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from once.local.aws import Emulator
from once.local.pipe import Ending, PipeRunner
from proof.prove import failures, ledger, messages, run, sink, throwaway
from proof.prove.command import SERVER, OnEmulator, app
from proof.prove.ledger import Ledger
from proof.prove.question import Verdict, put
from proof.prove.report import Report
from proof.prove.site import Site, new_run
from proof.template import of_type

pytestmark = pytest.mark.local
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
def aws() -> Iterator[Emulator]:
    with Emulator.start([SERVER]) as running:
        yield running


def all_that_is_there(aws: Emulator) -> dict[str, int]:
    return {
        service: len(getattr(aws.client(service), operation)().get(field, []))
        for service, (operation, field) in LISTS.items()
    }


@pytest.fixture(scope="module")
def before(aws: Emulator) -> dict[str, int]:
    return all_that_is_there(aws)


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


@pytest.mark.parametrize("number", [0, 1])
def test_a_pipe_that_loses_a_failed_batch_is_found(
    aws: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """An emulator that deletes what failed, as AWS might."""
    execute = PipeRunner._execute

    def forgetful(*arguments: Any) -> tuple[Ending, frozenset[str], str]:
        ending, keep, detail = execute(*arguments)
        failed = ending in (Ending.TARGET_FAILED, Ending.ENRICHMENT_FAILED)
        return (Ending.SUCCEEDED if failed else ending), keep, detail

    monkeypatch.setattr(PipeRunner, "_execute", forgetful)
    monkeypatch.setattr(messages, "patience_seconds", lambda _: 8)
    # What was taken must have failed before the fault ends, on a busy machine too.
    monkeypatch.setattr(failures, "silence_seconds", lambda _: 12)
    site = Site(OnEmulator(aws), Ledger.open(new_run(), {}, tmp_path))
    try:
        with throwaway.deployed(site, aws) as stack:
            asked = list(failures.questions(stack))[number]
            assert asked.ask(site, False) == {"lost": 5}
    finally:
        site.clean()
        site.ledger.release()


@pytest.mark.parametrize(
    "moment",
    [
        "deploying (sam deploy)",
        "creating the stack",
        "changing ActionFunctionArn",
        "waiting until all are settled",
        "deleting the stack",
        "deleting the table",
    ],
)
def test_an_interrupted_deployment_leaves_nothing(
    aws: Emulator, before: dict[str, int], tmp_path: Path, moment: str
) -> None:
    interrupted = []

    def step(what: str) -> None:
        if what.startswith(moment) and not interrupted:
            interrupted.append(what)
            raise KeyboardInterrupt

    site = Site(OnEmulator(aws), Ledger.open(new_run(), {}, tmp_path), step)
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
        Site(OnEmulator(aws), left).clean()
    assert all_that_is_there(aws) == before
    assert ledger.kept(tmp_path) == []
