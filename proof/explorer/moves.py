"""One step of the world, and what faults it may afford."""

from typing import NamedTuple

from proof.explorer.outcomes import Report
from proof.explorer.scenario import WITHOUT_END, Fault, Scenario
from proof.explorer.state import Broken, State

Names = tuple[int, ...]


class Move(NamedTuple):
    """One step of the world. Its text calls the first of `names` run0, the next run1, and so on.
    `report` is that of an execution that ended with the move."""

    who: int | str
    what: str
    said: str
    names: Names
    then: State | Broken
    fault: Fault | None = None
    report: Report | None = None


def paid(scenario: Scenario, state: State, fault: Fault | None) -> State | None:
    """The state with one fault less, or None when there is none left of this kind."""
    if fault is None:
        return state
    if fault not in scenario.kinds or not state.faults:
        return None
    match fault:
        case Fault.ZOMBIE:
            state = state._replace(zombies=state.zombies - 1)
        case Fault.LATE:
            state = state._replace(lates=state.lates - 1)
    if min(state.zombies, state.lates) < 0:
        return None
    return state if state.faults == WITHOUT_END else state._replace(faults=state.faults - 1)
