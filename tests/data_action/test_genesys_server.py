"""The imitation itself: what a script can make it do, event by event."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import urllib3

from once.errors import OnceError
from once.genesys.script import Script
from once.genesys.server import CLIENT_ID, CLIENT_SECRET, GenesysServer
from proof.terminal import hear_ctrl_c

ACTION = "/api/v2/integrations/actions/custom_-_1/execute"


class Client:
    """A caller without any of the product's code."""

    def __init__(self, server: GenesysServer) -> None:
        self.server = server
        self.pool = urllib3.PoolManager(retries=False)
        self.token = self.login().json()["access_token"]

    def login(self, secret: str = CLIENT_SECRET) -> urllib3.BaseHTTPResponse:
        return self.pool.request(
            "POST",
            f"{self.server.url}/oauth/token",
            body="grant_type=client_credentials",
            headers=urllib3.make_headers(basic_auth=f"{CLIENT_ID}:{secret}"),
        )

    def execute(self, key: str = "k1", **inputs: str) -> urllib3.BaseHTTPResponse:
        return self.pool.request(
            "POST",
            self.server.url + ACTION,
            json={"idempotencyKey": key, **inputs},
            headers={"Authorization": f"Bearer {self.token}"},
        )

    def statuses(self, *calls: dict[str, str]) -> list[int]:
        return [self.execute(**call).status for call in calls]


@pytest.fixture
def client(server: GenesysServer) -> Client:
    return Client(server)


def test_a_rule_speaks_to_its_event_only_and_call_by_call(client: Client) -> None:
    client.server.script.add(
        {"match": {"subjectId": "c1"}, "replies": [{"status": 429, "retryAfter": 1}, 429, 500]}
    )
    one, other = {"subjectId": "c1"}, {"key": "k2", "subjectId": "c2"}
    assert client.statuses(one, other, one, one, one, one) == [429, 200, 429, 500, 200, 200]


@pytest.mark.parametrize(
    ("match", "status"),
    [
        ({"family": "conversation.acd.start"}, 500),
        ({"family": "conversation.*"}, 500),
        ({"family": "conversation"}, 200),
        ({"conversationId": "c1", "state": "start"}, 500),
        ({"conversationId": "c1", "state": "end"}, 200),
        ({"idempotencyKey": "k"}, 500),
        ({"idempotencyKey": "K"}, 200),
        ({"action": "custom_-_1"}, 500),
        ({"endpoint": "execute"}, 500),
        ({"endpoint": "webhook"}, 200),
        ({}, 500),
    ],
)
def test_what_a_rule_can_match(client: Client, match: dict[str, str], status: int) -> None:
    client.server.script.add({"match": match, "then": 500})
    facts = {"family": "conversation.acd.start", "state": "start", "conversationId": "c1"}
    assert client.execute(**facts).status == status


def test_each_event_can_go_through_the_replies_by_itself(client: Client) -> None:
    client.server.script.add({"replies": [500], "perEvent": True})
    one, other = {"key": "k1"}, {"key": "k2"}
    assert client.statuses(one, other, one, other) == [500, 500, 200, 200]


def test_a_rule_can_go_on_for_ever(client: Client) -> None:
    client.server.script.add({"replies": ["ok"], "then": 503})
    assert client.statuses({}, {}, {}, {}) == [200, 503, 503, 503]


def test_a_key_acts_once_and_its_calls_are_counted(client: Client) -> None:
    client.server.script.add({"replies": ["lose", 500]})
    with pytest.raises(urllib3.exceptions.ProtocolError):
        client.execute()
    assert client.execute().status == 500
    assert client.execute().json() == {"acted": True, "repeated": True}
    record = client.server.keys["k1"]
    assert (record.calls, record.acts, record.effects) == (3, 2, 1)
    assert [(e.status, e.acted, e.repeated) for e in client.server.received("execute")] == [
        (None, True, False),
        (500, False, False),
        (200, True, True),
    ]


def test_without_a_living_token_nothing_is_done(client: Client) -> None:
    client.token = "invented"
    answer = client.execute()
    assert answer.status == 401
    assert answer.json()["code"] == "bad.credentials"
    assert client.server.keys["k1"].acts == 0


def test_a_token_ends_after_its_seconds(client: Client) -> None:
    client.server.script.token.seconds = -1
    client.token = client.login().json()["access_token"]
    assert client.execute().status == 401


def test_a_login_with_a_wrong_secret_is_refused(client: Client) -> None:
    answer = client.login("wrong")
    assert answer.status == 401
    assert answer.json()["error"] == "invalid_client"


