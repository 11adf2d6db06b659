"""The stand-in for Pipes follows AWS's rules; each rule is a test of its name."""

import json
import threading
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.errors import OnceError
from once.local.pipe import Batch, Ending, PipeRunner
from tests.once.pipes import PIPE, QUEUE_ARN, FakeAws, message, report, succeeded


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


def run_one(aws: FakeAws, count: int = 3, **options: Any) -> Batch:
    return PipeRunner(aws.client, "pipe", **options).run_batch([message(n) for n in range(count)])


# What enrichment and target receive.


def test_enrichment_receives_a_bare_array_even_for_one_message(aws: FakeAws) -> None:
    run_one(aws, 1)
    assert isinstance(aws.enrichments[0], list)
    assert [record["messageId"] for record in aws.enrichments[0]] == ["m0"]


def test_a_record_has_the_fields_that_aws_documents(aws: FakeAws) -> None:
    run_one(aws, 1)
    assert aws.enrichments[0][0] == {
        "messageId": "m0",
        "receiptHandle": "r0",
        "body": "{}",
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


def test_the_body_stays_a_string(aws: FakeAws) -> None:
    PipeRunner(aws.client, "pipe").run_batch([message(0, '{"detail": {}}')])
    assert aws.enrichments[0][0]["body"] == '{"detail": {}}'


def test_the_target_receives_what_the_enrichment_answered(aws: FakeAws) -> None:
    aws.enrich = lambda records: [{"messageId": r["messageId"], "n": 1} for r in records]
    run_one(aws, 2)
    assert json.loads(aws.executions[0]) == [
        {"messageId": "m0", "n": 1},
        {"messageId": "m1", "n": 1},
    ]


# Enrichment.


def test_an_error_of_the_enrichment_fails_the_whole_batch(aws: FakeAws) -> None:
    aws.function_error = "Unhandled"
    assert run_one(aws).ending is Ending.ENRICHMENT_FAILED
    assert not aws.executions
    assert not aws.deleted


def test_a_throttled_enrichment_fails_the_whole_batch(aws: FakeAws) -> None:
    def throttled(_: Any) -> Any:
        raise ClientError({"Error": {"Code": "TooManyRequestsException"}}, "Invoke")

    aws.enrich = throttled
    assert run_one(aws).ending is Ending.ENRICHMENT_FAILED
    assert not aws.deleted


@pytest.mark.parametrize("nothing", [[], {}, "", None])
def test_an_empty_answer_of_the_enrichment_skips_the_target_and_deletes(
    aws: FakeAws, nothing: Any
) -> None:
    aws.enrich = lambda _: nothing
    assert run_one(aws).ending is Ending.SKIPPED_TARGET
    assert not aws.executions
    assert aws.deleted == ["r0", "r1", "r2"]


def test_an_array_of_one_empty_object_is_not_empty(aws: FakeAws) -> None:
    aws.enrich = lambda _: [{}]
    assert run_one(aws).ending is Ending.SUCCEEDED
    assert json.loads(aws.executions[0]) == [{}]


# Partial failure.


@pytest.mark.parametrize(
    "output",
    [
        {"batchItemFailures": []},
        {"batchItemFailures": None},
        {},
        None,
        "",
        {"some": "other output"},
        ["an", "array"],
    ],
)
def test_an_output_that_names_no_failure_is_complete_success(aws: FakeAws, output: Any) -> None:
    aws.execute = lambda _: succeeded(output)
    assert run_one(aws).ending is Ending.SUCCEEDED
    assert aws.deleted == ["r0", "r1", "r2"]


def test_an_execution_without_any_output_is_complete_success(aws: FakeAws) -> None:
    aws.execute = lambda _: {"status": "SUCCEEDED"}
    assert run_one(aws).ending is Ending.SUCCEEDED
    assert aws.deleted == ["r0", "r1", "r2"]


def test_only_the_failed_items_stay_on_the_queue(aws: FakeAws) -> None:
    aws.execute = lambda _: report("m1")
    batch = run_one(aws)
    assert batch.ending is Ending.PARTIALLY_FAILED
    assert batch.deleted == {"m0", "m2"}
    assert aws.deleted == ["r0", "r2"]


def test_an_item_may_be_named_twice(aws: FakeAws) -> None:
    aws.execute = lambda _: report("m1", "m1")
    assert run_one(aws).deleted == {"m0", "m2"}


@pytest.mark.parametrize(
    "output",
    [
        {"batchItemFailures": [{"itemIdentifier": ""}]},
        {"batchItemFailures": [{"itemIdentifier": None}]},
        {"batchItemFailures": [{"itemIdentifier": "m0"}, {"itemIdentifier": None}]},
        {"batchItemFailures": [{"messageId": "m0"}]},
        {"batchItemFailures": ["m0"]},
        {"batchItemFailures": {"itemIdentifier": "m0"}},
        {"batchItemFailures": 1},
        {"batchItemFailures": [{"itemIdentifier": "of another batch"}]},
    ],
    ids=[
        "empty",
        "null",
        "one null",
        "bad key name",
        "bare id",
        "no list",
        "a number",
        "unknown id",
    ],
)
def test_a_report_that_cannot_be_read_fails_the_whole_batch(aws: FakeAws, output: Any) -> None:
    aws.execute = lambda _: succeeded(output)
    assert run_one(aws).ending is Ending.TARGET_FAILED
    assert not aws.deleted


# The target.


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_an_execution_that_did_not_succeed_deletes_nothing(aws: FakeAws, status: str) -> None:
    aws.execute = lambda _: {"status": status, "error": "States.Runtime", "cause": "why"}
    batch = run_one(aws)
    assert batch.ending is Ending.TARGET_FAILED
    assert "States.Runtime: why" in batch.detail
    assert not aws.deleted


def test_a_target_that_cannot_be_called_deletes_nothing(aws: FakeAws) -> None:
    def refused(_: str) -> dict[str, Any]:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "StartSyncExecution")

    aws.execute = refused
    assert run_one(aws).ending is Ending.TARGET_FAILED
    assert not aws.deleted


