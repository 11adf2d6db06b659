"""Names have limits, of each service its own: a rule's has 64 characters, an alarm's 255, a state's
80.

A name that CloudFormation makes up is cut to what fits. One that the template gives is taken as it
is, and refused when its resource is created, with half of the stack standing. Most of ours begin
with the stack's name, which may have 128 characters: docs/operations.md says for how many there
is room.
"""

from collections.abc import Iterator

from proof.aws.check import Source, issue, page
from proof.aws.deployed import Deployed
from proof.translated import STACK

_API = "APIReference/API_"
SOURCES = (
    page(f"eventbridge/latest/{_API}PutRule.html", "Name: maximum length of 64."),
    page(f"eventbridge/latest/{_API}CreateEventBus.html", "Name: maximum length of 256."),
    page(f"AmazonCloudWatch/latest/{_API}PutMetricAlarm.html", "AlarmName: maximum length of 255."),
    page(
        "AWSCloudFormation/latest/TemplateReference/aws-resource-cloudwatch-dashboard.html",
        "DashboardName: between 1 and 255 characters.",
    ),
    page(
        f"AmazonCloudWatchLogs/latest/{_API}CreateLogGroup.html",
        "logGroupName: maximum length of 512.",
    ),
    Source(
        "code",
        "https://github.com/hashicorp/terraform-provider-aws/tree/main/internal/service/schemas",
        "The name of a registry has 64 characters at most, that of a schema 385.",
    ),
    Source(
        "page",
        "https://states-language.net/spec.html",
        "The state name, whose length MUST BE less than or equal to 80 Unicode characters.",
    ),
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "The maximum length of a variable name is 80.",
    ),
    issue(
        "aws-samples/sample-auto-map-tagger/pull/43",
        "A role's name came to 69 characters: cfn-lint let it pass, the stack failed.",
    ),
)
LONGEST_STACK = 57
_MOST = {
    ("AWS::Events::Rule", "Name"): 64,
    ("AWS::Events::EventBus", "Name"): 256,
    ("AWS::CloudWatch::Alarm", "AlarmName"): 255,
    ("AWS::CloudWatch::Dashboard", "DashboardName"): 255,
    ("AWS::Logs::LogGroup", "LogGroupName"): 512,
    ("AWS::EventSchemas::Registry", "RegistryName"): 64,
    ("AWS::EventSchemas::Schema", "SchemaName"): 385,
}
_MOST_IN_MACHINE = 80
# What has a name of its own, but for these, which are not made by the template.
_OF_OTHERS = {"EventBusName", "EventSourceName", "MetricName", "DisplayName"}


def findings(deployed: Deployed) -> Iterator[str]:
    for logical_id, resource in deployed.resources.items():
        for field, name in resource.get("Properties", {}).items():
            if not field.endswith("Name") or field in _OF_OTHERS or not isinstance(name, str):
                continue
            most = _MOST.get((resource["Type"], field))
            longest = name.replace(STACK, "s" * LONGEST_STACK, 1)
            if most is None:
                yield f"{logical_id}: nobody looked up how long a {field} may be"
            elif len(longest) > most:
                yield f"{logical_id}: {longest} has {len(longest)} characters, more than {most}"
    for state, body in deployed.states.items():
        for name in (state, *body.get("Assign", ())):
            if len(name) > _MOST_IN_MACHINE:
                yield f"{name} has {len(name)} characters, more than {_MOST_IN_MACHINE}"


def _long_rule(deployed: Deployed) -> None:
    deployed.properties("EventRule")["Name"] += "-of-genesys-cloud"


def _named_role(deployed: Deployed) -> None:
    deployed.properties("PipeRole")["RoleName"] = f"{STACK}-pipe"


def _long_state(deployed: Deployed) -> None:
    states = deployed.definition["States"]
    states["ReadPace" * 11] = states.pop("ReadPace")


def _long_variable(deployed: Deployed) -> None:
    deployed.states["OpenBatch"]["Assign"]["limit" * 17] = 0


BROKEN = {
    "a rule that says what it is": _long_rule,
    "a name of a kind that nobody looked up": _named_role,
    "a state of 88 characters": _long_state,
    "a variable of 85 characters": _long_variable,
}