def test_executions_at_the_same_time_are_limited(client: Client) -> None:
    client.server.script = Script.read(
        {"limits": {"concurrent": 1}, "rules": [{"replies": [{"delayMs": 1_500}]}]}
    )
    running = threading.Thread(target=client.execute)
    running.start()
    while not client.server.received("execute"):
        time.sleep(0.005)
    answer = client.execute("k2")
    running.join()
    assert answer.status == 429
    assert answer.headers["Retry-After"] == "1"
    assert answer.json()["limit"]["key"] == "actions.concurrent.executions.max"
    assert client.execute("k3").status == 200


def test_requests_per_minute_are_limited(client: Client) -> None:
    client.server.script.limits.per_minute = 2
    assert client.statuses({}, {}, {}) == [200, 200, 429]
    assert int(client.execute().headers["Retry-After"]) <= 60


def test_an_address_it_does_not_know_is_404(client: Client) -> None:
    assert client.pool.request("POST", f"{client.server.url}/api/v2/users").status == 404


@pytest.mark.parametrize("path", ["/webhook", "/oauth/token", ACTION, "/anything"])
@pytest.mark.parametrize("header", [{"Origin": "null"}, {"Host": "rebind.example"}], ids=str)
def test_a_request_of_a_page_is_refused_and_leaves_no_trace(
    server: GenesysServer, path: str, header: dict[str, str]
) -> None:
    event = {"family": "user.presence", "idempotencyKey": "k1"}
    answer = urllib3.request("POST", server.url + path, json=event, headers=header, retries=False)
    assert answer.status == 403
    assert (server.log, server.keys) == ([], {})


def test_it_stops_while_a_call_is_held() -> None:
    with GenesysServer(script=[{"then": "timeout"}]) as server:
        client = Client(server)

        def hang() -> None:
            with pytest.raises(urllib3.exceptions.HTTPError):
                client.execute()

        caller = threading.Thread(target=hang)
        caller.start()
        while not server.received("execute"):
            time.sleep(0.005)
        started = time.monotonic()
    caller.join(timeout=5)
    assert not caller.is_alive()
    assert time.monotonic() - started < 5


def test_a_script_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps([{"then": 503}]))
    with GenesysServer(script=file) as server:
        assert Client(server).execute().status == 503


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (
            [{"match": {"familly": "x"}}],
            "rule 1, match, familly: Input should be 'endpoint', 'family'",
        ),
        ([{}, {"replies": ["boom"]}], "rule 2, reply 1: no reply is called boom; there are ok,"),
        (
            [{"replies": [{"answer": "maybe"}]}],
            "rule 1, reply 1, answer: Input should be 'send', 'none' or 'reset'",
        ),
        ([{"replies": [{"action": "ACTION.X"}]}], "ACTION.REMOTE_ENDPOINT"),
        ([{"replies": [{"status": "many"}]}], "rule 1, reply 1, status: Input should be"),
        ([{"then": {"delayMs": "long"}}], "rule 1, then, delayMs: Input should be"),
        ("lose", "the script: it is not an object"),
        ([5], "rule 1: it is not an object"),
        ({"rules": 5}, "rules: it is not a list"),
        ([{"replies": 500}], "rule 1, replies: it is not a list"),
        ({"rule": []}, "rule: there is no such field"),
        ({"limits": {"minute": 5}}, "limits, minute: there is no such field"),
    ],
)
def test_a_faulty_script_is_told_with_its_place(script: Any, says: str) -> None:
    with pytest.raises(OnceError, match=re.escape(says)):
        Script.read(script)


def test_a_faulty_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[{"then": "boom"}]')
    with pytest.raises(OnceError, match=re.escape(f"{file}, rule 1, then: no reply")):
        Script.read(file)


def test_a_file_that_is_not_json_is_told(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text("{")
    with pytest.raises(OnceError, match="is not JSON"):
        Script.read(file)


def test_mock_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"match": {"family": "user.*"}, "then": 503}]')
    command = [sys.executable, "-m", "once.genesys", "--port", "0", "--script", str(script)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        # What a shell starts in the background ignores it, and so would all it starts.
        preexec_fn=hear_ctrl_c,
    ) as process:
        assert process.stdout
        url = process.stdout.readline().strip().removeprefix("GENESYS_HOST=")
        pool = urllib3.PoolManager(retries=False)
        for path in ("/oauth/token", "/webhook"):
            assert pool.request("POST", url + path, body=b"{}").status == 401
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=10)
    assert process.returncode == 0
    assert re.search(r"^401  token", rest, re.MULTILINE)
