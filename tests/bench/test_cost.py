"""The cost model: measured parts times list prices."""

import re
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.plan.cost import MILLION, monthly, per_million
from once.plan.traffic import (
    Flow,
    LogClass,
    LogLevel,
    Measured,
    Target,
    Traffic,
    Volume,
    prices,
)
from proof.template import TEMPLATE

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
