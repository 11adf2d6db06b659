"""The stand-in for Pipes follows AWS's rules; each rule is a test of its name."""

import io
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.errors import OnceError
from once.local.pipe import Delivery, Ending, PipeRunner

ACCOUNT = "eu-central-1:123456789012"
QUEUE_ARN = f"arn:aws:sqs:{ACCOUNT}:events"
PIPE = {
    "Source": QUEUE_ARN,
    "Enrichment": f"arn:aws:lambda:{ACCOUNT}:function:enrich",
    "Target": f"arn:aws:states:{ACCOUNT}:stateMachine:once",
    "CurrentState": "RUNNING",
    "SourceParameters": {"SqsQueueParameters": {"BatchSize": 1}},
}


def message(number: int = 0, body: str = "{}") -> dict[str, Any]:
    """Makes a message as ReceiveMessage returns it."""
    return {
        "MessageId": f"m{number}",
        "ReceiptHandle": f"r{number}",
        "Body": body,
        "MD5OfBody": "99914b932bd37a50b983c5e7c90ae93b",
        "Attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1741770000000",
            "SenderId": "AIDA",
            "ApproximateFirstReceiveTimestamp": "1741770000100",
            "AWSTraceHeader": "Root=1-5f84c7a1",
        },
        "MessageAttributes": {"colour": {"StringValue": "red", "DataType": "String"}},
    }


class FakeAws:
    """The four services a pipe talks to, with answers that a test chooses."""

    def __init__(self, pipe: dict[str, Any] = PIPE) -> None:
        self.pipe = pipe
        self.waiting: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.enrichments: list[Any] = []
        self.executions: list[str] = []
        self.enrich: Callable[[Any], Any] = lambda records: records
        self.execute: Callable[[str], dict[str, Any]] = lambda _: {"status": "SUCCEEDED"}
        self.function_error: dict[str, str] = {}
        self.arrived = threading.Condition()

    def client(self, _: str) -> "FakeAws":
        return self

    def describe_pipe(self, Name: str) -> dict[str, Any]:  # noqa: N803
        return {"Name": Name, **self.pipe}

    def get_queue_url(self, QueueName: str) -> dict[str, str]:  # noqa: N803
        return {"QueueUrl": f"http://127.0.0.1/{QueueName}"}

    def receive_message(self, MaxNumberOfMessages: int, **_: Any) -> dict[str, Any]:  # noqa: N803
        with self.arrived:
            if not self.waiting:
                self.arrived.wait(0.01)
            taken = self.waiting[:MaxNumberOfMessages]
            self.waiting = self.waiting[MaxNumberOfMessages:]
        return {"Messages": taken} if taken else {}

    def delete_message(self, QueueUrl: str, ReceiptHandle: str) -> None:  # noqa: N803, ARG002
        with self.arrived:
            self.deleted.append(ReceiptHandle)
            self.arrived.notify_all()

    def invoke(self, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert FunctionName == self.pipe["Enrichment"]
        self.enrichments.append(json.loads(Payload))
        enriched = self.enrich(self.enrichments[-1])
        return {"Payload": io.BytesIO(json.dumps(enriched).encode()), **self.function_error}

    def start_sync_execution(self, stateMachineArn: str, input: str) -> dict[str, Any]:  # noqa: N803, A002
        assert stateMachineArn == self.pipe["Target"]
        self.executions.append(input)
        return self.execute(input)


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


def deliver(aws: FakeAws, body: str = "{}") -> Delivery:
    return PipeRunner(aws.client, "pipe").deliver(message(0, body))


def test_enrichment_receives_an_array_of_one_record_as_aws_documents_it(aws: FakeAws) -> None:
    deliver(aws, '{"detail": {}}')
    assert aws.enrichments == [
        [
            {
                "messageId": "m0",
                "receiptHandle": "r0",
                "body": '{"detail": {}}',
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1741770000000",
                    "SenderId": "AIDA",
                    "ApproximateFirstReceiveTimestamp": "1741770000100",
                },
                "messageAttributes": {"colour": {"stringValue": "red", "dataType": "String"}},
                "md5OfBody": "99914b932bd37a50b983c5e7c90ae93b",
                "eventSource": "aws:sqs",
                "eventSourceARN": QUEUE_ARN,
                "awsRegion": "eu-central-1",
            }
        ]
    ]


def test_target_receives_what_the_enrichment_returned(aws: FakeAws) -> None:
    aws.enrich = lambda _: [{"n": 1}]
    assert deliver(aws).ending is Ending.SUCCEEDED
    assert json.loads(aws.executions[0]) == [{"n": 1}]
    assert aws.deleted == ["r0"]


def throttle(_: Any) -> Any:
    raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")


@pytest.mark.parametrize(
    ("answers", "ending", "executions"),
    [
        ({"function_error": {"FunctionError": "Unhandled"}}, Ending.ENRICHMENT_FAILED, 0),
        ({"enrich": throttle}, Ending.ENRICHMENT_FAILED, 0),
        ({"enrich": lambda _: [{"text": "x" * 256 * 1024}]}, Ending.TOO_LARGE, 0),
        ({"execute": throttle}, Ending.TARGET_FAILED, 1),
        ({"execute": lambda _: {"status": "FAILED", "cause": "x"}}, Ending.TARGET_FAILED, 1),
        ({"execute": lambda _: {"status": "TIMED_OUT"}}, Ending.TARGET_FAILED, 1),
    ],
    ids=["function fails", "function throttled", "too large", "refused", "fails", "times out"],
)
def test_delivery_that_fails_leaves_the_message(
    aws: FakeAws, answers: dict[str, Any], ending: Ending, executions: int
) -> None:
    vars(aws).update(answers)
    assert deliver(aws).ending is ending
    assert (len(aws.executions), aws.deleted) == (executions, [])


def test_messages_are_delivered_together_and_no_more_are_taken_than_can_be(aws: FakeAws) -> None:
    may_end = threading.Event()

    def execute(_: str) -> dict[str, Any]:
        with aws.arrived:
            aws.arrived.notify_all()
        may_end.wait(20)
        return {"status": "SUCCEEDED"}

    aws.execute = execute
    aws.waiting = [message(number) for number in range(5)]
    with PipeRunner(aws.client, "pipe", concurrency=2), aws.arrived:
        assert aws.arrived.wait_for(lambda: len(aws.executions) == 2, 20)
        assert len(aws.waiting) == 3
        may_end.set()
        assert aws.arrived.wait_for(lambda: len(aws.deleted) == 5, 20)


def test_stopped_pipe_takes_nothing(aws: FakeAws) -> None:
    aws.pipe = {**PIPE, "CurrentState": "STOPPED"}
    aws.waiting = [message()]
    pipe = PipeRunner(aws.client, "pipe").start()
    pipe.stop()
    assert aws.waiting


@pytest.mark.parametrize(
    "change",
    [
        {"SourceParameters": {"SqsQueueParameters": {"MaximumBatchingWindowInSeconds": 5}}},
        {"SourceParameters": {"FilterCriteria": {}}},
        {"TargetParameters": {"InputTemplate": "<$.body>"}},
    ],
    ids=str,
)
def test_pipe_that_the_stand_in_cannot_run_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OnceError, match=r"once/local/pipe\.py"):
        PipeRunner(FakeAws({**PIPE, **change}).client, "pipe")
