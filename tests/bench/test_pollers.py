"""Into which batches a pipe cuts its events, and what becomes of copies on the way."""

from dataclasses import replace

import pytest

from once.plan.traffic import BATCHES, Flow, Pipe
from proof.pollers import as_text, flow

PIPE = Pipe(
    window_s=0,
    most_pollers=1_000,
    at_once=5,
    around_s=0.05,
    machine_s=0.05,
    event_s=0.25,
    copy_s=0.02,
    looks_s=(1, 4, 10),
    bills_s=0.1,
)


@pytest.mark.parametrize("rate", [1, 10, 100])
def test_a_pipe_that_keeps_up_hands_on_each_message_alone(rate: float):
    comes = flow(rate, 0.2, 50, PIPE)
    assert comes.batch < 1.05
    assert comes.queued_s < 0.01


def test_batches_grow_only_where_no_poller_can_be_added():
    few = replace(PIPE, most_pollers=10)
    assert flow(100, 0, 50, few).batch > 4
    assert flow(100, 0, 50, few).pollers == 10


def test_a_copy_that_comes_milliseconds_later_meets_its_first_in_work():
    comes = flow(10, 0.2, 50, PIPE)
    assert comes.held > 0.95


def test_a_copy_that_comes_when_its_first_is_done_waits_for_nobody():
    comes = flow(1, 0.2, 60_000, PIPE)
    assert comes.settled > 0.95


def test_a_window_makes_batches_of_what_its_pollers_gather_and_lets_events_wait():
    comes = flow(10, 0.2, 50, replace(PIPE, window_s=5))
    assert comes.batch > 5
    assert 1 < comes.queued_s < 5
    assert comes.collapsed > 0.1


def test_every_copy_meets_one_fate():
    comes = flow(10, 0.4, 500, PIPE)
    assert comes.collapsed + comes.held + comes.settled == pytest.approx(1)


def test_the_flows_of_once_cost_are_those_of_the_model():
    assert BATCHES.read_text() == as_text(), "write them again: python -m proof.pollers"


def test_the_machine_s_time_is_billed_in_whole_steps():
    acts = flow(1, 0, 50, PIPE)
    assert PIPE.times(acts, copies=0).billed_s == pytest.approx(0.3)


def test_events_of_a_full_batch_take_turns():
    full = Flow(batch=10, collapsed=0, held=0, settled=1, pollers=5, queued_s=0)
    assert PIPE.times(full, copies=0).batch_s == pytest.approx(0.05 + 0.05 + 2 * 0.25)


def test_a_copy_of_an_event_in_work_prolongs_its_batch():
    alone = Flow(batch=1, collapsed=0, held=1, settled=0, pollers=5, queued_s=0)
    first, copy = (PIPE.times(alone, copies=share).batch_s for share in (0, 1))
    assert copy - first == pytest.approx(1 + 0.02 - 0.25)
