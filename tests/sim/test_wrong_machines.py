"""Broken definitions are noticed, by what noticed them first; the rest is equivalent."""

import pytest

from proof.sim.mutants import MUTANTS, Mutant, changed_module, changed_text, machine_with, noticed

FOUND = [mutant for mutant in MUTANTS if mutant.found_by]
QUICK = ("ClaimKey 3: out", "the release comes before the put-back", "facts: settled or not")


def is_noticed(mutant: Mutant) -> str:
    with changed_module(mutant):
        return noticed(mutant.found_by, machine_with(mutant))


@pytest.mark.parametrize("name", QUICK)
def test_mutant_is_noticed_quickly(name: str) -> None:
    (mutant,) = (mutant for mutant in FOUND if mutant.name == name)
    assert is_noticed(mutant)


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", FOUND, ids=lambda mutant: mutant.name)
def test_mutant_is_noticed(mutant: Mutant) -> None:
    assert is_noticed(mutant), f"python -m proof.sim --mutants '{mutant.name}'"


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_is_noticed_or_equivalent(mutant: Mutant) -> None:
    assert bool(mutant.found_by) != bool(mutant.equivalent)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_changes_a_text_that_is_there(mutant: Mutant) -> None:
    changed_text(mutant)
