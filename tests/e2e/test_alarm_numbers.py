"""The metric of each alarm moves if the stack gets into the state that the alarm reports.

The number is read by the namespace, metric and dimensions of the deployed alarm, from where
CloudWatch would have it: the queue, the functions' metrics, the pipe. That an alarm evaluates its
metric and fires is CloudWatch's part, and was not tried; that the topic passes it on, was.
"""

import io
import json
import statistics
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from once_data_action import breaker_row

from once.local.pipe import Batch, Ending
from proof.aws.metrics import MetricMath, embedded_metrics
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.e2e.delivery import let_calls_flow
from tests.test_alarms import ALARMS, slug

pytestmark = pytest.mark.local

# Alarms without a test below, and why. An alarm that is neither here nor there fails a test.
NOT_TRIED = {
    "rule-loses-events": "the local stack's EventBridge drops what it cannot deliver, uncounted",
}


# What PutEvents takes, by its name in the event that the rule delivers.
ENTRY = {"Source": "source", "DetailType": "detail-type"}


class Watched:
    """A stack whose pipe runs only when alarm, and the numbers behind its alarms."""

    def __init__(self, stack: DeployedStack) -> None:
        self.stack = stack
        self.tried: set[str] = set()
        self._batches: list[Batch] = []
        self._received = 0
        self.since_ms = 0
        stack.stack.pipe.stop()

    def alarm(self, name: str) -> dict[str, Any]:
        found = self.stack.client("cloudwatch").describe_alarms(AlarmNames=[f"once-{name}"])
        (alarm,) = found["MetricAlarms"]
        self.tried.add(name)
        described: dict[str, Any] = alarm
        return described

    def number(self, alarm: Mapping[str, Any]) -> float:
        if not alarm.get("Metrics"):
            return self._metric(alarm)
        values = {}
        for query in alarm["Metrics"]:
            if "MetricStat" in query:
                stat = query["MetricStat"]
                values[query["Id"]] = self._metric(stat["Metric"] | {"Statistic": stat["Stat"]})
        return MetricMath(datetime.now(UTC), values).value_of(alarm["Metrics"])

    def _metric(self, alarm: Mapping[str, Any]) -> float:
        dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
        metric = alarm["MetricName"]
        match alarm["Namespace"]:
            case "AWS/SQS" if metric == "ApproximateNumberOfMessagesVisible":
                return float(self._queue(dimensions["QueueName"], "ApproximateNumberOfMessages"))
            case "AWS/SQS" if metric == "NumberOfMessagesSent":
                # Nobody took any: the pipe is stopped, and the queue was emptied.
                return float(self._queue(dimensions["QueueName"], "ApproximateNumberOfMessages"))
            case "AWS/SQS" if metric == "NumberOfMessagesReceived":
                return self._received
            case "AWS/States":
                return 0  # the machine fails and times out nowhere here
            case "AWS/Lambda":
                return self._collected(alarm)
            case "AWS/Logs" if metric == "IncomingLogEvents":
                assert dimensions == {"LogGroupName": self.stack.outputs["OutcomeLogGroupName"]}
                return len(self._outcomes())
            case "GenesysOnce":
                return self._logged(alarm)
            case "AWS/EventBridge/Pipes" if metric == "ExecutionFailed":
                assert dimensions == {"PipeName": self.stack.outputs["PipeName"]}
                failed = (Ending.ENRICHMENT_FAILED, Ending.TARGET_FAILED, Ending.TOO_LARGE)
                return sum(batch.ending in failed for batch in self._batches)
            case _:
                raise AssertionError(f"nobody counts {alarm['Namespace']} {metric} here")

    def run(self, *events: Any, sent_ago_ms: int = 0) -> Batch:
        """The events, and whatever else waits, through the pipe in one batch."""
        self.send(*events)
        received = self.stack.client("sqs").receive_message(
            QueueUrl=self.stack.outputs["EventQueueUrl"],
            MaxNumberOfMessages=10,
            MessageSystemAttributeNames=["All"],
        )
        for message in received["Messages"]:
            sent_ms = int(message["Attributes"]["SentTimestamp"]) - sent_ago_ms
            message["Attributes"]["SentTimestamp"] = str(sent_ms)
        self._received += len(received["Messages"])
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
        (event,) = self.invoke("EnrichmentFunctionName", [record])
        payload = {
            "version": "2",
            "event": event,
            "idempotencyKey": event["idempotencyKey"],
            "deadlineMs": now + 10_000,
            "requestsAllowed": 1,
            "retry": 0,
            "execution": f"by-hand#{conversation}",
        }
        error: str | None = self.invoke("DataActionFunctionName", payload).get("errorType")
        return error

    def answer(self, conversation: str, answer: Any) -> None:
        """Sets the reply of the destination to each request."""
        match = {"conversationId": conversation}
        self.stack.destination.script.add({"match": match, "replies": [], "then": answer})

    def forget(self) -> None:
        """Counts only what happens from now on."""
        self._batches.clear()
        self._received = 0
        self.since_ms = time.time_ns() // 1_000_000 + 1
        time.sleep(0.002)

    def empty(self) -> None:
        for name, url in self.stack.outputs.items():
            if name.endswith("Url"):
                self.stack.client("sqs").purge_queue(QueueUrl=url)

    def invoke(self, function: str, payload: Any) -> Any:
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

    def _logged(self, alarm: Mapping[str, Any]) -> float:
        """Out of the log, as CloudWatch extracts it, found by the values of all its dimensions."""
        found = self._outcomes()
        wanted = {dimension["Name"]: dimension["Value"] for dimension in alarm["Dimensions"]}
        values = [
            value
            for event in found
            for (namespace, name, dimensions), values in embedded_metrics(event["message"]).items()
            for value in values
            if (namespace, name) == (alarm["Namespace"], alarm["MetricName"])
            and dimensions == set(wanted)
            and wanted.items() <= json.loads(event["message"]).items()
        ]
        statistic = alarm.get("Statistic", "p50")
        summaries = {
            "Sum": sum,
            "Average": statistics.fmean,
            "Maximum": max,
            "p50": statistics.median,
        }
        return float(summaries[statistic](values)) if values else 0

    def _outcomes(self) -> list[Any]:
        events: list[Any] = self.stack.client("logs").filter_log_events(
            logGroupName=self.stack.outputs["OutcomeLogGroupName"], startTime=self.since_ms
        )["events"]
        return events

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
    # EventBridge takes no aws. sources from anybody but AWS and its partners.
    with deployed(MaxTries="1", SourcePrefix="genesys.example") as stack:
        yield Watched(stack)


