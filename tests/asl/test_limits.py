"""256 KiB, wherever AWS counts them."""

import pytest

from proof.asl.errors import DATA_LIMIT
from proof.asl.machine import PAYLOAD_BYTES
from tests.asl.playing import ALL, END, Play, machine, passing, task

# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
# https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html

LARGEST = "x" * (PAYLOAD_BYTES - len('""'))
HALF = "x" * (PAYLOAD_BYTES // 2)


@pytest.mark.parametrize(("text", "ends_well"), [(LARGEST, True), (LARGEST + "x", False)])
def test_a_result_may_have_256_kib(text: str, ends_well: bool) -> None:
    """concepts-error-handling.html, States.DataLimitExceeded: "Output of a connector"; recorded in
    error_handling/test_states_errors."""
    play = Play({"Call": task(Output=1)}, 0, {"Call": [text]})
    assert (play.output == 1) if ends_well else (play.error == DATA_LIMIT)


def test_bytes_count_and_not_characters() -> None:
    """Recorded in error_handling/test_states_errors (…_on_large_utf8_response)."""
    assert Play({"Call": task()}, 0, {"Call": ["é" * (PAYLOAD_BYTES // 2)]}).error == DATA_LIMIT


def test_an_output_may_not_have_more() -> None:
    """concepts-error-handling.html: "Output of a state is larger than payload size quota"."""
    double = passing(Output="{% $states.input & $states.input %}")
    assert Play({"Only": double}, HALF).error == DATA_LIMIT
    assert Play({"Only": double}, HALF[2:]).output == HALF[2:] * 2


def test_arguments_may_not_have_more() -> None:
    """concepts-error-handling.html: "After Parameters processing, the input of a state"."""
    asking = task(Arguments={"a": "{% $states.input %}", "b": "{% $states.input %}"})
    play = Play({"Call": asking}, HALF)
    assert (play.error, play.calls) == (DATA_LIMIT, [])


def test_all_variables_of_one_assign_count_together() -> None:
    """workflow-variables.html, "Limits": "the maximum combined size for all variables in a single
    Assign field"."""
    one, two = {"x": "{% $states.input %}"}, {"y": "{% $states.input %}"}
    together = {"Set": passing(Assign={**one, **two})}
    apart = {"One": passing(Assign=one, Next="Two"), "Two": passing(Assign=two)}
    assert Play(together, HALF).error == DATA_LIMIT
    assert Play(apart, HALF).output == HALF


def test_only_its_own_name_catches_it() -> None:
    """concepts-error-handling.html: "cannot be caught by the States.ALL error type"."""

    def states(names: list[str]) -> dict[str, object]:
        catch = [{"ErrorEquals": names, "Next": "Caught"}]
        return {"Call": task(Catch=catch), "Caught": passing(Output="caught")}

    answers = {"Call": [LARGEST + "x"]}
    assert Play(states([DATA_LIMIT]), 0, answers).output == "caught"
    assert Play(states(["States.ALL"]), 0, answers).error == DATA_LIMIT
    assert Play(states(["States.TaskFailed"]), 0, answers).error == DATA_LIMIT


def test_no_execution_starts_with_more() -> None:
    """service-quotas.html; the API refuses it, so there is no execution that could fail."""
    with pytest.raises(ValueError, match="over 256 KiB"):
        Play(machine({"Only": END}), LARGEST + "x")


def test_a_retry_on_all_does_not_repeat_it() -> None:
    """concepts-error-handling.html: it is terminal."""
    play = Play({"Call": task(Retry=[{"ErrorEquals": ALL}])}, 0, {"Call": [LARGEST + "x"]})
    assert len(play.calls) == 1
