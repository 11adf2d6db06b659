"""Metrics as CloudWatch has them: which AWS sends, which our log lines make, and metric math.

- AWS/SQS: AWSSimpleQueueService, "Available CloudWatch metrics for Amazon SQS"
- AWS/Events: eventbridge, "Monitoring Amazon EventBridge"; RuleName alone is of the default bus,
  of another one with EventBusName too
- AWS/Lambda: lambda, "Types of metrics for Lambda functions"
- AWS/Logs: AmazonCloudWatch, "Monitoring with CloudWatch metrics"
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from proof.asl.jsonata import Clock, Library

Dimensions = frozenset[str]
Metric = tuple[str, str, Dimensions]  # namespace, name, names of the dimensions
NOW_MS = 1_777_888_800_000

_QUEUE = {frozenset({"QueueName"})}
_RULE = {frozenset({"RuleName"}), frozenset({"RuleName", "EventBusName"})}
_FUNCTION = {frozenset({"FunctionName"})}
DOCUMENTED: Mapping[str, Mapping[str, set[Dimensions]]] = {
    "AWS/SQS": {
        "ApproximateAgeOfOldestMessage": _QUEUE,
        "ApproximateNumberOfMessagesDelayed": _QUEUE,
        "ApproximateNumberOfMessagesNotVisible": _QUEUE,
        "ApproximateNumberOfMessagesVisible": _QUEUE,
        "NumberOfMessagesDeleted": _QUEUE,
        "NumberOfMessagesReceived": _QUEUE,
        "NumberOfMessagesSent": _QUEUE,
    },
    "AWS/Events": {"Invocations": _RULE, "InvocationsFailedToBeSentToDlq": _RULE},
    "AWS/Lambda": {
        "Duration": _FUNCTION,
        "Errors": _FUNCTION,
        "Invocations": _FUNCTION,
        "Throttles": _FUNCTION,
    },
    "AWS/Logs": {"IncomingLogEvents": {frozenset({"LogGroupName"})}},
}

# An event with all that its record may say, and one way in which each outcome ends.
EVENT: Mapping[str, Any] = {
    "firstMessageId": "m1",
    "firstSentAtMs": NOW_MS - 60_000,
    "waitsSinceMs": NOW_MS - 60_000,
    "occurredAtMs": NOW_MS - 61_000,
    "key": {"pk": "org/conversation/c1", "sk": "v2/customer.end/p1"},
    "family": "customer.end",
    "policy": {"order": "none", "windowMs": 0},
    "route": {"name": "all", "action": "act"},
    "trace": {"eventId": "e1", "envelopeId": "n1", "source": "aws.partner/genesys.com/org/live"},
}
VERDICTS: Sequence[Mapping[str, Any]] = (
    {"outcome": "PROCESSED", "reason": "ACTED", "ageMs": 1_500, "requests": 1, "durationMs": 40},
    {"outcome": "DUPLICATE", "reason": "SAME_KEY"},
    {"outcome": "STALE", "reason": "NEWER_STATE"},
    {"outcome": "IGNORED", "reason": "NO_ROUTE_MATCHED"},
    {"outcome": "PARKED", "reason": "REJECTED", "requests": 1},
    {"outcome": "RETRY", "reason": "BREAKER_OPEN", "retryInSeconds": 60, "breakerSeconds": 90},
    {"outcome": "RETRY", "reason": "SETUP_FAULT", "retryInSeconds": 60},
)


def outcome_line(
    recorder: Mapping[str, Any], verdict: Mapping[str, Any], **event: Any
) -> Mapping[str, Any]:
    """Returns the log event that the state RecordOutcome writes for an event."""
    (written,) = recorder["Arguments"]["LogEvents"]
    scope = {
        "event": {**EVENT, **event},
        "verdict": dict(verdict),
        "me": "run#m1",
        "idempotencyKey": "0" * 64,
    }
    return {
        name: Library().evaluate(expression[2:-2].strip(), scope, Clock(NOW_MS))
        for name, expression in written.items()
    }


def every_line(recorder: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    noted = outcome_line(recorder, VERDICTS[0], note="UNEXPECTED_SHAPE")
    return [noted, *(outcome_line(recorder, verdict) for verdict in VERDICTS)]


def embedded_metrics(line: str) -> dict[Metric, float]:
    """Reads the metrics of a log line, strictly by "Specification: Embedded metric format"."""
    try:
        record = json.loads(line)
        metadata = record["_aws"]
    except (ValueError, KeyError, TypeError):
        return {}
    assert set(metadata) == {"Timestamp", "CloudWatchMetrics"}
    assert type(metadata["Timestamp"]) is int
    found: dict[Metric, float] = {}
    for directive in metadata["CloudWatchMetrics"]:
        assert set(directive) == {"Namespace", "Dimensions", "Metrics"}
        assert 0 < len(directive["Metrics"]) <= 100
        for dimensions in directive["Dimensions"]:
            assert isinstance(dimensions, list), "each set of dimensions is a list"
            assert all(isinstance(record[name], str) and record[name] for name in dimensions)
            for metric in directive["Metrics"]:
                value = record[metric["Name"]]
                assert type(value) in (int, float), metric
                found[directive["Namespace"], metric["Name"], frozenset(dimensions)] = value
    return found


def written_metrics(recorder: Mapping[str, Any]) -> set[Metric]:
    return {metric for line in every_line(recorder) for metric in embedded_metrics(line["Message"])}


def metrics_of(alarm: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns each metric that an alarm reads, with its Namespace, MetricName and Dimensions."""
    if "MetricName" in alarm:
        return [alarm]
    return [query["MetricStat"]["Metric"] for query in alarm["Metrics"] if "MetricStat" in query]


def metric_math(queries: Sequence[Mapping[str, Any]], values: Mapping[str, float]) -> float:
    """Returns what an alarm's expression makes of one value of each metric.

    Only what the template uses, as in AmazonCloudWatch, "Math expressions with metrics": a missing
    value is 0 in arithmetic and in comparisons.
    """
    known: dict[str, Any] = {query["Id"]: 0 for query in queries} | dict(values)
    known["IF"] = lambda condition, then, otherwise: then if condition else otherwise
    for query in queries:
        if "Expression" in query:
            text = query["Expression"].replace(" AND ", " and ").replace(" OR ", " or ")
            known[query["Id"]] = eval(text, {}, known)  # noqa: S307 - the template's own
    (watched,) = [query["Id"] for query in queries if query["ReturnData"]]
    return float(known[watched])
