"""Which Retry and which Catch take an error, and how often."""

import pytest

from proof.asl.errors import Failure, interval_seconds, matches
from proof.asl.readings import Readings
from tests.asl.playing import ALL, END, Play, passing, task

# https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html

A, B, C = Failure("ErrorA"), Failure("ErrorB"), Failure("ErrorC")


def caught(*catchers: dict[str, object]) -> dict[str, object]:
    return {"Call": task(Catch=list(catchers)), "Caught": passing(Output="{% $states.input %}")}


@pytest.mark.parametrize(
    ("names", "error", "expected"),
    [
        (["Own"], "Own", True),
        (["own"], "Own", False),
        (["Other"], "Own", False),
        (["States.ALL"], "Own", True),
        (["States.ALL"], "States.Timeout", True),
        (["States.ALL"], "States.QueryEvaluationError", True),
        (["States.TaskFailed"], "Own", True),
        (["States.TaskFailed"], "States.QueryEvaluationError", True),
        (["States.TaskFailed"], "States.Timeout", False),
        (["States.Timeout"], "States.Timeout", True),
        (["States.ALL"], "States.DataLimitExceeded", False),
        (["States.TaskFailed"], "States.DataLimitExceeded", False),
        (["States.DataLimitExceeded"], "States.DataLimitExceeded", True),
        (["States.ALL"], "States.Runtime", False),
        (["States.TaskFailed"], "States.Runtime", False),
        (["States.Runtime"], "States.Runtime", False),
    ],
)
def test_an_error_name_matches_as_documented(names: list[str], error: str, expected: bool) -> None:
    """concepts-error-handling.html, "Error names": case-sensitive; TaskFailed is all but Timeout;
    ALL is not DataLimitExceeded and not Runtime. That Runtime is not even caught by its name is
    recorded in scenarios/test_base_scenarios (test_catch_states_runtime)."""
    assert matches(names, error, Readings()) is expected


def test_the_first_catch_that_names_the_error_takes_it() -> None:
    """concepts-error-handling.html, "Fallback states": "in the order listed"."""
    states = caught(
        {"ErrorEquals": ["ErrorA"], "Output": 1, "Next": "Caught"},
        {"ErrorEquals": ["ErrorA", "ErrorB"], "Output": 2, "Next": "Caught"},
        {"ErrorEquals": ALL, "Output": 3, "Next": "Caught"},
    )
    assert [Play(states, 0, {"Call": [error]}).output for error in (A, B, C)] == [1, 2, 3]


def test_an_error_that_nobody_names_ends_the_execution() -> None:
    """concepts-error-handling.html: "defaults to failing the entire state machine execution"."""
    states = caught({"ErrorEquals": ["ErrorA"], "Next": "Caught"})
    assert Play(states, 0, {"Call": [B]}).error == "ErrorB"


def test_retriers_come_before_the_catch() -> None:
    """concepts-error-handling.html: "uses any appropriate retriers first"."""
    retry = [{"ErrorEquals": ["ErrorA"], "MaxAttempts": 1}]
    catch = [{"ErrorEquals": ["ErrorA"], "Next": "Caught"}]
    states = {"Call": task(Retry=retry, Catch=catch), "Caught": passing(Output="caught")}
    assert Play(states, 0, {"Call": [A, {"n": 1}]}).output == {"n": 1}
    assert Play(states, 0, {"Call": [A, A]}).output == "caught"


def test_each_retrier_counts_for_itself_over_all_its_errors() -> None:
    """concepts-error-handling.html, "Complex retry scenario": waits of 1, 2 and 5 seconds, then the
    fourth error finds its retrier used up."""
    retry = [
        {"ErrorEquals": ["ErrorA", "ErrorB"], "IntervalSeconds": 1, "MaxAttempts": 2},
        {"ErrorEquals": ["ErrorC"], "IntervalSeconds": 5},
    ]
    catch = [{"ErrorEquals": ALL, "Next": "Z"}]
    play = Play({"X": task(Retry=retry, Catch=catch), "Z": END}, 0, {"X": [A, B, C, B]})
    assert play.output == {"Error": "ErrorB", "Cause": ""}
    assert play.called_ms == [0, 1_000, 3_000, 8_000]


