"""Each count has its price, and the rest is arithmetic."""

import pytest

from bench.cost import backlog_s, fixed, outage_quotas, played
from bench.costs.count import PRICES, Units, dollars
from bench.events import START_MS, Centre, text


def test_each_unit_is_paid_at_its_price() -> None:
    units = Units(executions=1_000_000, writeUnits=2_000_000, outcomeBytes=10**9)
    costs = dollars(units, "ERROR")
    assert costs["Pipes"] == PRICES["pipes"]["requests_per_million"]
    assert costs["DynamoDB: writes and reads"] == 2 * PRICES["dynamodb"]["write_units_per_million"]
    assert costs["Logs: outcomes"] == PRICES["logs"]["ingestion_gb"]


def test_level_of_the_log_changes_its_own_items_alone() -> None:
    units = Units(executions=1, machineBytesALL=10**9, machineBytesERROR=0)
    some, every = dollars(units, "ERROR"), dollars(units, "ALL")
    changed = {item for item in every if every[item] != some[item]}
    assert changed == {"Logs: executions", "Logs: kept and queried"}


def test_act_and_its_copy_are_counted() -> None:
    centre = Centre(1)
    event = centre.conversation("acd.start", START_MS)
    again = centre.published_again(event)
    counted = played([("e", text(event), 0), ("e", text(again), 10_000)])
    act, copy = counted.units().values()
    assert (act["writeUnits"], act["invocations"], act["readUnits"]) == (2, 1, 1)
    assert (copy["writeUnits"], copy["invocations"], copy["readUnits"]) == (1, 0, 1)
    assert act["machineBytesERROR"] == 0 < copy["machineBytesERROR"] < copy["machineBytesALL"]


def test_fixed_cost_counts_each_metric_of_an_alarm() -> None:
    (alarms, *_), = [list(fixed(["A"]).items())]  # fmt: skip
    assert alarms[0].startswith("11 alarms on 14 metrics")
    assert alarms[1] == pytest.approx(1.4)


def test_backlog_is_taken_faster_and_faster() -> None:
    assert backlog_s(10, 1.0) == 2
    assert backlog_s(20_000, 0.4) < 2 * backlog_s(10_000, 0.4)


def test_looks_need_shares_of_quotas_by_the_rate() -> None:
    peak = {"breakerReadUnits": 30, "writeUnits": 0, "seconds": 0, "records": 0}
    assert outage_quotas(peak, 50)["reads of the breaker's row"] == pytest.approx(0.5)
