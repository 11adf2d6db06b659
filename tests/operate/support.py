"""Helps the tests of the commands to use a shared stack."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from once.local.deploy import STACK_NAME
from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start
from tests.operate.conftest import once


def pk_of(conversation: str) -> str:
    return f"{ORGANISATION}/conversation/{conversation}"


def destination_answers(local: DeployedStack, conversation: str, *replies: object) -> None:
    """Sets the replies for this conversation: each once, then successes."""
    local.destination.script.add(
        {"match": {"conversationId": conversation}, "replies": list(replies)}
    )


def count_waiting(local: DeployedStack) -> int:
    """The messages in the event queue, visible and in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = local.client("sqs").get_queue_attributes(
        QueueUrl=local.outputs["EventQueueUrl"], AttributeNames=names
    )["Attributes"]
    return sum(map(int, found.values()))


def keys_asked(local: DeployedStack, conversation: str) -> list[str]:
    """The Idempotency-Keys that the destination acted under, in order."""
    return [
        entry.facts["idempotencyKey"]
        for entry in local.destination.received("execute")
        if entry.facts.get("conversationId") == conversation and entry.acted
    ]


def until(what: Callable[[], Any], seconds: float = 120, every: float = 0.2) -> Any:
    """Waits for something true, and answers it; patient, for machines that do much else."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(every)
    return found


def explained(thing: str) -> list[dict[str, Any]]:
    """The events that explain tells of one subject or message; none while nothing is known."""
    answer = once("explain", thing, "--json")
    if answer.code != 0:
        assert "Nothing is known" in answer.out, answer.out
        return []
    return [event for subject in answer.json["subjects"] for event in subject["events"]]


def verdict(thing: str) -> str | None:
    """Returns the verdict on a subject with one event."""
    events = explained(thing)
    assert len(events) <= 1, events
    return events[0]["verdict"] if events else None


def restart_with(local: DeployedStack, **settings: str) -> None:
    """Lets the data action forget what it has cached; `settings` change its environment."""
    functions, name = local.client("lambda"), local.outputs["DataActionFunctionName"]
    kept = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    functions.update_function_configuration(
        FunctionName=name, Environment={"Variables": {**kept, **settings}}
    )


@contextmanager
def queue_with(local: DeployedStack, **attributes: str) -> Iterator[None]:
    """The event queue with other attributes, until the block ends."""
    sqs, url = local.client("sqs"), local.outputs["EventQueueUrl"]
    kept = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(attributes))["Attributes"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    local.settle(customer_start())  # the receive that waits already goes by the old ones
    try:
        yield
    finally:
        sqs.set_queue_attributes(QueueUrl=url, Attributes=kept)


@contextmanager
def machine(local: DeployedStack, change: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """The deployed state machine with a fault in it, until the block ends."""
    states, arn = local.client("stepfunctions"), local.outputs["StateMachineArn"]
    deployed = states.describe_state_machine(stateMachineArn=arn)["definition"]
    changed = json.loads(deployed)
    change(changed)
    states.update_state_machine(stateMachineArn=arn, definition=json.dumps(changed))
    try:
        yield
    finally:
        states.update_state_machine(stateMachineArn=arn, definition=deployed)


@contextmanager
def parameters(local: DeployedStack, **changed: str) -> Iterator[None]:
    """The stack deployed with other parameters, until the block ends."""
    stacks = local.client("cloudformation")
    (stack,) = stacks.describe_stacks(StackName=STACK_NAME)["Stacks"]
    kept = {one["ParameterKey"]: one["ParameterValue"] for one in stack["Parameters"]}

    def update(chosen: Mapping[str, str]) -> None:
        stacks.update_stack(
            StackName=STACK_NAME,
            UsePreviousTemplate=True,
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[
                {"ParameterKey": name, "ParameterValue": value} for name, value in chosen.items()
            ],
        )
        stacks.get_waiter("stack_update_complete").wait(
            StackName=STACK_NAME, WaiterConfig={"Delay": 1, "MaxAttempts": 30}
        )

    update(kept | changed)
    try:
        yield
    finally:
        update(kept)
