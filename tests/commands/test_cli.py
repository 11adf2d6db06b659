"""The command line itself: exit codes, errors in JSON, options, the list of commands."""

import errno
import subprocess
import sys
from pathlib import Path

import click
import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from once.cli import OPERATE, TRY, load
from once.project import EXAMPLE
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


def test_commands_without_a_local_stack_need_no_file_locks() -> None:
    """Windows has no fcntl."""
    script = (
        "import sys; sys.modules['fcntl'] = None\n"
        "from once.cli import OPERATE, app, load\n"
        "for name in OPERATE: load(name)\n"
        "app(['audit', sys.argv[1]])"
    )
    command = [sys.executable, "-c", script, str(EXAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 3), done.stderr
    assert done.stdout


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


@pytest.mark.parametrize(
    "arguments", [("nothing",), ("explain",), ("status", "--sinse"), ("parked", "nothing")]
)
def test_usage_error_ends_in_2(arguments: tuple[str, ...]) -> None:
    answer = once(*arguments)
    assert answer.code == 2
    assert answer.err


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (NoCredentialsError(), 1, "once"),
        (ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "X"), 1, "policy"),
        (ClientError({"Error": {"Code": "Odd", "Message": "no"}}, "GetItem"), 1, "runbook.md#the-"),
        (PermissionError(errno.EACCES, "no", ".once"), 1, str(Path(".once").absolute())),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(
    stack: FakeStack, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, says: str
) -> None:
    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(stack.pipes, "describe_pipe", refuse)
    answer = once("resume")
    assert answer.code == code
    assert says in answer.err
    if isinstance(error, ClientError):
        assert once("resume", "--json").json["exitCode"] == 1


def test_text_of_others_cannot_steer_a_terminal(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "CALL_FAILED", cause="\x1b[2J\u202e", requests=1)
    stack.sqs.delayed = 1
    out = once("status").out
    assert "\x1b" not in out
    assert "\u202e" not in out