@pytest.mark.parametrize(("extra_bytes", "ending"), [(0, Ending.SUCCEEDED), (1, Ending.TOO_LARGE)])
def test_an_input_over_256_kib_is_refused(aws: FakeAws, extra_bytes: int, ending: Ending) -> None:
    brackets = len(json.dumps([""]))
    aws.enrich = lambda _: ["x" * (262_144 - brackets + extra_bytes)]
    assert run_one(aws).ending is ending
    assert bool(aws.executions) is bool(aws.deleted) is (ending is Ending.SUCCEEDED)


def test_256_kib_are_counted_in_bytes_as_sent(aws: FakeAws) -> None:
    aws.enrich = lambda _: ["é" * 50_000]  # escaped by the function: six bytes each
    assert run_one(aws).ending is Ending.TOO_LARGE


def test_five_minutes_end_the_batch_even_if_the_target_succeeded_later(aws: FakeAws) -> None:
    times = iter([0.0, 300.1, 300.1])
    batch = run_one(aws, clock=lambda: next(times))
    assert batch.ending is Ending.TIMED_OUT
    assert not aws.deleted


# Polling.


class Seen:
    def __init__(self, wanted: int) -> None:
        self.batches: list[Batch] = []
        self._wanted = wanted
        self.complete = threading.Event()

    def note(self, batch: Batch) -> None:
        self.batches.append(batch)
        if sum(len(b.records) for b in self.batches) >= self._wanted:
            self.complete.set()


def poll(aws: FakeAws, wanted: int, **options: Any) -> Seen:
    seen = Seen(wanted)
    with PipeRunner(aws.client, "pipe", observer=seen.note, **options):
        assert seen.complete.wait(10)
    return seen


