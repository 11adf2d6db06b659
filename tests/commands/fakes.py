"""A stack in memory: records and rows as data, queues as lists, a clock that a test moves."""

# ruff: noqa: N803 - boto3 names its arguments so

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from once.stack.facade import Stack
from tests.model.support import NOW_MS, claim

ORGANISATION = "4ca1fb34-572d-53cd-8448-744c602bf65d"
USER = "4038568b-b646-57ff-af04-e96b31e8a61b"
PK = f"{ORGANISATION}/user/{USER}"
SK = "v2/user.presence/PURECLOUD/e32adf1a-97d9-5a3e-9109-8dfa78ac4484"
KEY = f"{PK}/{SK}"
FIRST = "681e3548-4471-4ed2-b5b0-42109261e2d2"
SECOND = "0e2d6f1c-9b55-4a27-8d5f-3a1b5f0c7e11"
OUTPUTS = {
    "StateMachineArn": "arn:aws:states:eu-west-1:123456789012:stateMachine:once",
    "OutcomeLogGroupName": "outcomes",
    "EnrichmentLogGroupName": "/aws/lambda/enrichment",
    "DataActionLogGroupName": "/aws/lambda/data-action",
    "PipeLogGroupName": "/pipe",
    "PipeName": "pipe",
    "ClaimTableName": "claims",
    "EventQueueUrl": "https://sqs/1/events",
    "DeadLetterQueueUrl": "https://sqs/1/dead-letters",
    "EventBusName": "default",
    "EventRuleName": "rule",
    "ExecutionLogGroupName": "/states",
    "EnrichmentFunctionName": "enrichment",
    "DataActionFunctionName": "data-action",
    "MaxActionsPerMinute": "0",
}


class Clock:
    """The time of a test; sleeping moves it, but not that of a thread of another test."""

    def __init__(self) -> None:
        self.ms = NOW_MS
        self._thread = threading.get_ident()

    def replace_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: self.ms * 1_000_000)
        monkeypatch.setattr(time, "monotonic", lambda: self.ms / 1000)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def sleep(self, seconds: float) -> None:
        if threading.get_ident() == self._thread:
            self.ms += round(seconds * 1000)
        else:
            threading.Event().wait(seconds)


class Logs:
    """The outcome log, searched as Logs Insights does."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.lines: list[tuple[int, dict[str, Any]]] = []
        self.of_pipe: list[tuple[int, dict[str, Any]]] = []
        self.of_executions: list[tuple[int, dict[str, Any]]] = []
        self.searches: list[str] = []
        self._results: dict[str, list[dict[str, str]]] = {}

    def add(self, outcome: str, reason: str, ago_ms: int = 60_000, **fields: Any) -> None:
        """Adds a record of the first message of a presence, unless the fields say otherwise."""
        record = {"firstMessageId": FIRST, "pk": PK, "sk": SK, "family": "user.presence"}
        record |= {"outcome": outcome, "reason": reason, "occurredAtMs": NOW_MS - 600_000}
        record |= {"run": f"run#{fields.get('firstMessageId', FIRST)}", **fields}
        known = {name: value for name, value in record.items() if value is not None}
        self.lines.append((self._clock.ms - ago_ms, known))

    def add_failed_step(self, step: str, ago_ms: int = 60_000, **error: str) -> None:
        """Adds a line of the pipe's log, as a pipe writes it at level ERROR."""
        line = {"executionId": f"{step}-{ago_ms}", "messageType": step, "logLevel": "ERROR"}
        self.of_pipe.append((self._clock.ms - ago_ms, {**line, "error": error}))

    def start_query(
        self, *, logGroupName: str, startTime: int, endTime: int, queryString: str
    ) -> dict[str, str]:
        groups = {"outcomes": self.lines, "/pipe": self.of_pipe, "/states": self.of_executions}
        patterns = re.findall(r"filter @message like /((?:\[/\]|[^/])*)/", queryString)
        lines = [
            (ms, json.dumps(record))
            for ms, record in sorted(groups[logGroupName], key=lambda line: line[0], reverse=True)
            if startTime * 1000 <= ms <= endTime * 1000
        ]
        rows = [
            {"@timestamp": _write_time(ms), "@message": text}
            for ms, text in lines
            if all(re.search(pattern, text) for pattern in patterns)
        ]
        if "stats" in queryString:
            rows = [
                {"family": r["family"], "outcome": r["outcome"], "events": "1", "last": str(ms)}
                for ms, r in self.lines
                if r["outcome"] != "RETRY"
            ]
        self.searches.append(queryString)
        self._results[str(len(self.searches))] = rows
        return {"queryId": str(len(self.searches))}

    def get_query_results(self, *, queryId: str) -> dict[str, Any]:
        rows = self._results[queryId]
        cells = [[{"field": name, "value": row[name]} for name in row] for row in rows]
        return {"status": "Complete", "results": cells}

    def get_paginator(self, _name: str) -> Any:
        def paginate(*, startTime: int, **_: Any) -> list[Any]:
            events = [
                {"eventId": str(n), "timestamp": ms, "message": json.dumps(record)}
                for n, (ms, record) in enumerate(self.lines)
                if ms >= startTime
            ]
            return [{"events": events}]

        return SimpleNamespace(paginate=paginate)


