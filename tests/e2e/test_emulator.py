"""Our corrections of ministack hold: errors of functions, and isolation."""

import io
import json
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from once.errors import OnceError
from once.local.aws import Emulator, _free_port
from proof.deployed import DeployedStack

pytestmark = pytest.mark.local

FUNCTION = """
import os
calls = 0

class RateLimited(Exception):
    pass

def handler(event, context):
    global calls
    calls += 1
    if event == "crash":
        os._exit(3)
    if event == "raise":
        raise RateLimited('{"detail": "slow\\\\ndown", "retryAfterSeconds": 2}')
    return {"calls": calls}
"""


def machine(function: str) -> str:
    return json.dumps(
        {
            "QueryLanguage": "JSONata",
            "StartAt": "Call",
            "States": {
                "Call": {
                    "Type": "Task",
                    "Resource": "arn:aws:states:::lambda:invoke",
                    "Arguments": {"FunctionName": function, "Payload": "{% $states.input %}"},
                    "Output": "{% $states.result.Payload %}",
                    "Catch": [
                        {
                            "ErrorEquals": ["RateLimited"],
                            "Output": {
                                "caught": "by its class",
                                "cause": "{% $states.errorOutput.Cause %}",
                            },
                            "Next": "End",
                        },
                        {
                            "ErrorEquals": ["States.ALL"],
                            "Output": {"caught": "{% $states.errorOutput.Error %}"},
                            "Next": "End",
                        },
                    ],
                    "End": True,
                },
                "End": {"Type": "Pass", "End": True},
            },
        }
    )


class Caller:
    """A function behind a state machine on an AWS of its own."""

    def __init__(self, aws: Emulator) -> None:
        self.functions, self._states = aws.client("lambda"), aws.client("stepfunctions")
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as package:
            package.writestr("function.py", FUNCTION)
        role = "arn:aws:iam::000000000000:role/any"
        arn = self.functions.create_function(
            FunctionName="any",
            Runtime=f"python{sys.version_info.major}.{sys.version_info.minor}",
            Role=role,
            Handler="function.handler",
            Code={"ZipFile": archive.getvalue()},
        )["FunctionArn"]
        self._machine = self._states.create_state_machine(
            name="any", definition=machine(arn), roleArn=role, type="EXPRESS"
        )["stateMachineArn"]

    def __call__(self, payload: Any) -> Any:
        execution = self._states.start_sync_execution(
            stateMachineArn=self._machine, input=json.dumps(payload)
        )
        assert execution["status"] == "SUCCEEDED", execution
        return json.loads(execution["output"])


@pytest.fixture(scope="module")
def aws() -> Iterator[Emulator]:
    with Emulator.start() as running:
        yield running


@pytest.fixture(scope="module")
def call(aws: Emulator) -> Caller:
    return Caller(aws)


def test_an_error_is_caught_by_the_name_of_its_class_with_its_message(call: Caller) -> None:
    caught = call("raise")
    assert caught["caught"] == "by its class"
    cause = json.loads(caught["cause"])
    assert cause["errorType"] == "RateLimited"
    assert json.loads(cause["errorMessage"]) == {"detail": "slow\ndown", "retryAfterSeconds": 2}


def test_a_direct_call_sees_the_same_error(call: Caller) -> None:
    answer = call.functions.invoke(FunctionName="any", Payload=b'"raise"')
    assert answer["FunctionError"] == "Unhandled"
    assert json.loads(answer["Payload"].read())["errorType"] == "RateLimited"


def test_an_environment_outlives_an_error_with_what_it_cached(call: Caller) -> None:
    before = call("count")["calls"]
    call("raise")
    assert call("count")["calls"] == before + 2


def test_a_crash_has_the_name_that_aws_gives_it(call: Caller) -> None:
    assert call("crash") == {"caught": "Runtime.ExitError"}
    assert call("count") == {"calls": 1}


