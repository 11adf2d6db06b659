"""The cost model: measured parts times list prices."""

import datetime
import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from once_data_action import breaker_row
from typer.testing import CliRunner

from bench import recorded, sources
from bench.cost import custom_metrics
from bench.rival_costs import RIVALS, as_standard, rival
from once.cli import app
from once.plan.cost import FIXED, MILLION, alternatives, monthly, per_million, troubled
from once.plan.traffic import (
    ACTION_MB,
    ENRICHMENT_MB,
    LOOKS_S,
    PACING_MB,
    PRICES,
    SLOW_MS,
    Flow,
    LogClass,
    LogLevel,
    Measured,
    Target,
    Traffic,
    Volume,
    prices,
)
from proof.template import RESOURCES, TEMPLATE, of_type

TRAFFIC = Traffic(MILLION, per_second=10, log_level=LogLevel.ERROR)
PARTS = {
    "batch": {"writeUnits": 0, "readUnits": 0.5},
    "unique": {"writeUnits": 2, "readUnits": 0},
    "copy": {"writeUnits": 1, "readUnits": 1},
    "held": {"writeUnits": 1, "readUnits": 2},
    "collapsed": {"writeUnits": 0, "readUnits": 0},
}
COMES = Flow(
    batch=10,
    collapsed=0.5,
    held=0.25,
    settled=0.25,
    pollers=5,
    queued_s=0,
)


@pytest.fixture(scope="module")
def measured() -> Measured:
    return Measured.read()


def dollars(traffic: Traffic, measured: Measured) -> float:
    return per_million(monthly(traffic, measured, prices()), traffic.events)


def test_a_volume_adds_up_its_batches_its_events_and_what_became_of_copies(measured: Measured):
    volume = Volume(TRAFFIC, replace(measured, parts=PARTS), COMES)
    assert volume.sum("writeUnits") == 800_000 * 2 + 100_000
    assert volume.sum("readUnits") == 100_000 * 0.5 + 50_000 + 2 * 50_000


def test_a_backlog_costs_less_than_a_pipe_that_keeps_up(measured: Measured):
    assert dollars(replace(TRAFFIC, backlog=True), measured) < 0.7 * dollars(TRAFFIC, measured)


def test_a_batching_window_saves_more_the_more_events_it_gathers(measured: Measured):
    prices = [
        dollars(replace(TRAFFIC, per_second=rate, window_s=1), measured) for rate in (1, 10, 100)
    ]
    assert dollars(TRAFFIC, measured) > prices[0] > prices[1] > prices[2]


def test_the_infrequent_class_halves_what_the_log_of_executions_costs_to_write(measured: Measured):
    name = "Logs: executions (estimate)"
    rarely = replace(TRAFFIC, log_class=LogClass.INFREQUENT_ACCESS)
    standard, infrequent = (monthly(t, measured, prices())[name] for t in (TRAFFIC, rarely))
    assert infrequent == pytest.approx(standard / 2)


def test_payloads_are_paid_at_the_level_that_logs_states_and_at_no_other(measured: Measured):
    name = "Logs: executions (estimate)"

    def logged(level: LogLevel, payloads: bool) -> float:
        traffic = replace(TRAFFIC, log_level=level, log_payloads=payloads)
        return monthly(traffic, measured, prices())[name]

    assert logged(LogLevel.ALL, True) > 2 * logged(LogLevel.ALL, False) > 0
    assert logged(LogLevel.ERROR, True) == logged(LogLevel.ERROR, False) > 0
    assert logged(LogLevel.OFF, True) == 0


def test_the_parameter_says_what_its_payloads_cost(measured: Measured):
    every = replace(TRAFFIC, log_level=LogLevel.ALL)
    costs = [
        monthly(traffic, measured, prices())["Logs: executions (estimate)"]
        for traffic in (every, replace(every, log_payloads=True))
    ]
    said = TEMPLATE["Parameters"]["LogPayloads"]["Description"]
    (times,) = re.findall(r"about (\d+) times", said)
    assert costs[1] / costs[0] == pytest.approx(int(times), rel=0.15)


