"""Walks from seeds, and the same executions on a second interpreter."""

import pytest

from proof.sim import deployed
from proof.sim.second import replayed
from proof.sim.walk import FORCED, Walk


@pytest.mark.parametrize("seed", range(24))
def test_walk_breaks_no_promise(seed: int) -> None:
    walk = Walk(seed, deployed.machine(), forced=FORCED[seed % len(FORCED)])
    broken = walk.broken_promise()
    assert not broken, f"{broken}: python -m proof.sim --seed {seed}"
    assert walk.moves >= 10


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_long_walk_breaks_no_promise(seed: int) -> None:
    broken = Walk(seed, deployed.machine(), long=True).broken_promise()
    assert not broken, f"{broken}: python -m proof.sim --long --seed {seed}"


def test_walk_is_the_same_again() -> None:
    walks = [Walk(3, deployed.machine()) for _ in range(2)]
    for walk in walks:
        walk.world.told = []
        walk.broken_promise()
    assert walks[0].world.told
    assert walks[0].world.told == walks[1].world.told


def test_walks_meet_every_fault() -> None:
    happened: set[str] = set()
    for seed in range(12):
        walk = Walk(seed, deployed.machine())
        walk.plays()
        happened |= set(walk.world.happened)
    assert len(happened) >= 14


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_second_interpreter_asks_and_ends_alike(seed: int) -> None:
    walk = Walk(seed, deployed.machine())
    walk.world.tapes = tapes = {}
    walk.broken_promise()
    definition = deployed.machine().definition
    assert sum(replayed(definition, name, tape) for name, tape in tapes.items()) > 20
