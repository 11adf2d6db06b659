"""Each rival does what its users expect of it, when nothing goes wrong."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from bench.compare.contestants import RIVALS, Rival
from bench.compare.function import Function, Killed, World
from bench.compare.rivals import fifo
from bench.compare.store import Meter, Redis, redis_server, version
from bench.events import START_MS, Centre, Event, text

TABLE = "rival"


@pytest.fixture(scope="module")
def redis_socket() -> Iterator[str]:
    with redis_server() as socket:
        yield socket


class Around(World):
    """A rival's world with stores of its own, and a destination that only takes note."""

    def __init__(self, redis_socket: str, dynamodb: Any) -> None:
        self.table = TABLE
        self.memory = {}
        self.redis = Redis(redis_socket, Meter(0), lambda: False)
        self.redis.flushall()
        self.dynamodb = dynamodb
        self.acts: list[str] = []

    def event(self, record: dict[str, Any]) -> Event:
        return json.loads(record["body"])

    def act(self, event: Event, key: str) -> None:  # noqa: ARG002
        self.acts.append(key)


@pytest.fixture
def world(redis_socket: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Around]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        dynamodb = boto3.client("dynamodb", region_name="eu-central-1")
        dynamodb.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        yield Around(redis_socket, dynamodb)


def record(body: str) -> dict[str, Any]:
    return {"messageId": str(uuid.uuid4()), "body": body, "eventSource": "aws:sqs"}


def named(rival: Rival) -> str:
    return rival.letter


@pytest.mark.parametrize("rival", [r for r in RIVALS if not r.fifo], ids=named)
def test_an_exact_copy_in_the_same_batch_acts_once(rival: Rival, world: Around):
    event = text(Centre(1).conversation("customer.start", START_MS))
    answer = rival.build(world)({"Records": [record(event), record(event)]})
    assert answer["batchItemFailures"] == []
    assert len(world.acts) == 1


@pytest.mark.parametrize("rival", RIVALS, ids=named)
def test_events_of_different_conversations_all_act(rival: Rival, world: Around):
    centre = Centre(1)
    events = [centre.conversation("acd.start", START_MS + at) for at in range(3)]
    bodies = [fifo.queued(event)[0] if rival.fifo else text(event) for event in events]
    rival.build(world)({"Records": [record(body) for body in bodies]})
    assert len(set(world.acts)) == 3


def test_fifo_queues_copies_under_other_ids_with_the_same_body():
    centre = Centre(1)
    event = centre.conversation("acd.end", START_MS)
    assert fifo.queued(event) == fifo.queued(centre.published_again(event))


def test_a_worker_that_dies_deletes_nothing_and_its_memory_is_gone():
    deleted: list[Any] = []
    started: list[int] = []

    def start() -> Any:
        started.append(len(started))

        def handler(_: Event) -> Any:
            raise Killed

        return handler

    message = {"MessageId": "m", "ReceiptHandle": "r", "Body": "{}", "MD5OfBody": ""}
    assert Function(start, deleted.append, 1)([message]) == frozenset()
    assert deleted == []
    assert started == [0, 1]


def test_a_lost_answer_makes_the_client_write_again(redis_socket: str):
    losses = iter([True, False])
    meter = Meter(0)
    client = Redis(redis_socket, meter, lambda: next(losses, False))
    assert client.set(f"key:{uuid.uuid4()}", "1", nx=True) is None, "refused by its own first write"
    assert meter.calls["SET"] == 2


def test_the_redis_server_is_a_real_one(redis_socket: str):
    assert version(redis_socket).split()[0] in ("Redis", "Valkey")
