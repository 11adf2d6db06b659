"""A state machine that nothing can go through ends `once run` with what is wrong."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from once.local import stack
from once.local.aws import Emulator
from once.local.deploy import Stack
from proof.events import customer_start
from tests.operate.conftest import once

pytestmark = pytest.mark.local

FAILS = {"Type": "Fail", "Error": "Broken", "Cause": "on purpose"}
DEFINITIONS = {
    "no JSON": ('{"StartAt": [', "Could not parse state machine definition"),
    "it begins nowhere": (json.dumps({"StartAt": "Nowhere", "States": {"End": FAILS}}), "Nowhere"),
    "every execution fails": (json.dumps({"StartAt": "End", "States": {"End": FAILS}}), "purpose"),
}
OUTPUTS = {"PipeName": "pipe", "OutcomeLogGroupName": "outcomes", "EventBusName": "default"}
ROLE = "arn:aws:iam::000000000000:role/any"


def machine_alone(aws: Emulator, definition: str) -> Stack:
    """Makes the parts of a stack that a run needs, around this state machine, without a build."""
    sqs, outputs = aws.client("sqs"), dict(OUTPUTS)
    for name in ("EventQueueUrl", "EventDeadLettersUrl", "RuleDeadLettersUrl"):
        outputs[name] = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "1"})[
            "QueueUrl"
        ]
    aws.client("logs").create_log_group(logGroupName="outcomes")
    states = aws.client("stepfunctions")
    machine = states.create_state_machine(
        name="machine", type="EXPRESS", roleArn=ROLE, definition=definition
    )["stateMachineArn"]
    queue = sqs.get_queue_attributes(QueueUrl=outputs["EventQueueUrl"], AttributeNames=["QueueArn"])
    source = queue["Attributes"]["QueueArn"]
    aws.client("pipes").create_pipe(Name="pipe", RoleArn=ROLE, Source=source, Target=machine)
    return Stack(Path(), outputs)


@pytest.mark.parametrize(("definition", "said"), DEFINITIONS.values(), ids=DEFINITIONS)
def test_a_run_through_a_machine_that_cannot_work_says_so_and_ends(
    definition: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deploy(aws: Emulator, _: Path, __: Mapping[str, str], ___: stack.Step) -> Stack:
        return machine_alone(aws, definition)

    monkeypatch.setattr(stack, "deploy", deploy)
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(customer_start("broken")))
    answer = once("run", str(events))
    assert answer.code == 1
    said_plainly = " ".join(answer.err.split())
    assert "The state machine has failed 3 times and settled nothing" in said_plainly
    assert said in said_plainly
    assert "Traceback" not in answer.out + answer.err
