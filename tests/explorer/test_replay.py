"""The emulator, led along random walks of the explorer, does what the explorer says."""

from collections.abc import Iterator

import pytest

from proof.explorer.mutant_list import MUTANTS
from proof.explorer.replay import SCENARIOS, DisagreementError, replay, world_of
from proof.explorer.tasks import machine_of
from proof.explorer.world import World
from proof.scenarios.emulator_machine import EmulatorMachine, started

# A walk in which the destination refuses an event for good is among as many.
SEEDS = 20

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def machine() -> Iterator[EmulatorMachine]:
    with started() as machine:
        yield machine


def test_random_walks_of_the_explorer_agree_with_the_emulator(machine: EmulatorMachine) -> None:
    """One in each scenario. `python -m bench.explore` leads 200 of them."""
    moves = sum(replay(world_of(seed), seed, machine) for seed in range(len(SCENARIOS)))
    assert moves > 10 * len(SCENARIOS)


def test_an_explorer_of_another_machine_disagrees(machine: EmulatorMachine) -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == "what is held is claimed"]
    scenario = world_of(0).scenario
    world = World(machine_of(mutant.definition(scenario), scenario), scenario)

    def led() -> None:
        for seed in range(SEEDS):
            replay(world, seed, machine)

    with pytest.raises(DisagreementError, match="task"):
        led()
