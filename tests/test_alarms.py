"""Alarms and dashboard name metrics that exist, and each alarm has its page in the runbook."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import jsonata
import pytest

from once.operate import queues
from proof.cloudwatch import DOCUMENTED, Dimensions, Metric, embedded_metrics
from proof.definition.asl import ROOT, states
from proof.template import RESOURCES, TEMPLATE, decided, of_type

ALARMS = {name: alarm["Properties"] for name, alarm in of_type("AWS::CloudWatch::Alarm").items()}
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
DAY = 86400
Counted = defaultdict[Metric, list[float]]


def slug(alarm: str) -> str:
    name: str = ALARMS[alarm]["AlarmName"]["Sub"]
    return name.removeprefix("${AWS::StackName}-")


def dashboard() -> list[dict[str, Any]]:
    text, _ = RESOURCES["Dashboard"]["Properties"]["DashboardBody"]["Sub"]
    widgets: list[dict[str, Any]] = json.loads(text)["widgets"]
    return widgets


STACK = frozenset({"Stack"})
FAMILY = frozenset({"Stack", "Family"})
# One of each kind, as SettleLanes leaves them.
RECORDS: list[dict[str, Any]] = [
    {"family": "calls", "outcome": "PROCESSED", "reason": "ACTED", "ageMs": 1_500},
    {"family": "calls", "outcome": "PROCESSED", "reason": "ACTED", "ageMs": 300},
    {"family": "calls", "outcome": "DUPLICATE", "reason": "COLLAPSED"},
    {"family": "calls", "outcome": "DUPLICATE", "reason": "SAME_KEY"},
    {"family": "calls", "outcome": "RETRY", "reason": "LIMITED", "deferredTo": "m9"},
    {"family": "chats", "outcome": "STALE", "reason": "NEWER_STATE"},
    {"family": "chats", "outcome": "RETRY", "reason": "SETUP_FAULT"},
    {"family": "broken", "outcome": "PARKED", "reason": "NOT_JSON"},
    {"outcome": "RETRY", "reason": "NOT_REACHED"},
]


def written_by_the_state_machine(records: list[dict[str, Any]]) -> Counted:
    """What CloudWatch counts in the lines of RecordOutcomes, all values of a metric together."""
    events = states()["RecordOutcomes"]["Arguments"]["LogEvents"]
    expression = jsonata.Jsonata(events.removeprefix("{%").removesuffix("%}"))
    frame = expression.create_frame()
    frame.bind("records", records)
    counted: Counted = defaultdict(list)
    for line in expression.evaluate(None, frame):
        for metric, values in embedded_metrics(line["Message"]).items():
            counted[metric] += values
    return counted


OWN = set(written_by_the_state_machine(RECORDS))


def exists(namespace: str, metric: str, dimensions: Dimensions) -> bool:
    if namespace == "GenesysOnce":
        return (namespace, metric, dimensions) in OWN
    return dimensions in DOCUMENTED[namespace][metric]


def test_the_outcomes_of_a_batch_are_counted_once_each() -> None:
    counted = written_by_the_state_machine(RECORDS)
    sums = {metric[1]: sum(values) for metric, values in counted.items() if metric[2] == STACK}
    assert sums == {
        "RECEIVED": 9,
        "PROCESSED": 2,
        "DUPLICATE": 2,
        "STALE": 1,
        "PARKED": 1,
        "RETRY": 3,
        "COLLAPSED": 1,
        "DEFERRED": 1,
        "SETUP_FAULT": 1,
        "HANDED_BACK": 2,
        "SECONDS_TO_ACTION": pytest.approx(1.8),
    }
    by_family = {metric[1] for metric in counted if metric[2] == FAMILY}
    assert by_family == {"PROCESSED", "DUPLICATE", "STALE", "PARKED", "RETRY"}
    assert counted["GenesysOnce", "PARKED", frozenset({"Stack", "Reason"})] == [1]


def test_the_mean_of_what_is_handed_back_is_its_share_of_all_messages() -> None:
    values = written_by_the_state_machine(RECORDS)["GenesysOnce", "HANDED_BACK", STACK]
    assert sorted(values) == [0] * 7 + [1] * 2


def test_what_does_not_occur_is_no_metric_and_costs_nothing() -> None:
    counted = written_by_the_state_machine(RECORDS[:1])
    assert {metric[1] for metric in counted} == {
        "RECEIVED",
        "PROCESSED",
        "HANDED_BACK",
        "SECONDS_TO_ACTION",
    }


def metric_rows(rows: list[list[Any]]) -> Iterator[list[str]]:
    """A widget's metrics in full: `.` stands for the field above it, `...` for several."""
    above: list[str] = []
    for row in rows:
        fields = [field for field in row if isinstance(field, str)]
        if not fields:
            continue  # an expression
        if fields[0] == "...":
            fields = [*above[: len(above) - len(fields) + 1], *fields[1:]]
        above = [above[at] if field == "." else field for at, field in enumerate(fields)]
        yield above


