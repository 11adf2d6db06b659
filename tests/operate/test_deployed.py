"""What only a deployed stack has: metrics of what was logged, and executions to link to."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from once.operate import executions, gate, status
from once.operate import phrases as words
from once.operate.gate import Destination, Limit
from once.operate.stack import Stack
from once.run.report import Outcome

REGION = "eu-west-1"
MACHINE = f"arn:aws:states:{REGION}:123456789012:stateMachine:once"
GROUP = "/aws/vendedlogs/states/once"
OUTPUTS = {
    "StateMachineArn": MACHINE,
    "OutcomeLogGroupName": "outcomes",
    "PipeName": "pipe",
    "ClaimTableName": "claims",
    **{output: f"https://sqs/1/{output}" for output in status.QUEUES.values()},
}


class Deployed(Stack):
    """A deployed stack whose clients answer from a table."""

    region = REGION
    outputs = OUTPUTS

    def __init__(self, parameters: dict[str, str] | None = None, **clients: Any) -> None:
        super().__init__(None, "once")
        self.parameters = parameters or {}
        self._clients = clients

    def client(self, service: str) -> Any:
        return self._clients[service]


def of(**answers: Any) -> Any:
    """A client whose operations answer these."""

    def always(answer: Any) -> Any:
        return lambda **_: answer

    return SimpleNamespace(**{name: always(answer) for name, answer in answers.items()})


def logs(*lines: tuple[str, dict[str, Any]]) -> Any:
    rows = [
        [
            {"field": "@timestamp", "value": at},
            {"field": "@message", "value": json.dumps(line)},
            {"field": "@ptr", "value": "p"},
        ]
        for at, line in lines
    ]
    return of(
        start_query={"queryId": "q"}, get_query_results={"status": "Complete", "results": rows}
    )


def machine(**logging: Any) -> Any:
    return of(describe_state_machine={"status": "ACTIVE", **logging})


LOGGED = {
    "loggingConfiguration": {
        "destinations": [
            {
                "cloudWatchLogsLogGroup": {
                    "logGroupArn": f"arn:aws:logs:{REGION}:123456789012:log-group:{GROUP}:*"
                }
            }
        ]
    }
}


def test_an_execution_is_linked_by_the_whole_arn_that_the_machines_log_knows() -> None:
    arn = f"arn:aws:states:{REGION}:123456789012:express:once:a-name:run-1"
    line = {"type": "ExecutionStarted", "execution_arn": arn}
    stack: Any = Deployed(
        logs=logs(("2026-05-04 10:00:00.123", line)), stepfunctions=machine(**LOGGED)
    )
    assert executions.links(stack, {"run-1", "run-2"}, 0) == {
        "run-1": f"https://{REGION}.console.aws.amazon.com/states/home?region={REGION}"
        f"#/express-executions/details/{arn}?startDate=1777888800123"
    }


def test_without_a_log_of_the_machine_there_is_no_link() -> None:
    stack: Any = Deployed(stepfunctions=machine())
    assert executions.links(stack, {"run-1"}, 0) == {}


def queues(visible: int) -> Any:
    return of(
        get_queue_attributes={
            "Attributes": {
                "ApproximateNumberOfMessages": str(visible),
                "ApproximateNumberOfMessagesNotVisible": "0",
                "ApproximateNumberOfMessagesDelayed": "0",
            }
        }
    )


class Metrics:
    """CloudWatch with some numbers, by the name of the metric."""

    def __init__(self, **values: list[float]) -> None:
        self._values = values

    def get_metric_data(self, **request: Any) -> Any:
        results = []
        for query in request["MetricDataQueries"]:
            metric = query["MetricStat"]["Metric"]
            dimensions = {d["Name"]: d["Value"] for d in metric["Dimensions"]}
            assert dimensions in ({"Stack": "once"}, {"QueueName": dimensions.get("QueueName")})
            values = self._values.get(metric["MetricName"], [])
            results.append({"Id": query["Id"], "Values": values})
        return {"MetricDataResults": results}

    def describe_alarms(self, **_: Any) -> Any:
        return {"MetricAlarms": [{"AlarmName": "once-events-waiting"}]}


def whole(metrics: Metrics, visible: int = 3, **parameters: str) -> Any:
    pages = SimpleNamespace(paginate=lambda **_: [{"events": []}])
    return Deployed(
        parameters,
        sqs=queues(visible),
        cloudwatch=metrics,
        pipes=of(describe_pipe={"CurrentState": "RUNNING"}),
        stepfunctions=machine(),
        logs=SimpleNamespace(get_paginator=lambda _: pages),
        dynamodb=of(get_item={}),
    )


def test_outcomes_and_ages_come_from_the_metrics() -> None:
    stack = whole(Metrics(PROCESSED=[5.0, 7.0], ApproximateAgeOfOldestMessage=[7_300.0, 60.0]))
    found = status.of(stack, 1_795_000_000_000)
    assert found.outcomes[Outcome.PROCESSED] == 12
    assert found.queues[0].oldest_seconds == 7_300
    mends = [finding.mend for finding in found.findings]
    assert "docs/runbook.md#events-waiting" in mends
    assert "The oldest event waits for 2 h" in [finding.what for finding in found.findings]


def test_a_dead_end_shows_no_age_since_sqs_forgets_the_age_of_what_was_looked_at() -> None:
    found = status.of(whole(Metrics(ApproximateAgeOfOldestMessage=[7_300.0])), 0)
    assert [queue.oldest_seconds for queue in found.queues[1:]] == [None] * 3


def test_an_empty_queue_has_no_oldest_message_whatever_the_metric_still_says() -> None:
    found = status.of(whole(Metrics(ApproximateAgeOfOldestMessage=[7_300.0]), visible=0), 0)
    assert [queue.oldest_seconds for queue in found.queues] == [None] * 4


def test_what_waits_under_a_limit_is_no_finding_but_a_forecast() -> None:
    stack = whole(
        Metrics(ApproximateAgeOfOldestMessage=[7_300.0]), visible=2140, MaxActionsPerMinute="300"
    )
    found = status.of(stack, 0)
    assert found.limit is not None
    assert found.limit.text == "limited to 300 a minute, 2,140 waiting, drained in about 8 minutes"
    assert not any("oldest" in finding.what for finding in found.findings)


@pytest.mark.parametrize(
    ("parameters", "observes"),
    [
        ({"ActionTarget": "none"}, True),
        ({"ActionTarget": "none", "ActionFunctionArn": "arn:aws:lambda:…:mine"}, False),
        ({"ActionTarget": "webhook", "ActionFunctionArn": ""}, False),
    ],
)
def test_a_stack_that_calls_nobody_says_so(parameters: dict[str, str], observes: bool) -> None:
    found = status.of(whole(Metrics(), **parameters), 0)
    assert found.only_observes is observes
    assert (words.OBSERVED in list(status._view(found, 0))) is observes


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (0, "limited to 300 a minute, nothing waiting"),
        (12, "limited to 300 a minute, 12 waiting, drained in about 1 minute"),
    ],
)
def test_a_limit_in_words(waiting: int, said: str) -> None:
    assert Limit(per_minute=300, waiting=waiting).text == said


@pytest.mark.parametrize(
    ("probe_at", "said"),
    [
        (20_000, "destination down since 1970-01-01 00:00:01 UTC, next probe in 10 s"),
        (5_000, "destination down since 1970-01-01 00:00:01 UTC, the next event probes it"),
        (None, "3 of 12 calls failed in the last minute"),
    ],
)
def test_a_destination_in_words(probe_at: int | None, said: str) -> None:
    destination = Destination(since_ms=1_000, failed=3, acted=9, next_probe_at_ms=probe_at)
    assert destination.text(10_000) == said


def test_a_count_that_is_over_says_nothing() -> None:
    row = {"since": {"N": "1000"}, "failed": {"N": "3"}, "acted": {"N": "0"}}
    stack: Any = Deployed(dynamodb=of(get_item={"Item": row}))
    assert gate.destination(stack, 120_000) is None
    assert gate.destination(stack, 30_000) is not None
