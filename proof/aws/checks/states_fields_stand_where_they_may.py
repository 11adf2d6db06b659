"""Each type of state has fields of its own, expressions see $states.result and $states.errorOutput
only where there is one, and no variable of a Map hides one from around it.

All of it is refused when the machine is created. Emulators ignore unknown fields and let an inner
variable take the name of an outer one. proof/asl/definition.py has the rules one by one.
"""

from collections.abc import Iterator

from proof.asl.definition import DefinitionError, check
from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/statemachine-structure.html",
        "The fields that states share, and which of them a type has.",
    ),
    page(
        "step-functions/latest/dg/transforming-data.html",
        "JSONata states have Arguments, Assign and Output; $eval is not supported; how an "
        "expression is delimited.",
    ),
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "$states.result or errorOutput where they are not accessible is caught at creation; a name "
        "assigned in an inner scope cannot be assigned in an outer one.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    try:
        check(deployed.definition)
    except DefinitionError as error:
        yield str(error)


def _jsonpath(deployed: Deployed) -> None:
    deployed.states["RecordOutcomes"]["ResultPath"] = None


def _retried_pass(deployed: Deployed) -> None:
    deployed.states["OpenBatch"]["Retry"] = [{"ErrorEquals": ["States.ALL"]}]


def _too_early(deployed: Deployed) -> None:
    deployed.states["RunAction"]["Arguments"]["Payload"] = "{% $states.result.Payload %}"


def _hidden(deployed: Deployed) -> None:
    """A name of the rounds around it, assigned for one event."""
    deployed.states["ReadClaim"]["Assign"]["breaker"] = {}


def _part(deployed: Deployed) -> None:
    deployed.states["ReadClaim"]["Assign"]["seen.tries"] = 0


def _eval(deployed: Deployed) -> None:
    deployed.states["OpenBatch"]["Assign"]["limit"] = "{% $eval('0') %}"


BROKEN = {
    "a field of JSONPath": _jsonpath,
    "a Pass that is retried": _retried_pass,
    "a result before there is one": _too_early,
    "a variable of a Map that hides an outer one": _hidden,
    "an Assign to a part of a variable": _part,
    "a function that Step Functions does not have": _eval,
}