@pytest.fixture
def watched(deployment: Watched) -> Watched:
    deployment.empty()
    let_calls_flow(deployment.stack)
    deployment.forget()
    return deployment


def park(watched: Watched) -> None:
    watched.run("this is no event")


def crash_every_batch(watched: Watched) -> None:
    """Received as often as the queue lets, and never settled."""
    sqs, url = watched.stack.client("sqs"), watched.stack.outputs["EventQueueUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
    most = int(json.loads(policy["Attributes"]["RedrivePolicy"])["maxReceiveCount"])
    watched.send(customer_start())
    for _ in range(most + 1):
        sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)


def be_undeliverable(watched: Watched) -> None:
    """Put there by hand: the emulator's EventBridge has no dead letters of its own."""
    watched.send(customer_start(), queue="RuleDeadLettersUrl")


def stop_the_pipe(watched: Watched) -> None:
    watched.send(customer_start())


@pytest.mark.parametrize(
    ("name", "get_into_it"),
    [
        ("events-parked", park),
        ("dead-letters", crash_every_batch),
        ("dead-letters", be_undeliverable),
        ("messages-ageing", park),
        ("messages-ageing", crash_every_batch),
        ("messages-ageing", be_undeliverable),
        ("events-waiting", stop_the_pipe),
    ],
)
def test_a_queue_that_is_not_empty_is_over_its_threshold(
    watched: Watched, name: str, get_into_it: Callable[[Watched], None]
) -> None:
    alarm = watched.alarm(name)
    assert not watched.number(alarm) > alarm["Threshold"]
    get_into_it(watched)
    assert watched.number(alarm) > alarm["Threshold"]


