"""Error names: what a state fails with, and what a Retry or a Catch matches
(concepts-error-handling.html)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from proof.asl.readings import Readings

DATA_LIMIT = "States.DataLimitExceeded"
NO_CHOICE = "States.NoChoiceMatched"
QUERY = "States.QueryEvaluationError"
RUNTIME = "States.Runtime"
TIMEOUT = "States.Timeout"


@dataclass(frozen=True)
class Failure:
    """The error of a failed state. As JSON it is the error output that a Catch sees."""

    error: str
    cause: str = ""

    def output(self) -> dict[str, str]:
        return {"Error": self.error, "Cause": self.cause}


class StateFailedError(Exception):
    """Carries a failure to where the state's Retry and Catch are looked at."""

    def __init__(self, error: str, cause: str) -> None:
        super().__init__(f"{error}: {cause}")
        self.failure = Failure(error, cause)


def matches(names: Collection[str], error: str, readings: Readings) -> bool:
    """Returns true if a name in an ErrorEquals stands for the error."""
    if error == RUNTIME:
        # Not even by its own name, as recorded in scenarios/test_base_scenarios
        # (test_catch_states_runtime).
        return False
    if error in names:
        return True
    if error == DATA_LIMIT and not readings.states_all_catches_data_limit:
        return False
    return "States.ALL" in names or ("States.TaskFailed" in names and error != TIMEOUT)


def interval_seconds(retrier: Mapping[str, Any], tries: int, drawn: float) -> float:
    """Returns the wait before the next try, after `tries`. `drawn` is a random number from 0 to 1,
    which only a retrier with full jitter reads."""
    seconds: float = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2.0) ** tries
    seconds = min(seconds, retrier.get("MaxDelaySeconds", seconds))
    return seconds * drawn if retrier.get("JitterStrategy") == "FULL" else seconds
