"""Walks from seeds, and the same executions on a second interpreter."""

import pytest

from proof.sim import deployed
from proof.sim.mutants import FORCED
from proof.sim.second import replayed
from proof.sim.walk import Walk, played


@pytest.mark.parametrize("seed", range(24))
def test_walk_breaks_no_promise(seed: int) -> None:
    walk, broken = played(
        seed, deployed.machine(), deployed.functions, forced=FORCED[seed % len(FORCED)]
    )
    assert not broken, f"{broken}: python -m proof.sim --seed {seed}"
    assert walk.moves >= 10


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_long_walk_breaks_no_promise(seed: int) -> None:
    _, broken = played(seed, deployed.machine(), deployed.functions, long=True)
    assert not broken, f"{broken}: python -m proof.sim --long --seed {seed}"


def test_walk_is_the_same_again() -> None:
    walks = [played(3, deployed.machine(), deployed.functions, told=True)[0] for _ in range(2)]
    assert walks[0].world.told == walks[1].world.told


def test_walks_meet_every_fault() -> None:
    walks = [Walk(seed, deployed.machine(), deployed.functions) for seed in range(12)]
    for walk in walks:
        walk.play()
    happened = {kind for walk in walks for kind in walk.world.happened or ()}
    assert len(happened) >= 14


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_second_interpreter_asks_and_ends_alike(seed: int) -> None:
    walk, _ = played(seed, deployed.machine(), deployed.functions, taped=True)
    definition = deployed.machine().definition
    calls = sum(replayed(definition, name, tape) for name, tape in (walk.world.tapes or {}).items())
    assert calls > 20
