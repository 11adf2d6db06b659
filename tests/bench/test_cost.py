"""The cost model: measured parts times list prices."""

import datetime
import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from data_action import breaker_row
from typer.testing import CliRunner

from bench import recorded
from bench.cost import custom_metrics
from bench.rival_costs import RIVALS, as_standard, rival
from once.cli import app
from once.plan.cost import (
    ACTION_MB,
    BUCKET_DAYS,
    ENRICHMENT_MB,
    FIXED,
    LOOKS_S,
    MILLION,
    PACING_MB,
    PRICES,
    SLOW_MS,
    LogClass,
    LogLevel,
    Measured,
    Target,
    Traffic,
    Volume,
    alternatives,
    monthly,
    per_million,
    prices,
    troubled,
)
from once.plan.pollers import Flow
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
    handed_back=0,
    settled=0.25,
    batch_s=1,
    billed_s=1,
    pollers=5,
    queued_s=0,
)


@pytest.fixture(scope="module")
def measured() -> Measured:
    return Measured.read()


def dollars(traffic: Traffic, measured: Measured) -> float:
    return per_million(monthly(traffic, measured, prices()), traffic.events)


def test_a_volume_adds_up_its_batches_its_events_and_what_became_of_copies(measured: Measured):
    volume = Volume.of(TRAFFIC, replace(measured, parts=PARTS), COMES)
    assert volume.of_all("writeUnits") == 800_000 * 2 + 100_000
    assert volume.of_all("readUnits") == 100_000 * 0.5 + 50_000 + 2 * 50_000


def test_a_copy_that_is_handed_back_comes_and_is_paid_once_more(measured: Measured):
    waits = replace(COMES, held=0, handed_back=0.25)
    volume = Volume.of(TRAFFIC, replace(measured, parts=PARTS), waits)
    assert volume.batches == 105_000
    assert volume.of_all("writeUnits") == 800_000 * 2 + 50_000 + 2 * 50_000


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


def test_what_goes_out_and_what_overflows_is_paid_by_its_size_and_number(measured: Measured):
    webhook = monthly(replace(TRAFFIC, target=Target.webhook), measured, prices())
    genesys = monthly(TRAFFIC, measured, prices())
    assert webhook["the calls' way out"] > 2 * genesys["the calls' way out"] > 0
    overflowing = monthly(replace(TRAFFIC, overflow=0.01), measured, prices())
    requests, stored = 10_000 * 0.0054 / 1000, 10_000 * 100_000 / 1e9 * 2 * 0.023
    assert overflowing["S3: large bodies"] == pytest.approx(requests + stored)
    (rule,) = RESOURCES["OverflowBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    assert rule["ExpirationInDays"] == BUCKET_DAYS


READ_ELSEWHERE = {
    "eventbridge.replay_per_million",  # once replay
    "assumed.window_wait_s",  # what once cost says of a window
    "elasticache.serverless_minimum_month",  # the title of the rival that pays it
    "assumed.action_ms",  # the defaults of the traffic
    "assumed.apart_ms",
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
        replace(TRAFFIC, backlog=True, limited=True, overflow=0.01, window_s=1),
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
    assert Traffic(1).apart_ms == price["assumed"]["apart_ms"]


def test_the_looks_are_those_of_the_template():
    waits = map(int, TEMPLATE["Mappings"]["Timing"]["production"]["HolderWaits"].split(","))
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


def test_what_a_setting_saves_has_the_right_sign(measured: Measured):
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
    assert "a million events" in said.output
    assert "the pipe hands on 1.0 at a time" in said.output
    assert "however many come" in said.output
    assert "at most, if every trouble" in said.output


def test_the_command_says_what_a_window_saves_and_what_it_delays():
    said = CliRunner().invoke(app, ["cost", "--events-per-month", "30000000"])
    (line,) = [one for one in said.output.splitlines() if "BatchWindowSeconds=1 saves" in one]
    assert "an event waits 0." in line
    assert "up to 20 s where little comes" in line


def test_a_share_of_copies_above_one_is_refused():
    assert CliRunner().invoke(app, ["cost", "--events-per-month", "1", "--copies", "2"]).exit_code
