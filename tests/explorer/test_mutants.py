"""A broken machine breaks a promise, and the explorer finds where."""

import pytest

from proof.explorer.mutant_list import IMPLIED, MUTANTS
from proof.explorer.mutants import Mutant
from tests.explorer.test_explorer import MOST_STATES

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "mutant", [m for m in MUTANTS if m.name not in IMPLIED], ids=lambda mutant: mutant.name
)
def test_a_broken_machine_is_caught(mutant: Mutant) -> None:
    found = mutant.explored(MOST_STATES)
    assert found.broken
    assert found.trace
