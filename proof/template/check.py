"""Makes a check of a rule that AWS has and no linter knows, its sources, and broken samples.

A check is a function that yields the faults of a deployment. Its docstring is the rule.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from proof.definition import asl
from proof.template.translated import Translated

Json = Any
DOCS = "https://docs.aws.amazon.com/"
GITHUB = "https://github.com/"
# Step Functions' snapshots in LocalStack's tests, which were recorded on AWS.
RECORDED = f"{GITHUB}localstack/localstack/blob/main/tests/aws/services/stepfunctions/v2/"


@dataclass
class Deployed:
    """One deployment. A check reads it; a broken sample is a changed copy."""

    # As CloudFormation has them after the transform, their properties decided.
    resources: dict[str, dict[str, Any]]
    definition: dict[str, Any]
    definition_text: str

    @staticmethod
    def of(translated: Translated) -> "Deployed":
        resources = deepcopy(translated.resources)
        given = resources["StateMachine"]["Properties"]["DefinitionSubstitutions"]
        known = {name: str(value) for name, value in given.items() if not isinstance(value, dict)}
        filled_in = {**asl.SUBSTITUTIONS, **known}
        return Deployed(resources, asl.definition(filled_in), asl.definition_text(filled_in))

    def broken(self, edit: "Edit") -> "Deployed":
        other = replace(
            self, resources=deepcopy(self.resources), definition=deepcopy(self.definition)
        )
        edit(other)
        return other

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """Returns the properties of all resources of a kind, by name."""
        return {
            name: body["Properties"]
            for name, body in self.resources.items()
            if body["Type"] == kind
        }

    def properties(self, name: str) -> dict[str, Any]:
        properties: dict[str, Any] = self.resources[name]["Properties"]
        return properties

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        return asl.states(self.definition)

    @property
    def tasks(self) -> dict[str, dict[str, Any]]:
        return {name: state for name, state in self.states.items() if state["Type"] == "Task"}

    def task(self, action: str, field: str = "Resource") -> dict[str, Any]:
        """Returns the first task that calls `action` and has the argument `field`."""
        return next(
            task
            for task in self.tasks.values()
            if task["Resource"].endswith(f":{action}") and field in {"Resource", *task["Arguments"]}
        )

    def substitution(self, name: str) -> str:
        return str(self.properties("StateMachine")["DefinitionSubstitutions"][name])


Edit = Callable[[Deployed], object]
Find = Callable[[Deployed], Iterator[str]]


@dataclass(frozen=True)
class Check:
    name: str
    rule: str
    sources: tuple[str, ...]
    find: Find
    broken: Mapping[str, Edit]


CHECKS: dict[str, Check] = {}


def check(*sources: str, **broken: Edit) -> Callable[[Find], Find]:
    """Registers a check. A source is a page below DOCS, or a whole address."""

    def register(find: Find) -> Find:
        name = find.__name__
        rule = " ".join((find.__doc__ or "").split())
        addresses = tuple(s if s.startswith("http") else DOCS + s for s in sources)
        CHECKS[name] = Check(name, rule, addresses, find, broken)
        return find

    return register


def put(resource: str, path: str, value: Json) -> Edit:
    """Sets a property of a resource; `path` goes down by dots."""

    def edit(deployed: Deployed) -> None:
        *above, last = path.split(".")
        part = deployed.properties(resource)
        for name in above:
            part = part[name]
        part[last] = value

    return edit


def drop(resource: str, name: str) -> Edit:
    return lambda deployed: deployed.properties(resource).pop(name)
