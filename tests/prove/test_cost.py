"""The cost of a throwaway stack is reckoned as its dashboard does."""

import json
from typing import Any

from proof.prove import cost
from proof.translated import Translated

# Without the alarm that a condition adds to its text.
TRANSLATED = Translated({"QuietMinutes": "0"}).resources["Dashboard"]["Properties"]
DASHBOARD = json.loads(TRANSLATED["DashboardBody"]["Fn::Sub"][0])


class Stack:
    outputs = {"DashboardConsole": "https://console/home#dashboards/dashboard/mine"}  # noqa: RUF012

    def __init__(self, values: list[float]) -> None:
        self.values = values
        self.asked: dict[str, Any] = {}

    def client(self, _: str) -> Any:
        return self

    def get_dashboard(self, **named: str) -> Any:
        assert named == {"DashboardName": "mine"}
        return {"DashboardBody": json.dumps(DASHBOARD)}

    def get_metric_data(self, **asked: Any) -> Any:
        self.asked = asked
        return {"MetricDataResults": [{"Id": "total", "Values": self.values}]}


def test_every_part_of_the_formula_is_asked_for_with_its_own_dimensions() -> None:
    found = {query["Id"]: query for query in cost.queries(DASHBOARD)}
    formula = found["total"]["Expression"]
    assert set(formula.split(" + ")) <= set(found)
    assert [one["Id"] for one in found.values() if one["ReturnData"]] == ["total"]
    empty = found["empty"]["MetricStat"]["Metric"]
    assert (empty["Namespace"], empty["MetricName"]) == ("AWS/SQS", "NumberOfEmptyReceives")
    assert empty["Dimensions"] == [{"Name": "QueueName", "Value": "${EventQueue.QueueName}"}]
    last = found["log5"]["MetricStat"]["Metric"]
    assert last["Dimensions"] == [{"Name": "LogGroupName", "Value": "${PipeLogGroup}"}]


def test_what_cloudwatch_has_counted_is_summed_up() -> None:
    stack: Any = Stack([0.25, 0.5])
    assert cost.read_back(stack) == 0.75
    assert stack.asked["MetricDataQueries"]


def test_nothing_counted_is_no_cost_of_nothing() -> None:
    stack: Any = Stack([])
    assert cost.read_back(stack) is None
