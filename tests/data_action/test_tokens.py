"""The life of a token: fetched, kept, renewed, refused."""

import json
from typing import Any

import pytest
from once_data_action import genesys, webhook
from once_data_action.secret import REMEMBERED_MS

from once.genesys.server import CLIENT_ID, GenesysServer
from tests.data_action.support import Bench, aws_error

FIELDS = (*genesys.FIELDS, *webhook.FIELDS)
LOGIN = {"endpoint": "token"}


def statuses(server: GenesysServer, endpoint: str) -> list[int | None]:
    return [entry.status for entry in server.received(endpoint)]


def test_a_login_is_a_form_that_asks_for_client_credentials(genesys_action: Bench) -> None:
    genesys_action.call()
    (login,) = genesys_action.server.received("token")
    assert login.headers["content-type"] == "application/x-www-form-urlencoded"
    assert login.raw == b"grant_type=client_credentials"


def test_a_token_is_renewed_shortly_before_its_end(genesys_action: Bench) -> None:
    genesys_action.server.script.token.seconds = 3_600
    genesys_action.call()
    genesys_action.clock.ahead_ms += 3_530_000
    genesys_action.call()
    assert genesys_action.server.tokens_issued == 1
    genesys_action.clock.ahead_ms += 20_000
    genesys_action.call()
    assert genesys_action.server.tokens_issued == 2
    assert statuses(genesys_action.server, "execute") == [200, 200, 200]


def test_a_short_token_is_kept_for_half_its_life(genesys_action: Bench) -> None:
    genesys_action.server.script.token.seconds = 60
    genesys_action.call()
    genesys_action.clock.ahead_ms += 25_000
    genesys_action.call()
    assert genesys_action.server.tokens_issued == 1
    genesys_action.clock.ahead_ms += 10_000
    genesys_action.call()
    assert genesys_action.server.tokens_issued == 2


def test_a_refused_token_is_renewed_once_within_the_call(genesys_action: Bench) -> None:
    genesys_action.call(1)
    genesys_action.server.expire_tokens()
    genesys_action.call(2)
    assert statuses(genesys_action.server, "execute") == [200, 401, 200]
    assert genesys_action.server.tokens_issued == 2


def test_a_token_that_ended_before_it_said_is_renewed(genesys_action: Bench) -> None:
    genesys_action.server.script.token.calls = 2
    for number in range(5):
        genesys_action.call(number)
    assert statuses(genesys_action.server, "execute") == [200, 200, 401, 200, 200, 401, 200]


def test_a_new_token_that_is_refused_too_is_a_fault_of_the_set_up(genesys_action: Bench) -> None:
    genesys_action.server.script.token.calls = 0
    name, message = genesys_action.fails()
    assert (name, message["status"]) == ("NotAuthorised", 401)
    assert statuses(genesys_action.server, "execute") == [401, 401]
    assert genesys_action.server.keys[next(iter(genesys_action.server.keys))].acts == 0


def test_wrong_credentials_are_read_again_and_not_tried_again(genesys_action: Bench) -> None:
    genesys_action.server.client_secret = "another"
    name, message = genesys_action.fails()
    assert (name, message["status"]) == ("NotAuthorised", 401)
    assert "invalid_client" in message["sentence"]
    assert genesys_action.secrets.reads == 2
    assert statuses(genesys_action.server, "token") == [401]


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refused_login_names_what_to_check(genesys_action: Bench, status: int) -> None:
    genesys_action.server.script.add({"match": LOGIN, "then": status})
    name, message = genesys_action.fails()
    assert (name, message["status"]) == ("NotAuthorised", status)
    assert f"the Genesys login answered {status}" in message["sentence"]
    assert "check the OAuth client" in message["sentence"]


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("invalid-scope", "NotAuthorised"),
        (400, "NotAuthorised"),
        (403, "NotAuthorised"),
        (404, "NotConfigured"),
        (415, "NotConfigured"),
        (302, "NotConfigured"),
        ({"status": 429, "retryAfter": 5}, "RateLimited"),
        (500, "Transient"),
        (503, "Transient"),
        ("reset", "Transient"),
        ({"status": 200, "body": {"token_type": "bearer"}}, "Transient"),
        ({"status": 200, "body": "not an object"}, "Transient"),
        *(
            ({"status": 200, "body": {"access_token": "t", "expires_in": seconds}}, "Transient")
            for seconds in (None, True, "soon", "3600", -1, 0, [3600], {}, float("nan"))
        ),
        *(
            ({"status": 200, "body": {"access_token": token, "expires_in": 3600}}, "Transient")
            for token in (None, "", 5, ["t"], "a\r\nX-Evil: 1", "with space", "ü", "\ud800")
        ),
    ],
)
def test_each_failure_of_the_login_is_one_error(
    genesys_action: Bench, reply: object, wanted: str
) -> None:
    genesys_action.server.script.add({"match": LOGIN, "replies": [reply]})
    name, message = genesys_action.fails()
    assert name == wanted
    assert message.get("retryAfterSeconds") == (5 if wanted == "RateLimited" else None)
    assert genesys_action.server.received("execute") == []


