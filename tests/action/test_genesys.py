"""The target genesys: the life of a token, and each response of Genesys."""

import json
from typing import Any

import pytest
from once_data_action import genesys, webhook
from once_data_action.action import REFUSED_MS

from once.genesys.script import action_error_body
from once.genesys.server import CLIENT_ID, GenesysServer
from tests.action.support import Sender, aws_error, event

LOGIN = {"endpoint": "token"}
FIELDS = (*genesys.FIELDS, *webhook.FIELDS)


@pytest.fixture
def bench(server: GenesysServer) -> Sender:
    return Sender(server, "genesys")


def statuses(server: GenesysServer, endpoint: str) -> list[int | None]:
    return [entry.status for entry in server.received(endpoint)]


def replies(bench: Sender, reply: object) -> tuple[str, dict[str, Any]]:
    bench.server.script.add({"match": {"endpoint": "execute"}, "replies": [reply, reply]})
    return bench.fails()


def test_login_is_a_form_and_the_data_action_gets_its_inputs_and_headers(bench: Sender) -> None:
    one = event(body='{"disconnectType":"PEER"}')
    one["route"] = {
        "name": "ends",
        "action": "custom_-_2",
        "inputs": {"why": "body.disconnectType", "key": "idempotencyKey"},
    }
    bench.act(event=one)
    (login,) = bench.server.received("token")
    assert login.headers["content-type"] == "application/x-www-form-urlencoded"
    assert login.raw == b"grant_type=client_credentials"
    (sent,) = bench.server.received("execute")
    assert sent.body == {"why": "PEER", "key": one["keyHash"]}
    assert b": " not in sent.raw
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "user-agent": "genesys-once",
        "idempotency-key": one["keyHash"],
        "x-once-execution": "0f0f:1#m1",
    }
    assert dict(sent.headers).items() >= headers.items()


def test_execution_in_a_header_is_short_and_of_one_line(bench: Sender) -> None:
    bench.act(owner="o\r\nü" * 99)
    (sent,) = bench.server.received("execute")
    assert sent.headers["x-once-execution"] == ("o???" * 99)[:256]


@pytest.mark.parametrize(("lives", "used_for"), [(3_600, 3_540), (60, 30)])
def test_token_is_renewed_shortly_before_its_end(bench: Sender, lives: int, used_for: int) -> None:
    bench.server.token_seconds = lives
    bench.act()
    bench.clock.pass_seconds(used_for - 0.001)
    bench.act()
    assert len(bench.server.tokens) == 1
    bench.clock.pass_seconds(0.001)
    bench.act()
    assert len(bench.server.tokens) == 2


def test_refused_token_is_renewed_once_within_the_request(bench: Sender) -> None:
    bench.act(1)
    bench.server.tokens.clear()
    bench.act(2)
    assert statuses(bench.server, "execute") == [200, 401, 200]
    acted = [request.acted for request in bench.server.received("execute")]
    assert acted == [True, False, True]


def test_new_token_that_is_refused_is_a_configuration_error(bench: Sender) -> None:
    refused = {"match": {"endpoint": "execute"}, "replies": [{"status": 401}] * 9}
    bench.server.script.add(refused)
    for number in range(5):
        name, facts = bench.fails(number)
        assert (name, facts["status"]) == ("NotAuthorised", 401)
    assert statuses(bench.server, "execute") == [401, 401], "remembered"


def test_refused_login_is_remembered_for_30_seconds(bench: Sender) -> None:
    bench.server.client_secret = "another"
    for _ in range(2):
        ends = [bench.fails(number) for number in range(9)]
        assert {name for name, _ in ends} == {"NotAuthorised"}
        assert [facts["requests"] for _, facts in ends[:3]] == [1, 0, 0]
        assert "invalid_client" in ends[0][1]["cause"]
        bench.clock.ms += REFUSED_MS
    assert statuses(bench.server, "token") == [401, 401]


@pytest.mark.parametrize("status", [400, 401])
def test_rotated_credentials_are_read_when_the_login_refuses_the_old(
    bench: Sender, status: int
) -> None:
    bench.act(1)
    bench.server.tokens.clear()
    bench.server.client_secret = "rotated"
    bench.secrets.text = json.dumps({"clientId": CLIENT_ID, "clientSecret": "rotated"})
    bench.server.script.add({"match": LOGIN, "replies": [status]})
    bench.act(2)
    assert statuses(bench.server, "token") == [200, status, 200]
    assert bench.secrets.reads == 2