def test_code_that_cannot_be_imported_is_named_to_concurrent_callers_too(call: Caller) -> None:
    """ministack ends the environments that other requests wait for, with errors of its own."""

    def error_type(_: int) -> Any:
        answer = call.functions.invoke(FunctionName="any", Payload=b"{}")
        return json.loads(answer["Payload"].read())["errorType"]

    configure = call.functions.update_function_configuration
    configure(FunctionName="any", Handler="nowhere.handler")
    try:
        first = error_type(0)
        with ThreadPoolExecutor(5) as pool:
            assert {first, *pool.map(error_type, range(20))} == {"Runtime.ImportModuleError"}
    finally:
        configure(FunctionName="any", Handler="function.handler")
    assert call("count") == {"calls": 1}


def test_throttling_has_the_name_that_aws_gives_it(call: Caller) -> None:
    call.functions.put_function_concurrency(FunctionName="any", ReservedConcurrentExecutions=0)
    try:
        assert call("count") == {"caught": "Lambda.TooManyRequestsException"}
    finally:
        call.functions.delete_function_concurrency(FunctionName="any")


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_port_taken_meanwhile_is_left_for_another(
    taken: int, aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Once by a stranger, and once by another ministack, which would answer in place of ours.
    ports = [taken, aws.port, _free_port()]
    monkeypatch.setattr("once.local.aws._free_port", iter(ports).__next__)
    with Emulator.start() as started:
        assert started.port == ports[2]


def test_a_port_taken_every_time_is_named(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("once.local.aws._free_port", lambda: taken)
    with pytest.raises(OnceError, match=f"Port {taken} .* was taken by another process"):
        Emulator.start()


def test_two_at_once_know_nothing_of_each_other(aws: Emulator) -> None:
    aws.client("sqs").create_queue(QueueName="mine")
    with Emulator.start() as other:
        assert other.port != aws.port
        assert not other.client("sqs").list_queues().get("QueueUrls")
    assert aws.client("sqs").get_queue_url(QueueName="mine")


def test_the_callers_aws_settings_and_proxies_play_no_part(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("AUTH", "true")
    monkeypatch.setenv("LAMBDA_EXECUTOR", "docker")
    with Emulator.start() as aws:
        assert aws.client("sqs").create_queue(QueueName="mine")
        assert aws.environment().keys().isdisjoint({"AWS_PROFILE", "AUTH"})


@pytest.mark.skipif(sys.platform != "linux", reason="reads the open ports from /proc")
def test_only_loopback_is_bound(local: DeployedStack) -> None:
    group = os.getpgid(_pid_listening_on(local.stack.aws.port))
    ours = {os.getpid(), *(pid for pid in _pids() if _group(pid) == group)}
    addresses = {address for pid in ours for address in _listening(pid)}
    assert f"127.0.0.1:{local.stack.aws.port}" in addresses
    assert {address.rpartition(":")[0] for address in addresses} == {"127.0.0.1"}


def test_a_deployed_pipe_is_described_whole(local: DeployedStack) -> None:
    pipe = local.client("pipes").describe_pipe(Name=local.outputs["PipeName"])
    assert pipe["Enrichment"].endswith(local.outputs["EnrichmentFunctionName"])
    assert pipe["SourceParameters"] == {"SqsQueueParameters": {"BatchSize": 10}}
    assert pipe["TargetParameters"] == {
        "StepFunctionStateMachineParameters": {"InvocationType": "REQUEST_RESPONSE"}
    }


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _sockets() -> dict[str, str]:
    """Inode and address of every listening TCP socket."""
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                host, port = fields[1].split(":")
                address = socket.inet_ntop(
                    socket.AF_INET if table == "tcp" else socket.AF_INET6,
                    b"".join(
                        bytes.fromhex(host[at : at + 8])[::-1] for at in range(0, len(host), 8)
                    ),
                )
                found[fields[9]] = f"{address}:{int(port, 16)}"
    return found


def _listening(pid: int) -> set[str]:
    sockets = _sockets()
    addresses = set()
    try:
        handles = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return set()
    for handle in handles:
        try:
            inode = os.readlink(handle).removeprefix("socket:[").removesuffix("]")
        except OSError:
            continue  # closed meanwhile
        if inode in sockets:
            addresses.add(sockets[inode])
    return addresses


def _pid_listening_on(port: int) -> int:
    return next(pid for pid in _pids() if f"127.0.0.1:{port}" in _listening(pid))
