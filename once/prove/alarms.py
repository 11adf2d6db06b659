"""Does each alarm reach the topic when it fires, and go back?"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from once.prove.question import Question, UnansweredError
from once.prove.site import Site
from once.prove.throwaway import Deployed

Json = Any
_POLL_SECONDS = 1.0
_LOOKS = 30


def questions(stack: Deployed) -> Iterator[Question]:
    for name in _alarms(stack):
        yield Question(
            name=f"deployed: alarm {name.removeprefix(stack.name)[1:]}",
            guards="each alarm tells the topic when it fires, and goes back",
            ask=partial(_alarm, stack, name),
            expected={"state": "ALARM", "topic": "notified", "then": "OK"},
        )


def _alarms(stack: Deployed) -> list[str]:
    pages = stack.client("cloudwatch").get_paginator("describe_alarms")
    return [
        alarm["AlarmName"]
        for page in pages.paginate(AlarmNamePrefix=f"{stack.name}-", AlarmTypes=["MetricAlarm"])
        for alarm in page["MetricAlarms"]
    ]


def _alarm(stack: Deployed, name: str, site: Site, broken: bool) -> Json:
    """Broken, there is no such alarm."""
    cloudwatch = stack.client("cloudwatch")
    asked = f"{name}-nobody" if broken else name
    reason = "once prove looks whether it fires"
    cloudwatch.set_alarm_state(AlarmName=asked, StateValue="ALARM", StateReason=reason)
    state = _state_of(cloudwatch, asked)
    heard = _what_the_topic_heard(cloudwatch, asked, site)
    cloudwatch.set_alarm_state(AlarmName=asked, StateValue="OK", StateReason=reason)
    if not heard:
        raise UnansweredError("its history does not say whether the topic was notified")
    return {"state": state, "topic": heard, "then": _state_of(cloudwatch, asked)}


def _state_of(cloudwatch: Any, name: str) -> str:
    (alarm,) = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"] or [{}]
    return str(alarm.get("StateValue", "not there"))


def _what_the_topic_heard(cloudwatch: Any, name: str, site: Site) -> str:
    """What became of its action, by its history; nothing where that is not kept."""
    for _ in range(_LOOKS):
        items = cloudwatch.describe_alarm_history(AlarmName=name, HistoryItemType="Action")
        for item in items["AlarmHistoryItems"]:
            summary = str(item["HistorySummary"])
            return "notified" if summary.startswith("Successfully") else summary
        site.wait(_POLL_SECONDS)
    return ""