class Sqs:
    """Queues as lists. `machine` is called with each message that reaches the event queue."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ids = count(1)
        self.queues: dict[str, list[dict[str, Any]]] = {"events": [], "dead-letters": []}
        self.hidden: set[str] = set()
        self.refused: set[str] = set()
        """Bodies that no request may send."""
        self.delayed = self.in_flight = 0
        self.machine: Callable[[dict[str, Any]], None] | None = None

    def put(self, queue: str, body: str, *, ago_ms: int = 0, **attributes: str) -> str:
        message_id = f"{next(self._ids):08x}-0000-4000-8000-000000000000"
        message = {
            "MessageId": message_id,
            "ReceiptHandle": f"receipt {message_id}",
            "Body": body,
            "Attributes": {"SentTimestamp": str(self._clock.ms - ago_ms)},
            "MessageAttributes": {
                name: {"StringValue": value, "DataType": "String"}
                for name, value in attributes.items()
            },
        }
        self.queues[queue].append(message)
        if queue == "events" and self.machine:
            self.machine(message)
        return message_id

    def _queue(self, url: str) -> list[dict[str, Any]]:
        return self.queues[url.rpartition("/")[2]]

    def send_message(
        self, *, QueueUrl: str, MessageBody: str, MessageAttributes: Mapping[str, Any]
    ) -> dict[str, str]:
        attributes = {name: value["StringValue"] for name, value in MessageAttributes.items()}
        return {"MessageId": self.put(QueueUrl.rpartition("/")[2], MessageBody, **attributes)}

    def send_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:
        failed = [e for e in Entries if any(text in e["MessageBody"] for text in self.refused)]
        sent = [
            {"Id": e["Id"], "MessageId": self.put(QueueUrl.rpartition("/")[2], e["MessageBody"])}
            for e in Entries
            if e not in failed
        ]
        return {"Successful": sent, "Failed": [{"Id": e["Id"], "Code": "refused"} for e in failed]}

    def receive_message(self, *, QueueUrl: str, **_: Any) -> dict[str, Any]:
        messages = [m for m in self._queue(QueueUrl) if m["MessageId"] not in self.hidden][:10]
        self.hidden |= {message["MessageId"] for message in messages}
        return {"Messages": messages} if messages else {}

    def change_message_visibility_batch(self, *, QueueUrl: str, Entries: list[Any]) -> Any:
        assert QueueUrl
        self.hidden -= {entry["Id"] for entry in Entries}
        return {}

    def delete_message_batch(self, *, QueueUrl: str, Entries: list[Any]) -> dict[str, Any]:
        gone = {entry["ReceiptHandle"] for entry in Entries}
        queue = self._queue(QueueUrl)
        queue[:] = [message for message in queue if message["ReceiptHandle"] not in gone]
        return {}

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> Any:
        number = len(self._queue(QueueUrl))
        values = dict.fromkeys(AttributeNames, "0")
        values["ApproximateNumberOfMessages"] = str(number)
        if QueueUrl.endswith("events"):
            values["ApproximateNumberOfMessagesDelayed"] = str(self.delayed)
            values["ApproximateNumberOfMessagesNotVisible"] = str(self.in_flight)
        return {"Attributes": values}


class Pipes:
    def __init__(self) -> None:
        self.state, self.reason = "RUNNING", ""

    def describe_pipe(self, **_: Any) -> dict[str, str]:
        return {"CurrentState": self.state, "StateReason": self.reason}

    def start_pipe(self, **_: Any) -> None:
        self.state = "RUNNING"


class Metrics:
    def __init__(self) -> None:
        self.taken = 0
        self.alarms: list[str] = []

    def get_metric_statistics(self, **_: Any) -> dict[str, Any]:
        return {"Datapoints": [{"Sum": float(self.taken)}]}

    def describe_alarms(self, **_: Any) -> dict[str, Any]:
        updated = datetime.fromtimestamp(NOW_MS / 1000, UTC)
        alarms = [{"AlarmName": f"once-{n}", "StateUpdatedTimestamp": updated} for n in self.alarms]
        return {"MetricAlarms": alarms}


class FakeStack(Stack):
    """Its clients are the fakes; DynamoDB is moto's."""

    region = "eu-west-1"
    is_local = False

    def __init__(self, clock: Clock, dynamodb: Any) -> None:
        super().__init__(None, "once")
        self.outputs = dict(OUTPUTS)
        self.parameters: dict[str, str] = {"ActionTarget": "webhook"}
        self.clock = clock
        self.logs, self.sqs = Logs(clock), Sqs(clock)
        self.pipes, self.metrics = Pipes(), Metrics()
        self.dynamodb = dynamodb
        self.machine_status = "ACTIVE"
        self.stepfunctions = SimpleNamespace(
            describe_state_machine=lambda **_: {"status": self.machine_status}
        )
        arn = "arn:aws:sts::1:assumed-role/operator/ada"
        self.sts = SimpleNamespace(get_caller_identity=lambda: {"Arn": arn})

    def client(self, service: str) -> Any:
        return getattr(self, {"cloudwatch": "metrics"}.get(service, service))

    def put_row(self, pk: str, sk: str, **values: int | str) -> None:
        item = {"pk": {"S": pk}, "sk": {"S": sk}}
        for name, value in values.items():
            item[name] = {"N": str(value)} if isinstance(value, int) else {"S": value}
        self.dynamodb.put_item(TableName="claims", Item=item)

    def put_claim(self, status: str = "DONE", outcome: str = "PROCESSED", **values: Any) -> None:
        """Puts the claim of the presence, unless the values say otherwise."""
        known = {"pk": PK, "sk": SK, "family": "user.presence", **values}
        row = claim(FIRST, status, outcome).model_dump(exclude_none=True)
        self.put_row(**{**row, **known})

    def read_row(self, pk: str, sk: str) -> dict[str, str]:
        found = self.dynamodb.get_item(TableName="claims", Key={"pk": {"S": pk}, "sk": {"S": sk}})
        return {name: next(iter(v.values())) for name, v in found.get("Item", {}).items()}

    def pause(self, **values: int | str) -> None:
        self.put_row("pace", "breaker", **values)

    def fail(self, *keys: str, **values: int) -> None:
        """Writes the breaker's row of requests that failed for these events."""
        numbers = {name: {"N": str(value)} for name, value in values.items()}
        item = {"pk": {"S": "pace"}, "sk": {"S": "breaker"}, "failed": {"SS": list(keys)}}
        self.dynamodb.put_item(TableName="claims", Item=item | numbers)


def _write_time(ms: int) -> str:
    written = datetime.fromtimestamp(ms / 1000, UTC)
    return written.strftime("%Y-%m-%d %H:%M:%S.") + f"{ms % 1000:03d}"
