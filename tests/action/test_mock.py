"""The mock destination that these tests rely on: what a script makes it do."""

import contextlib

import pytest
from once_data_action.errors import Verdict

from once.genesys.server import GenesysServer
from tests.action.support import Sender


@pytest.fixture
def bench(server: GenesysServer) -> Sender:
    return Sender(server, "webhook")


def act(bench: Sender, *numbers: int) -> list[int | None]:
    """Acts on these events, and returns the statuses of the mock."""
    for number in numbers:
        with contextlib.suppress(Verdict):
            bench.act(number)
    return [entry.status for entry in bench.server.log]


def test_rule_replies_to_its_events_request_by_request(bench: Sender) -> None:
    bench.server.script.add({"match": {"subjectId": "c1"}, "replies": [422, 500]})
    assert act(bench, 1, 2, 1, 1) == [422, 200, 500, 200]


def test_rule_per_event_replies_to_each_event_anew(bench: Sender) -> None:
    bench.server.script.add({"replies": [500], "perEvent": True})
    assert act(bench, 1, 2, 1, 2) == [500, 500, 200, 200]
