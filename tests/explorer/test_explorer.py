"""Every interleaving of a few copies and faults keeps the promises.

test_mutants.py explores broken machines: processes share tests by the file, and the two files take
equally long. `make explore` also explores the mutants that break no promise.
"""

import json

import pytest

from proof.definition.asl import definition
from proof.explorer.mutant_list import MUTANTS
from proof.explorer.scenario import Scenario
from proof.explorer.scenarios import BOUNDED, OWN_FUNCTION
from proof.explorer.search import explore
from proof.explorer.state import State
from proof.explorer.tasks import machine_of
from proof.explorer.world import World

MOST_STATES = 120_000
FAILING = {"does not act: Transient", "does not act: Failed"}


@pytest.mark.thorough
@pytest.mark.parametrize("scenario", BOUNDED, ids=lambda scenario: scenario.name)
def test_no_interleaving_breaks_a_promise(scenario: Scenario) -> None:
    machine = machine_of(definition(scenario.filled_in()), scenario)
    found = explore(World(machine, scenario), MOST_STATES)
    assert not found.broken, str(found)
    assert found.complete


def test_a_person_can_follow_a_trace() -> None:
    [mutant] = [
        mutant for mutant in MUTANTS if mutant.name == "DUPLICATE of whatever is in progress"
    ]
    found = mutant.explored(MOST_STATES)
    assert str(found).splitlines() == [
        "A is lost: no act, not parked, not stale, on no queue:",
        "queue   delivers       m1 to A",
        "A       ClaimKey       makes it IN_PROGRESS of A#m1",
        "queue   delivers       m1 and m2 to B",
        "B       ClaimKey       is refused by IN_PROGRESS of A#m1",
        "B       ReadClaim      finds IN_PROGRESS of A#m1",
        "B       ReadClaim      finds IN_PROGRESS of A#m1",
        "B       ReadClaim      finds IN_PROGRESS of A#m1",
        "B       ReadClaim      finds IN_PROGRESS of A#m1; the pipe deletes m1 and m2",
    ]


def test_a_failure_of_ones_own_function_reaches_the_breaker() -> None:
    """Such a function notes nothing itself, so its batch does."""
    machine = machine_of(definition(OWN_FUNCTION.filled_in()), OWN_FUNCTION)
    world = World(machine, OWN_FUNCTION)
    state = next(world.deliver(world.start(), (0,))).then
    while isinstance(state, State) and state.runs:
        moves = list(world.steps(state, state.runs[0]))
        failing = [move for move in moves if move.said in FAILING]
        state = [*failing, *moves][0].then
    assert isinstance(state, State)
    [(_, row)] = state.pace
    assert json.loads(row)["failed"] == {"SS": ["family.on@user/1"]}
