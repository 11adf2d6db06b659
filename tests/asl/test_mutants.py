"""A machine that relies on an unclear sentence of AWS is caught, and only by its switch."""

from typing import Any

import pytest

from proof.asl.mutants import MUTANTS, Mutant
from proof.asl.readings import Readings
from proof.scenarios import asl_machine
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import apart

OTHERS = dict(Readings().others())


def played(mutant: Mutant, readings: Readings) -> Any:
    """Returns what the play showed, or only that it broke."""
    stage = Stage(load(CASES / f"{mutant.scenario}.yaml"), organisation=mutant.scenario)
    with asl_machine.set_for(stage, readings, edit=mutant.edit) as machine:
        try:
            return stage.play(machine)
        except AssertionError:
            return "broke"


def test_each_switch_has_a_mutant() -> None:
    assert sorted(mutant.switch for mutant in MUTANTS) == sorted(OTHERS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.switch)
def test_a_mutant_is_caught_by_its_own_switch_and_missed_by_the_others(mutant: Mutant) -> None:
    usual = played(mutant, Readings())
    caught = {
        switch
        for switch, readings in OTHERS.items()
        if apart(played(mutant, readings), usual, switch)
    }
    assert caught == {mutant.switch, *mutant.implied_by}
