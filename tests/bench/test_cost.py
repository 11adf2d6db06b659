"""The cost model: measured parts times list prices."""

import datetime
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from bench import recorded
from bench.rival_costs import RIVALS, rival
from once.cli import app
from once.plan.cost import (
    ACTION_MB,
    ENRICHMENT_MB,
    FIXED,
    MILLION,
    PACING_MB,
    LogLevel,
    Measured,
    Traffic,
    Volume,
    alternatives,
    monthly,
    per_million,
    prices,
)
from proof.template import RESOURCES

TRAFFIC = Traffic(MILLION, log_level=LogLevel.ERROR)
PARTS = {
    "batch": {"writeUnits": 0, "readUnits": 0.5},
    "unique": {"writeUnits": 2, "readUnits": 0},
    "copy": {"writeUnits": 1, "readUnits": 1},
    "collapsed": {"writeUnits": 0, "readUnits": 0},
}


@pytest.fixture(scope="module")
def measured() -> Measured:
    return Measured.read()


def dollars(traffic: Traffic, measured: Measured) -> float:
    return per_million(monthly(traffic, measured, prices()), traffic.events)


def test_a_volume_adds_up_its_batches_events_copies_and_collapsed_copies(measured: Measured):
    volume = Volume.of(TRAFFIC, replace(measured, parts=PARTS), same_batch=0.5)
    assert volume.of_all("writeUnits") == 800_000 * 2 + 100_000
    assert volume.of_all("readUnits") == 100_000 * 0.5 + 100_000


def test_no_copy_is_in_the_batch_of_the_first_where_batches_hold_one(measured: Measured):
    volume = Volume.of(replace(TRAFFIC, batch_size=1), measured, same_batch=0.5)
    assert volume.collapsed == 0
    assert volume.copies == 200_000


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


def test_what_a_setting_saves_has_the_right_sign(measured: Measured):
    base = dollars(TRAFFIC, measured)
    assert dollars(replace(TRAFFIC, log_level=LogLevel.ALL), measured) > base
    assert dollars(replace(TRAFFIC, log_level=LogLevel.OFF), measured) < base
    assert dollars(replace(TRAFFIC, batch_size=1), measured) > base
    assert dollars(replace(TRAFFIC, limited=True), measured) > base
    assert dollars(replace(TRAFFIC, claim_days=7), measured) < base
    assert all(other != TRAFFIC for other in alternatives(TRAFFIC).values())


def test_pacing_is_in_the_bill_only_where_it_is_called(measured: Measured):
    name = "Lambda: pacing"
    assert monthly(TRAFFIC, measured, prices())[name] == 0
    assert monthly(replace(TRAFFIC, limited=True), measured, prices())[name] > 0


def test_the_memory_it_prices_is_that_of_the_template():
    sizes = {
        "EnrichmentFunction": ENRICHMENT_MB,
        "DataActionFunction": ACTION_MB,
        "PacingFunction": PACING_MB,
    }
    for name, size in sizes.items():
        assert RESOURCES[name]["Properties"]["MemorySize"] == size


def test_every_price_has_its_source_and_the_file_its_day():
    price = prices()
    assert isinstance(price["read_on"], datetime.date)
    for name, entries in price.items():
        if isinstance(entries, dict) and name != "assumed":
            assert entries["source"].startswith("https://"), name


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


def test_a_share_of_copies_above_one_is_refused():
    assert CliRunner().invoke(app, ["cost", "--events-per-month", "1", "--copies", "2"]).exit_code
