"""The commands as a person types them, on a stack in memory."""

import time
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from once.stack.facade import Stack
from proof.terminal import Answer as Answer
from proof.terminal import once as once
from tests.commands.fakes import Clock, FakeStack


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeStack]:
    """The stack that every command finds, at a time that only sleeping moves."""
    clock = Clock()
    monkeypatch.setattr(time, "time_ns", lambda: clock.ms * 1_000_000)
    monkeypatch.setattr(time, "monotonic", lambda: clock.ms / 1000)
    monkeypatch.setattr(time, "sleep", clock.sleep)
    with mock_aws():
        session = boto3.Session("test", "test", region_name="eu-west-1")
        dynamodb = session.client("dynamodb")
        dynamodb.create_table(
            TableName="claims",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        fake = FakeStack(clock, dynamodb)
        monkeypatch.setattr(Stack, "find", lambda *_: fake)
        yield fake
