"""One local stack for all tests of a run. The first process that needs it starts it, the others
find it by its folder, and the run ends it.

Tests use conversations of their own. A test that breaks a destination, a function or a setting
does so in a `Variant`: queues, table, machine and functions of its own in the same emulator.
"""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
import urllib3
from botocore.config import Config

from once.genesys.server import KEY_HEADER, RECEIVED, RULES
from once.lines import Line
from once.local.deploy import DURATIONS
from once.local.pipe import PipeRunner, log_failures
from once.model.records import Record
from once.session import open_anonymous_session
from once.stack import running
from once.stack.delivery import Delivery
from once.stack.facade import LOCAL, Stack
from once.stack.log import OutcomeLog
from once.stack.running import Running
from proof.terminal import Answer, once

FOLDER, RUN = "ONCE_TEST_STACK", "ONCE_TEST_RUN"
"""The variables with the folder of the stack, and with the process whose end ends it."""
_SECONDS, _POLL_SECONDS = 120.0, 0.2
T = TypeVar("T")
_LAST_LINES = 20


class Tried:
    """A stack as tests see it: send, wait, look at the rows, the requests and the queues."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack

    @property
    def outputs(self) -> Mapping[str, str]:
        return self.stack.outputs

    def client(self, service: str) -> Any:
        return self.stack.client(service)

    def send(self, *bodies: str | Mapping[str, Any]) -> list[str]:
        """Sends bodies as the rule delivers them; returns the ids of the messages."""
        return [
            self.client("sqs").send_message(
                QueueUrl=self.outputs["EventQueueUrl"],
                MessageBody=body if isinstance(body, str) else json.dumps(body),
            )["MessageId"]
            for body in bodies
        ]

    def settle(
        self,
        *bodies: str | Mapping[str, Any],
        steps: bool = False,
        seconds: float = _SECONDS,
    ) -> list[Record]:
        """Sends bodies, all together or in steps, and returns the record that says most of each."""
        lines = [
            Line(number, body if isinstance(body, str) else json.dumps(body))
            for number, body in enumerate(bodies, 1)
        ]
        delivery = Delivery(
            self.stack,
            lambda standing: standing.seconds > seconds,
        )
        if steps:
            delivery.send_in_steps(lines)
        else:
            delivery.send(lines)
            delivery.wait_for(lines)
        ends = [delivery.end_of(line) for line in lines]
        assert None not in ends, f"of {len(lines)} lines {ends.count(None)} have no record"
        return [end for end in ends if end is not None]

    def wait(self, read: Callable[[], T], seconds: float = _SECONDS) -> T:
        """Reads again and again until there is something, and returns it."""
        until = time.monotonic() + seconds
        while not (found := read()):
            assert time.monotonic() < until, "it did not come in time"
            time.sleep(_POLL_SECONDS)
        return found

    def records(self) -> list[Record]:
        """Returns every record of the outcome log, oldest first."""
        return OutcomeLog(self.client, self.outputs).read_new()

    def depth(self, attribute: str, queue: str = "EventQueueUrl") -> int:
        found = self.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs[queue], AttributeNames=[attribute]
        )
        return int(found["Attributes"][attribute])

    def rows(self, subject: str) -> dict[str, dict[str, Any]]:
        """Returns every row whose partition key holds this text, by sort key."""
        pages = self.client("dynamodb").get_paginator("scan")
        return {
            item["sk"]["S"]: {name: next(iter(value.values())) for name, value in item.items()}
            for page in pages.paginate(TableName=self.outputs["ClaimTableName"])
            for item in page["Items"]
            if subject in item["pk"]["S"]
        }

    def requests(self, text: str) -> list[dict[str, Any]]:
        """Returns the requests that the destination received with this text, oldest first."""
        entries = json.loads(self.ask_destination("GET", RECEIVED))
        return [entry for entry in entries if entry["facts"] and text in json.dumps(entry["body"])]

    def script(
        self, value: str, *replies: Any, then: Any = None, fact: str = "conversationId"
    ) -> None:
        """Gives the requests of one conversation these replies, or of another fact of them."""
        rule = {"match": {fact: value}, "replies": replies, "then": then}
        self.ask_destination("PUT", RULES, rule)

    def once(self, *arguments: str) -> Answer:
        """Runs a command on this stack."""
        with patch.object(Stack, "find", lambda *_: self.stack):
            return once(*arguments)

    def ask_destination(self, method: str, path: str, content: Any = None) -> bytes:
        up = self.stack.up
        assert up is not None
        response = urllib3.request(
            method,
            up.genesys + path,
            body=json.dumps(content).encode() if method == "PUT" else None,
            headers={KEY_HEADER: up.genesys_key},
        )
        assert response.status == 200, response.data
        return response.data


class SharedStack(Tried):
    """The stack that is deployed."""

    def __init__(self, folder: Path, up: Running) -> None:
        super().__init__(Stack(open_anonymous_session(), up.stack, up))
        self.folder, self.up = folder, up
        self._pipe_clients: dict[str, Any] = {}

    @contextmanager
    def variant(self, **changes: Any) -> Iterator["Variant"]:
        """Makes a stack of its own in the same emulator, and runs its pipe."""
        made = Variant(self, **changes)
        try:
            with made.pipe:
                yield made
        finally:
            made.remove()

    def create_function(self, name: str, code: str) -> str:
        """Creates a function of the user's own."""
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as package:
            package.writestr("function.py", code)
        created = self.client("lambda").create_function(
            FunctionName=name,
            Runtime=f"python{sys.version_info.major}.{sys.version_info.minor}",
            Role=f"arn:aws:iam::{self.up.account}:role/any",
            Handler="function.handler",
            Code={"ZipFile": archive.getvalue()},
        )
        return str(created["FunctionArn"])

    def read_code(self, function: str) -> bytes:
        """Returns the package of a function."""
        location = self.client("lambda").get_function(FunctionName=function)["Code"]["Location"]
        address = self.up.endpoint + urlsplit(location).path
        return urllib3.request("GET", address, headers={"X-Amz-Security-Token": self.up.key}).data

    def client_of_pipe(self, service: str) -> Any:
        """Returns a client that waits for an execution as long as the pipe does."""
        if service not in self._pipe_clients:
            self._pipe_clients[service] = open_anonymous_session().client(
                service,
                endpoint_url=self.up.endpoint,
                region_name=self.up.region,
                aws_access_key_id=self.up.account,
                aws_secret_access_key=LOCAL,
                aws_session_token=self.up.key,
                config=Config(inject_host_prefix=False, max_pool_connections=32),
            )
        return self._pipe_clients[service]