@pytest.mark.parametrize("name", ALARMS)
@pytest.mark.parametrize("bus", ["OnDefaultBus", "CreatesBus"])
def test_the_metric_of_every_alarm_exists_under_its_dimensions(name: str, bus: str) -> None:
    alarm = decided(ALARMS[name], true={bus})
    dimensions = frozenset(dimension["Name"] for dimension in alarm["Dimensions"])
    assert exists(alarm["Namespace"], alarm["MetricName"], dimensions)
    on_a_bus_of_its_own = alarm["Namespace"] == "AWS/Events" and bus == "CreatesBus"
    assert ("EventBusName" in dimensions) == on_a_bus_of_its_own


def test_every_metric_on_the_dashboard_exists() -> None:
    seen = 0
    for widget in dashboard():
        for fields in metric_rows(widget["properties"].get("metrics", [])):
            namespace, metric, *pairs = fields
            assert exists(namespace, metric, frozenset(pairs[::2])), fields
            seen += 1
    assert seen > 30


def test_every_hidden_metric_of_the_dashboard_is_counted_in_an_expression() -> None:
    for widget in dashboard():
        options = [row[-1] for row in widget["properties"].get("metrics", [])]
        expressions = " ".join(o["expression"] for o in options if "expression" in o)
        for option in options:
            if isinstance(option, dict) and option.get("visible") is False:
                assert re.search(rf"\b{option['id']}\b", expressions), option


def test_the_dashboard_prices_the_memory_that_the_functions_have() -> None:
    costs = next(w for w in dashboard() if "cost" in w["properties"]["title"])
    text = json.dumps(costs)
    for function, term in (("EnrichmentFunction", "enriching"), ("DataActionFunction", "calling")):
        gigabytes = RESOURCES[function]["Properties"]["MemorySize"] / 1024
        assert f"FILL({term}, 0) * {gigabytes:g}" in text


def test_the_dashboard_shows_every_alarm() -> None:
    widget = next(w for w in dashboard() if w["type"] == "alarm")
    assert set(widget["properties"]["alarms"]) == {f"${{{name}.Arn}}" for name in ALARMS}


@pytest.mark.parametrize("name", ALARMS)
def test_every_alarm_tells_the_topic_when_it_fires_and_when_it_is_over(name: str) -> None:
    alarm = ALARMS[name]
    assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": "AlarmTopic"}]
    # Most of these metrics are sent only when there is something to tell.
    assert alarm["TreatMissingData"] == "notBreaching"
    assert alarm["ComparisonOperator"] == "GreaterThanThreshold"


@pytest.mark.parametrize("name", ALARMS)
def test_every_alarm_says_in_its_description_where_to_read_on(name: str) -> None:
    assert ALARMS[name]["AlarmDescription"].endswith(f" See docs/runbook.md#{slug(name)}")
    assert name == "".join(part.title() for part in slug(name).split("-")) + "Alarm"


