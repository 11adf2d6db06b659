"""The mock destination that these tests rely on: what a script makes it do."""

import contextlib

import pytest
import urllib3
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


def test_key_acts_once_and_its_requests_are_counted(bench: Sender) -> None:
    bench.server.script.add({"replies": ["lose", 500]})
    act(bench, 1, 1, 1)
    acts = [(request.acted, request.repeated) for request in bench.server.log]
    assert acts == [(True, False), (False, False), (True, True)]


@pytest.mark.parametrize("header", [{"Origin": "null"}, {"Host": "rebind.example"}], ids=str)
def test_request_of_a_page_is_refused_and_leaves_no_trace(
    server: GenesysServer, header: dict[str, str]
) -> None:
    answer = urllib3.request("POST", server.webhook_url, json={}, headers=header, retries=False)
    assert (answer.status, server.log) == (403, [])