def tokens(**changes: object) -> dict[str, object]:
    return {"status": 200, "body": {"access_token": "t", "expires_in": 3600} | changes}


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("invalid-scope", "NotAuthorised"),
        (400, "NotAuthorised"),
        (403, "NotAuthorised"),
        (404, "NotConfigured"),
        (302, "NotConfigured"),
        ({"status": 429, "retryAfter": 5}, "RateLimited"),
        (503, "Transient"),
        ("reset", "Transient"),
        ({"status": 200, "body": "not an object"}, "Transient"),
        *((tokens(expires_in=bad), "Transient") for bad in (None, True, "3600", 0, float("nan"))),
        *((tokens(access_token=bad), "Transient") for bad in (None, "", 5, "a\r\nX-Evil: 1", "ü")),
    ],
)
def test_failure_of_the_login_is_one_error(bench: Sender, reply: object, wanted: str) -> None:
    bench.server.script.add({"match": LOGIN, "replies": [reply]})
    name, facts = bench.fails()
    assert name == wanted
    (status,) = statuses(bench.server, "token")
    assert facts.get("status") == (None if status == 200 else status)
    assert bench.server.received("execute") == []


@pytest.mark.parametrize("lives", [1e300, float("inf"), 10**400], ids=["long", "inf", "whole"])
def test_token_that_lives_without_end_is_used(bench: Sender, lives: float) -> None:
    bench.server.script.add({"match": LOGIN, "replies": [tokens(expires_in=lives)]})
    assert bench.act()["reason"] == "ACTED"


@pytest.mark.parametrize(
    ("text", "error", "wanted"),
    [
        ("not JSON", None, "NotConfigured"),
        ("[]", None, "NotConfigured"),
        ("{}", None, "NotConfigured"),
        ('{"clientId": "a", "clientSecret": 5, "signingSecret": 5}', None, "NotConfigured"),
        (None, None, "NotConfigured"),
        ("[" * 100_000, None, "NotConfigured"),
        *(
            (json.dumps(dict.fromkeys(FIELDS, value)), None, "NotConfigured")
            for value in ("whsec_für", "\ud800", "a\r\nb", "")
        ),
        ("{}", aws_error("AccessDeniedException"), "NotConfigured"),
        ("{}", aws_error("ThrottlingException"), "TOO_LATE"),
        ("{}", aws_error("InternalServiceError", 500), "TOO_LATE"),
    ],
)
def test_secret_that_cannot_be_read_sends_nothing(
    either: Sender, text: str | None, error: Exception | None, wanted: str
) -> None:
    either.secrets.text, either.secrets.error = text, error
    if wanted == "TOO_LATE":
        assert either.act()["reason"] == "TOO_LATE"
    else:
        assert either.fails()[0] == wanted
        either.fails(2)
        assert either.secrets.reads == 1, "remembered"
    assert either.server.log == []


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("remote-endpoint", "Transient"),
        ("processing", "Uncertain"),
        ("authentication", "NotAuthorised"),
        (403, "NotAuthorised"),
        (404, "NotConfigured"),
        (500, "Transient"),
        ("lose", "Transient"),
        ({"status": 500, "body": action_error_body("ACTION.PROCESSING", 500)}, "Uncertain"),
        ({"status": 429, "body": action_error_body("ACTION.PROCESSING", 429)}, "RateLimited"),
        *(
            ({"status": 400, "body": body}, "Rejected")
            for body in ("text", [], {"details": [None, {"errorCode": 5}]}, "[" * 60_000)
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_response_of_genesys_is_one_error(bench: Sender, reply: object, wanted: str) -> None:
    name, facts = replies(bench, reply)
    assert (name, facts.get("status")) == (wanted, statuses(bench.server, "execute")[-1])


def test_inner_and_most_cautious_error_detail_wins(bench: Sender) -> None:
    body = action_error_body("ACTION.REMOTE_ENDPOINT", 400)
    body["errors"][0]["details"] = [{"errorCode": "ACTION.PROCESSING"}]
    assert replies(bench, {"status": 400, "body": body})[0] == "Uncertain"


def test_missing_data_action_is_named_with_its_route(bench: Sender) -> None:
    _, facts = replies(bench, 404)
    assert "custom_-_1" in facts["cause"]
    assert "route '*'" in facts["cause"]
