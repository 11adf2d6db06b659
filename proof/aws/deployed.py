"""A deployment as it would be sent to AWS, for the checks."""

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from once_enrichment.batch import enrich
from once_enrichment.overflow import Write

from proof.definition import asl
from proof.translated import Translated

Json = Any
Enrich = Callable[[list[Any], Write], list[dict[str, Any]]]


@dataclass
class Deployed:
    """One deployment. A check reads it; a broken sample is a copy that was changed."""

    # As CloudFormation has them after the transform, their properties decided.
    resources: dict[str, dict[str, Any]]
    # The state machine with what the deployment fills in; what only AWS knows is made up.
    definition: dict[str, Any]
    definition_text: str
    enrich: Enrich = field(default=enrich)

    @staticmethod
    def of(translated: Translated) -> "Deployed":
        resources = deepcopy(translated.resources)
        filled_in = {**asl.SUBSTITUTIONS, **_known(resources)}
        definition = asl.definition(filled_in)
        return Deployed(resources, definition, asl.definition_text(filled_in))

    def broken(self, edit: "Edit") -> "Deployed":
        other = replace(
            self, resources=deepcopy(self.resources), definition=deepcopy(self.definition)
        )
        edit(other)
        return other

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of all resources of a kind, by name."""
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
        """Every state by name, those inside Maps too."""
        return asl.states(self.definition)

    @property
    def tasks(self) -> dict[str, dict[str, Any]]:
        return {name: state for name, state in self.states.items() if state["Type"] == "Task"}

    def filled_in(self, name: str) -> str:
        """Returns what the deployment puts into a placeholder of the definition."""
        return str(self.properties("StateMachine")["DefinitionSubstitutions"][name])


Edit = Callable[[Deployed], None]


def _known(resources: Mapping[str, Any]) -> dict[str, str]:
    given = resources["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    return {name: str(value) for name, value in given.items() if not isinstance(value, dict)}


def ours() -> dict[str, Deployed]:
    """Returns our deployment with the defaults, and with each option that adds a resource."""
    return {name: Deployed.of(Translated(given)) for name, given in _PARAMETERS.items()}


_PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "by default": {},
    "with every option": {
        "EventSourceName": "aws.partner/genesys.com/cloud/1f0e6a52/live",
        "DetailTypes": "v2.users.{id}.presence,v2.detail.events.conversation.{id}.customer.end",
        "PublishSchemas": "true",
        "ActionTarget": "webhook",
        "WebhookUrl": "https://hooks.example.com/genesys",
        "DestinationSecretArn": (
            "arn:aws:secretsmanager:eu-central-1:111122223333:secret:destination-AbCdEf"
        ),
        "MaxActionsPerMinute": "300",
        "MaxConcurrentActions": "20",
        "KmsKeyArn": (
            "arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-4333-8444-555555555555"
        ),
        "FormerKmsKeyArn": (
            "arn:aws:kms:eu-central-1:111122223333:key/99999999-2222-4333-8444-555555555555"
        ),
        "AlarmEmail": "on-call@example.com",
    },
}
