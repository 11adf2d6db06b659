"""Each alarm fires on the data that it is for, and on no healthy data.

CloudWatch's rules are those of AmazonCloudWatch, "Configuring how CloudWatch alarms treat missing
data": the newest periods, of which so many must be breaching.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest
from once_data_action.breaker import Open, Probe, Row, Times, judge

from once.model.reasons import REASONS
from proof.definition.asl import ROOT, SUBSTITUTIONS, states
from proof.template import RESOURCES, TEMPLATE, of_type
from proof.template.metrics import (
    DOCUMENTED,
    embedded_metrics,
    every_line,
    metric_math,
    metrics_of,
    outcome_line,
    written_metrics,
)
from proof.template.translated import Translated

ALARMS = {
    name: alarm["Properties"]
    for name, alarm in Translated({}).resources.items()
    if alarm["Type"] == "AWS::CloudWatch::Alarm"
}
RECORDER = states()["RecordOutcome"]
WRITTEN = written_metrics(RECORDER)
STACK = frozenset({"Stack"})
DAY = 86_400
PAGES = {"rule-loses-events", "outcomes-unrecorded", "events-waiting", "destination-down"}


def slug(alarm: str) -> str:
    name: str = of_type("AWS::CloudWatch::Alarm")[alarm]["Properties"]["AlarmName"]["Fn::Sub"]
    return name.removeprefix("${AWS::StackName}-")


def seconds_of(alarm: str) -> int:
    queries = ALARMS[alarm].get("Metrics", [])
    periods = {query["MetricStat"]["Period"] for query in queries if "MetricStat" in query}
    (seconds,) = periods or {ALARMS[alarm]["Period"]}
    return int(seconds)


def breaches(alarm: str, value: float) -> bool:
    threshold = float(ALARMS[alarm]["Threshold"])
    less = ALARMS[alarm]["ComparisonOperator"] == "LessThanThreshold"
    return value < threshold if less else value > threshold


COMBINE: Mapping[str, Callable[[list[float]], float]] = {"Sum": sum, "Maximum": max, "Minimum": min}


def fires(alarm: str, values: Mapping[int, float], at: int) -> bool:
    """Returns true if the alarm is in ALARM at a second, for values by the second of each."""
    body, period = ALARMS[alarm], seconds_of(alarm)
    periods = int(body["EvaluationPeriods"])
    first = at // period - periods
    seen: dict[int, list[float]] = {}
    for second, value in values.items():
        seen.setdefault(second // period, []).append(value)
    breaching = 0
    for number in range(first, first + periods):
        if number in seen:
            breaching += breaches(alarm, COMBINE[body["Statistic"]](seen[number]))
        else:
            breaching += body["TreatMissingData"] == "breaching"
    return breaching >= int(body.get("DatapointsToAlarm", periods))


def recorded(metric: str, verdict: Mapping[str, Any], **event: Any) -> float | None:
    """Returns the value of a metric that the machine writes for an event."""
    line = outcome_line(RECORDER, verdict, **event)["Message"]
    return embedded_metrics(line).get(("GenesysOnce", metric, STACK))


# What all alarms have.


@pytest.mark.parametrize("name", ALARMS)
def test_alarm_notifies_its_topic_and_names_a_command_and_its_runbook_entry(name: str) -> None:
    alarm, entry = ALARMS[name], slug(name)
    topic = "PageTopic" if entry in PAGES else "TicketTopic"
    assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
    is_silence = name == "EventsSilentAlarm"
    assert alarm["TreatMissingData"] == ("breaching" if is_silence else "notBreaching")
    text: str = alarm["AlarmDescription"]
    assert len(text) <= 1024, "PutMetricAlarm takes no more"
    named = re.fullmatch(r".+ Run: once ([a-z ]+) --stack once https://\S+#(\S+)", text)
    assert named is not None, text
    assert named[1] in ("status", "check", "parked list")
    assert named[2] == entry
    assert re.search(f"^###? {entry}$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE)


# Metrics of our own, from the record that the machine writes.


def test_the_machine_writes_each_metric_that_is_watched_and_no_other_but_outcomes() -> None:
    """Each metric is $0.30 a month for the hours in which it is sent."""
    watched = {
        metric["MetricName"]
        for alarm in ALARMS.values()
        for metric in metrics_of(alarm)
        if metric["Namespace"] == "GenesysOnce"
    }
    names = {name for _, name, _ in WRITTEN}
    assert watched <= names
    assert names - watched <= {"PROCESSED", "DUPLICATE", "STALE", "IGNORED", "PARKED", "RETRY"}
    assert {dimensions for _, _, dimensions in WRITTEN} == {STACK}


def test_an_event_with_a_note_raises_genesys_changed() -> None:
    value = recorded("NOTED", {"outcome": "PROCESSED", "reason": "ACTED"}, note="NO_STATE")
    assert value == 1
    assert fires("GenesysChangedAlarm", {100: value}, at=3_600)
    assert recorded("NOTED", {"outcome": "PROCESSED", "reason": "ACTED"}) is None


@pytest.mark.parametrize("code", REASONS)
def test_a_reason_counts_towards_the_alarms_that_its_declaration_names(code: str) -> None:
    reason = REASONS[code]
    verdict = {"outcome": str(reason.outcome or "PROCESSED"), "reason": code}
    repairs = recorded("NEEDS_REPAIR", verdict, waitsSinceMs=0, lastReason=code)
    assert (repairs == 1) == ("needs-repair" in reason.alarms)
    assert (recorded("SECONDS_WAITING", verdict) is not None) == ("waiting-long" in reason.alarms)
    assert set(reason.alarms) <= {slug(name) for name in ALARMS}


@pytest.mark.parametrize("reason", ["SETUP_FAULT", "FUNCTION_FAILED"])
def test_an_event_that_needs_a_repair_raises_needs_repair_until_it_is_repaired(reason: str) -> None:
    value = recorded("NEEDS_REPAIR", {"outcome": "RETRY", "reason": reason})
    assert value == 1
    looks = {minute * 60: value for minute in range(0, 120, 15)}
    assert all(fires("NeedsRepairAlarm", looks, at) for at in range(300, 7_200, 300))
    assert not fires("NeedsRepairAlarm", looks, at=7_200 + 1_800)


@pytest.mark.parametrize("reason", ["THROTTLED", "TABLE_UNANSWERED", "PARKING_FAILED"])
def test_refusals_of_aws_need_a_repair_after_15_minutes(reason: str) -> None:
    waiting = {"outcome": "RETRY", "reason": reason}
    now_ms = outcome_line(RECORDER, waiting)["Timestamp"]
    for minutes, before, expected in ((14, reason, None), (16, reason, 1), (16, "LIMITED", None)):
        event = {"waitsSinceMs": now_ms - minutes * 60_000, "lastReason": before}
        assert recorded("NEEDS_REPAIR", waiting, **event) == expected


def outage(minutes: int, looks: range) -> dict[int, float]:
    """Returns BREAKER_SECONDS of the events that are looked at in an outage of so many minutes."""
    return {60 * minute: 60 * minute for minute in looks if minute < minutes}


@pytest.mark.parametrize(
    ("looks", "first_minute"),
    [
        pytest.param(range(0, 600, 1), 65, id="an event a minute"),
        pytest.param(range(5, 600, 15), 75, id="one waiting event, every 15 minutes"),
    ],
)
def test_a_destination_that_is_down_raises_the_alarm_within_minutes_of_an_hour(
    looks: range, first_minute: int
) -> None:
    waiting = {"outcome": "RETRY", "reason": "BREAKER_OPEN", "breakerSeconds": 240}
    assert recorded("BREAKER_SECONDS", waiting) == 240
    values = outage(600, looks)
    assert not fires("DestinationDownAlarm", values, at=3_600)
    for minute in range(first_minute, 600, 5):
        assert fires("DestinationDownAlarm", values, at=60 * minute), minute
    assert not fires("DestinationDownAlarm", values, at=60 * (600 + 65))


def test_three_events_an_hour_are_enough_to_raise_the_alarm() -> None:
    """The breaker judges each of them, and no waiting event is looked at between."""
    row, values = Row(), {}
    for minute in range(10, 600, 20):
        now_ms = 60_000 * minute
        decision = judge(row, now_ms, Times.of())
        if isinstance(decision, Open | Probe):
            row = replace(row, open_until_ms=decision.until_ms)
        else:
            row = replace(row, since_ms=row.since_ms or now_ms, failed=row.failed + 1)
        if row.opened and row.since_ms is not None:
            values[60 * minute] = (now_ms - row.since_ms) // 1_000
    assert all(fires("DestinationDownAlarm", values, 60 * minute) for minute in range(100, 600, 5))


def test_an_outage_of_less_than_an_hour_raises_no_alarm() -> None:
    values = outage(60, range(0, 60, 1))
    assert not any(fires("DestinationDownAlarm", values, at) for at in range(0, 9_000, 300))


def test_an_event_that_waits_for_over_a_day_raises_waiting_long_days_before_it_is_parked() -> None:
    waiting = {"outcome": "RETRY", "reason": "CALL_FAILED"}
    now_ms = outcome_line(RECORDER, waiting)["Timestamp"]
    for hours, expected in ((23, False), (25, True)):
        since = now_ms - hours * 3_600_000
        value = recorded("SECONDS_WAITING", waiting, waitsSinceMs=since)
        assert value == hours * 3_600
        assert fires("WaitingLongAlarm", {60: value}, at=3_600) == expected
    assert ALARMS["WaitingLongAlarm"]["Threshold"] + 7 * DAY < int(SUBSTITUTIONS["WaitDays"]) * DAY


def test_a_limit_that_a_peak_is_over_for_an_afternoon_raises_no_alarm() -> None:
    """450 events a minute arrive for 8 hours, 300 may act, the last acts four hours late."""
    late = 60 * (450 - 300) * 8 * 60 // 300
    limited = {"outcome": "RETRY", "reason": "LIMITED"}
    now_ms = outcome_line(RECORDER, limited)["Timestamp"]
    value = recorded("SECONDS_WAITING", limited, waitsSinceMs=now_ms - 1_000 * late)
    assert value == late
    assert not breaches("WaitingLongAlarm", value)
    assert not breaches("ActionsLateAlarm", late)
    assert recorded("BREAKER_SECONDS", limited) is None


# Metrics of AWS's.


def test_an_event_that_the_rule_cannot_deliver_anywhere_raises_rule_loses_events() -> None:
    assert fires("RuleLosesEventsAlarm", {30: 1}, at=60)
    assert not fires("RuleLosesEventsAlarm", {}, at=60)


def is_waiting(visible: float, received: float) -> bool:
    queries = ALARMS["EventsWaitingAlarm"]["Metrics"]
    return bool(metric_math(queries, {"visible": visible, "received": received}))


@pytest.mark.parametrize(("visible", "received"), [(1, 0), (40_000, 30_000)])
def test_a_pipe_that_is_stopped_or_too_slow_raises_events_waiting(
    visible: int, received: int
) -> None:
    assert is_waiting(visible, received)
    assert ALARMS["EventsWaitingAlarm"]["EvaluationPeriods"] * 300 == 30 * 60


@pytest.mark.parametrize("per_second", [0.01, 1, 50, 200])
def test_a_healthy_stack_raises_no_alarm_on_waiting_events(per_second: float) -> None:
    """Pollers take a Poisson stream ten times a second, as much as they can carry.

    SQS sends how many are visible once a minute; the alarm takes the least of five minutes.
    """
    random = Random(1)  # noqa: S311
    carried = 10 * math.ceil(per_second / 50)
    visible, arrives = 0, random.expovariate(per_second)
    for _ in range(6):
        received, seen = 0, list[int]()
        for tenth in range(3_000):
            while arrives < 0.1:
                arrives += random.expovariate(per_second)
                visible += 1
            arrives -= 0.1
            if tenth % 600 == 0:
                seen.append(visible)
            taken = min(visible, carried)
            visible, received = visible - taken, received + taken
        assert not is_waiting(min(seen), received)


@pytest.mark.parametrize(
    ("numbers", "unrecorded"),
    [
        ({"arrived": 40, "received": 40, "recorded": 40}, False),
        ({}, False),
        ({"arrived": 1, "received": 1, "recorded": 1}, False),
        # The log fails, executions crash, or the enrichment returns nothing and the pipe deletes.
        ({"arrived": 40, "received": 40}, True),
        ({"arrived": 1, "received": 1}, True),
        # In an outage events are put back for the same reason as before, without a record.
        ({"received": 12_000}, False),
        ({"arrived": 40, "received": 12_000, "recorded": 40}, False),
        # The pipe is stopped: events-waiting tells.
        ({"arrived": 40}, False),
    ],
)
def test_outcomes_that_are_not_recorded_raise_an_alarm(
    numbers: dict[str, float], unrecorded: bool
) -> None:
    queries = ALARMS["OutcomesUnrecordedAlarm"]["Metrics"]
    assert breaches("OutcomesUnrecordedAlarm", metric_math(queries, numbers)) == unrecorded


def test_a_parked_event_raises_events_parked_and_a_canary_that_is_gone_does_not() -> None:
    """`once check` drops its rejected canary within a minute; SQS sends a value each minute."""
    assert fires("EventsParkedAlarm", dict.fromkeys(range(0, 300, 60), 1), at=300)
    assert not fires("EventsParkedAlarm", {0: 0, 60: 1, 120: 0, 180: 0, 240: 0}, at=300)


def test_parked_events_that_age_raise_an_alarm_days_before_sqs_deletes_them() -> None:
    """A message that crashes keeps the time at which it was first sent: AWSSimpleQueueService,
    "Using dead-letter queues". And `once parked list` hides what it lists, for 12 hours at most."""
    kept = RESOURCES["DeadLetters"]["Properties"]["MessageRetentionPeriod"]
    seconds = TEMPLATE["Mappings"]["Durations"]["Seconds"]["Visibility"]
    crashing = RESOURCES["EventQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"] * seconds
    looked_at = {hour * 3_600: float(hour not in range(20, 32)) for hour in range(72)}
    assert fires("ParkedAgeingAlarm", looked_at, at=3 * DAY)
    assert kept - 3 * DAY - crashing > 5 * DAY
    assert not fires("ParkedAgeingAlarm", {60: 1}, at=3 * DAY)


def test_silence_is_that_of_the_rule_since_put_back_events_are_sent_to_the_queue_too() -> None:
    last_event = {600: 1.0}
    assert not fires("EventsSilentAlarm", last_event, at=600 + DAY)
    assert fires("EventsSilentAlarm", last_event, at=660 + DAY)
    assert ALARMS["EventsSilentAlarm"]["Namespace"] == "AWS/Events"


def test_no_alarm_and_no_widget_rests_on_the_age_of_the_oldest_message() -> None:
    """A put-back is a new message, and SQS leaves out of that age what was received three times."""
    assert "ApproximateAgeOfOldestMessage" not in (ROOT / "template.yaml").read_text()


# The dashboard.


@cache
def dashboard() -> list[dict[str, Any]]:
    parameters = {"EventBusName": "contact-centre"}
    body = Translated(parameters).resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"]
    text = body if isinstance(body, str) else body[0]
    # What only AWS knows is left to it, so this piece is not filled in here.
    widgets: list[dict[str, Any]] = json.loads(
        text.replace("${SilenceAlarm}", ', "${EventsSilentAlarm.Arn}"')
    )["widgets"]
    return widgets


def metric_rows(rows: list[list[Any]]) -> Iterator[list[str]]:
    """Yields a widget's metrics in full: `.` stands for the field above it, `...` for several."""
    above: list[str] = []
    for row in rows:
        fields = [field for field in row if isinstance(field, str)]
        if not fields:
            continue  # an expression
        if fields[0] == "...":
            fields = [*above[: len(above) - len(fields) + 1], *fields[1:]]
        above = [above[at] if field == "." else field for at, field in enumerate(fields)]
        yield above


def test_each_metric_on_the_dashboard_exists() -> None:
    seen = 0
    for widget in dashboard():
        for namespace, metric, *pairs in metric_rows(widget["properties"].get("metrics", [])):
            dimensions = frozenset(pairs[::2])
            documented = DOCUMENTED.get(namespace, {}).get(metric, set())
            assert (namespace, metric, dimensions) in WRITTEN or dimensions in documented, metric
            seen += 1
    assert seen > 12


def test_table_of_the_dashboard_asks_for_fields_that_the_record_has() -> None:
    written = (json.loads(line["Message"]) for line in every_line(RECORDER))
    fields = {"@timestamp"}.union(*written)
    queries = [w["properties"]["query"] for w in dashboard() if w["type"] == "log"]
    asked = re.findall(r"(?:ispresent|latest)\(([@\w]+)\)", " ".join(queries))
    assert asked
    assert set(asked) <= fields


def test_the_dashboard_shows_each_alarm() -> None:
    (widget,) = [w for w in dashboard() if w["type"] == "alarm"]
    assert set(widget["properties"]["alarms"]) == {f"${{{name}.Arn}}" for name in ALARMS}
