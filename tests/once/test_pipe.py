"""The stand-in for Pipes follows AWS's rules; each rule is a test of its name."""

import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.errors import OnceError
from once.local.pipe import Delivery, Ending, PipeRunner
from tests.once.pipes import PIPE, QUEUE_ARN, FakeAws, message


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


def test_error_of_the_enrichment_leaves_the_message(aws: FakeAws) -> None:
    aws.function_error = "Unhandled"
    assert deliver(aws).ending is Ending.ENRICHMENT_FAILED
    assert not aws.executions
    assert not aws.deleted


def test_throttled_enrichment_leaves_the_message(aws: FakeAws) -> None:
    def throttled(_: Any) -> Any:
        raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")

    aws.enrich = throttled
    assert deliver(aws).ending is Ending.ENRICHMENT_FAILED
    assert not aws.deleted


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT"])
def test_execution_that_does_not_succeed_leaves_the_message(aws: FakeAws, status: str) -> None:
    aws.execute = lambda _: {"status": status, "error": "States.Runtime", "cause": "why"}
    delivery = deliver(aws)
    assert delivery.ending is Ending.TARGET_FAILED
    assert "States.Runtime: why" in delivery.detail
    assert not aws.deleted


def test_input_over_256_kib_is_refused(aws: FakeAws) -> None:
    aws.enrich = lambda _: [{"text": "x" * 256 * 1024}]
    assert deliver(aws).ending is Ending.TOO_LARGE
    assert not aws.executions
    assert not aws.deleted


def test_messages_are_delivered_at_the_same_time(aws: FakeAws) -> None:
    together = threading.Barrier(5)

    def execute(_: str) -> dict[str, Any]:
        together.wait(20)
        return {"status": "SUCCEEDED"}

    aws.execute = execute
    aws.waiting = [message(number) for number in range(5)]
    with PipeRunner(aws.client, "pipe"), aws.arrived:
        assert aws.arrived.wait_for(lambda: len(aws.deleted) == 5, 20)


def test_no_more_messages_are_taken_than_can_be_delivered(aws: FakeAws) -> None:
    may_end = threading.Event()

    def execute(_: str) -> dict[str, Any]:
        with aws.arrived:
            aws.arrived.notify_all()
        may_end.wait(20)
        return {"status": "SUCCEEDED"}

    aws.execute = execute
    aws.waiting = [message(number) for number in range(5)]
    with PipeRunner(aws.client, "pipe", concurrency=2) as pipe, aws.arrived:
        assert aws.arrived.wait_for(lambda: len(aws.executions) == 2, 20)
        assert len(aws.waiting) == 3
        may_end.set()
        assert aws.arrived.wait_for(lambda: len(aws.deleted) == 5, 20)
        assert pipe is not None


def test_stopped_pipe_takes_nothing(aws: FakeAws) -> None:
    aws.pipe = {**PIPE, "CurrentState": "STOPPED"}
    aws.waiting = [message()]
    pipe = PipeRunner(aws.client, "pipe").start()
    pipe.stop()
    assert aws.waiting


@pytest.mark.parametrize(
    "change",
    [
        {"SourceParameters": {"SqsQueueParameters": {"BatchSize": 10}}},
        {"SourceParameters": {"SqsQueueParameters": {"MaximumBatchingWindowInSeconds": 5}}},
        {"SourceParameters": {"FilterCriteria": {}}},
        {"TargetParameters": {"InputTemplate": "<$.body>"}},
    ],
    ids=str,
)
def test_pipe_that_the_stand_in_cannot_run_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(OnceError, match=r"once/local/pipe\.py"):
        PipeRunner(FakeAws({**PIPE, **change}).client, "pipe")
