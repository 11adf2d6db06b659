"""Alarms and dashboard name metrics that exist, and each alarm has its page in the runbook."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random
from typing import Any

import pytest
from once_pacing.times import LONGEST_WAIT_MS, Times

from once.operate import queues
from once.outcomes import Outcome
from once.reasons import REASONS
from proof.aws.checks.cloudwatch_alarms_watch_what_is_sent import exists
from proof.aws.metrics import MetricMath
from proof.aws.outcome_log import NOW_MS, OPEN, RECORDS, Counted, counted, log_events
from proof.definition.asl import ROOT, states
from proof.template import RESOURCES, TEMPLATE, decided, of_type
from proof.translated import Translated

ALARMS = {name: alarm["Properties"] for name, alarm in of_type("AWS::CloudWatch::Alarm").items()}
RUNBOOK = (ROOT / "docs/runbook.md").read_text()
DAY = 86400


def slug(alarm: str) -> str:
    name: str = ALARMS[alarm]["AlarmName"]["Sub"]
    return name.removeprefix("${AWS::StackName}-")


def period_of(alarm: Mapping[str, Any]) -> int:
    if "Metrics" not in alarm:
        return int(alarm["Period"])
    (period,) = {q["MetricStat"]["Period"] for q in alarm["Metrics"] if "MetricStat" in q}
    return int(period)


@cache
def queries(alarm: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Translated({}).resources[alarm]["Properties"]["Metrics"]
    return found


MONDAY_MIDNIGHT = datetime(2026, 5, 4, tzinfo=UTC)


def dashboard() -> list[dict[str, Any]]:
    text, given = RESOURCES["Dashboard"]["Properties"]["DashboardBody"]["Sub"]
    _, shown, _ = given["SilenceAlarm"]["If"]
    widgets: list[dict[str, Any]] = json.loads(text.replace("${SilenceAlarm}", shown["Sub"]))[
        "widgets"
    ]
    return widgets


STACK = frozenset({"Stack"})


def written_by_the_state_machine(
    records: list[dict[str, Any]],
    breaker: Mapping[str, Any] | None = None,
    waited_ms: int = 60_000,
) -> Counted:
    recorder = states()["RecordOutcomes"]
    return counted(log_events(recorder, records, breaker or {}, waited_ms))


OWN = set(written_by_the_state_machine(RECORDS, OPEN))


def test_the_outcomes_of_a_batch_are_counted_once_each() -> None:
    counted = written_by_the_state_machine(RECORDS, OPEN)
    sums = {metric[1]: sum(values) for metric, values in counted.items() if metric[2] == STACK}
    assert sums == {
        "PROCESSED": 2,
        "DUPLICATE": 2,
        "STALE": 1,
        "IGNORED": 1,
        "PARKED": 3,
        "NEEDS_REPAIR": 2,
        "NOTED": 1,
        "RETURNED": 2,
        "SECONDS_TO_ACTION": pytest.approx(1.8),
        "SECONDS_WAITING": 60,
        "BREAKER_SECONDS": 90,
    }
    assert {metric[2] for metric in counted} == {STACK}


def test_reasons_that_need_a_repair_are_counted_and_no_others() -> None:
    for code, one in REASONS.items():
        counted = written_by_the_state_machine([{"outcome": one.outcome, "reason": code}])
        needs_repair = counted["GenesysOnce", "NEEDS_REPAIR", STACK] == [1]
        assert needs_repair == ("needs-repair" in one.alarms), code


def returned_shares(records: list[dict[str, Any]]) -> list[float]:
    return written_by_the_state_machine(records)["GenesysOnce", "RETURNED", STACK]


def test_the_mean_of_returned_is_the_share_that_nothing_outside_delays() -> None:
    assert sorted(returned_shares(RECORDS)) == [0] * 8 + [1] * 2
    returned = {code: one for code, one in REASONS.items() if one.outcome is Outcome.RETRY}
    ours = [code for code, one in returned.items() if "mostly-returned" in one.alarms]
    outside = [code for code in returned if code not in ours]
    assert returned_shares([{"outcome": "RETRY", "reason": reason} for reason in outside]) == []
    assert returned_shares([{"outcome": "RETRY", "reason": reason} for reason in ours]) == [
        1
    ] * len(ours)
    # The limit does not hide that the claims of the few that it lets through go unanswered.
    limited = [{"outcome": "RETRY", "reason": "LIMITED"}] * 9
    assert returned_shares([*limited, {"outcome": "RETRY", "reason": "CLAIM_UNANSWERED"}]) == [1]


def test_absent_outcomes_write_no_metric() -> None:
    counted = written_by_the_state_machine([{"outcome": "PROCESSED", "reason": "OBSERVED"}])
    assert {metric[1] for metric in counted} == {"PROCESSED", "RETURNED"}


def test_every_metric_that_is_paid_for_is_on_an_alarm_or_on_the_dashboard() -> None:
    watched = {
        metric["MetricName"]
        for alarm in ALARMS.values()
        for metric in [
            alarm,
            *(q.get("MetricStat", {}).get("Metric", {}) for q in alarm.get("Metrics", [])),
        ]
        if metric.get("Namespace") == "GenesysOnce"
    }
    shown = {
        fields[1]
        for widget in dashboard()
        for fields in metric_rows(widget["properties"].get("metrics", []))
        if fields[0] == "GenesysOnce"
    }
    assert {metric[1] for metric in OWN} == watched | shown


def test_the_breaker_is_counted_from_its_first_failure_and_only_while_nobody_may_call() -> None:
    def seconds(breaker: Mapping[str, Any]) -> list[float]:
        waiting = [{"outcome": "RETRY", "reason": "BREAKER_OPEN"}]
        counted = written_by_the_state_machine(waiting, breaker)
        return counted["GenesysOnce", "BREAKER_SECONDS", STACK]

    assert seconds(OPEN) == [90]
    assert seconds({"since": NOW_MS - 90_000, "held": "repairing"}) == [90]
    assert seconds({"since": NOW_MS - 90_000, "failed": 3}) == [], "it only counts"
    assert seconds({}) == []


# A limit that a peak is over for an afternoon: 450 a minute arrive where 300 may act, for 8 hours.
ARRIVE, LIMIT, MINUTES = 450, 300, 480
BACKLOG = (ARRIVE - LIMIT) * MINUTES
LONGEST_WAIT_SECONDS = 60 * BACKLOG // LIMIT


def test_a_saturated_limit_raises_no_alarm() -> None:
    """Waiting events are in flight, as old as the backlog is long, and act that late."""
    limited = [{"outcome": "RETRY", "reason": "LIMITED"}] * 9
    late = {"outcome": "PROCESSED", "reason": "ACTED", "ageMs": 1_000 * LONGEST_WAIT_SECONDS}
    counted = written_by_the_state_machine([*limited, late], waited_ms=1_000 * LONGEST_WAIT_SECONDS)
    queue = {
        "ApproximateNumberOfMessagesVisible": 0,
        "ApproximateNumberOfMessagesNotVisible": BACKLOG,
        "ApproximateAgeOfOldestMessage": LONGEST_WAIT_SECONDS,
    }
    looked_at = 0
    for name, deployed in ALARMS.items():
        alarm = decided(deployed)
        if "Metrics" in alarm:
            continue  # below
        dimensions = frozenset(dimension["Name"] for dimension in alarm["Dimensions"])
        if alarm["Dimensions"][0]["Value"] == {"GetAtt": "EventQueue.QueueName"}:
            worst = float(queue[alarm["MetricName"]])
        elif alarm["Namespace"] == "GenesysOnce" and dimensions == STACK:
            values = counted["GenesysOnce", alarm["MetricName"], STACK]
            worst = max(values, default=0)
        else:
            continue
        looked_at += 1
        assert worst <= alarm["Threshold"], name
    assert looked_at == 6


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


def test_every_metric_on_the_dashboard_exists() -> None:
    seen = 0
    for widget in dashboard():
        for fields in metric_rows(widget["properties"].get("metrics", [])):
            namespace, metric, *pairs = fields
            assert exists(namespace, metric, frozenset(pairs[::2]), OWN), fields
            seen += 1
    assert seen > 30


def test_the_dashboard_begins_with_what_comes_acts_waits_and_ends() -> None:
    shown = dashboard()[0]["properties"]
    assert shown["view"] == "singleValue"
    rows = {tuple(fields[1::2]) for fields in metric_rows(shown["metrics"])}
    assert rows == {
        ("NumberOfMessagesSent", "${EventQueue.QueueName}"),
        ("PROCESSED", "${AWS::StackName}"),
        ("ApproximateNumberOfMessagesVisible", "${EventQueue.QueueName}"),
        ("ApproximateNumberOfMessagesNotVisible", "${EventQueue.QueueName}"),
        *(("ApproximateNumberOfMessagesVisible", f"${{{queue}.QueueName}}") for queue in DEAD_ENDS),
    }
    assert dashboard()[1]["type"] == "alarm"


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
    terms = {
        "EnrichmentFunction": "enriching",
        "DataActionFunction": "calling",
        "PacingFunction": "pacing",
    }
    assert set(terms) == set(of_type("AWS::Serverless::Function"))
    for function, term in terms.items():
        gigabytes = RESOURCES[function]["Properties"]["MemorySize"] / 1024
        assert f"FILL({term}, 0) * {gigabytes:g}" in text


def test_the_dashboard_prices_every_log_group() -> None:
    costs = next(w for w in dashboard() if "cost" in w["properties"]["title"])
    for group in of_type("AWS::Logs::LogGroup"):
        assert f'"${{{group}}}"' in json.dumps(costs)


def test_the_dashboard_shows_every_alarm() -> None:
    widget = next(w for w in dashboard() if w["type"] == "alarm")
    assert set(widget["properties"]["alarms"]) == {f"${{{name}.Arn}}" for name in ALARMS}


PAGES = {
    "rule-loses-events",
    "outcomes-unrecorded",
    "events-waiting",
    "mostly-returned",
    "breaker-open",
}


@pytest.mark.parametrize("name", ALARMS)
def test_every_alarm_notifies_its_topic_on_alarm_and_on_ok(name: str) -> None:
    alarm = ALARMS[name]
    topic = "PageTopic" if slug(name) in PAGES else "TicketTopic"
    assert alarm["AlarmActions"] == alarm["OKActions"] == [{"Ref": topic}]
    # Most of these metrics are sent only when there is something to tell. Silence is the other way.
    silence = name == "EventsSilentAlarm"
    assert alarm["TreatMissingData"] == ("breaching" if silence else "notBreaching")
    operator = "LessThanThreshold" if silence else "GreaterThanThreshold"
    assert alarm["ComparisonOperator"] == operator


@pytest.mark.parametrize("name", ALARMS)
def test_every_alarm_has_a_whole_command_and_a_whole_link(name: str) -> None:
    assert name == "".join(part.title() for part in slug(name).split("-")) + "Alarm"
    text: str = Translated({}).resources[name]["Properties"]["AlarmDescription"]
    assert len(text) <= 1024, "PutMetricAlarm takes no more"
    said = re.fullmatch(r"(.+) Run: once [a-z -]+ --stack once https://\S+#(\S+)", text)
    assert said is not None, text
    assert said[2] == slug(name)
    assert all(len(sentence.split()) < 20 for sentence in said[1].split(". ")), said[1]


def test_every_alarm_has_its_runbook_entry_and_every_entry_its_alarm() -> None:
    alarms, _, _ = RUNBOOK.partition("\n## Causes\n")
    assert sorted(re.findall(r"^### (\S+)$", alarms, re.MULTILINE)) == sorted(map(slug, ALARMS))


KEPT_SECONDS = {
    name: queue["Properties"]["MessageRetentionPeriod"]
    for name, queue in of_type("AWS::SQS::Queue").items()
}
DEAD_ENDS = sorted(set(KEPT_SECONDS) - {"EventQueue"})


def numbers_of(queue_of: Mapping[str, float], alarm: str) -> dict[str, float]:
    """Returns a value for each metric of an alarm on queues, by the queue that it is about."""
    return {
        query["Id"]: queue_of.get(
            query["MetricStat"]["Metric"]["Dimensions"][0]["Value"]["GetAtt"].split(".")[0], 0
        )
        for query in ALARMS[alarm]["Metrics"]
        if "MetricStat" in query
    }


@pytest.mark.parametrize("queue", ["EventDeadLetters", "RuleDeadLetters"])
def test_a_single_dead_letter_raises_an_alarm(queue: str) -> None:
    alarm = "DeadLettersAlarm"
    for messages in (0, 1):
        said = MetricMath(MONDAY_MIDNIGHT, numbers_of({queue: messages}, alarm))
        assert (said.value_of(queries(alarm)) > ALARMS[alarm]["Threshold"]) == bool(messages)


def test_a_parked_event_raises_an_alarm_and_a_canary_that_is_gone_does_not() -> None:
    """`once check` drops its rejected canary within a minute; SQS sends a value each minute."""
    alarm = ALARMS["EventsParkedAlarm"]
    assert (alarm["Statistic"], alarm["Threshold"]) == ("Minimum", 0)
    assert alarm["Period"] >= 5 * 60


@pytest.mark.parametrize("queue", DEAD_ENDS)
def test_a_dead_end_that_ages_raises_an_alarm_days_before_anything_is_deleted(queue: str) -> None:
    """A dead letter keeps the time it was first sent, with its time in the event queue.

    "The expiration of a message is always based on its original enqueue timestamp":
    AWSSimpleQueueService, "Using dead-letter queues". What crashes each of its batches becomes one,
    and after a crash the queue's own visibility passes.
    """
    alarm = ALARMS["MessagesAgeingAlarm"]
    said = MetricMath(MONDAY_MIDNIGHT, numbers_of({queue: 1}, "MessagesAgeingAlarm"))
    assert said.value_of(queries("MessagesAgeingAlarm")) > alarm["Threshold"]
    spent_before = 0
    if queue == "EventDeadLetters":
        visibility = TEMPLATE["Mappings"]["Durations"]["production"]["Visibility"]
        policy = RESOURCES["EventQueue"]["Properties"]["RedrivePolicy"]
        spent_before = policy["maxReceiveCount"] * visibility
    looks_back = period_of(alarm) * alarm["EvaluationPeriods"]
    assert KEPT_SECONDS[queue] - looks_back - spent_before > 5 * DAY


def test_looking_at_a_dead_end_does_not_silence_the_alarm_on_its_age() -> None:
    """Messages that are looked at are not visible meanwhile, and SQS tells their age no more.

    "Poison-pill messages (those repeatedly received but never deleted) are excluded from this
    metric": AWSSimpleQueueService, "Available CloudWatch metrics for Amazon SQS", of the age of the
    oldest. `once parked list` is a receive, so an alarm on that age goes silent at the third look.
    """
    alarm = ALARMS["MessagesAgeingAlarm"]
    hours_off = alarm["EvaluationPeriods"] - alarm["DatapointsToAlarm"]
    assert hours_off * period_of(alarm) >= queues.LONGEST_HIDE_SECONDS
    assert "ApproximateAgeOfOldestMessage" not in json.dumps([ALARMS, dashboard()])


def is_waiting(visible: float, received: float) -> bool:
    numbers = {"visible": visible, "received": received}
    value = MetricMath(MONDAY_MIDNIGHT, numbers).value_of(queries("EventsWaitingAlarm"))
    return value > float(ALARMS["EventsWaitingAlarm"]["Threshold"])


@pytest.mark.parametrize("per_second", [0.01, 1, 20, 50, 100, 1_000])
def test_a_healthy_stack_raises_no_alarm_on_waiting_events(per_second: float) -> None:
    """Pollers take a Poisson stream ten times a second, as much as they can carry.

    SQS sends how many are visible once a minute; the alarm takes the least of five minutes.
    """
    random = Random(1)  # noqa: S311
    carried = 10 * math.ceil(per_second / 50)
    visible, arrives, is_never_empty = 0, random.expovariate(per_second), False
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
        is_never_empty |= min(seen) > 0
        assert not is_waiting(min(seen), received)
    assert is_never_empty == (per_second >= 20), "the visible events alone tell nothing"


@pytest.mark.parametrize(("visible", "received"), [(1, 0), (40_000, 30_000)])
def test_a_pipe_that_is_stopped_or_too_slow_raises_an_alarm(visible: int, received: int) -> None:
    assert is_waiting(visible, received)


def test_waiting_too_long_raises_an_alarm_days_before_the_event_is_parked() -> None:
    threshold = ALARMS["EventsWaitingLongAlarm"]["Threshold"]
    assert 1_000 * (threshold + 7 * DAY) < LONGEST_WAIT_MS


@pytest.mark.parametrize("name", ["EventsWaitingLongAlarm", "BreakerOpenAlarm", "NeedsRepairAlarm"])
def test_an_alarm_on_what_only_deliveries_tell_sees_one_in_each_of_its_periods(name: str) -> None:
    """Between two deliveries of an event pass 1.5 times this at most, but for the limit's, and once
    for an event that arrives in an outage of hours, when others are looked at."""
    assert ALARMS[name]["Period"] >= 1.3 * 1.5 * Times.of().longest_try_ms / 1_000


@pytest.mark.parametrize("name", ALARMS)
def test_cloudwatch_looks_back_as_far_as_an_alarm_asks(name: str) -> None:
    """AmazonCloudWatch API, PutMetricAlarm, Period: 7 days, or one for periods below an hour."""
    period, periods = period_of(ALARMS[name]), ALARMS[name]["EvaluationPeriods"]
    if isinstance(periods, dict):
        periods = TEMPLATE["Parameters"][periods["Ref"]]["MaxValue"]
    assert period * periods <= (7 * DAY if period >= 3600 else DAY)


# Silence, and what happens unrecorded: expressions of CloudWatch, evaluated for one minute each.


WEEK = 7 * 24 * 60
SLACK = 15  # minutes before a closing in which the silence of a whole opening is noticed

OPENINGS: dict[str, set[int]] = {  # in hours of the week
    "1-7/0-24": set(range(7 * 24)),
    "1-5/0-24": set(range(5 * 24)),
    "1-5/7-19": {24 * day + hour for day in range(5) for hour in range(7, 19)},
    "3-3/9-10": {2 * 24 + 9},
    # From Monday 14:00 to Saturday 2:00, on the west coast of America.
    "1-5/14-2": {24 * day + 14 + hour for day in range(5) for hour in range(12)},
    # Sunday to Thursday; Sunday's last hour is Monday's first.
    "7-4/18-1": {(24 * (day - 1) + 18 + hour) % 168 for day in range(5) for hour in range(7)},
    "1-7/5-5": set(range(7 * 24)),
}


def too_little(opening_hours: str, quiet_minutes: int) -> list[list[bool]]:
    """Returns for each minute of a week if zero messages are too few, and if one is."""
    parameters = {"OpeningHours": opening_hours, "QuietMinutes": str(quiet_minutes)}
    alarm = Translated(parameters).resources["EventsSilentAlarm"]["Properties"]
    assert alarm["EvaluationPeriods"] == quiet_minutes
    return below(alarm["Threshold"], json.dumps(alarm["Metrics"]))


@cache
def below(threshold: float, metrics: str) -> list[list[bool]]:
    queries = json.loads(metrics)
    moments = [MONDAY_MIDNIGHT + timedelta(minutes=minute) for minute in range(WEEK)]
    return [
        [MetricMath(at, {"sent": n}).value_of(queries) < threshold for at in moments]
        for n in (0, 1)
    ]


@pytest.mark.parametrize("opening_hours", OPENINGS)
@pytest.mark.parametrize(
    "quiet_minutes",
    [1, 240, 800, 1440, *(pytest.param(n, marks=pytest.mark.thorough) for n in (30, 405, 1439))],
)
def test_silence_raises_the_alarm_after_quiet_minutes_of_an_opening_and_never_otherwise(
    opening_hours: str, quiet_minutes: int
) -> None:
    """An opening that is shorter than QuietMinutes was never silent for long enough."""
    hours = OPENINGS[opening_hours]
    silent, busy = too_little(opening_hours, quiet_minutes)
    first, last = map(int, opening_hours.partition("/")[0].split("-"))
    day_minutes = len(hours) * 60 // ((last - first) % 7 + 1)
    enough = min(quiet_minutes, day_minutes - SLACK)
    latest = quiet_minutes if day_minutes == 24 * 60 else enough
    random = Random(1)  # noqa: S311
    events: list[Callable[[int], bool]] = [
        lambda _: False,
        lambda minute: minute // 60 % (7 * 24) not in hours,
        lambda minute: minute % (24 * 60) == 3 * 60,
        lambda minute: minute % max(2, enough) == 0,
        lambda minute: minute % (day_minutes // 2) == 0,
        lambda _: random.random() < 1 / (2 * enough),
    ]
    for comes in events:
        quiet, of_all, of_opening, fired = 0, 0, 0, 0
        for minute in range(-WEEK, 2 * WEEK):
            came = comes(minute)
            quiet = quiet + 1 if (busy if came else silent)[minute % WEEK] else 0
            is_open = minute // 60 % (7 * 24) in hours
            of_opening = of_opening + 1 if is_open and not came else 0
            of_all = 0 if is_open and came else of_all + is_open
            if minute >= 0:
                fired += quiet >= quiet_minutes
                assert quiet < quiet_minutes or of_all >= enough, minute
                assert quiet >= quiet_minutes or of_opening < latest, minute
        assert fired or comes not in events[:2], "nothing came while it was open"


def test_silence_lasts_as_long_as_quiet_minutes_say_and_is_not_watched_at_0() -> None:
    alarm = Translated({"QuietMinutes": "90"}).resources["EventsSilentAlarm"]["Properties"]
    assert alarm["EvaluationPeriods"] * period_of(alarm) == 90 * 60
    assert "DatapointsToAlarm" not in alarm, "each of the minutes"
    off = Translated({"QuietMinutes": "0"})
    assert "EventsSilentAlarm" not in off.resources
    body = off.resources["Dashboard"]["Properties"]["DashboardBody"]["Fn::Sub"][0]
    assert "EventsSilentAlarm" not in body
    assert json.loads(body)["widgets"]


@pytest.mark.parametrize(
    ("numbers", "fires"),
    [
        ({"received": 40, "recorded": 40}, False),
        ({"received": 0, "recorded": 0}, False),
        ({"received": 1, "recorded": 1}, False),
        # The log fails, batches crash, or the enrichment returns nothing and the pipe deletes.
        ({"received": 40, "recorded": 0}, True),
        ({"received": 1, "recorded": 0}, True),
    ],
)
def test_unrecorded_outcomes_raise_an_alarm(numbers: dict[str, float], fires: bool) -> None:
    value = MetricMath(MONDAY_MIDNIGHT, numbers).value_of(queries("OutcomesUnrecordedAlarm"))
    assert (value > ALARMS["OutcomesUnrecordedAlarm"]["Threshold"]) == fires
