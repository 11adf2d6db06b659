"""Shell blocks of the pages can be parsed, and their AWS commands exist with these options."""

import re
import subprocess

import botocore.session
import pytest
from botocore import xform_name

from proof.definition.asl import ROOT
from proof.template import TEMPLATE

PAGES = {page.name: page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
JOINED = {name: re.sub(r"\\\n\s*", " ", text) for name, text in PAGES.items()}
# Options and commands that the CLI adds to the operations of a service.
OF_THE_CLI = {"--output", "--query"}
NO_OPERATION = {"cloudformation deploy", "logs tail", "s3 sync"}
COMMANDS = sorted(
    {
        (page, service, operation, options)
        for page, text in JOINED.items()
        for service, operation, options in re.findall(
            r"\baws ([a-z0-9]+) ([a-z][a-z-]+)([^`|\n]*)", text
        )
        if f"{service} {operation}" not in NO_OPERATION
    }
)
SESSION = botocore.session.get_session()


@pytest.mark.parametrize(("page", "service", "operation", "options"), COMMANDS)
def test_aws_command_has_these_options(
    page: str, service: str, operation: str, options: str
) -> None:
    model = SESSION.get_service_model(service)
    names = {xform_name(name, "-"): name for name in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    given = set(re.findall(r"(?<!\S)--[a-z-]+", options)) - OF_THE_CLI
    assert given <= {f"--{xform_name(name, '-')}" for name in shape.members}, page
    if given:  # in prose a command may stand for itself
        assert given >= {f"--{xform_name(name, '-')}" for name in shape.required_members}, page


def test_aws_commands_that_erase_an_id_are_found() -> None:
    found = {operation for page, _, operation, _ in COMMANDS if page == "personal-data.md"}
    assert {"stop-pipe", "delete-message", "delete-item", "delete-log-stream"} <= found


def test_outputs_that_the_pages_read_are_in_the_template() -> None:
    read = set(re.findall(r"\$\(output (\w+)\)", PAGES["personal-data.md"]))
    assert read
    assert read <= TEMPLATE["Outputs"].keys()


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks_can_be_parsed(page: str) -> None:
    for block in re.findall(r"^( *)```sh\n(.*?)^\1```", PAGES[page], re.M | re.S):
        subprocess.run(["bash", "-n"], input=block[1], text=True, check=True)
