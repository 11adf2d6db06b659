"""Computes the cost of a throwaway stack, by the formula of its own dashboard."""

import json
import time
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from proof.prove.throwaway import Deployed

Json = Any
_TITLE = "What does it cost?"
_TOTAL = "total"
_A_DAY_SECONDS = 86_400


def read_back(stack: Deployed) -> float | None:
    """US dollars at list price. CloudWatch may not have counted the last minutes; None where it
    counts nothing."""
    cloudwatch = stack.client("cloudwatch")
    name = stack.outputs["DashboardConsole"].rpartition("/")[2]
    now = time.time()
    try:
        body = json.loads(cloudwatch.get_dashboard(DashboardName=name)["DashboardBody"])
        answer = cloudwatch.get_metric_data(
            MetricDataQueries=list(queries(body)),
            StartTime=now - _A_DAY_SECONDS,
            EndTime=now,
        )
    except (ClientError, LookupError):
        return None
    found = [one["Values"] for one in answer["MetricDataResults"] if one["Id"] == _TOTAL]
    values = [value for values in found for value in values]
    return round(sum(values), 4) if any(values) else None


def queries(dashboard: Json) -> Iterator[Json]:
    """The widget of the dashboard that reckons the cost, as GetMetricData wants it."""
    (widget,) = [
        widget["properties"]
        for widget in dashboard["widgets"]
        if widget["properties"].get("title", "").startswith(_TITLE)
    ]
    before: list[str] = []
    for *named, options in widget["metrics"]:
        query = {"Id": options["id"], "ReturnData": options["id"] == _TOTAL}
        if "expression" in options:
            yield query | {"Expression": options["expression"], "Period": _A_DAY_SECONDS}
            continue
        before = _written_out(named, before)
        namespace, metric, *pairs = before
        dimensions = [
            {"Name": name, "Value": value}
            for name, value in zip(pairs[::2], pairs[1::2], strict=True)
        ]
        stat = {
            "Metric": {"Namespace": namespace, "MetricName": metric, "Dimensions": dimensions},
            "Period": _A_DAY_SECONDS,
            "Stat": widget["stat"],
        }
        yield query | {"MetricStat": stat}


def _written_out(row: list[str], before: list[str]) -> list[str]:
    """A dot stands for what was there in the row before, three for all that is missing."""
    if row[0] == "...":
        return [*before[: len(before) - len(row) + 1], *row[1:]]
    return [before[at] if part == "." else part for at, part in enumerate(row)]