def test_every_alarm_has_its_runbook_entry_and_every_entry_its_alarm() -> None:
    alarms, _, _ = RUNBOOK.partition("\n## Doing things")
    assert sorted(re.findall(r"^### (\S+)$", alarms, re.MULTILINE)) == sorted(map(slug, ALARMS))


KEPT_SECONDS = {
    name: queue["Properties"]["MessageRetentionPeriod"]
    for name, queue in of_type("AWS::SQS::Queue").items()
}
DEAD_ENDS = sorted(set(KEPT_SECONDS) - {"EventQueue"})


def not_empty_alarms(queue: str) -> dict[int, dict[str, Any]]:
    """Those that fire while this dead end holds something, by how long it must have: in seconds."""
    return {
        alarm["Period"] * alarm["EvaluationPeriods"]: alarm
        for alarm in ALARMS.values()
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible"
        and alarm["Dimensions"][0]["Value"] == {"GetAtt": f"{queue}.QueueName"}
        and (alarm["Statistic"], alarm["Threshold"]) == ("Maximum", 0)
    }


@pytest.mark.parametrize("queue", DEAD_ENDS)
def test_a_dead_end_that_is_not_empty_raises_an_alarm_at_once_and_again_after_days(
    queue: str,
) -> None:
    assert sorted(not_empty_alarms(queue)) == [60, 7 * DAY]


@pytest.mark.parametrize("queue", DEAD_ENDS)
def test_the_second_alarm_leaves_days_before_anything_ages_out(queue: str) -> None:
    """A dead letter keeps the time it was first sent, with its time in the event queue."""
    spent_before = KEPT_SECONDS["EventQueue"] if queue == "EventDeadLetters" else 0
    assert max(not_empty_alarms(queue)) + spent_before + DAY < KEPT_SECONDS[queue]


@pytest.mark.parametrize("queue", DEAD_ENDS)
def test_looking_at_a_dead_end_does_not_put_its_second_alarm_off(queue: str) -> None:
    """What is looked at is not visible meanwhile, and SQS tells its age no more.

    "Poison-pill messages (those repeatedly received but never deleted) are excluded from this
    metric": AWSSimpleQueueService, "Available CloudWatch metrics for Amazon SQS", of the age of the
    oldest. `once parked list` is a receive, so an alarm on that age goes silent at the third look.
    """
    alarm = not_empty_alarms(queue)[7 * DAY]
    hours_off = alarm["EvaluationPeriods"] - alarm["DatapointsToAlarm"]
    assert hours_off * alarm["Period"] >= queues.LONGEST_HIDE_SECONDS


def test_only_what_waits_for_the_pipe_is_watched_by_its_age() -> None:
    """Not taken at all it is received by nobody, so its age is true."""
    by_age = {
        name
        for name, alarm in ALARMS.items()
        if alarm["MetricName"] == "ApproximateAgeOfOldestMessage"
    }
    assert by_age == {"EventsWaitingAlarm", "EventsAgeingAlarm"}
    for name in by_age:
        assert ALARMS[name]["Dimensions"][0]["Value"] == {"GetAtt": "EventQueue.QueueName"}
        assert ALARMS[name]["Threshold"] + DAY < KEPT_SECONDS["EventQueue"]


@pytest.mark.parametrize("name", ALARMS)
def test_cloudwatch_looks_back_as_far_as_an_alarm_asks(name: str) -> None:
    """AmazonCloudWatch API, PutMetricAlarm, Period: 7 days, or one for periods below an hour."""
    period = ALARMS[name]["Period"]
    assert period * ALARMS[name]["EvaluationPeriods"] <= (7 * DAY if period >= 3600 else DAY)


def test_a_message_that_is_merely_tried_again_raises_no_alarm() -> None:
    """SQS leaves a message out of the age only from its third receive on."""
    visibility = TEMPLATE["Mappings"]["Timing"]["production"]["Visibility"]
    assert ALARMS["EventsWaitingAlarm"]["Threshold"] > 3 * visibility
