"""An alarm sees a metric only under its exact name and with exactly its dimensions.

Anything else is a metric that never has data, and an alarm on it is silent without end. AWS's
services send theirs under documented dimensions, a rule's with EventBusName unless it is on the
default bus; ours are those that the state machine writes.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from proof.aws.check import page
from proof.aws.deployed import Deployed
from proof.aws.metrics import DOCUMENTED, Dimensions, Metric
from proof.aws.outcome_log import counted, log_events

SOURCES = (
    page(
        "AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html",
        "Each unique combination of name and dimensions is another metric.",
    ),
    page(
        "eventbridge/latest/userguide/eb-monitoring.html",
        "RuleName alone is of the default bus, with EventBusName of another one.",
    ),
    page("eventbridge/latest/userguide/eb-pipes-monitoring.html", "Metrics of a pipe: PipeName."),
    page(
        "AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html",
        "Which metrics and dimensions a log line makes.",
    ),
)
_OURS = "GenesysOnce"


def exists(
    namespace: str, metric: str, dimensions: Dimensions, written: Collection[Metric]
) -> bool:
    """`written`: what the state machine writes."""
    if namespace == _OURS:
        return (namespace, metric, dimensions) in written
    return dimensions in DOCUMENTED.get(namespace, {}).get(metric, frozenset())


def findings(deployed: Deployed) -> Iterator[str]:
    written = counted(log_events(deployed.states["RecordOutcomes"]))
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        for watched in _metrics(alarm):
            namespace, metric = watched["Namespace"], watched["MetricName"]
            dimensions = {each["Name"]: each["Value"] for each in watched.get("Dimensions", [])}
            if not exists(namespace, metric, frozenset(dimensions), written):
                yield f"{name}: nobody sends {namespace} {metric} by {', '.join(dimensions)}"
            elif "RuleName" in dimensions:
                yield from _on_its_bus(deployed, name, dimensions)


def _metrics(alarm: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "MetricName" in alarm:
        yield alarm
    for part in alarm.get("Metrics", []):
        if "MetricStat" in part:
            yield part["MetricStat"]["Metric"]


def _on_its_bus(deployed: Deployed, name: str, dimensions: Mapping[str, Any]) -> Iterator[str]:
    rules = [
        rule
        for rule in deployed.of_type("AWS::Events::Rule").values()
        if rule["Name"] == dimensions["RuleName"]
    ]
    if not rules:
        yield f"{name} looks at {dimensions['RuleName']}, which is no rule of the stack"
    for rule in rules:
        if dimensions.get("EventBusName", "default") != rule["EventBusName"]:
            yield f"{name} looks at another bus than {rule['EventBusName']}"


def _another_spelling(deployed: Deployed) -> None:
    """Spells the metric as the page on dead-letter queues does."""
    deployed.properties("RuleLosesEventsAlarm")["MetricName"] = "InvocationsFailedToBeSentToDLQ"


def _no_bus(deployed: Deployed) -> None:
    dimensions = deployed.properties("RuleLosesEventsAlarm")["Dimensions"]
    dimensions[:] = [each for each in dimensions if each["Name"] != "EventBusName"]


def _another_rule(deployed: Deployed) -> None:
    deployed.properties("EventRule")["Name"] = "once-events-2"


def _one_more(deployed: Deployed) -> None:
    dimensions = deployed.properties("BreakerOpenAlarm")["Dimensions"]
    dimensions.append({"Name": "Reason", "Value": "BREAKER_OPEN"})


def _no_longer_written(deployed: Deployed) -> None:
    arguments = deployed.states["RecordOutcomes"]["Arguments"]
    arguments["LogEvents"] = arguments["LogEvents"].replace("'BREAKER_SECONDS'", "'OPEN_SECONDS'")


BROKEN = {
    "a name with other capitals": _another_spelling,
    "a rule on a bus that is not named": _no_bus,
    "a rule of another name": _another_rule,
    "a dimension that is not written": _one_more,
    "a metric that the machine writes no more": _no_longer_written,
}