@pytest.mark.parametrize("lives", [1e300, float("inf"), 10**400], ids=["long", "inf", "whole"])
def test_a_token_that_lives_without_end_is_used(genesys_action: Bench, lives: float) -> None:
    token = {"access_token": "t", "expires_in": lives}
    genesys_action.server.script.add({"match": LOGIN, "replies": [{"status": 200, "body": token}]})
    assert genesys_action.call()["result"] == "ACTED"


@pytest.mark.parametrize("status", [400, 401])
def test_credentials_rotated_meanwhile_are_read_again_when_the_login_refuses_the_old(
    genesys_action: Bench, status: int
) -> None:
    genesys_action.call(1)
    genesys_action.server.expire_tokens()
    genesys_action.server.client_secret = "rotated"
    genesys_action.secrets.text = json.dumps({"clientId": CLIENT_ID, "clientSecret": "rotated"})
    genesys_action.server.script.add({"match": LOGIN, "replies": [status]})
    genesys_action.call(2)
    assert statuses(genesys_action.server, "token") == [200, status, 200]
    genesys_action.call(3)
    assert genesys_action.secrets.reads == 2


def storm(bench: Bench, first: int, events: int = 1_000) -> list[tuple[str, dict[str, Any]]]:
    return [bench.fails(number) for number in range(first, first + events)]


def test_a_refused_login_is_remembered_for_30_seconds(genesys_action: Bench) -> None:
    server = genesys_action.server
    server.client_secret = "another"
    started_ms = genesys_action.clock()
    ended = storm(genesys_action, 0)
    assert {name for name, _ in ended} == {"NotAuthorised"}
    assert {message["sentence"] for _, message in ended} == {ended[0][1]["sentence"]}
    assert [message["requests"] for _, message in ended[:3]] == [1, 0, 0]
    assert genesys_action.clock() - started_ms < REMEMBERED_MS, "else it has asked again"
    assert statuses(server, "token") == [401]
    assert genesys_action.secrets.reads == 2

    genesys_action.clock.ahead_ms += REMEMBERED_MS
    storm(genesys_action, 0)
    assert statuses(server, "token") == [401, 401]
    assert genesys_action.secrets.reads == 3


def test_a_secret_rotated_to_another_wrong_one_costs_two_logins(genesys_action: Bench) -> None:
    genesys_action.call()
    genesys_action.server.expire_tokens()
    genesys_action.server.client_secret = "rotated"
    genesys_action.secrets.text = json.dumps({"clientId": CLIENT_ID, "clientSecret": "mistyped"})
    storm(genesys_action, 1)
    assert statuses(genesys_action.server, "token") == [200, 401, 401]


def test_a_new_token_that_is_refused_is_remembered(genesys_action: Bench) -> None:
    genesys_action.server.script.token.calls = 0
    assert {name for name, _ in storm(genesys_action, 0)} == {"NotAuthorised"}
    assert statuses(genesys_action.server, "execute") == [401, 401]
    assert genesys_action.server.tokens_issued == 2


