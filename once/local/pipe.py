"""A stand-in for the EventBridge Pipes service: SQS source, Lambda enrichment, Express target.

ministack stores such a pipe but does not run it. The rules are AWS's (user guide of EventBridge
Pipes: SQS source, enrichment, error handling, quotas), for batches of one message: what is not
deleted comes back when its visibility timeout ends.
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError

log = logging.getLogger(__name__)

Record = dict[str, Any]

TARGET_BYTES = 256 * 1024
RECEIVE_LIMIT = 10  # messages that SQS gives at a time
POLL_SECONDS = 1
DESCRIBE_SECONDS = 1
BACK_OFF_SECONDS = 1
_PASSED_ON_ATTRIBUTES = (
    "ApproximateReceiveCount",
    "SentTimestamp",
    "SenderId",
    "ApproximateFirstReceiveTimestamp",
)


class Ending(Enum):
    """The end of one pipe execution; only the first deletes the message."""

    SUCCEEDED = "succeeded"
    ENRICHMENT_FAILED = "enrichment failed"
    TARGET_FAILED = "target failed"
    TOO_LARGE = "input over 256 KiB refused by the target"


@dataclass(frozen=True)
class Delivery:
    """One pipe execution as an observer sees it."""

    ending: Ending
    detail: str = ""


Observer = Callable[[Delivery], None]
"""Hears of each delivery that ended, from several threads."""


def log_failures(client: Callable[[str], Any], group: str) -> Observer:
    """Returns what logs each failed execution, as a pipe does at level ERROR.

    docs.aws.amazon.com: EventBridge, "EventBridge Pipes log schema reference".
    """
    logs = client("logs")
    stream = str(uuid.uuid4())
    logs.create_log_stream(logGroupName=group, logStreamName=stream)

    def observe(delivery: Delivery) -> None:
        if delivery.ending is Ending.SUCCEEDED:
            return
        is_enrichment = delivery.ending is Ending.ENRICHMENT_FAILED
        now_ms = time.time_ns() // 1_000_000
        line = {
            "executionId": str(uuid.uuid4()),
            "timestamp": now_ms,
            "messageType": "EnrichmentStageFailed" if is_enrichment else "TargetStageFailed",
            "logLevel": "ERROR",
            "error": {
                "message": delivery.ending.value,
                "details": delivery.detail,
                "awsService": "lambda" if is_enrichment else "states",
            },
        }
        event = {"timestamp": now_ms, "message": json.dumps(line)}
        with suppress(ClientError, BotoCoreError):  # the emulator has ended
            logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=[event])

    return observe


class PipeRunner:
    """Runs one deployed pipe until `stop`."""

    def __init__(
        self,
        client: Callable[[str], Any],
        pipe_name: str,
        *,
        concurrency: int = 32,
        observer: Observer = lambda _: None,
    ) -> None:
        self._pipes, self._sqs = client("pipes"), client("sqs")
        self._lambda, self._states = client("lambda"), client("stepfunctions")
        self._observer = observer
        self._name = pipe_name
        pipe = self._pipes.describe_pipe(Name=pipe_name)
        _refuse_unknown(pipe)
        self._source_arn: str = pipe["Source"]
        self._enrichment: str = pipe["Enrichment"]
        self._target: str = pipe["Target"]
        queue_name = self._source_arn.rpartition(":")[2]
        self._queue_url = self._sqs.get_queue_url(QueueName=queue_name)["QueueUrl"]
        self._running = pipe["CurrentState"] == "RUNNING"
        self._slots = threading.Semaphore(concurrency)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="pipe")
        self._stopping = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="pipe-poller", daemon=True)

    def start(self) -> "PipeRunner":
        self._poller.start()
        return self

    def close(self) -> None:
        """Takes no more messages."""
        self._stopping.set()

    def stop(self) -> None:
        """Takes no more messages and waits for the deliveries under way."""
        self.close()
        if self._poller.ident is not None:
            self._poller.join()
        self._pool.shutdown(wait=True)

    def __enter__(self) -> "PipeRunner":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def deliver(self, message: dict[str, Any]) -> Delivery:
        """Runs one pipe execution over a message as ReceiveMessage gave it."""
        record = self._record(message)
        delivery = self._execute(record)
        if delivery.ending is Ending.SUCCEEDED:
            self._sqs.delete_message(
                QueueUrl=self._queue_url, ReceiptHandle=record["receiptHandle"]
            )
        self._observer(delivery)
        return delivery

    def _poll(self) -> None:
        described = time.monotonic()
        while not self._stopping.is_set():
            try:
                if time.monotonic() - described >= DESCRIBE_SECONDS:
                    described = time.monotonic()
                    pipe = self._pipes.describe_pipe(Name=self._name)
                    self._running = pipe["CurrentState"] == "RUNNING"
                if not self._running:
                    self._stopping.wait(DESCRIBE_SECONDS)
                elif self._slots.acquire(timeout=DESCRIBE_SECONDS):
                    self._take_messages()
            except (ClientError, BotoCoreError) as error:
                if not self._stopping.is_set():
                    log.warning("the pipe cannot read its source: %s", error)
                self._stopping.wait(BACK_OFF_SECONDS)

    def _take_messages(self) -> None:
        """Takes a message for each free slot; each delivery gives its slot back when it ends."""
        slots, messages = 1, []
        while slots < RECEIVE_LIMIT and self._slots.acquire(blocking=False):
            slots += 1
        try:
            messages = self._sqs.receive_message(
                QueueUrl=self._queue_url,
                MaxNumberOfMessages=slots,
                WaitTimeSeconds=POLL_SECONDS,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            ).get("Messages", [])
        finally:
            if slots > len(messages):
                self._slots.release(slots - len(messages))
        for message in messages:
            self._pool.submit(self.deliver, message).add_done_callback(self._end)

    def _end(self, delivery: Future[Delivery]) -> None:
        self._slots.release()
        error = delivery.exception()
        is_refused = isinstance(error, ClientError | BotoCoreError)  # as by a stack that ends
        if error is not None and not (is_refused and self._stopping.is_set()):
            log.warning("a delivery failed in the local pipe", exc_info=error)

    def _execute(self, record: Record) -> Delivery:
        payload = json.dumps([record]).encode()
        try:
            response = self._lambda.invoke(FunctionName=self._enrichment, Payload=payload)
        except (ClientError, BotoCoreError) as error:
            return Delivery(Ending.ENRICHMENT_FAILED, str(error))
        enriched: str = response["Payload"].read().decode()
        if "FunctionError" in response:
            return Delivery(Ending.ENRICHMENT_FAILED, enriched)
        size = len(enriched.encode())
        if size > TARGET_BYTES:
            return Delivery(Ending.TOO_LARGE, f"{size} bytes")
        try:
            execution = self._states.start_sync_execution(
                stateMachineArn=self._target, input=enriched
            )
        except (ClientError, BotoCoreError) as error:
            return Delivery(Ending.TARGET_FAILED, str(error))
        if execution["status"] != "SUCCEEDED":
            name, cause = execution.get("error", ""), execution.get("cause", "")
            return Delivery(Ending.TARGET_FAILED, f"{execution['status']} {name}: {cause}")
        return Delivery(Ending.SUCCEEDED)

    def _record(self, message: dict[str, Any]) -> Record:
        attributes = message.get("Attributes", {})
        return {
            "messageId": message["MessageId"],
            "receiptHandle": message["ReceiptHandle"],
            "body": message["Body"],
            "attributes": {k: attributes[k] for k in _PASSED_ON_ATTRIBUTES if k in attributes},
            "messageAttributes": {
                name: {key[0].lower() + key[1:]: part for key, part in value.items()}
                for name, value in message.get("MessageAttributes", {}).items()
            },
            "md5OfBody": message["MD5OfBody"],
            "eventSource": "aws:sqs",
            "eventSourceARN": self._source_arn,
            "awsRegion": self._source_arn.split(":")[3],
        }


def _refuse_unknown(pipe: dict[str, Any]) -> None:
    """Refuses a pipe whose settings would need what this stand-in does not do."""
    source = dict(pipe.get("SourceParameters", {}))
    queue = source.pop("SqsQueueParameters", {})
    unknown = [*source]
    for name, value in queue.items():
        if f"{name}={value}" != "BatchSize=1":
            unknown.append(f"{name}={value}")
    for name in ("EnrichmentParameters", "TargetParameters"):
        if pipe.get(name, {}).get("InputTemplate"):
            unknown.append(f"{name}.InputTemplate")
    if unknown:
        raise OnceError(
            f"The pipe uses {', '.join(sorted(unknown))}, which the local stand-in for Pipes does "
            "not have (once/local/pipe.py). Take it out of template.yaml or add it there."
        )
