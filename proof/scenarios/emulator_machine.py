"""The state machine on the emulator, over its real endpoints, with a Lambda of its own."""

import io
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Protocol
from unittest.mock import patch

from once.local import child
from once.local.aws import Emulator
from once.ports import LOOPBACK
from proof.definition.asl import definition_json
from proof.scenarios.scenario import Settings
from proof.scenarios.stage import LambdaError, Stage, Task

_HERE = Path(__file__).parent
_TABLE, _LOGS, _ROLE = "claims", "outcomes", "arn:aws:iam::000000000000:role/any"


class Action(Protocol):
    """All that executions need of a stage that it does not direct."""

    def invoke(self, payload: Mapping[str, Any]) -> dict[str, Any]: ...


class StageServer(ThreadingHTTPServer):
    """Serves the stage to the local stack and to the scripted Lambda."""

    daemon_threads = True
    stage: Any = None

    def __init__(self) -> None:
        super().__init__((LOOPBACK, 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: StageServer

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stage = self.server.stage
        assert stage is not None, "an execution outlived its scenario"
        answer: dict[str, Any]
        if self.path == "/before":
            answer = asdict(stage.before(Task(**question["task"])))
        elif self.path == "/after":
            answer = asdict(stage.after(Task(**question["task"]), question["failed"]))
        else:
            try:
                answer = stage.invoke(question)
            except LambdaError as error:
                answer = {"raise": error.name, "message": error.message}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


class EmulatorMachine:
    """Implements `stage.Machine`; made by `started`."""

    def __init__(self, aws: Emulator, server: StageServer) -> None:
        self._server = server
        self._states = aws.client("stepfunctions")
        self._dynamodb, self._sqs = aws.client("dynamodb"), aws.client("sqs")
        key = [("pk", "HASH"), ("sk", "RANGE")]
        self._dynamodb.create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n, _ in key],
            KeySchema=[{"AttributeName": n, "KeyType": t} for n, t in key],
        )
        self._parking_url = self._sqs.create_queue(QueueName="parking")["QueueUrl"]
        aws.client("logs").create_log_group(logGroupName=_LOGS)
        aws.client("logs").create_log_stream(logGroupName=_LOGS, logStreamName=_LOGS)
        self._names = {
            "ClaimTable": _TABLE,
            "ParkingQueueUrl": self._parking_url,
            "DataActionFunction": (function := _create_function(aws, server.server_port)),
            "PacingFunction": function,
            "OutcomeLogGroup": _LOGS,
            "OutcomeLogStream": _LOGS,
        }
        self._arns: dict[Settings, str] = {}
        self._arn = self._machine(Settings())

    @contextmanager
    def playing(self, stage: Stage | Action) -> Iterator[None]:
        """Starts with an empty table and empty queues, and follows `stage`."""
        for item in self.rows():
            self._dynamodb.delete_item(
                TableName=_TABLE, Key={name: item[name] for name in ("pk", "sk")}
            )
        self._sqs.purge_queue(QueueUrl=self._parking_url)
        if isinstance(stage, Stage):
            self._arn = self._machine(stage.scenario.settings)
        self._server.stage = stage
        yield
        self._server.stage = None

    def execute(self, run: str, batch: list[dict[str, Any]]) -> dict[str, Any]:
        execution: dict[str, Any] = self._states.start_sync_execution(
            stateMachineArn=self._arn, name=run, input=json.dumps(batch)
        )
        return execution | {"output": json.loads(execution["output"])}

    @property
    def dynamodb(self) -> Any:
        return self._dynamodb

    def put_row(self, item: dict[str, Any]) -> None:
        self._dynamodb.put_item(TableName=_TABLE, Item=item)

    def rows(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._dynamodb.scan(TableName=_TABLE)["Items"]
        return items

    def parked(self) -> list[dict[str, Any]]:
        received = self._sqs.receive_message(QueueUrl=self._parking_url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in received.get("Messages", [])]

    def _machine(self, settings: Settings) -> str:
        if settings not in self._arns:
            self._arns[settings] = self._states.create_state_machine(
                name=f"dedupe-{len(self._arns)}",
                type="EXPRESS",
                roleArn=_ROLE,
                definition=definition_json({**settings.substitutions(), **self._names}),
            )["stateMachineArn"]
        return self._arns[settings]


@contextmanager
def started() -> Iterator[EmulatorMachine]:
    server = StageServer()
    thread = Thread(target=server.serve_forever, name="stage", daemon=True)
    thread.start()
    start = child.start

    def start_with_seam(program: str, *args: str, env: dict[str, str], **rest: Any) -> Any:
        said = env | {"STAGE_PORT": str(server.server_port)}
        return start(str(_HERE / "seam.py"), program, *args, env=said, **rest)

    try:
        with patch.object(child, "start", start_with_seam):
            aws = Emulator.start()
        with aws:
            yield EmulatorMachine(aws, server)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _create_function(aws: Emulator, port: int) -> str:
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.write(_HERE / "scripted_action.py", "scripted_action.py")
    created = aws.client("lambda").create_function(
        FunctionName="data-action",
        Runtime=f"python{sys.version_info.major}.{sys.version_info.minor}",
        Role=_ROLE,
        Handler="scripted_action.handler",
        Code={"ZipFile": package.getvalue()},
        Timeout=20,
        Environment={"Variables": {"STAGE": f"http://{LOOPBACK}:{port}/act"}},
    )
    arn: str = created["FunctionArn"]
    return arn
