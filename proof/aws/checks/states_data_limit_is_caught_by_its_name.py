"""States.ALL does not catch States.DataLimitExceeded, says the page on errors; in a recording of
2024 it did.

A function that answers more than 256 KiB has acted, for all we know. If the error ended the
execution, the pipe would hand the whole batch back and everything would act again. So the task
that calls it catches the error by its name, before States.ALL.
"""

from collections.abc import Iterator

from proof.aws.check import page, recording
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/concepts-error-handling.html",
        "States.DataLimitExceeded: a terminal error that States.ALL cannot catch.",
    ),
    recording(
        "error_handling/test_states_errors",
        "On 2024-03-21 a Catch of States.ALL took it from lambda:invoke.",
    ),
)
_NAME = "States.DataLimitExceeded"
_CALLS_THE_DESTINATION = "RunAction"


def findings(deployed: Deployed) -> Iterator[str]:
    caught = [rule["ErrorEquals"] for rule in deployed.states[_CALLS_THE_DESTINATION]["Catch"]]
    if not any(_NAME in errors for errors in caught):
        yield f"{_CALLS_THE_DESTINATION} leaves {_NAME} to States.ALL"


def _left_to_all(deployed: Deployed) -> None:
    del deployed.states[_CALLS_THE_DESTINATION]["Catch"][0]


BROKEN = {"left to States.ALL": _left_to_all}
