"""An alarm's periods together are a day at most, and a week where each has an hour or more; a
period is 10, 20, 30 or a multiple of 60 seconds.

PutMetricAlarm refuses the rest when the stack is nearly there. Some of our alarms look back for
days.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html",
        "Period: 10, 20, 30 or a multiple of 60; Period times EvaluationPeriods at most 604,800, "
        "and 86,400 where the period is below 3,600.",
    ),
)
_DAY, _HOUR = 86_400, 3_600


def findings(deployed: Deployed) -> Iterator[str]:
    for name, alarm in deployed.of_type("AWS::CloudWatch::Alarm").items():
        periods = [alarm["Period"]] if "Period" in alarm else []
        periods += [
            part["MetricStat"]["Period"]
            for part in alarm.get("Metrics", [])
            if "MetricStat" in part
        ]
        for period in map(int, periods):
            if period not in (10, 20, 30) and period % 60:
                yield f"{name} has a period of {period} s"
            most = 7 * _DAY if period >= _HOUR else _DAY
            if period * int(alarm["EvaluationPeriods"]) > most:
                yield f"{name} looks back {period * int(alarm['EvaluationPeriods'])} s, over {most}"
        if int(alarm.get("DatapointsToAlarm", 1)) > int(alarm["EvaluationPeriods"]):
            yield f"{name} wants more data points than it looks at"


def _ten_days(deployed: Deployed) -> None:
    alarm = deployed.properties("EventsParkedAlarm")
    alarm["Period"], alarm["EvaluationPeriods"] = _HOUR, 240


def _two_days_of_minutes(deployed: Deployed) -> None:
    deployed.properties("EventsParkedAlarm")["EvaluationPeriods"] = 2 * 24 * 60


def _ninety_seconds(deployed: Deployed) -> None:
    deployed.properties("EventsParkedAlarm")["Period"] = 90


BROKEN = {
    "ten days": _ten_days,
    "two days of minutes": _two_days_of_minutes,
    "a period of 90 seconds": _ninety_seconds,
}
