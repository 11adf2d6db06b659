"""Which Retry and which Catch take an error, and how often.

https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html, if nothing else
is named.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from proof.asl.errors import Failure, interval_seconds, matches
from proof.asl.readings import Readings
from tests.asl.playing import ALL, END, Play, passing, task

A, B, C = Failure("ErrorA"), Failure("ErrorB"), Failure("ErrorC")


@pytest.mark.parametrize(
    ("name", "error", "expected"),
    [
        ("Own", "Own", True),
        ("own", "Own", False),
        ("States.ALL", "Own", True),
        ("States.ALL", "States.Timeout", True),
        ("States.ALL", "States.QueryEvaluationError", True),
        ("States.TaskFailed", "Own", True),
        ("States.TaskFailed", "States.QueryEvaluationError", True),
        ("States.TaskFailed", "States.Timeout", False),
        ("States.Timeout", "States.Timeout", True),
        ("States.ALL", "States.DataLimitExceeded", False),
        ("States.TaskFailed", "States.DataLimitExceeded", False),
        ("States.DataLimitExceeded", "States.DataLimitExceeded", True),
        ("States.ALL", "States.Runtime", False),
        ("States.TaskFailed", "States.Runtime", False),
        ("States.Runtime", "States.Runtime", False),
    ],
)
def test_an_error_name_matches_as_documented(name: str, error: str, expected: bool) -> None:
    """The part "Error names": case-sensitive; TaskFailed is all but Timeout; ALL is neither
    DataLimitExceeded nor Runtime. That Runtime is not even caught by its name is recorded in
    scenarios/test_base_scenarios (test_catch_states_runtime)."""
    assert matches([name], error, Readings()) is expected


def retry(*names: str, **fields: Any) -> dict[str, Any]:
    return {"ErrorEquals": [*names], **fields}


def call(*retriers: dict[str, Any], caught: bool = False) -> Mapping[str, Any]:
    catch = [{"ErrorEquals": ALL, "Output": "caught", "Next": "End"}] if caught else []
    return {"Call": task(Retry=[*retriers], Catch=catch), "End": END}


BOTH = retry("ErrorA", "ErrorB", IntervalSeconds=1, MaxAttempts=2)

# States, the answers of Call, when it is called, and the output or the error.
RETRIES: dict[str, tuple[Mapping[str, Any], list[Any], list[int], Any]] = {
    # "uses any appropriate retriers first"
    "a retrier comes before the catch": (
        call(retry("ErrorA", MaxAttempts=1), caught=True), [A, {"n": 1}], [0, 1_000], {"n": 1},
    ),
    "a used-up retrier leaves the error to the catch": (
        call(retry("ErrorA", MaxAttempts=1), caught=True), [A, A], [0, 1_000], "caught",
    ),
    # "defaults to failing the entire state machine execution"
    "an error that nothing names ends the execution": (
        call(retry("ErrorA")), [B], [0], "ErrorB",
    ),
    # "Complex retry scenario": waits of 1, 2 and 5 seconds, then a retrier is used up
    "each retrier counts for itself over all its errors": (
        call(BOTH, retry("ErrorC", IntervalSeconds=5), caught=True),
        [A, B, C, B], [0, 1_000, 3_000, 8_000], "caught",
    ),
    # "that retrier fails and the execution redirects"
    "a used-up retrier hides those behind it": (
        call(retry("ErrorA", MaxAttempts=1), retry(*ALL)), [A, A], [0, 1_000], "ErrorA",
    ),
    # "A value of 0 specifies that the error is never retried"; recorded in
    # scenarios/test_base_scenarios (…_max_attempts_zero)
    "max attempts zero never retries": (
        call(retry("ErrorA", MaxAttempts=0), retry("States.TaskFailed")), [A], [0], "ErrorA",
    ),
    "max attempts zero hides no other error": (
        call(retry("ErrorA", MaxAttempts=0), retry("States.TaskFailed")),
        [B, {"n": 1}], [0, 1_000], {"n": 1},
    ),
    # IntervalSeconds 1, MaxAttempts 3, BackoffRate 2.0
    "defaults are three attempts from one second, doubling": (
        call(retry(*ALL)), [A, A, A, A], [0, 1_000, 3_000, 7_000], "ErrorA",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RETRIES)
def test_errors_are_retried_as_documented(name: str) -> None:
    states, answers, called_ms, end = RETRIES[name]
    play = Play(states, 0, {"Call": answers})
    assert play.called_ms == called_ms
    failure = play.ended.failure
    assert (failure.error if failure else play.output) == end


def test_the_first_catch_that_names_the_error_takes_it() -> None:
    """The part "Fallback states": "in the order listed"."""
    catch = [
        {"ErrorEquals": ["ErrorA"], "Output": 1, "Next": "End"},
        {"ErrorEquals": ["ErrorA", "ErrorB"], "Output": 2, "Next": "End"},
        {"ErrorEquals": ALL, "Output": 3, "Next": "End"},
    ]
    states = {"Call": task(Catch=catch), "End": END}
    assert [Play(states, 0, {"Call": [error]}).output for error in (A, B, C)] == [1, 2, 3]


def test_counts_start_afresh_when_the_state_is_entered_again() -> None:
    """Counts hold "in the context of a single-state execution"."""
    again = {"Condition": "{% $states.input.more %}", "Next": "One"}
    states = {
        "One": task(Retry=[retry(*ALL, MaxAttempts=1)], Next="Again"),
        "Again": {"Type": "Choice", "Choices": [again], "Default": "End"},
        "End": END,
    }
    answers = [A, {"more": True}, A, {"more": False}]
    assert Play(states, 0, {"One": answers}).output == {"more": False}


@pytest.mark.parametrize(
    ("retrier", "drawn", "seconds"),
    [
        # Example 2: 3, 5, 5 instead of 3, 6, 12
        ({"IntervalSeconds": 3, "BackoffRate": 2, "MaxDelaySeconds": 5}, 0.5, [3, 5, 5]),
        # JitterStrategy: from nothing to 2, 4, 8 seconds
        ({"IntervalSeconds": 2, "JitterStrategy": "FULL"}, 0.25, [0.5, 1, 2]),
        ({"IntervalSeconds": 2, "JitterStrategy": "NONE"}, 0.25, [2, 4, 8]),
    ],
)
def test_intervals_are_as_documented(
    retrier: dict[str, Any], drawn: float, seconds: list[float]
) -> None:
    assert [interval_seconds(retrier, tries, drawn) for tries in range(3)] == seconds


def test_retry_count_tells_how_often_it_was_tried_again() -> None:
    """input-output-contextobject.html, State.RetryCount."""
    asking = task(
        Retry=[retry("ErrorA"), retry("ErrorB")],
        Arguments="{% $states.context.State.RetryCount %}",
    )
    play = Play({"X": asking}, 0, {"X": [A, B, A]})
    assert [call.arguments for call in play.calls] == [0, 1, 2, 3]


@pytest.mark.parametrize(("takes_ms", "output"), [(5_000, {}), (5_001, "late")])
def test_a_task_that_answers_after_its_timeout_has_timed_out(takes_ms: int, output: Any) -> None:
    """state-task.html, TimeoutSeconds; recorded in timeouts/test_timeouts: States.Timeout."""
    catch = [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]
    states = {
        "Call": task(TimeoutSeconds="{% 2 + 3 %}", Catch=catch),
        "Late": passing(Output="late"),
    }
    assert Play(states, takes_ms=takes_ms).output == output


def test_a_retry_has_a_timeout_of_its_own() -> None:
    """state-task.html: the count begins "when the start event is executed"."""
    asking = task(TimeoutSeconds=5, Retry=[retry("ErrorA", IntervalSeconds=10)])
    assert Play({"Call": asking}, 0, {"Call": [A, {"n": 1}]}, takes_ms=4_000).output == {"n": 1}