def test_it_takes_batches_of_the_size_the_pipe_says() -> None:
    aws = FakeAws({**PIPE, "SourceParameters": {"SqsQueueParameters": {"BatchSize": 4}}})
    aws.waiting = [message(n) for n in range(10)]
    seen = poll(aws, 10)
    assert sorted(len(b.records) for b in seen.batches) == [2, 4, 4]
    assert sorted(aws.deleted) == sorted(f"r{n}" for n in range(10))


def test_a_batch_beyond_one_receive_call_is_gathered_from_several() -> None:
    aws = FakeAws({**PIPE, "SourceParameters": {"SqsQueueParameters": {"BatchSize": 25}}})
    aws.waiting = [message(n) for n in range(25)]
    seen = poll(aws, 25)
    assert [len(b.records) for b in seen.batches] == [25]
    assert aws.receives == [10, 10, 5]


def test_without_a_batch_size_it_takes_ten() -> None:
    aws = FakeAws({**PIPE, "SourceParameters": {}})
    aws.waiting = [message(n) for n in range(11)]
    assert sorted(len(b.records) for b in poll(aws, 11).batches) == [1, 10]


def test_batches_run_side_by_side_up_to_its_concurrency(aws: FakeAws) -> None:
    together = threading.Barrier(3, timeout=10)

    def meet(_: str) -> dict[str, Any]:
        together.wait()
        return succeeded({})

    aws.execute = meet
    aws.waiting = [message(n) for n in range(30)]
    assert {b.ending for b in poll(aws, 30, concurrency=3).batches} == {Ending.SUCCEEDED}


def test_no_message_is_taken_before_a_batch_can_begin(aws: FakeAws) -> None:
    def nobody_else_was_asked_for(_: str) -> dict[str, Any]:
        with aws.arrived:
            seen = len(aws.receives)
            assert not aws.arrived.wait_for(lambda: len(aws.receives) > seen, timeout=0.2)
        return succeeded({})

    aws.execute = nobody_else_was_asked_for
    aws.waiting = [message(n) for n in range(20)]
    seen = poll(aws, 20, concurrency=1)
    assert [b.ending for b in seen.batches] == [Ending.SUCCEEDED] * 2


def test_a_stopped_pipe_takes_messages_only_when_it_is_started(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.local.pipe.DESCRIBE_SECONDS", 0.01)
    said: list[str] = []
    taken_before = []

    def describe(Name: str) -> dict[str, Any]:  # noqa: N803
        if "RUNNING" not in said:
            taken_before.extend(aws.receives)
        said.append("STOPPED" if len(said) < 5 else "RUNNING")
        return {"Name": Name, **PIPE, "CurrentState": said[-1]}

    monkeypatch.setattr(aws, "describe_pipe", describe)
    aws.waiting = [message(0)]
    poll(aws, 1)
    assert said[:6] == ["STOPPED"] * 5 + ["RUNNING"]
    assert taken_before == []


def test_stopping_waits_for_the_batches_in_flight(aws: FakeAws) -> None:
    started, may_end = threading.Event(), threading.Event()

    def slow(_: str) -> dict[str, Any]:
        started.set()
        assert may_end.wait(10)
        return succeeded({})

    aws.execute = slow
    aws.waiting = [message(0)]
    runner = PipeRunner(aws.client, "pipe").start()
    assert started.wait(10)
    runner.close()
    may_end.set()
    runner.stop()
    assert aws.deleted == ["r0"]


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"SourceParameters": {"FilterCriteria": {"Filters": []}}}, "FilterCriteria"),
        (
            {"SourceParameters": {"SqsQueueParameters": {"MaximumBatchingWindowInSeconds": 5}}},
            "MaximumBatchingWindowInSeconds",
        ),
        ({"TargetParameters": {"InputTemplate": "<$.body>"}}, "TargetParameters"),
    ],
)
def test_a_pipe_with_a_feature_it_lacks_is_refused(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(OnceError, match=named):
        PipeRunner(FakeAws({**PIPE, **parameters}).client, "pipe")