class Variant(Tried):
    """Queues, table, log, machine and functions of its own, with what the deployed ones have."""

    def __init__(
        self,
        shared: SharedStack,
        action: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        visibility_seconds: int = DURATIONS["Visibility"],
        **configuration: Any,
    ) -> None:
        """`action` changes the environment of the function that acts, `configuration` its other
        settings, `files` the package of the enrichment."""
        self.name = f"variant-{uuid.uuid4().hex[:8]}"
        self._shared = shared
        super().__init__(Stack(open_anonymous_session(), shared.up.stack, shared.up))
        old = shared.outputs
        sqs, logs = self.client("sqs"), self.client("logs")
        new = dict(old)
        for output, name in (("DeadLetterQueueUrl", "dead"), ("EventQueueUrl", "events")):
            new[output] = sqs.create_queue(
                QueueName=f"{self.name}-{name}",
                Attributes={"VisibilityTimeout": str(visibility_seconds)},
            )["QueueUrl"]
        new["ClaimTableName"] = new["OutcomeLogGroupName"] = self.name
        new["PipeLogGroupName"] = f"{self.name}-pipe"
        table = self.client("dynamodb").describe_table(TableName=old["ClaimTableName"])["Table"]
        self.client("dynamodb").create_table(
            TableName=self.name,
            KeySchema=table["KeySchema"],
            AttributeDefinitions=table["AttributeDefinitions"],
            BillingMode="PAY_PER_REQUEST",
        )
        for output in ("OutcomeLogGroupName", "PipeLogGroupName"):
            logs.create_log_group(logGroupName=new[output])
        new["EnrichmentFunctionName"] = self._copy(old["EnrichmentFunctionName"], {}, files or {})
        variables = {"CLAIM_TABLE": self.name, **(action or {})}
        new["DataActionFunctionName"] = self._copy(
            old["DataActionFunctionName"], variables, {}, **configuration
        )
        new["StateMachineArn"] = self._copy_machine(old, new)
        self.stack.__dict__["outputs"] = new
        note_failure = log_failures(self.client, new["PipeLogGroupName"])
        self.pipe = PipeRunner(self._client_of_pipe, self.name, observer=note_failure)

    def remove(self) -> None:
        for function in ("EnrichmentFunctionName", "DataActionFunctionName"):
            self.client("lambda").delete_function(FunctionName=self.outputs[function])
        for queue in ("EventQueueUrl", "DeadLetterQueueUrl"):
            self.client("sqs").delete_queue(QueueUrl=self.outputs[queue])
        self.client("dynamodb").delete_table(TableName=self.name)
        self.client("logs").delete_log_group(logGroupName=self.name)

    def _copy(
        self,
        function: str,
        variables: Mapping[str, str],
        files: Mapping[str, str],
        **configuration: Any,
    ) -> str:
        deployed = self.client("lambda").get_function_configuration(FunctionName=function)
        package = io.BytesIO()
        code = io.BytesIO(self._shared.read_code(function))
        with zipfile.ZipFile(code) as old, zipfile.ZipFile(package, "w") as new:
            for file in old.namelist():
                new.writestr(file, files.get(file) or old.read(file))
        name = f"{self.name}-{function}"
        self.client("lambda").create_function(
            FunctionName=name,
            Runtime=deployed["Runtime"],
            Role=deployed["Role"],
            Code={"ZipFile": package.getvalue()},
            Environment={"Variables": {**deployed["Environment"]["Variables"], **variables}},
            **{"Handler": deployed["Handler"], "Timeout": deployed["Timeout"], **configuration},
        )
        return name

    def _copy_machine(self, old: Mapping[str, str], new: Mapping[str, str]) -> str:
        states, functions = self.client("stepfunctions"), self.client("lambda")
        deployed = states.describe_state_machine(stateMachineArn=old["StateMachineArn"])
        definition = deployed["definition"]

        def arn(name: str) -> str:
            configuration = functions.get_function_configuration(FunctionName=name)
            return str(configuration["FunctionArn"])

        action = "DataActionFunctionName"
        (stream,) = self.client("logs").describe_log_streams(
            logGroupName=old["OutcomeLogGroupName"]
        )["logStreams"][:1]
        self.client("logs").create_log_stream(
            logGroupName=self.name, logStreamName=stream["logStreamName"]
        )
        for text, replacement in (
            (arn(old[action]), arn(new[action])),
            *((old[name], new[name]) for name in ("EventQueueUrl", "DeadLetterQueueUrl")),
            (f'"{old["ClaimTableName"]}"', f'"{self.name}"'),
            (f'"{old["OutcomeLogGroupName"]}"', f'"{self.name}"'),
        ):
            assert text in definition, f"{text} is not in the definition"
            definition = definition.replace(text, replacement)
        made = states.create_state_machine(
            name=self.name, definition=definition, roleArn=deployed["roleArn"], type="EXPRESS"
        )
        return str(made["stateMachineArn"])

    def _client_of_pipe(self, service: str) -> Any:
        return self if service == "pipes" else self._shared.client_of_pipe(service)

    def describe_pipe(self, Name: str) -> dict[str, Any]:  # noqa: N803 - as boto3 has it
        """Stands for the pipe, which the emulator need not know."""
        queue = self.outputs["EventQueueUrl"].rpartition("/")[2]
        return {
            "Name": Name,
            "Source": f"arn:aws:sqs:{self.stack.region}:{self.stack.account}:{queue}",
            "Enrichment": self.outputs["EnrichmentFunctionName"],
            "Target": self.outputs["StateMachineArn"],
            "CurrentState": "RUNNING",
        }


