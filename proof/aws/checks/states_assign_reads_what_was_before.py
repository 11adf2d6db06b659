"""All expressions of an Assign see the variables as they were when the state was entered.

An emulator may assign one after another, so that the second sees the first. Where none reads what a
sibling assigns, both ways come to the same.
"""

import re
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed
from proof.definition.asl import strings

SOURCES = (
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "Evaluation order: all expressions are evaluated first, then the assignments are made.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, state in deployed.states.items():
        for rule in (state, *state.get("Choices", []), *state.get("Catch", [])):
            done: set[str] = set()
            for variable, value in rule.get("Assign", {}).items():
                read = {word for text in strings(value) for word in re.findall(r"\$(\w+)", text)}
                for early in sorted(read & done):
                    yield f"{name}: ${variable} reads ${early}, which is assigned beside it"
                done.add(variable)


def _reads_its_sibling(deployed: Deployed) -> None:
    """The machine's deadline from its start, which is assigned one line above."""
    deployed.states["OpenBatch"]["Assign"]["deadlineMs"] = "{% $startedMs + 165000 %}"


BROKEN = {"an expression that reads its sibling": _reads_its_sibling}
