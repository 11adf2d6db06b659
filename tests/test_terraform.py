"""The example of docs/terraform.md says the same as the template and the data action function."""

import re
from typing import Any

import hcl2
import pytest
from once_data_action.inputs import COMMON

from proof.definition.asl import ROOT
from proof.template import TEMPLATE

PAGE = (ROOT / "docs" / "terraform.md").read_text()
(EXAMPLE,) = re.findall(r"```hcl\n(.*?)```", PAGE, re.S)
READ = hcl2.loads(
    EXAMPLE,
    serialization_options=hcl2.SerializationOptions(
        strip_string_quotes=True, with_comments=False, explicit_blocks=False
    ),
)
VARIABLES = {name: body for block in READ["variable"] for name, body in block.items()}
RESOURCES = {
    f"{kind}.{name}": body
    for block in READ["resource"]
    for kind, named in block.items()
    for name, body in named.items()
}
STACK = RESOURCES["aws_cloudformation_stack.genesys_once"]
PARAMETERS = TEMPLATE["Parameters"]


def variable(value: str) -> str | None:
    used = re.fullmatch(r"\$\{var\.(\w+)\}", value)
    return used and used[1]


@pytest.mark.parametrize("name", STACK["parameters"])
def test_each_value_of_the_example_is_a_parameter_with_its_default(name: str) -> None:
    value = STACK["parameters"][name]
    if "data." in value:
        assert name == "EventSourceName"
        return
    if (chosen := variable(value)) is not None:
        value = VARIABLES[chosen]["default"]
        assert chosen == re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
    assert str(value) == str(PARAMETERS[name]["Default"])


def test_every_variable_is_used_and_none_is_missing() -> None:
    assert set(re.findall(r"\bvar\.(\w+)", EXAMPLE)) == VARIABLES.keys()


def test_data_action_takes_the_common_inputs() -> None:
    action: dict[str, Any] = RESOURCES["genesyscloud_integration_action.act"]
    properties = action["contract_input"].split("properties = ")[1]
    taken = re.findall(r"(\w+) = \{type", properties)
    assert taken == list(COMMON)


def test_the_stack_may_do_what_the_template_needs() -> None:
    assert TEMPLATE["Transform"] == "AWS::Serverless-2016-10-31"
    assert STACK["capabilities"] == ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]


def test_the_page_passes_an_address_because_the_template_is_too_large_for_a_call() -> None:
    assert "51,200 bytes" in PAGE
    assert (ROOT / "template.yaml").stat().st_size > 51_200
