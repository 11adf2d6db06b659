"""The questions about alarms, put to a CloudWatch that keeps their history."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from proof.prove import alarms
from proof.prove.ledger import Ledger
from proof.prove.question import Verdict, put
from proof.prove.site import Site


class CloudWatch:
    is_local, region = True, "eu-central-1"

    def __init__(self, history: str) -> None:
        self.name = "once-prove-test"
        self.states = {f"{self.name}-dead-letters": "OK"}
        self._history = history

    def client(self, _: str) -> Any:
        return self

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> Any:
        return [{"MetricAlarms": [{"AlarmName": name} for name in self.states]}]

    def set_alarm_state(self, **asked: str) -> None:
        if asked["AlarmName"] not in self.states:
            raise ClientError({"Error": {"Code": "ResourceNotFound"}}, "SetAlarmState")
        self.states[asked["AlarmName"]] = asked["StateValue"]

    def describe_alarms(self, **asked: Any) -> Any:
        (name,) = asked["AlarmNames"]
        return {"MetricAlarms": [{"StateValue": self.states[name]}]}

    def describe_alarm_history(self, **_: str) -> Any:
        items = [{"HistorySummary": self._history}] if self._history else []
        return {"AlarmHistoryItems": items}


@pytest.mark.parametrize(
    ("history", "verdict"),
    [
        ("Successfully executed action arn:aws:sns:…", Verdict.CONFIRMED),
        ("Failed to execute action arn:aws:sns:…: not authorized", Verdict.DIFFERS),
        ("", Verdict.NOT_ANSWERED),
    ],
)
def test_an_alarm_must_reach_the_topic(tmp_path: Path, history: str, verdict: Verdict) -> None:
    cloudwatch: Any = CloudWatch(history)
    site = Site(cloudwatch, Ledger.open("prove-test", {}, tmp_path))
    question, *_ = alarms.questions(cloudwatch)
    answer = put(question, site)
    assert question.name == "deployed: alarm dead-letters"
    assert answer.verdict is verdict, answer.said
    assert set(cloudwatch.states.values()) == {"OK"}
