"""The definition keeps promises that no linter checks."""

import pytest
from once_data_action.errors import Verdict

from proof.definition.asl import states

STATES = states()
TASKS = {name: state for name, state in STATES.items() if state["Type"] == "Task"}


def targets(name: str) -> set[str]:
    """Returns every state that may follow one."""
    state = STATES[name]
    rules = [state, *state.get("Choices", []), *state.get("Catch", [])]
    return {rule[field] for rule in rules for field in ("Next", "Default") if field in rule}


def reachable(name: str) -> set[str]:
    found: set[str] = set()
    left = {name}
    while left:
        found |= left
        left = set().union(*map(targets, left)) - found
    return found


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_bounded(name: str) -> None:
    assert isinstance(TASKS[name]["TimeoutSeconds"], int)


@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"PutBack"}))
def test_every_task_but_the_put_back_is_caught(name: str) -> None:
    assert TASKS[name]["Catch"][-1]["ErrorEquals"] == ["States.ALL"]


def test_nothing_after_the_put_back_sends_a_message_or_fails_the_execution() -> None:
    after = reachable("PutBack") - {"PutBack"}
    assert after == {"HasClaim", "CloseClaim", "RecordOutcome", "Unrecorded"}


def test_retries_spread_out() -> None:
    for name, task in TASKS.items():
        for retry in task.get("Retry", []):
            assert not retry["MaxAttempts"] or retry["JitterStrategy"] == "FULL", name


def test_reads_on_which_a_decision_rests_are_consistent() -> None:
    """The simulator's table has no stale reads."""
    consistent = {name for name, task in TASKS.items() if task["Arguments"].get("ConsistentRead")}
    assert consistent == {"ReadClaim", "ReadLatest", "ReadPredecessor"}


def test_every_verdict_of_the_data_action_is_caught() -> None:
    caught = {name for rule in TASKS["RunAction"]["Catch"] for name in rule["ErrorEquals"]}
    own = {name for name in caught if "." not in name}
    assert own == {kind.__name__ for kind in Verdict.__subclasses__()}
