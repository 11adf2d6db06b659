"""A local stack that was started again is found at its new address."""

import pytest

from once.operate import running
from once.operate.running import Running
from once.operate.stack import LOCAL, Stack


def up_at(port: int) -> Running:
    return Running(
        pid=1,
        endpoint=f"http://127.0.0.1:{port}",
        key="key",
        region="eu-central-1",
        account="123456789012",
        stack="once",
        genesys="http://127.0.0.1:2",
        genesys_key="key",
    )


def test_a_stack_that_was_started_again_is_reached_on_its_new_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running, "find", lambda: up_at(1_111))
    stack = Stack.find(LOCAL, None, None)
    assert stack.client("sqs").meta.endpoint_url == "http://127.0.0.1:1111"
    assert not stack.reconnect(), "it is the same one"
    monkeypatch.setattr(running, "find", lambda: up_at(2_222))
    assert stack.reconnect()
    assert stack.client("sqs").meta.endpoint_url == "http://127.0.0.1:2222"
    monkeypatch.setattr(running, "find", lambda: None)
    assert not stack.reconnect(), "nothing is up"
