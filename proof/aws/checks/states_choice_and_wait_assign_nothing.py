"""A Choice and a Wait have no Assign of their own: when it is evaluated, AWS does not say or says
twice.

Of a Choice whose rule has matched, one section of its page says that the state's Assign applies
whichever rule matches, another that the two exclude each other. Of a Wait nothing tells whether it
is evaluated before or after. An Assign in a rule, or in the state behind, is beyond doubt.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/state-choice.html",
        "Choice Rules: it applies regardless of which rule matches. Using Assign: mutually "
        "exclusive.",
    ),
    page("step-functions/latest/dg/state-wait.html", "A Wait may have an Assign; no more is said."),
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "Assign stands in Pass, Task, Map, Parallel, Choice and Wait, in rules and in a Catch.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, state in deployed.states.items():
        if state["Type"] in ("Choice", "Wait") and "Assign" in state:
            yield f"{name} is a {state['Type']} and assigns {', '.join(state['Assign'])}"


def _choice(deployed: Deployed) -> None:
    deployed.states["JudgeClaim"]["Assign"] = {"verdict": "{% $states.input.claim.verdict %}"}


def _wait(deployed: Deployed) -> None:
    deployed.states["WaitForOwner"]["Assign"] = {"waitedUntilMs": "{% $millis() %}"}


BROKEN = {"an unclear Assign of a Choice": _choice, "an unclear Assign of a Wait": _wait}
