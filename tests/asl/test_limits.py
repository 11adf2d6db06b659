"""256 KiB, wherever AWS counts them.

https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
"""

from collections.abc import Mapping
from typing import Any

import pytest

from proof.asl.errors import DATA_LIMIT
from proof.asl.machine import PAYLOAD_BYTES
from tests.asl.playing import END, Play, machine, passing, task

LARGEST = "x" * (PAYLOAD_BYTES - len('""'))
HALF = "x" * (PAYLOAD_BYTES // 2)
ONE, TWO = {"x": "{% $states.input %}"}, {"y": "{% $states.input %}"}

# States, and the largest input with which they end well.
LIMITS: dict[str, tuple[Mapping[str, Any], str]] = {
    # "Output of a state is larger than payload size quota".
    "an output": ({"Only": passing(Output="{% $states.input & $states.input %}")}, HALF[1:]),
    # "After Parameters processing, the input of a state".
    "arguments": ({"Call": task(Arguments=["{% $states.input %}"] * 2)}, HALF[4:]),
    # workflow-variables.html, "Limits": all variables in a single Assign field together.
    "an assign": ({"Set": passing(Assign={**ONE, **TWO}, Output=1)}, HALF[8:]),
}


@pytest.mark.parametrize("name", LIMITS)
def test_values_have_256_kib_at_most(name: str) -> None:
    states, largest = LIMITS[name]
    assert Play(states, largest).ended.failure is None
    assert Play(states, largest + "xx").error == DATA_LIMIT


@pytest.mark.parametrize(
    ("result", "is_allowed"),
    [(LARGEST, True), (LARGEST + "x", False), ("é" * (PAYLOAD_BYTES // 2), False)],
)
def test_a_result_has_256_kib_at_most(result: str, is_allowed: bool) -> None:
    """concepts-error-handling.html: "Output of a connector"; bytes count, not characters: recorded
    in error_handling/test_states_errors (…_on_large_utf8_response)."""
    play = Play({"Call": task(Output=1)}, 0, {"Call": [result]})
    assert (play.ended.failure is None) == is_allowed


def test_variables_of_several_assigns_count_apart() -> None:
    """workflow-variables.html, "Limits"."""
    states = {"One": passing(Assign=ONE, Next="Two"), "Two": passing(Assign=TWO)}
    assert Play(states, HALF).output == HALF


def test_no_execution_starts_with_more() -> None:
    """service-quotas.html; the API refuses it, so there is no execution that could fail."""
    with pytest.raises(ValueError, match="over 256 KiB"):
        Play(machine({"Only": END}), LARGEST + "x")
