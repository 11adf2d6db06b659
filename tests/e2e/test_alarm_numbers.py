"""What the alarms look at moves when the stack gets into the state that they tell of.

The number is read by the namespace, metric and dimensions of the deployed alarm, from where
CloudWatch would have it: the queue, the functions' metrics, the pipe. That an alarm evaluates its
metric and fires is CloudWatch's part, and was not tried; that the topic passes it on, was.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from once.embedded.pipe import Batch, Ending
from proof.cloudwatch import embedded_metrics
from proof.embedded import Embedded, deployed
from proof.events import customer_start
from tests.test_alarms import ALARMS, slug

pytestmark = pytest.mark.embedded

TRIES = 5
# Alarms without a test below, and why. An alarm that is neither here nor there fails a test.
NOT_TRIED = {
    "rule-loses-events": "the embedded EventBridge drops what it cannot deliver, without a count",
    "pipe-timing-out": "would take five minutes; the stand-in's cap is tested with a clock",
    "pipe-throttled": "the stand-in has no quota",
    "machine-failing": "every input that we could think of is caught",
    "machine-timing-out": "the embedded Step Functions do not enforce the machine's timeout",
    "machine-throttled": "the embedded Step Functions have no quota",
    "claim-writes-throttled": "the embedded DynamoDB does not throttle",
    "claim-reads-throttled": "the embedded DynamoDB does not throttle",
}


class Watched:
    """A stack whose pipe runs only when told, and the numbers behind its alarms."""

    def __init__(self, stack: Embedded) -> None:
        self.stack = stack
        self.tried: set[str] = set()
        self._batches: list[Batch] = []
        stack.stack.pipe.stop()

    def alarm(self, name: str) -> dict[str, Any]:
        found = self.stack.client("cloudwatch").describe_alarms(AlarmNames=[f"once-{name}"])
        (alarm,) = found["MetricAlarms"]
        self.tried.add(name)
        described: dict[str, Any] = alarm
        return described

    def number(self, alarm: Mapping[str, Any]) -> float:
        dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
        metric = alarm["MetricName"]
        match alarm["Namespace"]:
            case "AWS/SQS" if metric == "ApproximateNumberOfMessagesVisible":
                return float(self._queue(dimensions["QueueName"], "ApproximateNumberOfMessages"))
            case "AWS/SQS" if metric == "ApproximateAgeOfOldestMessage":
                return self._age(dimensions["QueueName"])
            case "AWS/Lambda":
                return self._collected(alarm)
            case "GenesysOnce":
                return self._logged(alarm)
            case "AWS/EventBridge/Pipes" if metric == "ExecutionFailed":
                assert dimensions == {"PipeName": self.stack.outputs["PipeName"]}
                failed = (Ending.ENRICHMENT_FAILED, Ending.TARGET_FAILED, Ending.TOO_LARGE)
                return sum(batch.ending in failed for batch in self._batches)
            case _:
                raise AssertionError(f"nobody counts {alarm['Namespace']} {metric} here")

    def run(self, *events: Any) -> Batch:
        """The events, and whatever else waits, through the pipe in one batch."""
        self.send(*events)
        received = self.stack.client("sqs").receive_message(
            QueueUrl=self.stack.outputs["EventQueueUrl"],
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"],
        )
        self._batches.append(self.stack.stack.pipe.run_batch(received["Messages"]))
        return self._batches[-1]

    def send(self, *events: Any, queue: str = "EventQueueUrl") -> None:
        for event in events:
            body = event if isinstance(event, str) else json.dumps(event)
            url = self.stack.outputs[queue]
            self.stack.client("sqs").send_message(QueueUrl=url, MessageBody=body)

    def call(self, conversation: str) -> str | None:
        """One call of the data action about a conversation, and its error."""
        now = int(time.time() * 1000)
        record = {
            "messageId": conversation,
            "body": json.dumps(customer_start(conversation)),
            "attributes": {"SentTimestamp": str(now)},
        }
        (event,) = self._invoke("EnrichmentFunctionName", [record])
        payload = {
            "version": "1",
            "event": event,
            "idempotencyKey": event["idempotencyKey"],
            "deadlineMs": now + 10_000,
            "execution": f"by-hand#{conversation}",
        }
        error: str | None = self._invoke("DataActionFunctionName", payload).get("errorType")
        return error

    def empty(self) -> None:
        for name, url in self.stack.outputs.items():
            if name.endswith("Url"):
                self.stack.client("sqs").purge_queue(QueueUrl=url)

    def _invoke(self, function: str, payload: Any) -> Any:
        answer = self.stack.client("lambda").invoke(
            FunctionName=self.stack.outputs[function], Payload=json.dumps(payload).encode()
        )
        return json.loads(answer["Payload"].read())

    def _queue(self, name: str, attribute: str) -> str:
        sqs = self.stack.client("sqs")
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        found: str = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])[
            "Attributes"
        ][attribute]
        return found

    def _age(self, name: str) -> float:
        """Of the first message; a peek, which counts as a receive."""
        sqs = self.stack.client("sqs")
        messages = sqs.receive_message(
            QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"],
            VisibilityTimeout=0,
            MessageSystemAttributeNames=["SentTimestamp"],
        ).get("Messages", [])
        sent = [int(message["Attributes"]["SentTimestamp"]) for message in messages]
        return time.time() - min(sent) / 1000 if sent else 0

    def _logged(self, alarm: Mapping[str, Any]) -> float:
        """Out of the log, as CloudWatch extracts it; the stack is what the metric is found by."""
        found = self.stack.client("logs").filter_log_events(
            logGroupName=self.stack.outputs["OutcomeLogGroupName"]
        )["events"]
        (dimension,) = alarm["Dimensions"]
        values = [
            value
            for event in found
            for (namespace, name, dimensions), values in embedded_metrics(event["message"]).items()
            for value in values
            if (namespace, name) == (alarm["Namespace"], alarm["MetricName"])
            and dimensions == {dimension["Name"]}
            and json.loads(event["message"])[dimension["Name"]] == dimension["Value"]
        ]
        statistic = alarm.get("Statistic", "p50")
        summary = {"Sum": sum, "Average": statistics.fmean, "p50": statistics.median}[statistic]
        return float(summary(values)) if values else 0

    def _collected(self, alarm: Mapping[str, Any]) -> float:
        now = datetime.now(UTC)
        points = self.stack.client("cloudwatch").get_metric_statistics(
            **{name: alarm[name] for name in ("Namespace", "MetricName", "Dimensions", "Period")},
            Statistics=[alarm["Statistic"]],
            StartTime=now - timedelta(seconds=alarm["Period"]),
            EndTime=now + timedelta(seconds=alarm["Period"]),
        )["Datapoints"]
        return max((point[alarm["Statistic"]] for point in points), default=0)


@pytest.fixture(scope="module")
def deployment() -> Iterator[Watched]:
    with deployed(MaxReceiveCount=str(TRIES)) as stack:
        yield Watched(stack)


@pytest.fixture
def watched(deployment: Watched) -> Watched:
    deployment.empty()
    return deployment


def park(watched: Watched) -> None:
    watched.run("this is no event")


def use_up_all_tries(watched: Watched) -> None:
    watched.send(customer_start())
    for _ in range(TRIES + 1):
        watched.stack.client("sqs").receive_message(
            QueueUrl=watched.stack.outputs["EventQueueUrl"], VisibilityTimeout=0
        )


def be_undeliverable(watched: Watched) -> None:
    """Put there by hand: the embedded EventBridge has no dead letters of its own."""
    watched.send(customer_start(), queue="RuleDeadLettersUrl")


def stop_the_pipe(watched: Watched) -> None:
    watched.send(customer_start())


@pytest.mark.parametrize(
    ("name", "get_into_it"),
    [
        ("events-parked", park),
        ("events-parked-ageing", park),
        ("dead-letters", use_up_all_tries),
        ("dead-letters-ageing", use_up_all_tries),
        ("rule-dead-letters", be_undeliverable),
        ("rule-dead-letters-ageing", be_undeliverable),
    ],
)
def test_a_queue_that_is_not_empty_is_over_its_threshold(
    watched: Watched, name: str, get_into_it: Callable[[Watched], None]
) -> None:
    alarm = watched.alarm(name)
    assert not watched.number(alarm) > alarm["Threshold"]
    get_into_it(watched)
    assert watched.number(alarm) > alarm["Threshold"]


@pytest.mark.parametrize(
    ("name", "get_into_it"),
    [
        ("events-waiting", stop_the_pipe),
        ("events-ageing", stop_the_pipe),
    ],
)
def test_what_waits_grows_older(
    watched: Watched, name: str, get_into_it: Callable[[Watched], None]
) -> None:
    alarm = watched.alarm(name)
    assert watched.number(alarm) == 0
    get_into_it(watched)
    first = watched.number(alarm)
    assert 0 < first < watched.number(alarm)


def test_a_crash_of_the_enrichment_is_seen_at_the_function_and_at_the_pipe(
    watched: Watched,
) -> None:
    function, pipe = watched.alarm("enrichment-failing"), watched.alarm("pipe-failing")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(function) == watched.number(pipe) == 0
    client = watched.stack.client("lambda")
    name = watched.stack.outputs["EnrichmentFunctionName"]
    works = client.get_function_configuration(FunctionName=name)["Handler"]
    client.update_function_configuration(FunctionName=name, Handler="enrichment.no.such")
    try:
        assert watched.run(customer_start()).ending is Ending.ENRICHMENT_FAILED
    finally:
        client.update_function_configuration(FunctionName=name, Handler=works)
    assert watched.number(function) > function["Threshold"]
    assert watched.number(pipe) > pipe["Threshold"]


def test_a_destination_that_is_down_fails_most_of_its_calls(watched: Watched) -> None:
    """Called as the state machine does: the embedded AWS counts no calls of its own."""
    alarm = watched.alarm("data-action-failing")
    down = {"match": {"conversationId": "meets-a-closed-door"}, "replies": [], "then": 503}
    watched.stack.destination.script.add(down)
    assert watched.call("finds-it-open") is None
    assert watched.number(alarm) == 0
    for _ in range(3):
        assert watched.call("meets-a-closed-door") == "Transient"
    assert watched.number(alarm) > alarm["Threshold"]


def test_an_action_that_is_not_there_is_a_fault_of_the_setup_and_hands_back(
    watched: Watched,
) -> None:
    fault, share = watched.alarm("setup-fault"), watched.alarm("mostly-handed-back")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(fault) == 0
    before = watched.number(share)
    missing = {"match": {"conversationId": "has-no-action"}, "replies": [], "then": 404}
    watched.stack.destination.script.add(missing)
    assert watched.run(customer_start("has-no-action")).ending is Ending.PARTIALLY_FAILED
    assert watched.number(fault) == 1 > fault["Threshold"]
    assert before < watched.number(share) <= 1


def test_an_event_that_the_destination_puts_off_is_deferred(watched: Watched) -> None:
    alarm = watched.alarm("events-deferred")
    assert watched.number(alarm) == 0
    busy = {"match": {"conversationId": "comes-at-a-bad-time"}, "replies": []}
    watched.stack.destination.script.add({**busy, "then": {"status": 429, "retryAfter": 600}})
    assert watched.run(customer_start("comes-at-a-bad-time")).ending is Ending.SUCCEEDED
    assert watched.number(alarm) == 1 > alarm["Threshold"]


def test_an_event_of_an_hour_ago_is_acted_on_late(watched: Watched) -> None:
    alarm = watched.alarm("actions-late")
    hour_ago = int(time.time() * 1000) - 3_600_000
    assert watched.run(customer_start(eventTime=hour_ago)).ending is Ending.SUCCEEDED
    assert watched.number(alarm) > alarm["Threshold"]


def test_the_topic_passes_on_what_an_alarm_tells(deployment: Watched) -> None:
    stack = deployment.stack
    sqs = stack.client("sqs")
    mailbox = sqs.create_queue(QueueName="mailbox")["QueueUrl"]
    address = sqs.get_queue_attributes(QueueUrl=mailbox, AttributeNames=["QueueArn"])
    stack.client("sns").subscribe(
        TopicArn=stack.outputs["AlarmTopicArn"],
        Protocol="sqs",
        Endpoint=address["Attributes"]["QueueArn"],
    )
    for state in ("ALARM", "OK"):
        stack.client("cloudwatch").set_alarm_state(
            AlarmName="once-events-parked", StateValue=state, StateReason="to try it"
        )
        (message,) = sqs.receive_message(QueueUrl=mailbox, WaitTimeSeconds=5)["Messages"]
        sqs.delete_message(QueueUrl=mailbox, ReceiptHandle=message["ReceiptHandle"])
        told = json.loads(json.loads(message["Body"])["Message"])
        assert told["NewStateValue"] == state
        assert "once parked list" in told["AlarmDescription"]


def test_every_alarm_is_tried_here_or_said_not_to_be(
    deployment: Watched, request: pytest.FixtureRequest
) -> None:
    if len(request.session.items) < len(ALARMS) - len(NOT_TRIED):
        pytest.skip("only some of the tests were chosen")
    assert deployment.tried | set(NOT_TRIED) == {slug(name) for name in ALARMS}
    assert not deployment.tried & set(NOT_TRIED)
