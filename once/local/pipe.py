"""A stand-in for the EventBridge Pipes service: SQS source, Lambda enrichment, Express target.

ministack stores such a pipe but does not run it. The rules are AWS's (user guide of EventBridge
Pipes: batching, SQS source, enrichment, error handling, quotas); each has a test of its name.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError

log = logging.getLogger(__name__)

Record = dict[str, Any]

EXECUTION_SECONDS = 300
TARGET_BYTES = 256 * 1024
RECEIVE_LIMIT = 10
POLL_SECONDS = 1
DESCRIBE_SECONDS = 1
BACK_OFF_SECONDS = 1
_PASSED_ON_ATTRIBUTES = (
    "ApproximateReceiveCount",
    "SentTimestamp",
    "SenderId",
    "ApproximateFirstReceiveTimestamp",
    "SequenceNumber",
    "MessageGroupId",
    "MessageDeduplicationId",
)
_KNOWN_SOURCE_PARAMETERS = {"BatchSize"}


class Ending(Enum):
    """The end of one pipe execution; only the first three delete messages."""

    SUCCEEDED = "succeeded"
    SKIPPED_TARGET = "enrichment answered nothing: target skipped"
    PARTIALLY_FAILED = "target reported failed items"
    ENRICHMENT_FAILED = "enrichment failed"
    TARGET_FAILED = "target failed"
    TOO_LARGE = "input over 256 KiB refused by the target"
    TIMED_OUT = "over five minutes"


@dataclass(frozen=True)
class Batch:
    """One pipe execution as an observer sees it."""

    records: Sequence[Record]
    ending: Ending
    deleted: frozenset[str]
    seconds: float
    detail: str = ""


Observer = Callable[[Batch], None]
"""Hears of each batch that ended, from several threads."""


class PipeRunner:
    """Runs one deployed pipe until `stop`."""

    def __init__(
        self,
        client: Callable[[str], Any],
        pipe_name: str,
        *,
        concurrency: int = 12,
        observer: Observer = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pipes, self._sqs = client("pipes"), client("sqs")
        self._lambda, self._states = client("lambda"), client("stepfunctions")
        self._observer = observer
        self._clock = clock
        self._name = pipe_name
        pipe = self._pipes.describe_pipe(Name=pipe_name)
        self._source_arn: str = pipe["Source"]
        self._enrichment: str | None = pipe.get("Enrichment")
        self._target: str = pipe["Target"]
        self._batch_size = _batch_size(pipe)
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
        """Take no more messages."""
        self._stopping.set()

    def stop(self) -> None:
        """Take no more messages and wait for the batches in flight."""
        self.close()
        if self._poller.ident is not None:
            self._poller.join()
        self._pool.shutdown(wait=True)

    def __enter__(self) -> "PipeRunner":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run_batch(self, messages: Sequence[dict[str, Any]]) -> Batch:
        """Runs one pipe execution over messages as ReceiveMessage gave them."""
        started = self._clock()
        records = [self._record(message) for message in messages]
        ending, keep, detail = self._execute(records, started)
        deletes = ending in (Ending.SUCCEEDED, Ending.SKIPPED_TARGET, Ending.PARTIALLY_FAILED)
        done = [record for record in records if deletes and record["messageId"] not in keep]
        self._delete(done)
        batch = Batch(
            records=records,
            ending=ending,
            deleted=frozenset(record["messageId"] for record in done),
            seconds=self._clock() - started,
            detail=detail,
        )
        self._observer(batch)
        return batch

    def _poll(self) -> None:
        described = self._clock()
        while not self._stopping.is_set():
            try:
                if self._clock() - described >= DESCRIBE_SECONDS:
                    described = self._clock()
                    pipe = self._pipes.describe_pipe(Name=self._name)
                    self._running = pipe["CurrentState"] == "RUNNING"
                if not self._running:
                    self._stopping.wait(DESCRIBE_SECONDS)
                elif self._slots.acquire(timeout=DESCRIBE_SECONDS):
                    self._take_one_batch()
            except (ClientError, BotoCoreError) as error:
                if not self._stopping.is_set():
                    log.warning("the pipe cannot read its source: %s", error)
                self._stopping.wait(BACK_OFF_SECONDS)

    def _take_one_batch(self) -> None:
        """Holds one slot, which the batch gives back when it ends."""
        messages: list[dict[str, Any]] = []
        try:
            while len(messages) < self._batch_size:
                answer = self._sqs.receive_message(
                    QueueUrl=self._queue_url,
                    MaxNumberOfMessages=min(RECEIVE_LIMIT, self._batch_size - len(messages)),
                    WaitTimeSeconds=0 if messages else POLL_SECONDS,
                    MessageSystemAttributeNames=["All"],
                    MessageAttributeNames=["All"],
                )
                if not answer.get("Messages"):
                    break
                messages += answer["Messages"]
        finally:
            if messages:
                batch = self._pool.submit(self._run_guarded, messages)
                batch.add_done_callback(lambda _: self._slots.release())
            else:
                self._slots.release()

    def _run_guarded(self, messages: list[dict[str, Any]]) -> None:
        try:
            self.run_batch(messages)
        except (ClientError, BotoCoreError) as error:
            if not self._stopping.is_set():
                log.warning("the pipe cannot delete what it delivered: %s", error)
        except Exception:
            log.exception("a batch ended in an error of the stand-in itself")

    def _execute(
        self, records: Sequence[Record], started: float
    ) -> tuple[Ending, frozenset[str], str]:
        try:
            enriched = self._enrich(records)
        except InvocationError as failure:
            return Ending.ENRICHMENT_FAILED, frozenset(), str(failure)
        if self._enrichment is not None and json.loads(enriched) in ("", {}, [], None):
            return Ending.SKIPPED_TARGET, frozenset(), ""
        if len(enriched.encode()) > TARGET_BYTES:
            return Ending.TOO_LARGE, frozenset(), f"{len(enriched.encode())} bytes"
        try:
            output = self._invoke_target(enriched)
        except InvocationError as failure:
            return Ending.TARGET_FAILED, frozenset(), str(failure)
        if self._clock() - started > EXECUTION_SECONDS:
            return Ending.TIMED_OUT, frozenset(), ""
        ids = frozenset(record["messageId"] for record in records)
        failed = failed_items(output, ids)
        if failed is None:
            return Ending.TARGET_FAILED, frozenset(), f"not a batch report: {output:.200}"
        return (Ending.PARTIALLY_FAILED if failed else Ending.SUCCEEDED), failed, ""

    def _enrich(self, records: Sequence[Record]) -> str:
        payload = json.dumps(list(records))
        if self._enrichment is None:
            return payload
        try:
            answer = self._lambda.invoke(FunctionName=self._enrichment, Payload=payload.encode())
        except (ClientError, BotoCoreError) as error:
            raise InvocationError(str(error)) from error
        text: str = answer["Payload"].read().decode()
        if "FunctionError" in answer:
            raise InvocationError(text)
        return text or "null"

    def _invoke_target(self, payload: str) -> str:
        try:
            execution = self._states.start_sync_execution(
                stateMachineArn=self._target, input=payload
            )
        except (ClientError, BotoCoreError) as error:
            raise InvocationError(str(error)) from error
        if execution["status"] != "SUCCEEDED":
            name, cause = execution.get("error", ""), execution.get("cause", "")
            raise InvocationError(f"{execution['status']} {name}: {cause}")
        output: str = execution.get("output") or "null"
        return output

    def _delete(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), RECEIVE_LIMIT):
            self._sqs.delete_message_batch(
                QueueUrl=self._queue_url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": record["receiptHandle"]}
                    for index, record in enumerate(records[start : start + RECEIVE_LIMIT])
                ],
            )

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


class InvocationError(Exception):
    """The enrichment or the target failed, and with it the whole batch."""


def failed_items(output: str, ids: frozenset[str]) -> frozenset[str] | None:
    """Returns the messageIds that go back to the queue; None if the whole batch failed."""
    answer = json.loads(output)
    if not isinstance(answer, dict) or not answer.get("batchItemFailures"):
        return frozenset()
    failures = answer["batchItemFailures"]
    if not isinstance(failures, list):
        return None
    named = {f.get("itemIdentifier") if isinstance(f, dict) else None for f in failures}
    return ids & named if named <= ids else None


def _batch_size(pipe: dict[str, Any]) -> int:
    source = dict(pipe.get("SourceParameters", {}))
    queue = source.pop("SqsQueueParameters", {})
    templates = [
        name
        for name in ("EnrichmentParameters", "TargetParameters")
        if pipe.get(name, {}).get("InputTemplate")
    ]
    unknown = [*source, *(set(queue) - _KNOWN_SOURCE_PARAMETERS), *templates]
    if unknown:
        raise OnceError(
            f"The pipe uses {', '.join(sorted(unknown))}, which the local stand-in for Pipes does "
            "not have (once/local/pipe.py). Take it out of template.yaml or add it there."
        )
    return int(queue.get("BatchSize", 10))
