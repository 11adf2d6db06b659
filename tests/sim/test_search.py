"""The small worlds, bounded by a number of states."""

import pytest

from proof.sim import deployed
from proof.sim.cases import CASES
from proof.sim.search import Case, search

QUICK, THOROUGH = 250, 4_000


def check(case: Case, states: int) -> None:
    result = search(case, deployed.machine(), states)
    assert not result.broken, "\n".join([result.broken, *result.trace])
    assert result.is_complete or result.states >= states


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_breaks_no_promise(case: Case) -> None:
    check(case, QUICK)


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_breaks_no_promise_further_on(case: Case) -> None:
    check(case, THOROUGH)
