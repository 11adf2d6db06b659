"""`once destination` on the mock of a local stack: its behaviour, and what it received."""

from collections.abc import Iterator

import pytest
import urllib3

from once.genesys.server import GenesysServer
from once.stack.running import Running
from tests.commands.conftest import once
from tests.commands.fakes import FakeStack

KEY = "k" * 64


@pytest.fixture
def mock(stack: FakeStack) -> Iterator[GenesysServer]:
    with GenesysServer() as server:
        known = dict.fromkeys(("endpoint", "key", "region", "account", "stack"), "")
        stack.up = Running(pid=1, genesys=server.url, genesys_key=server.key, **known)
        yield server


def test_destination_answers_as_it_is_told(mock: GenesysServer) -> None:
    for state in ("down", "429", "503", "ok"):
        assert once("destination", state, "--json").json["destination"] == state
        assert once("destination", "--json").json["destination"] == state
    assert once("destination", "700").code == 2
    assert once("destination", "no-such-word").code == 1
    assert mock.log == []


def test_destination_shows_the_requests_that_it_received(mock: GenesysServer) -> None:
    for _ in range(2):
        body = {"idempotencyKey": KEY, "family": "user.presence", "subjectId": "u-1"}
        urllib3.request("POST", mock.webhook_url, json=body, timeout=5)
    requests = once("destination", "--json").json["requests"]
    assert [request["facts"]["idempotencyKey"] for request in requests] == [KEY, KEY]
    assert "user.presence u-1" in once("destination").out


def test_destination_of_a_deployed_stack_is_not_ours(stack: FakeStack) -> None:
    assert stack
    assert once("destination", "down").code == 1