def begin_run() -> None:
    """Names a folder for the stack, which the processes that this one starts inherit."""
    os.environ[FOLDER] = tempfile.mkdtemp(prefix="once-tests-")
    os.environ[RUN] = str(os.getpid())


def end_run() -> None:
    """Ends the stack, if there is one."""
    if os.environ.get(RUN) != str(os.getpid()):
        return
    folder = Path(os.environ[FOLDER])
    note = folder / running.FOLDER
    if (up := running.find(note)) is not None:
        os.kill(up.pid, signal.SIGTERM)
        until = time.monotonic() + _SECONDS
        while running.find(note) is not None and time.monotonic() < until:
            time.sleep(0.05)
    subprocess.run(["rm", "-rf", str(folder)], check=False)


def find_or_start() -> SharedStack:
    """Finds the stack of this run. If it is dead, the first test that notices fails with its last
    error, and all others are skipped."""
    folder = Path(os.environ[FOLDER])
    dead, started = folder / "dead", folder / "started"
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if dead.exists():
            pytest.skip("the shared stack is dead; another test says why")
        if not started.exists():
            started.touch()
            _start(folder)
        up = running.find(folder / running.FOLDER)
        if up is None:
            dead.touch()
            pytest.fail(f"The shared stack has ended:\n{_read_end(folder)}", pytrace=False)
    return _open(folder, up.model_dump_json())


@cache
def _open(folder: Path, note: str) -> SharedStack:
    return SharedStack(folder, Running.model_validate_json(note))


def _start(folder: Path) -> None:
    """Waits until the stack is up, or has ended and left the reason in its log."""
    plan: dict[str, Any] = {"parameters": {}, "destination": None, "parent": int(os.environ[RUN])}
    with (folder / "keeper.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "once.local.stack"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(plan))
        process.stdin.close()
        with process.stdout as lines:
            for line in lines:
                if "failed" in (told := json.loads(line)):
                    log.write(told["failed"].encode())
    process.returncode = 0  # it outlives this process, which waits for it no more


def _read_end(folder: Path) -> str:
    with suppress(OSError):
        text = (folder / "keeper.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-_LAST_LINES:])
    return "It left no log."
