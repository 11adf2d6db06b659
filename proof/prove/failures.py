"""Does a batch come back whose enrichment or whose execution fails?

StartSyncExecution answers 200 for an execution that failed, and a pipe takes a null response for
success. That it keeps such a batch is one sentence of EventBridge's user guide
(eb-pipes-error-troubleshooting, "customer invocation errors").
"""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from once.operate import check, log
from once.operate.canaries import Canaries, send_canary
from once.records import settled
from proof.prove.messages import records_since, settle, silence_seconds
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import CHANGED_SECONDS, Deployed

Json = Any
_EVENTS = 5
# So many times the queue's own visibility: each message comes back more than once.
_DELIVERIES = 2.2
_FAILS = {"Type": "Fail", "Error": "Proof", "Cause": "make prove fails each execution"}
# Its output names no failed item, so the pipe deletes the batch.
_FORGETS = {"Type": "Succeed"}


def questions(stack: Deployed) -> Iterator[Question]:
    yield Question(
        name="deployed: an execution that fails",
        guards="the pipe keeps a batch whose execution fails: StartSyncExecution answers 200",
        ask=partial(_lost, stack, lambda site: _defined(stack, site, _FAILS)),
        expected={"lost": 0},
    )
    yield Question(
        name="deployed: an enrichment without concurrency",
        guards="the pipe keeps a batch whose enrichment does not run",
        ask=partial(_lost, stack, lambda _: _without_concurrency(stack)),
        expected={"lost": 0},
    )


def _lost(stack: Deployed, failing: Any, site: Site, broken: bool) -> Json:
    """Counts the events that are gone after some failed deliveries. Broken, each execution succeeds
    and forgets its batch."""
    fault: AbstractContextManager[None] = (
        _defined(stack, site, _FORGETS) if broken else failing(site)
    )
    sent_ms = log.now_ms()
    with fault:
        ids = [
            send_canary(stack, Canaries.create(fails_for_ms=0).good.body) for _ in range(_EVENTS)
        ]
        site.step("waiting while each delivery fails")
        _wait_until_taken(stack)
        is_local = site.place.is_local
        deliveries_seconds = 0 if is_local else _DELIVERIES * check.read_visibility_seconds(stack)
        time.sleep(silence_seconds(site) + deliveries_seconds)
        if set(ids) & set(records_since(stack, sent_ms)):
            raise UnansweredError("a delivery succeeded that was to fail")
    if broken and is_local:  # where a message that is kept comes again without delay
        time.sleep(check.read_visibility_seconds(stack) + silence_seconds(site))
        records = records_since(stack, sent_ms)
    else:
        records = settle(stack, site, sent_ms, ids)
    return {"lost": sum(settled(message_id, records) is None for message_id in ids)}


def _wait_until_taken(stack: Deployed) -> None:
    """Waits until the pipe has taken each message, for a minute at most."""
    sqs, url = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    name, until = "ApproximateNumberOfMessages", time.monotonic() + 60
    while time.monotonic() < until:
        counted = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])
        if counted["Attributes"][name] == "0":
            return
        time.sleep(0.2)


@contextmanager
def _defined(stack: Deployed, site: Site, state: Json) -> Iterator[None]:
    """Replaces the definition by this one state."""
    machines, arn = stack.client("stepfunctions"), stack.outputs["StateMachineArn"]
    before = machines.describe_state_machine(stateMachineArn=arn)["definition"]
    definition = json.dumps({"StartAt": "Proof", "States": {"Proof": state}})
    machines.update_state_machine(stateMachineArn=arn, definition=definition)
    try:
        site.wait(CHANGED_SECONDS)
        yield
    finally:
        machines.update_state_machine(stateMachineArn=arn, definition=before)
        site.wait(CHANGED_SECONDS)


@contextmanager
def _without_concurrency(stack: Deployed) -> Iterator[None]:
    functions, name = stack.client("lambda"), stack.outputs["EnrichmentFunctionName"]
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        functions.delete_function_concurrency(FunctionName=name)
