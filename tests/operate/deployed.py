"""A deployed stack whose clients answer from tables: what a status reads of it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from once.operate import status
from once.operate.log import GROUPS
from once.operate.stack import Stack

REGION = "eu-west-1"
NOW = datetime(2026, 11, 18, 17, 40, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
MINUTE_MS = 60_000
OUTPUTS = {
    "StateMachineArn": f"arn:aws:states:{REGION}:123456789012:stateMachine:once",
    "OutcomeLogGroupName": "outcomes",
    "PipeName": "pipe",
    "ClaimTableName": "claims",
    **{output: f"https://sqs/1/{output}" for output in status.QUEUES.values()},
    "EnrichmentFunctionName": "once-enrichment",
    "DataActionFunctionName": "once-data-action",
    **{output: f"/log/{part}" for part, output in GROUPS.items()},
}


class Deployed(Stack):
    """Its clients answer what they are given."""

    region = REGION

    def __init__(self, parameters: Mapping[str, str] | None = None, **clients: Any) -> None:
        super().__init__(None, "once")
        self.parameters = parameters or {}
        limit = self.parameters.get("MaxActionsPerMinute", "0")
        self.outputs = OUTPUTS | {"MaxActionsPerMinute": limit.replace("auto", "300")}
        self._clients = clients

    def client(self, service: str) -> Any:
        return self._clients[service]


def client(**answers: Any) -> Any:
    """A client whose operations return these."""

    def always(answer: Any) -> Any:
        return lambda **_: answer

    return SimpleNamespace(**{name: always(answer) for name, answer in answers.items()})


class Logs:
    """Logs Insights: lines for a search, rows for statistics. A filter is not applied."""

    def __init__(
        self, lines: Sequence[tuple[str, Any]] = (), counted: Sequence[Mapping[str, str]] = ()
    ) -> None:
        self._lines = [{"@timestamp": at, "@message": json.dumps(line)} for at, line in lines]
        self.counted = counted
        self.since_ms: list[int] = []

    def start_query(self, **query: Any) -> dict[str, str]:
        if "stats" not in query["queryString"]:
            return {"queryId": "lines"}
        assert 'outcome != "RETRY"' in query["queryString"], "each delivery would be an arrival"
        self.since_ms.append(query["startTime"] * 1000)
        return {"queryId": "counted"}

    def get_query_results(self, queryId: str) -> dict[str, Any]:  # noqa: N803 - boto3's name
        rows = self._lines if queryId == "lines" else self.counted
        cells = [[{"field": name, "value": row[name]} for name in row] for row in rows]
        return {"status": "Complete", "results": cells}


class Metrics:
    """CloudWatch with some numbers by the name of the metric, each a minute older."""

    def __init__(self, alarms: Sequence[str] = (), **values: list[float]) -> None:
        self._values = values
        self._alarms = alarms

    def get_paginator(self, name: str) -> Any:
        assert name == "get_metric_data"
        return SimpleNamespace(paginate=lambda **asked: [self._answer(asked)])

    def _answer(self, asked: Mapping[str, Any]) -> Any:
        results = []
        for query in asked["MetricDataQueries"]:
            metric = query["MetricStat"]["Metric"]
            (dimension,) = metric["Dimensions"]
            name = metric["MetricName"]
            if dimension["Name"] == "FunctionName":
                name = "enrichment"
            values = self._values.get(name, [])
            times = [NOW - timedelta(minutes=at) for at in range(len(values))]
            results.append({"Id": query["Id"], "Values": values, "Timestamps": times})
        return {"MetricDataResults": results}

    def describe_alarms(self, **_: Any) -> Any:
        return {
            "MetricAlarms": [
                {
                    "AlarmName": f"once-{name}",
                    "StateUpdatedTimestamp": NOW,
                    "AlarmDescription": f"{name}: what it means. See docs/runbook.md#{name}",
                }
                for name in self._alarms
            ]
        }


def deployed(
    metrics: Metrics | None = None,
    *records: Mapping[str, Any],
    visible: int = 0,
    in_flight: int = 100,
    parked: int = 0,
    row: Mapping[str, Any] | None = None,
    pipe: str = "RUNNING",
    counted: Sequence[Mapping[str, str]] = (),
    parameters: Mapping[str, str] | None = None,
) -> Any:
    """`records` are those of the outcome log, newest first, each a minute older."""
    lines = [
        (f"{NOW - timedelta(minutes=at):%Y-%m-%d %H:%M:%S}.000", record)
        for at, record in enumerate(records)
    ]

    def depth(QueueUrl: str, **_: Any) -> Any:  # noqa: N803 - boto3's name
        is_queue = QueueUrl.endswith("EventQueueUrl")
        numbers = {
            "ApproximateNumberOfMessages": visible if is_queue else 0,
            "ApproximateNumberOfMessagesNotVisible": in_flight if is_queue else 0,
            "ApproximateNumberOfMessagesDelayed": 0,
        }
        if QueueUrl.endswith("ParkingQueueUrl"):
            numbers["ApproximateNumberOfMessages"] = parked
        return {"Attributes": {name: str(number) for name, number in numbers.items()}}

    return Deployed(
        parameters,
        sqs=SimpleNamespace(get_queue_attributes=depth),
        cloudwatch=metrics or Metrics(),
        pipes=client(
            describe_pipe={
                "CurrentState": pipe,
                "StateReason": "no right",
                "LastModifiedTime": NOW - timedelta(minutes=20),
            }
        ),
        stepfunctions=client(describe_state_machine={"status": "ACTIVE"}),
        logs=Logs(lines, counted),
        dynamodb=client(get_item={"Item": row} if row else {}),
    )


def returned(message_id: str, reason: str, **more: Any) -> dict[str, Any]:
    """A record of an event that was returned to the queue."""
    said = {"messageId": message_id, "outcome": "RETRY", "reason": reason}
    key = {"pk": "org/conversation/c1", "sk": f"v1/conversation.acd.start/{message_id}"}
    waits = {"returnsAtMs": NOW_MS + MINUTE_MS}
    return {**said, **key, "family": "conversation.acd.start", **waits, **more}


def breaker_row(**fields: int | str) -> dict[str, Any]:
    row = {"since": NOW_MS - MINUTE_MS, **fields}
    return {
        "failed": {"SS": [str(number) for number in range(20)]},
        **{k: {"S": v} if isinstance(v, str) else {"N": str(v)} for k, v in row.items()},
    }
