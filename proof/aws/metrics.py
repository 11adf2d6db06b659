"""The metrics of the services we use, copied by hand from AWS's documentation.

Metric names are case-sensitive, and the pages disagree about some: the table of AWS/Events writes
Dlq, the page on its dead-letter queues DLQ. Here the tables count.

Only what a template may name: the metric, and each set of dimensions that it has. The pages:

- AWS/SQS: AWSSimpleQueueService, "Available CloudWatch metrics for Amazon SQS"
- AWS/Events: eventbridge, "Monitoring Amazon EventBridge"; rules on the default bus have RuleName
  alone, those on any other bus EventBusName too
- AWS/EventBridge/Pipes: eventbridge, "Logging and monitoring Amazon EventBridge Pipes"; its
  namespace: "CloudWatch metrics with resource enrichment"
- AWS/States: step-functions, "Monitoring Step Functions metrics using Amazon CloudWatch"
- AWS/Lambda: lambda, "Types of metrics for Lambda functions"
- AWS/DynamoDB: amazondynamodb, "DynamoDB metrics and dimensions"
- AWS/Logs: AmazonCloudWatch, "Monitoring with CloudWatch metrics"
"""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from types import CodeType
from typing import Any

Dimensions = frozenset[str]


def _found_under(*names: str) -> frozenset[Dimensions]:
    return frozenset({frozenset(names)})


_QUEUE = _found_under("QueueName")
_RULE = _found_under("RuleName") | _found_under("RuleName", "EventBusName")
_PIPE = _found_under("PipeName")
_MACHINE = _found_under("StateMachineArn")
_FUNCTION = _found_under("FunctionName")
_TABLE = _found_under("TableName")
_LOG_GROUP = _found_under("LogGroupName")

DOCUMENTED: Mapping[str, Mapping[str, frozenset[Dimensions]]] = {
    "AWS/SQS": {
        "ApproximateAgeOfOldestMessage": _QUEUE,
        "ApproximateNumberOfMessagesDelayed": _QUEUE,
        "ApproximateNumberOfMessagesNotVisible": _QUEUE,
        "ApproximateNumberOfMessagesVisible": _QUEUE,
        "NumberOfEmptyReceives": _QUEUE,
        "NumberOfMessagesDeleted": _QUEUE,
        "NumberOfMessagesReceived": _QUEUE,
        "NumberOfMessagesSent": _QUEUE,
    },
    "AWS/Events": {
        "FailedInvocations": _RULE,
        "Invocations": _RULE,
        "InvocationsFailedToBeSentToDlq": _RULE,
        "InvocationsSentToDlq": _RULE,
        "TriggeredRules": _RULE,
    },
    "AWS/EventBridge/Pipes": {
        "Duration": _PIPE,
        "EnrichmentStageFailed": _PIPE,
        "EventCount": _PIPE,
        "ExecutionFailed": _PIPE,
        "ExecutionPartiallyFailed": _PIPE,
        "ExecutionThrottled": _PIPE,
        "ExecutionTimeout": _PIPE,
        "Invocations": _PIPE,
        "TargetStageFailed": _PIPE,
    },
    "AWS/States": {
        "ExecutionThrottled": _MACHINE,
        "ExecutionsFailed": _MACHINE,
        "ExecutionsStarted": _MACHINE,
        "ExecutionsSucceeded": _MACHINE,
        "ExecutionsTimedOut": _MACHINE,
        "ExpressExecutionBilledDuration": _MACHINE,
        "ExpressExecutionBilledMemory": _MACHINE,
    },
    "AWS/Lambda": {
        "ConcurrentExecutions": _FUNCTION,
        "Duration": _FUNCTION,
        "Errors": _FUNCTION,
        "Invocations": _FUNCTION,
        "Throttles": _FUNCTION,
    },
    "AWS/DynamoDB": {
        "ConsumedReadCapacityUnits": _TABLE,
        "ConsumedWriteCapacityUnits": _TABLE,
        "ReadThrottleEvents": _TABLE,
        "WriteThrottleEvents": _TABLE,
    },
    "AWS/Logs": {
        "IncomingBytes": _LOG_GROUP,
        "IncomingLogEvents": _LOG_GROUP,
    },
}


Metric = tuple[str, str, Dimensions]  # namespace, name, names of the dimensions


def embedded_metrics(line: str) -> dict[Metric, list[float]]:
    """Reads the metrics of a log line, strictly by "Specification: Embedded metric format"."""
    try:
        said = json.loads(line)
        metadata = said["_aws"]
    except (ValueError, KeyError, TypeError):
        return {}
    assert set(metadata) == {"Timestamp", "CloudWatchMetrics"}
    assert isinstance(metadata["Timestamp"], int)
    found: dict[Metric, list[float]] = {}
    for directive in metadata["CloudWatchMetrics"]:
        assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
        assert 0 < len(directive["Metrics"]) <= 100
        for dimensions in directive["Dimensions"]:
            assert isinstance(dimensions, list), "each set of dimensions is a list"
            assert all(isinstance(said[name], str) and said[name] for name in dimensions)
            for metric in directive["Metrics"]:
                value = said[metric["Name"]]
                values = value if isinstance(value, list) else [value]
                assert 0 < len(values) <= 100
                assert all(type(number) in (int, float) for number in values), metric
                found[directive["Namespace"], metric["Name"], frozenset(dimensions)] = values
    return found


@cache
def _code(expression: str) -> CodeType:
    text = expression.replace(" AND ", " and ").replace(" OR ", " or ")
    return compile(text, "an alarm's expression", "eval")


class MetricMath:
    """The expressions of an alarm for one point in time, with what its metrics say then.

    Only what the template uses, as in AmazonCloudWatch, "Math expressions with metrics": IF takes
    any number but 0 for true, and a metric without a value counts as 0.
    """

    def __init__(self, at: datetime, metrics: Mapping[str, float]) -> None:
        self._known: dict[str, Any] = {
            "IF": lambda condition, then, otherwise: then if condition else otherwise,
            "FLOOR": math.floor,
            "MINUTE": lambda _: at.minute,
            "HOUR": lambda _: at.hour,
            "DAY": lambda _: at.isoweekday(),
            **metrics,
        }

    def value_of(self, queries: Sequence[Mapping[str, Any]]) -> float:
        """Computes the query that the alarm watches; each query may name those before it."""
        watched: list[float] = []
        for query in queries:
            if "Expression" in query:
                self._known[query["Id"]] = eval(_code(query["Expression"]), {}, self._known)  # noqa: S307 - our template's
            if query["ReturnData"]:
                watched.append(float(self._known[query["Id"]]))
        (value,) = watched
        return value
