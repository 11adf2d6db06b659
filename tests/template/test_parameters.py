"""Parameters: asked in order, explained where they are asked, refused with a sentence."""

import re
from pathlib import Path

import cfnlint
import pytest

from proof.definition.asl import ROOT
from proof.template import TEMPLATE
from proof.template.translated import ACCOUNT, Translated
from tests.template.deployments import (
    GENESYS,
    KEY,
    PARTNER,
    TARGET_BUS,
    TARGET_FUNCTION,
    TO_BUS,
    TO_FUNCTION,
    TO_GENESYS,
    WEBHOOK,
)

PARAMETERS = TEMPLATE["Parameters"]


def test_each_parameter_is_asked_in_the_order_of_its_group() -> None:
    groups = TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    assert [name for group in groups for name in group["Parameters"]] == list(PARAMETERS)
    assert len(PARAMETERS) <= 24


@pytest.mark.parametrize("name", PARAMETERS)
def test_each_parameter_has_a_default_that_it_accepts_a_description_and_a_use(name: str) -> None:
    parameter = PARAMETERS[name]
    text = (ROOT / "template.yaml").read_text()
    assert f"!Ref {name}]" in text or f"!Ref {name}" in text.split("\nConditions:")[1]
    assert len(parameter["Description"].split()) >= 5
    assert re.search(parameter.get("AllowedPattern", ""), str(parameter["Default"]))
    assert parameter["Default"] in parameter.get("AllowedValues", [parameter["Default"]])


def test_the_page_on_operations_explains_each_parameter_in_one_table() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    assert rows == list(PARAMETERS)


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


@pytest.mark.parametrize("target", [WEBHOOK, TO_GENESYS, TO_BUS, TO_FUNCTION, {}])
def test_each_target_with_what_it_needs_is_accepted(target: dict[str, str]) -> None:
    assert Translated(PARTNER | target).refusals == []


def test_a_region_is_refused_if_it_has_no_pipes_and_only_then() -> None:
    """cfn-lint knows each region's resource types from CloudFormation's registry."""
    folder = Path(cfnlint.__file__).parent / "data" / "schemas" / "providers"
    known = {path.stem: path.read_text() for path in folder.glob("*-*-*.json")}
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
