"""The services a pipe talks to, as a test wants them to answer."""

import io
import json
import threading
from collections.abc import Callable
from typing import Any

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

    def __init__(self, pipe: dict[str, Any] | None = None) -> None:
        self.pipe = pipe or PIPE
        self.waiting: list[dict[str, Any]] = []
        self.deleted: list[str] = []
        self.enrichments: list[Any] = []
        self.executions: list[str] = []
        self.enrich: Callable[[Any], Any] = lambda records: records
        self.execute: Callable[[str], dict[str, Any]] = lambda _: {"status": "SUCCEEDED"}
        self.function_error: str | None = None
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
        records = json.loads(Payload)
        self.enrichments.append(records)
        answer: dict[str, Any] = {"Payload": io.BytesIO(json.dumps(self.enrich(records)).encode())}
        return answer | ({"FunctionError": self.function_error} if self.function_error else {})

    def start_sync_execution(self, stateMachineArn: str, input: str) -> dict[str, Any]:  # noqa: N803, A002
        assert stateMachineArn == self.pipe["Target"]
        self.executions.append(input)
        return self.execute(input)