def test_a_rule_that_is_disabled_leaves_nothing_but_silence(watched: Watched) -> None:
    alarm = watched.alarm("events-silent")
    events, outputs = watched.stack.client("events"), watched.stack.outputs
    rule = {"Name": outputs["EventRuleName"], "EventBusName": outputs["EventBusName"]}

    def publish() -> None:
        event = customer_start() | {"source": "genesys.example"}
        entry = {name: event[key] for name, key in ENTRY.items()}
        entry |= {"Detail": json.dumps(event["detail"]), "EventBusName": rule["EventBusName"]}
        assert events.put_events(Entries=[entry])["FailedEntryCount"] == 0

    events.disable_rule(**rule)
    try:
        publish()
        assert watched.number(alarm) < alarm["Threshold"]
    finally:
        events.enable_rule(**rule)
    publish()
    assert watched.number(alarm) >= alarm["Threshold"]


def package(folder: Path) -> bytes:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for path in folder.rglob("*"):
            archive.write(path, path.relative_to(folder))
    return zipped.getvalue()


def test_an_enrichment_that_answers_nothing_is_seen_by_what_is_not_recorded(
    watched: Watched, tmp_path: Path
) -> None:
    alarm = watched.alarm("outcomes-unrecorded")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(alarm) == 0
    (tmp_path / "wordless.py").write_text("def handler(*_):\n    return []\n")
    client = watched.stack.client("lambda")
    name = watched.stack.outputs["EnrichmentFunctionName"]
    built = watched.stack.stack.built / "EnrichmentFunction"
    works = client.get_function_configuration(FunctionName=name)["Handler"]
    watched.forget()
    client.update_function_code(FunctionName=name, ZipFile=package(tmp_path))
    client.update_function_configuration(FunctionName=name, Handler="wordless.handler")
    try:
        assert watched.run(customer_start()).ending is Ending.SKIPPED_TARGET
    finally:
        client.update_function_code(FunctionName=name, ZipFile=package(built))
        client.update_function_configuration(FunctionName=name, Handler=works)
    assert watched.number(alarm) > alarm["Threshold"]
    watched.forget()
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED


def test_events_that_wait_for_their_return_time_do_not_wait_for_the_pipe(watched: Watched) -> None:
    waiting = watched.alarm("events-waiting")
    watched.answer("comes-at-a-bad-time", {"status": 429, "retryAfter": 600})
    assert watched.run(customer_start("comes-at-a-bad-time")).ending is Ending.PARTIALLY_FAILED
    watched.forget()
    assert watched.number(waiting) == 0


def test_what_is_handed_back_says_since_when_it_waits(watched: Watched) -> None:
    alarm = watched.alarm("events-waiting-long")
    assert not watched.number(alarm) > alarm["Threshold"]
    watched.answer("has-been-here-for-long", 404)
    watched.run(customer_start("has-been-here-for-long"), sent_ago_ms=25 * 3_600_000)
    assert watched.number(alarm) > alarm["Threshold"]


def test_a_breaker_that_is_open_says_since_when_nobody_was_answered(watched: Watched) -> None:
    alarm = watched.alarm("breaker-open")
    assert watched.number(alarm) == 0
    now_ms = time.time_ns() // 1_000_000
    row = {
        "since": {"N": str(now_ms - 4_000_000)},
        "open_until": {"N": str(now_ms + 60_000)},
        "failed": {"SS": [f"{number:016}" for number in range(20)]},
    }
    watched.stack.client("dynamodb").put_item(
        TableName=watched.stack.outputs["ClaimTableName"], Item=breaker_row.KEY | row
    )
    assert watched.run(customer_start()).ending is Ending.PARTIALLY_FAILED
    assert watched.number(alarm) > alarm["Threshold"]


def test_an_event_of_another_shape_is_counted(watched: Watched) -> None:
    alarm = watched.alarm("genesys-changed")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(alarm) == 0
    changed = customer_start("has-changed")
    changed["detail"]["eventBody"]["eventTime"] = "yesterday"
    assert watched.run(changed).ending is Ending.SUCCEEDED
    assert watched.number(alarm) == 1 > alarm["Threshold"]


