"""The function that sends requests fails in five ways: whoever looks finds the function, the class
of its error and the next command, and is never sent to the destination.
"""

import io
import re
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.conftest import once, up
from tests.operate.support import pk_of, until

pytestmark = pytest.mark.local

PATIENCE_SECONDS = 180.0
SECRET = "+4915550001234"
FAILING = {
    "raises": f"def handler(*_):\n    raise KeyError('{SECRET}')\n",
    "imports": f"import no_such_module  # {SECRET}\n",
    "exits": "import os\n\n\ndef handler(*_):\n    os._exit(1)\n",
    "hangs": "import time\n\n\ndef handler(*_):\n    time.sleep(60)\n",
    "floods": "def handler(*_):\n    return {'said': 'x' * 300_000}\n",
}
# Ours, but for one event.
CRASHING = f"""
from once_data_action.handler import handler as works

def handler(payload, context):
    if payload["event"]["subject"]["id"] == "function-alone":
        raise KeyError('{SECRET}')
    return works(payload, context)
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[DeployedStack]:
    with deployed(MaxTries="2") as local:
        yield local


@pytest.fixture
def stack(
    shared: DeployedStack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DeployedStack]:
    with up(shared, tmp_path_factory.mktemp("typed")):
        yield shared


@contextmanager
def replaced(local: DeployedStack, code: str) -> Iterator[None]:
    """Deploys another handler in place of ours, for as long as the block lasts."""
    functions, name = local.client("lambda"), local.outputs["DataActionFunctionName"]
    works = functions.get_function_configuration(FunctionName=name)["Handler"]
    archive, built = io.BytesIO(), local.stack.built / "DataActionFunction"
    with zipfile.ZipFile(archive, "w") as package:
        for path in built.rglob("*"):
            package.write(path, path.relative_to(built))
        package.writestr("failing.py", code)
    functions.update_function_code(FunctionName=name, ZipFile=archive.getvalue())
    functions.update_function_configuration(FunctionName=name, Handler="failing.handler")
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Handler=works)


def wait_for(*typed: str, says: str) -> str:
    """Types it until it says this."""
    end = time.monotonic() + PATIENCE_SECONDS
    while says not in (said := once(*typed).out):
        assert time.monotonic() < end, said
        time.sleep(2)
    return said


def failed_at(local: DeployedStack, conversation: str) -> int:
    (row,) = local.rows(pk_of(conversation)).values()
    return int(row["failed_at"])


def blames_the_destination(said: str) -> list[str]:
    """Finds the sentences in which the destination did something."""
    blamed = r"destination (answered|did not|failed|permanently|broke|may be)|destination is down"
    return [line for line in said.splitlines() if re.search(blamed, line)]


@pytest.mark.parametrize(
    ("way", "reason", "error"),
    [
        ("raises", "FUNCTION_FAILED", "KeyError"),
        ("imports", "FUNCTION_FAILED", "Runtime.ImportModuleError"),
        ("exits", "FUNCTION_FAILED", "Runtime.ExitError"),
        ("hangs", "FUNCTION_TIMED_OUT", "Sandbox.Timedout"),
    ],
)
def test_a_function_that_fails_is_named_with_its_error_and_gives_no_event_up(
    stack: DeployedStack, way: str, reason: str, error: str
) -> None:
    conversation = f"function-{way}"
    with replaced(stack, FAILING[way]):
        lines = stack.send(customer_start(conversation))
        told = wait_for("explain", conversation, says="the function that sends the request")
        found = wait_for("status", says=error)
        findings = once("status", "--json").json["findings"]
        # After its first failure none is a try, since no request has succeeded.
        first_ms = failed_at(stack, conversation)
        until(lambda: failed_at(stack, conversation) > first_ms)
    (finding,) = (one for one in findings if one["code"] == reason)
    assert finding["page"] == "docs/runbook.md#the-function-fails"
    for said in (told, found, finding["sentence"]):
        assert error in said
        assert "the function that sends the request" in said
        assert not blames_the_destination(said), said
        assert SECRET not in said
    (ended,) = stack.wait(lines)
    assert (ended.outcome, ended.reason) == ("PROCESSED", "ACTED")


def test_an_event_that_alone_crashes_the_function_is_given_up_with_the_error(
    stack: DeployedStack,
) -> None:
    with replaced(stack, CRASHING):
        lines = stack.send(customer_start("function-alone"))
        end = time.monotonic() + PATIENCE_SECONDS
        while not (found := once("parked", "list", "function-alone", "--json").json["messages"]):
            assert time.monotonic() < end, once("explain", "function-alone").out
            stack.settle(customer_start(f"function-good-{time.monotonic_ns()}"))
    stack.wait(lines)
    told = once("explain", "function-alone").out
    shown = once("parked", "show", found[0]["messageId"]).out
    assert found[0]["reason"] == "GAVE_UP"
    for said in (told, shown):
        assert "KeyError" in said
        assert not blames_the_destination(said), said
        assert SECRET not in said
    once("parked", "drop", "function-alone", "--yes")


def test_a_function_that_answers_too_much_is_named_and_its_event_is_parked(
    stack: DeployedStack,
) -> None:
    with replaced(stack, FAILING["floods"]):
        stack.settle(customer_start("function-floods"))
    told = wait_for("explain", "function-floods", says="more than 256 KiB")
    (parked,) = once("parked", "list", "function-floods", "--json").json["messages"]
    shown = once("parked", "show", parked["messageId"]).out
    findings = once("status", "--json").json["findings"]
    (finding,) = (one for one in findings if one["code"] == "EVENTS_PARKED")
    assert parked["reason"] == "RESPONSE_TOO_LARGE"
    assert finding["commands"] == ["once parked list"]
    for said in (told, shown):
        assert "the function that sends the request" in said
        assert not blames_the_destination(said), said
    once("parked", "drop", "function-floods", "--yes")
