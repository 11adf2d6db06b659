"""`once check`: what works in a stack, and what does not."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from once.operate import check as checking
from once.operate.canaries import Canaries
from once.operate.checks import Check
from once.records import OutcomeRecord
from once.waiter import Waiter
from proof.deployed import DeployedStack
from proof.still import still
from tests.operate.conftest import once
from tests.operate.support import machine

BATCH_REPORT = "batchItemFailures"
SOURCE = {"rule": None, "partner source": None}
# The local stack has a target and no limit.
UNLIMITED = {"limit of requests": None}


def works(answer: Any) -> dict[str, bool | None]:
    return {one["name"]: one.get("works") for one in answer.json["checks"]}


@pytest.mark.local
@pytest.mark.usefixtures("operated")
def test_a_healthy_stack_passes_and_its_destination_gets_no_request() -> None:
    answer = once("check", "--yes", "--json")
    assert answer.code == 0, answer.out
    assert works(answer) == {
        "enrichment": True,
        "queue, pipe, enrichment, state machine, action": True,
        "a copy meets its claim": True,
        "a message without an event is parked": True,
        "a permanently rejected event is parked": True,
        "parking queue": True,
        "an action that fails is tried again later": True,
        BATCH_REPORT: True,
        **SOURCE,
        **UNLIMITED,
    }
    assert answer.json["run"] not in once("destination", "--json").out
    assert answer.json["run"] not in once("parked", "list", "--json").out
    assert "acted on" in once("explain", f"{answer.json['run']}-good").out


@pytest.mark.local
def test_a_pipe_that_deletes_returned_messages_is_found(
    operated: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgets_its_report(definition: dict[str, Any]) -> None:
        definition["States"]["RecordOutcomes"]["Output"] = {BATCH_REPORT: []}

    monkeypatch.setattr(checking, "_RETURN_SECONDS", 8)
    with machine(operated, forgets_its_report):
        answer = once("check", "--yes", "--json")
    assert answer.code == 3
    found = works(answer)
    assert found.pop(BATCH_REPORT) is False
    assert found.pop("an action that fails is tried again later") is False
    assert False not in found.values()


@pytest.mark.local
def test_an_interrupted_check_leaves_nothing_parked(
    operated: DeployedStack,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = once("parked", "list", "--json").json["messages"]
    wait = Waiter.wait

    def wait_for_the_first(*first: Any) -> Any:
        monkeypatch.setattr(Waiter, "wait", interrupt_once)
        return wait(*first)

    def interrupt_once(*_: Any) -> Any:
        """The canaries that will be parked have just been sent."""
        monkeypatch.setattr(Waiter, "wait", wait)
        raise KeyboardInterrupt

    monkeypatch.setattr(Waiter, "wait", wait_for_the_first)
    assert once("check", "--yes").code == 130
    assert once("parked", "list", "--json").json["messages"] == before


@pytest.mark.local
def test_a_stack_whose_pipe_is_stopped_is_looked_at_and_not_tried(operated: DeployedStack) -> None:
    pipes, name = operated.client("pipes"), operated.outputs["PipeName"]
    pipes.stop_pipe(Name=name)
    try:
        answer = once("check", "--yes")
        as_json = once("check", "--yes", "--json")
    finally:
        once("resume", "--yes")
    assert answer.code == as_json.code == 1
    assert "once resume" in answer.err
    assert "rule ENABLED, sends to our queue" in answer.out
    assert works(as_json) == SOURCE | UNLIMITED | {"canaries": False}
    assert as_json.json["run"] is None


def test_a_check_that_only_looks_sends_no_canary(tmp_path: Path) -> None:
    """They would count as events, while an alarm says that none come."""
    with still() as stack, stack.up(tmp_path):
        stack.client("pipes").stop_pipe(Name=stack.outputs["PipeName"])
        looked = once("check", "--look", "--json")
        stack.client("events").disable_rule(Name=stack.outputs["EventRuleName"])
        disabled = once("check", "--look")
        depth = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["ApproximateNumberOfMessages"]
        )["Attributes"]
    assert (looked.code, works(looked)) == (0, SOURCE)
    assert "a local stack has none: once send" in looked.out
    assert "never reach" not in looked.out
    assert disabled.code == 3
    assert "aws events enable-rule" in disabled.out
    assert depth == {"ApproximateNumberOfMessages": "0"}


def test_nothing_is_sent_without_a_yes(tmp_path: Path) -> None:
    with still() as stack, stack.up(tmp_path):
        assert once("check", says="n\n").code == 1
        depth = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["ApproximateNumberOfMessages"]
        )["Attributes"]
    assert depth == {"ApproximateNumberOfMessages": "0"}


class FakeStack:
    """Only what is asked before anything is sent."""

    def __init__(self, **parameters: str) -> None:
        self.parameters = parameters


def test_a_function_of_the_user_never_gets_a_canary() -> None:
    stack: Any = FakeStack(ActionFunctionArn="arn:aws:lambda:eu-central-1:1:function:mine")
    with pytest.raises(checking.OnceError, match="ActionFunctionArn"):
        checking.refuse_if_harmful(stack)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            {"errorType": "Runtime.ImportModuleError", "errorMessage": "No module named 'no'"},
            "it fails, Runtime.ImportModuleError: No module named 'no'; events wait on the queue. "
            "Its log: aws logs tail /log/enrichment --since 1h --region eu-west-1",
        ),
        (
            [],
            "it returns nothing, so the pipe deletes events, and they are lost. Stop it: "
            "aws pipes stop-pipe --name pipe",
        ),
    ],
)
def test_an_enrichment_that_fails_is_told_from_one_that_loses_events(
    answer: Any, said: str
) -> None:
    class Fails(FakeStack):
        outputs: ClassVar = {
            "EnrichmentFunctionName": "enrichment",
            "EnrichmentLogGroupName": "/log/enrichment",
            "PipeName": "pipe",
        }
        is_local, region = False, "eu-west-1"

        def client(self, service: str) -> Any:
            assert service == "lambda", "no canary is sent"
            failed = {"FunctionError": "Unhandled"} if answer else {}
            payload = io.BytesIO(json.dumps(answer).encode())
            return SimpleNamespace(invoke=lambda **_: {**failed, "Payload": payload})

    stack: Any = Fails()
    found = checking.run_checks(stack, checking.Checked(run=None, checks=[]), 0, lambda _: None)
    (one,) = found.checks
    assert (found.run, one.works, one.said) == (None, False, said)


def test_parked_canaries_are_gone_before_an_alarm_would_tell_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one that is returned to the queue takes ten minutes, and the alarm five."""

    class Healthy(FakeStack):
        outputs: ClassVar = {"OutcomeLogGroupName": "outcomes"}

        def client(self, service: str) -> Any:
            assert service == "logs"
            return SimpleNamespace(get_paginator=lambda _: SimpleNamespace(paginate=lambda **_: []))

    done: list[str] = []
    reads = Check(name="enrichment", works=True, said="it reads an event")
    monkeypatch.setattr(checking, "invoke_enrichment", lambda *_: reads)
    monkeypatch.setattr(checking, "_settle_first", lambda *_: True)
    monkeypatch.setattr(checking, "_clear_parked", lambda *_: done.append("clear") or 0)
    monkeypatch.setattr(checking, "_wait_for", lambda *_: done.append("wait"))
    monkeypatch.setattr(checking, "_GRACE_SECONDS", 0)
    stack: Any = Healthy()
    checking.run_checks(stack, checking.Checked(run=None, checks=[]), 480, lambda _: None)
    assert done == ["clear", "wait", "clear"]


