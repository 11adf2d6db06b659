"""The command line itself: exit codes, errors in JSON, options, the list of commands."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from once.cli import OPERATE, TRY, load
from tests.commands.conftest import once
from tests.commands.fakes import FakeStack

# The console shows a stack in the browser, so it has no JSON.
OURS = [name for name in OPERATE if name != "console"]


def test_each_command_is_listed_and_none_is_imported() -> None:
    script = (
        "import sys, once.cli; once.cli.app(['--help'], standalone_mode=False);"
        "sys.exit(any(name.startswith(('boto3', 'once.commands')) for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0
    assert all(f"\n  {name} " in done.stdout for name in (*TRY, *OPERATE))


def test_version_is_printed() -> None:
    answer = once("--version")
    assert answer.code == 0
    assert answer.out[0].isdigit()


@pytest.mark.parametrize("name", OURS)
def test_a_command_answers_in_json_and_names_an_example(name: str) -> None:
    command = load(name)
    inner = command.commands.values() if isinstance(command, click.Group) else [command]
    for each in inner:
        options = {option for parameter in each.params for option in parameter.opts}
        assert {"--json", "--stack", "--region", "--profile"} <= options
        assert str(each.epilog).startswith(f"Example: once {name}")
        assert each.help


@pytest.mark.parametrize("arguments", [("nothing",), ("status", "--sinse"), ("parked", "nothing")])
def test_usage_error_ends_in_2(arguments: tuple[str, ...]) -> None:
    answer = once(*arguments)
    assert answer.code == 2
    assert answer.err


@pytest.mark.parametrize(
    "error",
    [
        NoCredentialsError(),
        ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DescribePipe"),
    ],
)
def test_an_error_of_aws_ends_in_1_and_is_json_if_wanted(
    stack: FakeStack, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(stack.pipes, "describe_pipe", refuse)
    assert once("status").code == 1
    answer = once("status", "--json")
    assert (answer.code, answer.json["exitCode"]) == (1, 1)


def test_an_unwritable_file_is_explained(stack: FakeStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "/etc/x")

    monkeypatch.setattr(stack.pipes, "describe_pipe", refuse)
    answer = once("status")
    assert answer.code == 1
    assert "/etc/x" in answer.err


def test_control_c_ends_in_130(stack: FakeStack, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack.pipes, "describe_pipe", interrupt)
    assert once("status").code == 130


def test_term_unwinds_and_ends_in_143(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, types, click\n"
        "from once import cli\n"
        "@click.command()\n"
        "def command():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "    finally:\n"
        "        open('unwound', 'w').close()\n"
        "module = types.ModuleType('once.commands.status')\n"
        "module.command = command\n"
        "sys.modules['once.commands.status'] = module\n"
        "cli.app(['status'])\n"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment)
    assert done.returncode == 128 + signal.SIGTERM
    assert (tmp_path / "unwound").exists()


def test_text_of_others_cannot_steer_a_terminal(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "CALL_FAILED", cause="\x1b[2J\u202e", requests=1)
    stack.sqs.delayed = 1
    out = once("status").out
    assert "\x1b" not in out
    assert "\u202e" not in out
