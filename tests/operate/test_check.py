"""`once check`: every edge of a stack that works, and the one that does not."""

import json
from pathlib import Path
from typing import Any

import pytest
from data_action import canary

from once.operate import check as checking
from once.operate.canaries import Canaries
from once.records import OutcomeRecord
from proof.embedded import Embedded
from proof.still import still
from tests.enrichment.sending import element
from tests.operate.conftest import once
from tests.operate.support import machine

BATCH_REPORT = "batchItemFailures"
WAY_IN = {"rule": None, "partner source": None}


def edges(answer: Any) -> dict[str, bool | None]:
    return {edge["edge"]: edge.get("works") for edge in answer.json["edges"]}


@pytest.mark.embedded
def test_a_stack_that_works_is_said_to_work_and_no_destination_heard_of_it(
    operated: Embedded,
) -> None:
    before = len(operated.destination.log)
    answer = once("check", "--yes", "--json")
    assert answer.code == 0, answer.out
    assert edges(answer) == {
        "queue, pipe, enrichment, state machine, action": True,
        "a copy meets its claim": True,
        "what is no event is parked": True,
        "what is refused for good is parked": True,
        "parking queue": True,
        "an action that fails is tried again later": True,
        BATCH_REPORT: True,
        **WAY_IN,
    }
    assert len(operated.destination.log) == before
    assert answer.json["run"] not in once("parked", "list", "--json").out
    assert "acted once" in once("explain", f"{answer.json['run']}-good").out


@pytest.mark.embedded
def test_a_pipe_that_deletes_what_was_handed_back_is_found(
    operated: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgets_its_report(definition: dict[str, Any]) -> None:
        definition["States"]["ReportBatch"]["Output"] = {BATCH_REPORT: []}

    monkeypatch.setattr(checking, "_RETURN_SECONDS", 8)
    with machine(operated, forgets_its_report):
        answer = once("check", "--yes", "--json")
    assert answer.code == 3
    found = edges(answer)
    assert found.pop(BATCH_REPORT) is False
    assert found.pop("an action that fails is tried again later") is False
    assert False not in found.values()


@pytest.mark.embedded
def test_whoever_does_not_wait_for_the_end_leaves_nothing_parked(
    operated: Embedded,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = once("parked", "list", "--json").json["parked"]
    wait = checking._wait

    def interrupted(*until_the_first: Any) -> Any:
        monkeypatch.setattr(checking, "_wait", interrupt)
        return wait(*until_the_first)

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(checking, "_wait", interrupted)
    assert once("check", "--yes").code == 130
    assert once("parked", "list", "--json").json["parked"] == before


@pytest.mark.embedded
def test_a_stack_whose_pipe_is_stopped_is_looked_at_and_not_tried(operated: Embedded) -> None:
    pipes, name = operated.client("pipes"), operated.outputs["PipeName"]
    pipes.stop_pipe(Name=name)
    try:
        answer = once("check", "--yes")
        as_json = once("check", "--yes", "--json")
    finally:
        once("resume")
    assert answer.code == as_json.code == 1
    assert "once resume" in answer.err
    assert "rule ENABLED, to our queue" in answer.out
    assert (edges(as_json), as_json.json["run"]) == (WAY_IN, None)


def test_whoever_only_looks_sends_no_canary_and_waits_for_none(tmp_path: Path) -> None:
    """They would count as events, while an alarm says that none come."""
    with still() as stack, stack.up(tmp_path):
        stack.client("pipes").stop_pipe(Name=stack.outputs["PipeName"])
        looked = once("check", "--look", "--json")
        stack.client("events").disable_rule(Name=stack.outputs["EventRuleName"])
        disabled = once("check", "--look")
        depth = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["ApproximateNumberOfMessages"]
        )["Attributes"]
    assert (looked.code, edges(looked)) == (0, WAY_IN)
    assert disabled.code == 3
    assert "aws events enable-rule" in disabled.out
    assert depth == {"ApproximateNumberOfMessages": "0"}


@pytest.mark.embedded
def test_nothing_is_sent_unless_somebody_agrees(operated: Embedded) -> None:
    queue, sqs = operated.outputs["EventQueueUrl"], operated.client("sqs")
    assert once("check", says="n\n").code == 1
    depth = sqs.get_queue_attributes(
        QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"]
    )["Attributes"]
    assert depth == {"ApproximateNumberOfMessages": "0"}


class FakeStack:
    """Only what is asked before anything is sent."""

    def __init__(self, **parameters: str) -> None:
        self.parameters = parameters


def test_the_data_action_knows_the_canaries_by_their_keys() -> None:
    """And nothing else: anybody may call an event of his own `Once Check`."""
    hatched = Canaries.hatch(fails_for_ms=0)
    for body in (
        hatched.good.body,
        hatched.good.copy(),
        hatched.refused.body,
        hatched.failing.body,
    ):
        assert canary.is_canary(element(json.loads(body)))
    named = {"detail-type": "Once Check", "detail": {"conversationId": "c1", "status": "connected"}}
    pretending = {**named["detail"], "organizationId": "once-check", "data": {"id": "d1"}}
    for other in (named, pretending, {"detail-type": "check", "detail": {**pretending}}):
        assert not canary.is_canary(element(other))


def test_a_function_of_somebodys_own_never_gets_a_canary() -> None:
    stack: Any = FakeStack(ActionFunctionArn="arn:aws:lambda:eu-central-1:1:function:mine")
    with pytest.raises(checking.OnceError, match="ActionFunctionArn"):
        checking.refuse_where_it_would_harm(stack)


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
def flock() -> Canaries:
    hatched = Canaries.hatch(fails_for_ms=0)
    hatched.good.message_ids += ["good", "copy"]
    for one in (hatched.refused, hatched.failing, hatched.broken):
        one.message_ids.append(one.name)
    return hatched


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
def test_the_batch_report_is_judged_by_who_comes_again(
    flock: Canaries,
    failing: list[tuple[str, str]],
    good: list[tuple[str, str]],
    works: bool | None,
) -> None:
    found = list(checking._hand_back(flock, records(failing=failing, good=good)))
    assert found[-1].edge == BATCH_REPORT
    assert found[-1].works is works
