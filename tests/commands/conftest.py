"""The commands as a person types them, on a stack in memory."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from once.stack.facade import Stack
from proof.terminal import Answer as Answer
from proof.terminal import once as once
from tests.commands.fakes import Clock, FakeStack


@pytest.fixture(scope="session")
def dynamodb() -> Any:
    """A client, which takes long to make. While `mock_aws` lasts it speaks to moto."""
    session = boto3.Session("test", "test", region_name="eu-west-1")
    return session.client("dynamodb")


@pytest.fixture
def stack(dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeStack]:
    """The stack that every command finds, at a time that only sleeping moves."""
    clock = Clock()
    clock.replace_time(monkeypatch)
    with mock_aws():
        keys = {"pk": "HASH", "sk": "RANGE"}
        dynamodb.create_table(
            TableName="claims",
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
            BillingMode="PAY_PER_REQUEST",
        )
        fake = FakeStack(clock, dynamodb)
        monkeypatch.setattr(Stack, "find", lambda *_: fake)
        yield fake