def test_data_transfer_is_paid_by_size(measured: Measured):
    webhook = monthly(replace(TRAFFIC, target=Target.webhook), measured, prices())
    genesys = monthly(TRAFFIC, measured, prices())
    assert webhook["data transfer out"] > 2 * genesys["data transfer out"] > 0


def test_requests_to_a_bus_are_paid_as_events_and_not_as_transfer(measured: Measured):
    traffic = replace(TRAFFIC, target=Target.eventbridge)
    bus = monthly(traffic, measured, prices())
    unique = traffic.events * (1 - traffic.copies)
    per_million = prices()["eventbridge"]["events_per_million"]
    put = bus["data transfer out"]
    assert put == pytest.approx(unique * per_million / 1_000_000, rel=0.01)


READ_ELSEWHERE = {
    "eventbridge.replay_per_million",  # once replay
    "assumed.window_wait_s",  # what once cost says of a window
    "elasticache.serverless_minimum_month",  # the title of the rival that pays it
    "assumed.action_ms",  # the defaults of the traffic
}


class Read(dict[str, Any]):
    """Prices that remember which of them were asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({n: Read(v) if isinstance(v, dict) else v for n, v in values.items()})
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)


def test_every_price_is_in_a_bill(measured: Measured):
    price = Read(prices())
    for traffic in (
        TRAFFIC,
        replace(TRAFFIC, backlog=True, limited=True, window_s=1),
        replace(TRAFFIC, log_class=LogClass.INFREQUENT_ACCESS),
    ):
        monthly(traffic, measured, price)
        troubled(measured, price)
        as_standard(traffic, measured, price)
        for asked in RIVALS:
            rival(asked, traffic, measured, price)
    unread = {
        f"{service}.{name}"
        for service, entries in price.items()
        if isinstance(entries, Read)
        for name in set(entries) - entries.asked - {"source"}
    }
    assert unread == READ_ELSEWHERE
    assert Traffic(1).action_ms == price["assumed"]["action_ms"]


def test_the_looks_are_those_of_the_template():
    waits = map(int, TEMPLATE["Mappings"]["Durations"]["production"]["OwnerWaits"].split(","))
    assert tuple(itertools.accumulate(waits)) == LOOKS_S


def test_a_unique_event_takes_two_write_units_and_a_copy_one_and_a_read(measured: Measured):
    unique, copy = measured.parts["unique"], measured.parts["copy"]
    # A third one for each event of which only the newest counts: a fifth of the mix.
    assert 2 <= unique["writeUnits"] <= 2.3
    assert unique["readUnits"] == 0
    assert copy["writeUnits"] == pytest.approx(1, abs=0.02)
    assert copy["readUnits"] == pytest.approx(1, abs=0.02)
    assert measured.parts["collapsed"]["storeCalls"] == pytest.approx(0, abs=0.02)


def test_the_recorded_parts_sum_up_to_the_recorded_mixed_run():
    check = recorded.read("cost")["check"]
    assert max(check["off"].values()) <= 0.03


def test_cost_grows_with_the_events_and_the_fixed_part_does_not(measured: Measured):
    once, twice = (monthly(replace(TRAFFIC, events=n), measured, prices()) for n in (1e6, 2e6))
    for name, value in once.items():
        assert twice[name] == pytest.approx(value if name in FIXED else 2 * value)


def test_the_metrics_it_prices_are_those_that_the_definition_writes(measured: Measured):
    if "cost" not in sources.stale():
        assert recorded.read("cost")["customMetrics"] == custom_metrics()
    assert measured.metrics_well < measured.metrics_most
    more = measured.metrics_most - measured.metrics_well
    assert troubled(measured, prices()) == pytest.approx(0.30 * more)


def test_an_alarm_is_priced_for_every_metric_that_it_reads(measured: Measured):
    alarms = [alarm["Properties"] for alarm in of_type("AWS::CloudWatch::Alarm").values()]
    read = [
        1 if "MetricName" in a else sum("MetricStat" in q for q in a["Metrics"]) for a in alarms
    ]
    assert measured.alarm_metrics == sum(read) > len(alarms)


def test_settings_change_the_bill_in_the_right_direction(measured: Measured):
    base = dollars(TRAFFIC, measured)
    assert dollars(replace(TRAFFIC, log_level=LogLevel.ALL), measured) > base
    assert dollars(replace(TRAFFIC, log_level=LogLevel.OFF), measured) < base
    assert dollars(replace(TRAFFIC, window_s=5), measured) < base
    assert dollars(replace(TRAFFIC, limited=True), measured) > base
    assert dollars(replace(TRAFFIC, claim_days=7), measured) < base
    assert all(other != TRAFFIC for other in alternatives(TRAFFIC).values())


def test_pacing_is_in_the_bill_only_where_it_is_called(measured: Measured):
    name = "Lambda: pacing"
    assert monthly(TRAFFIC, measured, prices())[name] == 0
    assert monthly(replace(TRAFFIC, limited=True), measured, prices())[name] > 0


def test_a_destination_that_takes_longer_than_a_second_costs_a_write_for_each_answer(
    measured: Measured,
):
    quick, slow = (replace(TRAFFIC, action_ms=ms, backlog=True) for ms in (SLOW_MS, SLOW_MS + 1))
    name = "DynamoDB: claims"
    more = monthly(slow, measured, prices())[name] - monthly(quick, measured, prices())[name]
    assert more == pytest.approx(0.8 * 0.625, rel=0.01)
    assert SLOW_MS == breaker_row.SLOW_MS


def test_the_memory_it_prices_is_that_of_the_template():
    sizes = {
        "EnrichmentFunction": ENRICHMENT_MB,
        "DataActionFunction": ACTION_MB,
        "PacingFunction": PACING_MB,
    }
    for name, size in sizes.items():
        assert RESOURCES[name]["Properties"]["MemorySize"] == size


def test_the_data_action_has_a_fifth_more_memory_than_it_was_seen_to_need():
    needed = recorded.read("data_action")["memory"]["with_runtime_mb"]
    assert needed * 1.2 <= ACTION_MB


def test_every_price_and_every_assumption_has_its_source_and_the_file_its_day():
    price = tomllib.loads(PRICES.read_text())
    assert isinstance(price["read_on"], datetime.date)
    for name, entries in price.items():
        if isinstance(entries, dict) and name != "assumed":
            assert entries["source"].startswith("https://"), name
    for name, assumed in price["assumed"].items():
        assert len(assumed["source"]) > 30, name
        assert assumed["value"] > 0, name


def test_a_rival_that_writes_less_costs_less(measured: Measured):
    powertools, bare = (
        per_million(rival(asked, TRAFFIC, measured, prices()), MILLION) for asked in RIVALS[:2]
    )
    assert bare < powertools


def test_the_command_names_what_dominates_and_what_each_setting_saves():
    said = CliRunner().invoke(app, ["cost", "--events-per-month", "50000000", "--copies", "0.3"])
    assert said.exit_code == 0, said.output
    lines = said.output.splitlines()
    assert lines[1].startswith("Logs: executions"), "the largest comes first"
    assert "LogLevel=ERROR saves" in said.output
    assert "LogPayloads=true adds" in said.output
    assert "per million events" in said.output
    assert "a batch has 1.0 events" in said.output
    assert "per month without any event" in said.output
    assert "if every kind of trouble" in said.output


def test_the_command_prices_payloads():
    asked = ["cost", "--events-per-month", "1000000"]
    bare, full = (CliRunner().invoke(app, [*asked, *more]) for more in ([], ["--log-payloads"]))
    (added,) = re.findall("LogPayloads=true adds ([0-9.]+)", bare.output)
    (saved,) = re.findall("LogPayloads=false saves ([0-9.]+)", full.output)
    assert added == saved
    error = CliRunner().invoke(app, [*asked, "--log-level", "ERROR"])
    assert "LogPayloads" not in error.output


def test_the_command_says_what_a_window_saves_and_what_it_delays():
    said = CliRunner().invoke(app, ["cost", "--events-per-month", "30000000"])
    (line,) = [one for one in said.output.splitlines() if "BatchWindowSeconds=1 saves" in one]
    assert "an event waits 0." in line
    assert "up to 20 s at low traffic" in line


def test_a_share_of_copies_above_one_is_refused():
    assert CliRunner().invoke(app, ["cost", "--events-per-month", "1", "--copies", "2"]).exit_code