def test_the_right_credentials_are_taken_up_after_30_seconds(genesys_action: Bench) -> None:
    genesys_action.server.client_secret = "another"
    genesys_action.fails(1)
    genesys_action.secrets.text = json.dumps({"clientId": CLIENT_ID, "clientSecret": "another"})
    genesys_action.clock.ahead_ms += REMEMBERED_MS
    assert genesys_action.call(2)["result"] == "ACTED"


def test_a_refused_login_opens_the_breaker_like_an_outage(genesys_action: Bench) -> None:
    genesys_action.server.client_secret = "another"
    before_ms = genesys_action.clock()
    storm(genesys_action, 0, 25)
    operations, requests = zip(*genesys_action.table.requests, strict=True)
    assert set(operations) == {"UpdateItem"}
    values = [request["ExpressionAttributeValues"] for request in requests]
    keys = {key for value in values for key in value[":keys"]["SS"]}
    assert len(keys) == 25
    (since,) = {int(value[":since"]["N"]) for value in values}
    assert before_ms <= since < before_ms + 1_000, "when the login was refused"


@pytest.mark.parametrize("error", [aws_error("AccessDeniedException"), None])
def test_a_secret_that_is_refused_is_read_once_in_30_seconds(
    either: Bench, error: Exception | None
) -> None:
    either.secrets.error, either.secrets.text = error, "not JSON"
    for _ in range(2):
        assert {name for name, _ in storm(either, 0, 100)} == {"NotConfigured"}
        either.clock.ahead_ms += REMEMBERED_MS
    assert either.secrets.reads == 2
    assert len(either.table.requests) == 200


def test_a_signature_that_is_refused_reads_the_secret_again_once_in_30_seconds(
    webhook_action: Bench,
) -> None:
    webhook_action.server.script.add({"then": 401})
    storm(webhook_action, 0, 100)
    assert webhook_action.secrets.reads == 2
    webhook_action.clock.ahead_ms += REMEMBERED_MS
    storm(webhook_action, 0, 100)
    assert webhook_action.secrets.reads == 3
    assert webhook_action.table.requests == [], "one event may be refused where others are not"


def test_a_login_that_fails_otherwise_says_nothing_about_the_secret(genesys_action: Bench) -> None:
    genesys_action.server.script.add({"match": LOGIN, "replies": [403]})
    genesys_action.fails()
    assert genesys_action.secrets.reads == 1


def test_a_login_without_an_answer_is_left_in_time(genesys_action: Bench) -> None:
    genesys_action.server.script.add({"match": LOGIN, "replies": ["timeout"]})
    assert genesys_action.fails(remaining_ms=1_400)[0] == "Transient"


def test_the_secret_is_read_once_per_environment(either: Bench) -> None:
    for number in range(3):
        either.call(number)
    assert either.secrets.reads == 1


@pytest.mark.parametrize(
    ("text", "error", "wanted"),
    [
        ("not JSON", None, "NotConfigured"),
        ("[]", None, "NotConfigured"),
        ("{}", None, "NotConfigured"),
        ('{"clientId": "a", "clientSecret": "", "signingSecret": ""}', None, "NotConfigured"),
        ('{"clientId": "a", "clientSecret": 5, "signingSecret": 5}', None, "NotConfigured"),
        (None, None, "NotConfigured"),
        ("[" * 100_000, None, "NotConfigured"),
        *(
            (json.dumps(dict.fromkeys(FIELDS, value)), None, "NotConfigured")
            for value in ("whsec_für", "\ud800", "a\r\nb")
        ),
        ("{}", aws_error("ResourceNotFoundException"), "NotConfigured"),
        ("{}", aws_error("AccessDeniedException"), "NotConfigured"),
        ("{}", aws_error("ThrottlingException"), "TooLate"),
        ("{}", aws_error("InternalServiceError", 500), "TooLate"),
    ],
)
def test_a_secret_that_cannot_be_read(
    either: Bench, text: str | None, error: Exception | None, wanted: str
) -> None:
    either.secrets.text, either.secrets.error = text, error
    assert either.fails()[0] == wanted
    assert either.server.log == []
