"""Does each alarm reach the topic when it fires, and go back?"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed

Json = Any
_POLL_SECONDS = 1.0
_LOOKS = 30
_ALWAYS_SENT = ("AWS/SQS", "AWS/Lambda")


def questions(stack: Deployed) -> Iterator[Question]:
    for alarm in _alarms(stack):
        yield Question(
            name=f"deployed: alarm {_short(stack, alarm)}",
            guards="each alarm tells the topic when it fires, and goes back",
            ask=partial(_alarm, stack, alarm["AlarmName"]),
            expected={"state": "ALARM", "topic": "notified", "then": "OK"},
        )

    for alarm in _alarms(stack):
        if "Metrics" in alarm:
            yield Question(
                name=f"deployed: expression of {_short(stack, alarm)}",
                guards="CloudWatch reads the expression of an alarm as it is meant",
                ask=partial(_computed, stack, alarm),
                expected={"status": ["Complete"]},
            )
    yield Question(
        name="deployed: the metrics of the alarms",
        guards="each alarm on a queue or a function watches a metric that is sent",
        ask=partial(_watched, stack),
        expected={"not listed": []},
    )


def _short(stack: Deployed, alarm: Json) -> str:
    return str(alarm["AlarmName"]).removeprefix(stack.name)[1:]


def _alarms(stack: Deployed) -> list[Json]:
    pages = stack.client("cloudwatch").get_paginator("describe_alarms")
    return [
        alarm
        for page in pages.paginate(AlarmNamePrefix=f"{stack.name}-", AlarmTypes=["MetricAlarm"])
        for alarm in page["MetricAlarms"]
    ]


def _alarm(stack: Deployed, name: str, site: Site, broken: bool) -> Json:
    """Broken, there is no such alarm."""
    cloudwatch = stack.client("cloudwatch")
    asked = f"{name}-nobody" if broken else name
    reason = "make prove checks whether it fires"
    cloudwatch.set_alarm_state(AlarmName=asked, StateValue="ALARM", StateReason=reason)
    state = _state_of(cloudwatch, asked)
    heard = _what_the_topic_heard(cloudwatch, asked, site)
    cloudwatch.set_alarm_state(AlarmName=asked, StateValue="OK", StateReason=reason)
    if not heard:
        raise UnansweredError("its history does not say whether the topic was notified")
    return {"state": state, "topic": heard, "then": _state_of(cloudwatch, asked)}


def _computed(stack: Deployed, alarm: Json, _: Site, broken: bool) -> Json:
    """Broken, the expression has a parenthesis too many."""
    now = time.time()
    more = ")" if broken else ""
    queries = [
        one | {"Expression": one["Expression"] + more} if "Expression" in one else one
        for one in alarm["Metrics"]
    ]
    answer = stack.client("cloudwatch").get_metric_data(
        MetricDataQueries=queries, StartTime=now - 3_600, EndTime=now
    )
    return {"status": sorted({one["StatusCode"] for one in answer["MetricDataResults"]})}


def _watched(stack: Deployed, site: Site, broken: bool) -> Json:
    """Looks each metric up. Broken, its name has other capitals. Those of a trouble are listed only
    after it happened, so a queue's and a function's alone must be there."""
    if site.place.is_local:
        raise UnansweredError("the emulator lists no metrics of queues and functions")
    cloudwatch = stack.client("cloudwatch")
    missing = []
    for alarm in _alarms(stack):
        queries = [one for one in alarm.get("Metrics", ()) if "MetricStat" in one]
        for metric in [one["MetricStat"]["Metric"] for one in queries] or [alarm]:
            name = metric["MetricName"].lower() if broken else metric["MetricName"]
            if metric["Namespace"] in _ALWAYS_SENT:
                found = cloudwatch.list_metrics(
                    Namespace=metric["Namespace"],
                    MetricName=name,
                    Dimensions=metric["Dimensions"],
                )["Metrics"]
                missing += [] if found else [f"{_short(stack, alarm)}: {name}"]
    return {"not listed": missing}


def _state_of(cloudwatch: Any, name: str) -> str:
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"] or [{}]
    return str(alarm.get("StateValue", "not there"))


def _what_the_topic_heard(cloudwatch: Any, name: str, site: Site) -> str:
    """Returns what the history says of the alarm's action, or nothing if there is no history."""
    for _ in range(_LOOKS):
        items = cloudwatch.describe_alarm_history(AlarmName=name, HistoryItemType="Action")
        for item in items["AlarmHistoryItems"]:
            summary = str(item["HistorySummary"])
            return "notified" if summary.startswith("Successfully") else summary
        site.wait(_POLL_SECONDS)
    return ""
