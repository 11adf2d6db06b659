"""The Seconds of a Wait are a whole number from 0 to 99,999,999; what is computed and is none fails
the execution.

Emulators sleep for half a second, or make a number of a text. Every wait for a holder is one of a
list, so all of them can be tried.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from proof.asl.jsonata import Clock, Library, Undefined
from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page("step-functions/latest/dg/state-wait.html", "Seconds: an integer from 0 to 99999999."),
    page(
        "step-functions/latest/dg/transforming-data.html",
        "A field whose value is of another type than the field expects: "
        "States.QueryEvaluationError.",
    ),
)
_LONGEST = 99_999_999
_MOST_LOOKS = 100


def findings(deployed: Deployed) -> Iterator[str]:
    for name, state in deployed.states.items():
        if state["Type"] != "Wait":
            continue
        computed = re.fullmatch(r"{%(.+)%}", str(state["Seconds"]))
        waits = [state["Seconds"]] if computed is None else list(_computed(computed[1]))
        if not waits:
            yield f"{name} has no wait"
        for seconds in waits:
            if type(seconds) is not int or not 0 <= seconds <= _LONGEST:
                yield f"{name} waits {seconds!r} seconds"


def _computed(expression: str) -> Iterator[object]:
    found = (
        Library().evaluate(expression, {"states": {"input": {"claim": {"looks": looks}}}}, Clock(0))
        for looks in range(1, _MOST_LOOKS)
    )
    return takewhile(lambda value: not isinstance(value, Undefined), found)


def _half_a_second(deployed: Deployed) -> None:
    deployed.states["WaitForOwner"]["Seconds"] = "{% [0.5, 3, 6][$states.input.claim.looks - 1] %}"


def _text(deployed: Deployed) -> None:
    deployed.states["WaitForOwner"]["Seconds"] = "1"


BROKEN = {"half a second": _half_a_second, "a text": _text}
