"""Parameters: asked in order, explained where they are asked, refused with a sentence."""

import json
import re

import pytest

from proof.definition.asl import ROOT
from proof.template import TEMPLATE, of_type
from proof.template.translated import ACCOUNT, Translated
from tests.template.deployments import (
    DEPLOYMENTS,
    GENESYS,
    KEY,
    PARTNER,
    SCHEMAS,
    SETS,
    TARGET_BUS,
    TARGET_FUNCTION,
    TO_GENESYS,
    WEBHOOK,
)

PARAMETERS = TEMPLATE["Parameters"]


def test_each_parameter_is_asked_in_the_order_of_its_group() -> None:
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert [name for group in groups for name in group["Parameters"]] == list(PARAMETERS)
    assert len(PARAMETERS) <= 24


def test_the_page_on_operations_explains_each_parameter_in_one_table() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == list(PARAMETERS)


LIMIT = "DataActionFunction.Environment.Variables.MAX_ACTIONS_PER_MINUTE"


@pytest.mark.parametrize(
    ("parameters", "setting", "value"),
    [
        ({}, LIMIT, "0"),
        (WEBHOOK, LIMIT, "0"),
        (TO_GENESYS, LIMIT, "300"),
        ({"MaxActionsPerMinute": "20"}, LIMIT, "20"),
        (TO_GENESYS | {"MaxActionsPerMinute": "0"}, LIMIT, "0"),
        ({"MaxConcurrentActions": "0"}, "DataActionFunction.ReservedConcurrentExecutions", None),
        ({"MaxConcurrentActions": "20"}, "DataActionFunction.ReservedConcurrentExecutions", 20),
        ({"MaxConcurrentActions": "20"}, "EnrichmentFunction.ReservedConcurrentExecutions", 20),
        ({"LogLevel": "ERROR"}, "StateMachine.LoggingConfiguration.Level", "ERROR"),
        ({"LogLevel": "ALL_WITH_PAYLOADS"}, "StateMachine.LoggingConfiguration.Level", "ALL"),
        ({"LogLevel": "ALL"}, "StateMachine.LoggingConfiguration.IncludeExecutionData", False),
        (
            {"LogLevel": "ALL_WITH_PAYLOADS"},
            "StateMachine.LoggingConfiguration.IncludeExecutionData",
            True,
        ),
        ({"ActionsLate": "p99.9/300"}, "ActionsLateAlarm.ExtendedStatistic", "p99.9"),
        ({"ActionsLate": "p99.9/300"}, "ActionsLateAlarm.Threshold", "300"),
        ({"QuietMinutes": "90"}, "EventsSilentAlarm.EvaluationPeriods", 90),
    ],
)
def test_parameter_reaches_its_setting(
    parameters: dict[str, str], setting: str, value: object
) -> None:
    name, *path = setting.split(".")
    deployed = Translated(parameters)
    found = deployed.resources[name]["Properties"]
    for part in path:
        found = found.get(part)
    assert found == value
    if setting == LIMIT:
        assert deployed.outputs["MaxActionsPerMinute"]["Value"] == value


def test_silence_is_not_watched_at_0() -> None:
    assert "EventsSilentAlarm" not in json.dumps(Translated({"QuietMinutes": "0"}).resources)


@pytest.mark.parametrize("name", ["boundary", "default bus"])
def test_each_role_is_bounded_as_the_account_demands(name: str) -> None:
    """Those that SAM would make by itself included: there are none."""
    roles = DEPLOYMENTS[name].of_type("AWS::IAM::Role")
    assert sorted(roles) == sorted(of_type("AWS::IAM::Role"))
    for role in roles.values():
        assert role.get("PermissionsBoundary") == SETS[name].get("PermissionsBoundaryArn")


# Rules: CloudFormation, "Rules syntax" and "Rule functions".


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "Set EventSourceName"),
        (PARTNER | WEBHOOK | {"WebhookUrl": ""}, "needs WebhookUrl"),
        (PARTNER | WEBHOOK | {"DestinationSecretArn": ""}, "need DestinationSecretArn"),
        (PARTNER | {"ActionTarget": "genesys"}, "need DestinationSecretArn"),
        (PARTNER | {"ActionTarget": "eventbridge"}, "needs TargetArn"),
        (PARTNER | {"ActionTarget": "lambda"}, "needs TargetArn"),
        (PARTNER | WEBHOOK | {"TargetArn": TARGET_BUS}, "leave TargetArn empty"),
        (PARTNER | {"TargetArn": TARGET_FUNCTION}, "leave TargetArn empty"),
        (PARTNER | {"KmsKeyArn": KEY, "FormerKmsKeyArn": KEY}, "Give it the former key"),
    ],
)
def test_impossible_parameters_are_refused_with_a_remedy(
    parameters: dict[str, str], said: str
) -> None:
    (refusal,) = Translated(parameters).refusals
    assert said in refusal


def test_a_region_is_refused_if_it_has_no_pipes_and_only_then() -> None:
    """cfn-lint knows each region's resource types from CloudFormation's registry."""
    providers = (SCHEMAS / "providers").glob("*-*-*.json")
    known = {path.stem: path.read_text() for path in providers}
    assert len(known) > 30
    for region, types in known.items():
        refusals = Translated(PARTNER, region=region).refusals
        assert [("EventBridge Pipes" in refusal) for refusal in refusals] == (
            [] if '"AWS::Pipes::Pipe"' in types else [True]
        ), region


SECRET = f"arn:aws:secretsmanager:eu-central-1:{ACCOUNT}:secret:"


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        # GetSecretValue, SecretId: a partial ARN may name another secret.
        ("DestinationSecretArn", f"{SECRET}destination-AbCdEf", True),
        ("DestinationSecretArn", f"{SECRET}genesys/live-destination-x1Y2z3", True),
        ("DestinationSecretArn", f"{SECRET}destination", False),
        ("DestinationSecretArn", f"{SECRET}live-destination", False),
        ("DestinationSecretArn", f"{SECRET}destination-??????", False),
        ("TargetArn", TARGET_BUS, True),
        ("TargetArn", TARGET_FUNCTION, True),
        ("TargetArn", TARGET_FUNCTION.removesuffix(":live"), True),
        # Names of partner buses have slashes, those of others have none: CreateEventBus, Name.
        ("TargetArn", TARGET_BUS.replace("lake", f"{GENESYS}/live"), False),
        ("TargetArn", TARGET_BUS.replace("lake", "*"), False),
        ("TargetArn", "ours", False),
        ("ActionsLate", "p99.9/300", True),
        ("ActionsLate", "p100/300", False),
        ("ActionsLate", "p50", False),
        ("ActionsLate", "300", False),
        ("MaxActionsPerMinute", "10", True),
        ("MaxActionsPerMinute", "9", False),
    ],
)
def test_a_value_is_taken_only_in_its_form(name: str, value: str, taken: bool) -> None:
    assert bool(re.search(PARAMETERS[name]["AllowedPattern"], value)) == taken
