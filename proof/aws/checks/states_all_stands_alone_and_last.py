"""States.ALL stands alone in its ErrorEquals, and in the last retrier or Catch.

The machine is refused when it is created. Emulators take it anywhere, and skip what comes behind
it.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/concepts-error-handling.html",
        "It must appear alone in the ErrorEquals array and in the last catcher of the Catch array.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, state in deployed.states.items():
        for kind in ("Retry", "Catch"):
            rules = [rule["ErrorEquals"] for rule in state.get(kind, [])]
            for place, errors in enumerate(rules):
                if "States.ALL" in errors and (len(errors) > 1 or place < len(rules) - 1):
                    yield f"{name}, {kind}: States.ALL is not alone, or not last"


def _among_others(deployed: Deployed) -> None:
    deployed.states["ReadClaim"]["Catch"][0]["ErrorEquals"].append("States.Timeout")


def _before_others(deployed: Deployed) -> None:
    deployed.states["ClaimKey"]["Catch"].reverse()


BROKEN = {"among others": _among_others, "before others": _before_others}
