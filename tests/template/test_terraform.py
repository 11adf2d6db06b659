"""docs/examples/main.tf says the same as the template and the data action function."""

import re

import hcl2
from once_data_action.genesys import COMMON

from proof.definition.asl import ROOT
from proof.template import TEMPLATE

EXAMPLE = (ROOT / "docs/examples/main.tf").read_text()
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


def test_each_value_of_the_example_is_a_parameter_with_its_default() -> None:
    given = VARIABLES["parameters"]["default"]
    assert given == {name: TEMPLATE["Parameters"][name]["Default"] for name in given}
    assert set(re.findall(r"\b(\w+) += data", str(STACK["parameters"]))) <= {"EventSourceName"}
    assert "EventSourceName" in STACK["parameters"]


def test_each_variable_is_used_and_none_is_missing() -> None:
    assert set(re.findall(r"\bvar\.(\w+)", EXAMPLE)) == VARIABLES.keys()


def test_the_data_action_takes_the_common_inputs() -> None:
    action = RESOURCES["genesyscloud_integration_action.act"]
    properties = action["contract_input"].split("properties = ")[1]
    assert re.findall(r"(\w+) = \{type", properties) == list(COMMON)
