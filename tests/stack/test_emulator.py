"""The corrections of ministack hold: what the state machine and the pipe need of AWS."""

import json
import time
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


def run_state(local: SharedStack, state: dict[str, Any], payload: Any = None) -> Any:
    """Runs one task; returns its output, or the name and cause of the error that is caught."""
    caught = "{% {'error': $states.errorOutput.Error, 'cause': $states.errorOutput.Cause} %}"
    definition = {
        "QueryLanguage": "JSONata",
        "StartAt": "Task",
        "States": {
            "Task": {
                "Type": "Task",
                **state,
                "Catch": [{"ErrorEquals": ["States.ALL"], "Output": caught, "Next": "End"}],
                "End": True,
            },
            "End": {"Type": "Pass", "End": True},
        },
    }
    states = local.client_of_pipe("stepfunctions")
    machine = states.create_state_machine(
        name=f"one-{new_id()}",
        definition=json.dumps(definition),
        roleArn=f"arn:aws:iam::{local.up.account}:role/any",
        type="EXPRESS",
    )["stateMachineArn"]
    execution = states.start_sync_execution(stateMachineArn=machine, input=json.dumps(payload))
    assert execution["status"] == "SUCCEEDED", execution
    return json.loads(execution["output"])


def test_error_of_a_function_has_the_name_of_its_class(local: SharedStack) -> None:
    name = f"any-{new_id()[:8]}"
    arn = local.create_function(name, FUNCTION)
    invoke = {
        "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": arn, "Payload": "{% $states.input %}"},
    }
    raised = run_state(local, invoke, "raise")
    assert raised["error"] == "RateLimited"
    message = json.loads(json.loads(raised["cause"])["errorMessage"])
    assert message == {"reason": "RATE_LIMITED", "retryInSeconds": 2}
    # The environment outlives an error with what it cached, and a crash ends it.
    assert run_state(local, invoke, "count")["Payload"] == {"calls": 2}
    assert run_state(local, invoke, "crash")["error"] == "Runtime.ExitError"
    assert run_state(local, invoke, "count")["Payload"] == {"calls": 1}
    functions = local.client("lambda")
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    assert run_state(local, invoke, "count")["error"] == "Lambda.TooManyRequestsException"


def test_send_message_takes_a_delay_and_returns_the_id(local: SharedStack) -> None:
    sqs = local.client("sqs")
    queue = sqs.create_queue(QueueName=f"delayed-{new_id()}")["QueueUrl"]
    arguments = {
        "QueueUrl": queue,
        "MessageBody": "{% $string({'event': $states.input}) %}",
        "DelaySeconds": "{% $min([900, 2]) %}",
    }
    sent = run_state(
        local, {"Resource": "arn:aws:states:::sqs:sendMessage", "Arguments": arguments}, "text"
    )
    assert sent["MessageId"]
    assert not sqs.receive_message(QueueUrl=queue).get("Messages")
    name = "ApproximateNumberOfMessagesDelayed"
    depths = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[name])["Attributes"]
    assert depths[name] == "1"
    time.sleep(2)
    (message,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    assert json.loads(message["Body"]) == {"event": "text"}


def test_failed_condition_has_its_name_and_all_old_returns_the_row(local: SharedStack) -> None:
    def update(condition: str) -> Any:
        return run_state(
            local,
            {
                "Resource": "arn:aws:states:::dynamodb:updateItem",
                "Arguments": {
                    "TableName": local.outputs["ClaimTableName"],
                    "Key": {"pk": {"S": row}, "sk": {"S": "any"}},
                    "UpdateExpression": "SET #owner = :me",
                    "ConditionExpression": condition,
                    "ExpressionAttributeNames": {"#owner": "owner"},
                    "ExpressionAttributeValues": {":me": {"S": "me"}},
                    "ReturnValues": "ALL_OLD",
                },
            },
        )

    row = f"test/emulator/{new_id()}"
    assert "Attributes" not in update("attribute_not_exists(pk)")
    refused = update("attribute_not_exists(pk)")
    assert refused["error"] == "DynamoDB.ConditionalCheckFailedException"
    assert update("#owner = :me")["Attributes"]["owner"] == {"S": "me"}


def test_states_of_an_execution_are_logged(local: SharedStack) -> None:
    (record,) = local.settle(f"no event {new_id()}")
    path = [state for state, _ in read_path(local.stack, record)]
    assert path[0] == "OpenEvent"
    assert {"ClaimKey", "RecordOutcome"} <= {*path}
