"""Which quota binds first, by AWS's documented defaults."""

import datetime

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.plan.capacity import (
    VISIBILITY_SECONDS,
    Load,
    fitting_concurrency,
    limits,
    quotas,
    returned_per_second,
    simulate,
)
from once.plan.traffic import Measured, Target, Traffic, prices
from proof.template import TEMPLATE

ANY = 1e9


@pytest.fixture(scope="module")
def load() -> Load:
    return Load.of(Traffic(0, backlog=True), Measured.read(), prices())


@pytest.fixture(scope="module")
def steady() -> Load:
    return Load.of(Traffic(0, per_second=10), Measured.read(), prices())


def allowed(load: Load, name: str, **about: object) -> float:
    settings = {"region": "eu-central-1", "destination": ANY, "limited": False, **about}
    found = limits(load, quotas(), **settings)  # type: ignore[arg-type]
    return next(limit.events_per_second for limit in found if limit.name == name)


def test_the_lowest_limit_comes_first(load: Load):
    found = limits(load, quotas(), "eu-central-1", None, limited=True)
    rates = [limit.events_per_second for limit in found]
    assert rates == sorted(rates)
    assert found[0].name == "Genesys Cloud, requests per token"


def test_copies_ask_nothing_of_the_destination(load: Load):
    assert allowed(load, "destination", destination=480) == pytest.approx(480 / 60 / 0.8)


def test_a_bus_takes_what_the_region_lets_an_account_put(load: Load):
    about = {"target": Target.eventbridge, "destination": None}
    name = "EventBridge to the target bus"
    assert allowed(load, name, **about) == pytest.approx(2_400 / 0.8)
    assert allowed(load, name, region="af-south-1", **about) == pytest.approx(400 / 0.8)
    found = limits(load, quotas(), "eu-central-1", None, False, Target.eventbridge)
    assert not any("Genesys" in limit.name for limit in found)


def test_a_region_has_its_own_quota(load: Load):
    name = "EventBridge to the queue"
    assert allowed(load, name) == 4_500
    assert allowed(load, name, region="us-east-1") == 18_750
    assert allowed(load, name, region="mx-central-1") == 750


def test_counting_tokens_asks_one_row_for_two_writes_a_batch(load: Load):
    assert allowed(load, "token row, write units", limited=True) == 1_000 / 2 * 10


def test_a_pipe_that_keeps_up_asks_shared_rows_once_an_event(steady: Load):
    assert allowed(steady, "token row, write units", limited=True) == pytest.approx(500, rel=0.01)


def test_the_concurrency_that_fits_is_twice_what_runs_at_once(steady: Load):
    assert fitting_concurrency(1, steady) == 10
    assert fitting_concurrency(100, steady) == 32


def test_a_rate_below_every_limit_catches_up_after_the_pipe_has_started(load: Load):
    found = limits(load, quotas(), "eu-central-1", ANY, limited=False)
    course = simulate(1_000, load, found, quotas())
    assert course.slowest == "pipe, starting up"
    assert course.caught_up_after_seconds is not None
    assert 0 < course.caught_up_after_seconds < 300


def test_a_rate_above_a_limit_never_catches_up_and_names_it(load: Load):
    found = limits(load, quotas(), "eu-central-1", ANY, limited=False)
    course = simulate(10_000, load, found, quotas())
    assert course.caught_up_after_seconds is None
    assert course.slowest == "EventBridge to the queue"
    assert course.most_waiting == pytest.approx((10_000 - 4_500) * 3_600, rel=0.02)


def test_a_trickle_never_waits(load: Load):
    found = limits(load, quotas(), "eu-central-1", ANY, limited=False)
    course = simulate(1, load, found, quotas())
    assert course.most_waiting == 0
    assert course.slowest == ""


def test_messages_handed_back_fill_the_queue_s_flight():
    assert TEMPLATE["Mappings"]["Durations"]["production"]["Visibility"] == VISIBILITY_SECONDS
    assert returned_per_second(quotas()) == 250


def test_every_quota_says_whom_to_ask_and_where_it_stands():
    found = quotas()
    assert isinstance(found["read_on"], datetime.date)
    for name, entries in found.items():
        if isinstance(entries, dict):
            assert entries["source"].startswith("https://"), name
            assert entries["ask"], name


def test_the_command_says_what_binds_and_what_to_ask_for():
    said = CliRunner().invoke(
        app, ["capacity", "--rate", "6000", "--destination-per-minute", "9000000"]
    )
    assert said.exit_code == 0, said.output
    assert "The first limit: EventBridge to the queue." in said.output
    assert "L-5540C5E3" in said.output


def test_the_command_says_where_nothing_is_too_low():
    said = CliRunner().invoke(
        app, ["capacity", "--rate", "100", "--destination-per-minute", "9000000"]
    )
    assert "No quota is below 100 events per second." in said.output
    assert "MaxConcurrentActions=32" in said.output


def test_a_region_that_does_not_exist_has_no_quotas():
    answer = CliRunner().invoke(app, ["capacity", "--rate", "5", "--region", "narnia"])
    assert (answer.exit_code, "no region narnia" in answer.stderr) == (1, True)