def test_a_used_up_retrier_hides_those_behind_it() -> None:
    """concepts-error-handling.html: "that retrier fails and the execution redirects"."""
    retry = [{"ErrorEquals": ["ErrorA"], "MaxAttempts": 1}, {"ErrorEquals": ALL}]
    assert len(Play({"X": task(Retry=retry)}, 0, {"X": [A, A, {}]}).calls) == 2


def test_max_attempts_zero_never_retries_and_hides_what_is_behind() -> None:
    """concepts-error-handling.html: "A value of 0 specifies that the error is never retried";
    recorded in scenarios/test_base_scenarios (…_max_attempts_zero)."""
    retry = [{"ErrorEquals": ["ErrorA"], "MaxAttempts": 0}, {"ErrorEquals": ["States.TaskFailed"]}]
    assert len(Play({"X": task(Retry=retry)}, 0, {"X": [A]}).calls) == 1
    assert Play({"X": task(Retry=retry)}, 0, {"X": [B, {"n": 1}]}).output == {"n": 1}


def test_counts_start_afresh_when_the_state_is_entered_again() -> None:
    """concepts-error-handling.html: "across all visits to the retrier in the context of a
    single-state execution"."""
    retry = [{"ErrorEquals": ALL, "MaxAttempts": 1}]
    states = {
        "One": task(Retry=retry, Next="Two"),
        "Two": task(
            Retry=retry,
            Next="Again",
        ),
        "Again": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% $states.input.more %}", "Next": "One"}],
            "Default": "End",
        },
        "End": END,
    }
    answers = {"One": [A, {}, A, {}], "Two": [B, {"more": True}, B, {"more": False}]}
    assert Play(states, 0, answers).output == {"more": False}


def test_defaults_are_three_attempts_from_one_second_doubling() -> None:
    """concepts-error-handling.html: IntervalSeconds 1, MaxAttempts 3, BackoffRate 2.0."""
    play = Play({"X": task(Retry=[{"ErrorEquals": ALL}])}, 0, {"X": [A, A, A, A]})
    assert play.called_ms == [0, 1_000, 3_000, 7_000]
    assert play.error == "ErrorA"


def test_max_delay_seconds_caps_the_interval() -> None:
    """concepts-error-handling.html, Example 2: 3, 5, 5 instead of 3, 6, 12."""
    retrier = {"IntervalSeconds": 3, "BackoffRate": 2, "MaxDelaySeconds": 5}
    assert [interval_seconds(retrier, tries, 0.5) for tries in range(3)] == [3, 5, 5]


def test_full_jitter_draws_between_nothing_and_the_interval() -> None:
    """concepts-error-handling.html, JitterStrategy: 0 to 2, 0 to 4, 0 to 8 seconds."""
    retrier = {"IntervalSeconds": 2, "JitterStrategy": "FULL"}
    assert [interval_seconds(retrier, tries, 0.25) for tries in range(3)] == [0.5, 1, 2]
    assert interval_seconds({**retrier, "JitterStrategy": "NONE"}, 2, 0.25) == 8


def test_retry_count_tells_how_often_it_was_tried_again() -> None:
    """input-output-contextobject.html, State.RetryCount."""
    asking = task(
        Retry=[{"ErrorEquals": ["ErrorA"]}, {"ErrorEquals": ["ErrorB"]}],
        Arguments="{% $states.context.State.RetryCount %}",
    )
    play = Play({"X": asking}, 0, {"X": [A, B, A]})
    assert [call.arguments for call in play.calls] == [0, 1, 2, 3]


def test_a_task_that_answers_after_its_timeout_has_timed_out() -> None:
    """state-task.html, TimeoutSeconds; recorded in timeouts/test_timeouts: States.Timeout."""
    states = {
        "Call": task(
            TimeoutSeconds="{% 2 + 3 %}",
            Catch=[{"ErrorEquals": ["States.Timeout"], "Next": "Late"}],
        ),
        "Late": passing(Output="late"),
    }
    assert Play(states, takes_ms=5_000).output == {}
    assert Play(states, takes_ms=5_001).output == "late"


def test_a_retry_has_a_timeout_of_its_own() -> None:
    """state-task.html: the count begins "when the start event is executed"."""
    retry = [{"ErrorEquals": ["ErrorA"], "IntervalSeconds": 10}]
    play = Play(
        {"Call": task(TimeoutSeconds=5, Retry=retry)}, 0, {"Call": [A, {"n": 1}]}, takes_ms=4_000
    )
    assert play.output == {"n": 1}