def test_a_crash_of_the_enrichment_is_seen_at_the_pipe_and_by_what_is_not_recorded(
    watched: Watched,
) -> None:
    pipe, unrecorded = watched.alarm("batches-failing"), watched.alarm("outcomes-unrecorded")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(pipe) == watched.number(unrecorded) == 0
    watched.forget()
    client = watched.stack.client("lambda")
    name = watched.stack.outputs["EnrichmentFunctionName"]
    works = client.get_function_configuration(FunctionName=name)["Handler"]
    client.update_function_configuration(FunctionName=name, Handler="once_enrichment.no.such")
    try:
        assert watched.run(customer_start()).ending is Ending.ENRICHMENT_FAILED
    finally:
        client.update_function_configuration(FunctionName=name, Handler=works)
    for alarm in (pipe, unrecorded):
        assert watched.number(alarm) > alarm["Threshold"]


def test_a_destination_that_is_down_fails_most_of_its_calls(watched: Watched) -> None:
    """Called as the state machine does: the emulator counts no calls of its own."""
    alarm = watched.alarm("data-action-failing")
    down = {"match": {"conversationId": "meets-a-closed-door"}, "replies": [], "then": 503}
    watched.stack.destination.script.add(down)
    assert watched.call("finds-it-open") is None
    assert watched.number(alarm) == 0
    for _ in range(3):
        assert watched.call("meets-a-closed-door") == "Failed"
    assert watched.number(alarm) > alarm["Threshold"]


def test_an_action_that_is_not_there_is_a_fault_of_the_setup_and_hands_back(
    watched: Watched,
) -> None:
    fault, share = watched.alarm("needs-repair"), watched.alarm("mostly-returned")
    assert watched.run(customer_start()).ending is Ending.SUCCEEDED
    assert watched.number(fault) == 0
    before = watched.number(share)
    missing = {"match": {"conversationId": "has-no-action"}, "replies": [], "then": 404}
    watched.stack.destination.script.add(missing)
    assert watched.run(customer_start("has-no-action")).ending is Ending.PARTIALLY_FAILED
    assert watched.number(fault) == 1 > fault["Threshold"]
    assert before < watched.number(share) <= 1


def test_an_event_of_this_morning_is_acted_on_late(watched: Watched) -> None:
    alarm = watched.alarm("actions-late")
    now = time.time_ns() // 1_000_000
    assert watched.run(customer_start(eventTime=now)).ending is Ending.SUCCEEDED
    assert watched.number(alarm) < alarm["Threshold"]
    watched.forget()
    assert watched.run(customer_start(eventTime=now - 8 * 3_600_000)).ending is Ending.SUCCEEDED
    assert watched.number(alarm) > alarm["Threshold"]


def test_the_topic_passes_on_what_an_alarm_tells(deployment: Watched) -> None:
    stack = deployment.stack
    sqs = stack.client("sqs")
    mailbox = sqs.create_queue(QueueName="mailbox")["QueueUrl"]
    address = sqs.get_queue_attributes(QueueUrl=mailbox, AttributeNames=["QueueArn"])
    stack.client("sns").subscribe(
        TopicArn=stack.outputs["TicketTopicArn"],
        Protocol="sqs",
        Endpoint=address["Attributes"]["QueueArn"],
    )
    for state in ("ALARM", "OK"):
        stack.client("cloudwatch").set_alarm_state(
            AlarmName="once-events-parked", StateValue=state, StateReason="to try it"
        )
        (message,) = sqs.receive_message(QueueUrl=mailbox, WaitTimeSeconds=5)["Messages"]
        sqs.delete_message(QueueUrl=mailbox, ReceiptHandle=message["ReceiptHandle"])
        alarm = json.loads(json.loads(message["Body"])["Message"])
        assert alarm["NewStateValue"] == state
        assert "once parked list --stack once" in alarm["AlarmDescription"]


def test_every_alarm_is_tried_here_or_said_not_to_be(
    deployment: Watched, request: pytest.FixtureRequest
) -> None:
    if len(request.session.items) < len(ALARMS) - len(NOT_TRIED):
        pytest.skip("only some of the tests were chosen")
    assert deployment.tried | set(NOT_TRIED) == {slug(name) for name in ALARMS}
    assert not deployment.tried & set(NOT_TRIED)
