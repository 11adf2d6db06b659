"""The corrections of ministack hold: what the state machine and the pipe need of AWS."""

import json
from typing import Any

from once.stack.log import read_path
from proof.shared_stack import SharedStack
from tests.stack.sample_events import new_id

FUNCTION = """
import os
calls = 0

class RateLimited(Exception):
    pass

def handler(event, context):
    global calls
    calls += 1
    if event == "crash":
        os._exit(3)
    if event == "raise":
        raise RateLimited('{"reason": "RATE_LIMITED", "retryInSeconds": 2}')
    return {"calls": calls}
"""


def test_error_of_a_function_has_the_name_of_its_class(local: SharedStack) -> None:
    name = f"any-{new_id()[:8]}"
    caught = "{% {'error': $states.errorOutput.Error, 'cause': $states.errorOutput.Cause} %}"
    task = {
        "Type": "Task",
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {
            "FunctionName": local.create_function(name, FUNCTION),
            "Payload": "{% $states.input %}",
        },
        "Catch": [{"ErrorEquals": ["States.ALL"], "Output": caught, "Next": "End"}],
        "Next": "End",
    }
    states = {"Task": task, "End": {"Type": "Pass", "End": True}}
    client = local.client_of_pipe("stepfunctions")
    machine = client.create_state_machine(
        name=name,
        definition=json.dumps({"QueryLanguage": "JSONata", "StartAt": "Task", "States": states}),
        roleArn=f"arn:aws:iam::{local.up.account}:role/any",
        type="EXPRESS",
    )["stateMachineArn"]

    def invoke(payload: str) -> Any:
        execution = client.start_sync_execution(stateMachineArn=machine, input=json.dumps(payload))
        return json.loads(execution["output"])

    raised = invoke("raise")
    assert raised["error"] == "RateLimited"
    message = json.loads(json.loads(raised["cause"])["errorMessage"])
    assert message == {"reason": "RATE_LIMITED", "retryInSeconds": 2}
    # The environment outlives an error with what it cached, and a crash ends it.
    assert invoke("count")["Payload"] == {"calls": 2}
    assert invoke("crash")["error"] == "Runtime.ExitError"
    assert invoke("count")["Payload"] == {"calls": 1}
    functions = local.client("lambda")
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    assert invoke("count")["error"] == "Lambda.TooManyRequestsException"


def test_states_of_an_execution_are_logged(local: SharedStack) -> None:
    (record,) = local.settle(f"no event {new_id()}")
    path = [state for state, _ in read_path(local.stack, record)]
    assert path[0] == "OpenEvent"
    assert {"ClaimKey", "RecordOutcome"} <= {*path}