def test_a_check_does_not_wait_for_an_event_that_needs_a_repair(canaries: Canaries) -> None:
    told = records(good=[("RETRY", "FUNCTION_FAILED")])
    canaries.good.message_ids.remove("copy")
    for other in (canaries.refused, canaries.failing, canaries.broken):
        other.message_ids.clear()
    one, *others = checking._judge(canaries, told, 0, on_bus=False)
    assert {other.works for other in others} == {None}, "they follow when the first is settled"
    assert one.works is False
    assert checking._needs_repair(told["good"][-1])
    assert not checking._needs_repair(records(good=[("RETRY", "CALL_FAILED")])["good"][-1])


def records(**histories: list[tuple[str, str]]) -> dict[str, list[OutcomeRecord]]:
    return {
        message_id: [
            OutcomeRecord.model_validate(
                {
                    "messageId": message_id,
                    "outcome": outcome,
                    "reason": reason,
                    "recordedAtMs": 0,
                }
            )
            for outcome, reason in history
        ]
        for message_id, history in histories.items()
    }


@pytest.fixture
def canaries() -> Canaries:
    created = Canaries.create(fails_for_ms=0)
    created.good.message_ids += ["good", "copy"]
    for one in (created.refused, created.failing, created.broken):
        one.message_ids.append(one.name)
    return created


@pytest.mark.parametrize(
    ("failing", "good", "works"),
    [
        ([("RETRY", "CALL_FAILED"), ("PROCESSED", "ACTED")], [("PROCESSED", "ACTED")], True),
        ([("RETRY", "CALL_FAILED")], [("PROCESSED", "ACTED")], False),
        (
            [("RETRY", "CALL_FAILED"), ("PROCESSED", "ACTED")],
            [("PROCESSED", "ACTED"), ("PROCESSED", "SETTLED_BEFORE")],
            False,
        ),
        ([("PROCESSED", "ACTED")], [("PROCESSED", "ACTED")], None),
        ([("RETRY", "LIMITED")], [("PROCESSED", "ACTED")], None),
    ],
)
def test_the_batch_report_is_judged_by_the_messages_that_return(
    canaries: Canaries,
    failing: list[tuple[str, str]],
    good: list[tuple[str, str]],
    works: bool | None,
) -> None:
    found = list(checking._check_returns(canaries, records(failing=failing, good=good)))
    assert found[-1].name == BATCH_REPORT
    assert found[-1].works is works


@pytest.mark.parametrize(
    ("target", "per_minute", "at_once", "warned"),
    [
        ("none", "0", "0", False),
        ("genesys", "300", "0", False),
        ("genesys", "0", "0", True),
        ("webhook", "0", "0", True),
        ("webhook", "600", "0", False),
        ("webhook", "0", "20", False),
    ],
)
def test_a_target_without_a_limit_is_warned_of(
    target: str, per_minute: str, at_once: str, warned: bool
) -> None:
    stack: Any = SimpleNamespace(
        parameters={"ActionTarget": target, "MaxConcurrentActions": at_once},
        outputs={"MaxActionsPerMinute": per_minute},
    )
    assert bool(list(checking.check_limit(stack))) is warned
