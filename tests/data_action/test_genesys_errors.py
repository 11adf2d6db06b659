"""Genesys' two forms of an error, and what each is to the state machine."""

import pytest

from once.genesys.script import action_error_body
from tests.data_action.support import Bench


def answers(bench: Bench, reply: object) -> tuple[str, dict[str, object]]:
    bench.server.script.add({"replies": [reply]})
    return bench.fails()


@pytest.mark.parametrize(
    ("reply", "wanted", "says"),
    [
        ("remote-endpoint", "Transient", "remote system behind the data action"),
        ("processing", "Uncertain", "may have acted"),
        (
            "authentication",
            "NotAuthorised",
            "Admin, Integrations, in the web services data actions",
        ),
    ],
)
def test_a_400_tells_by_its_details(
    genesys_action: Bench, reply: str, wanted: str, says: str
) -> None:
    name, message = answers(genesys_action, reply)
    assert (name, message["status"]) == (wanted, 400)
    assert says in str(message["sentence"])


def test_the_code_and_the_number_for_genesys_support_are_told(genesys_action: Bench) -> None:
    body = action_error_body("ACTION.PROCESSING", 400)
    _, message = answers(genesys_action, {"status": 400, "body": body})
    assert f"(INVALID_SCHEMA, {body['correlationId']})" in str(message["sentence"])


def test_what_the_remote_system_said_is_not_told(genesys_action: Bench) -> None:
    body = action_error_body("ACTION.REMOTE_ENDPOINT", 400)
    body["userMessage"] = body["errors"][0]["userMessage"] = "caller +4915550001"
    body["correlationId"] = "+4915550001"
    body["errorCode"] = "+4915550001"
    _, message = answers(genesys_action, {"status": 400, "body": body})
    assert "4915550001" not in str(message)


def test_details_of_the_inner_error_count(genesys_action: Bench) -> None:
    body = action_error_body("ACTION.PROCESSING", 400)
    body["errors"][0]["details"], body["details"] = body["details"], []
    assert answers(genesys_action, {"status": 400, "body": body})[0] == "Uncertain"


def test_of_several_details_the_most_cautious_counts(genesys_action: Bench) -> None:
    body = action_error_body("ACTION.REMOTE_ENDPOINT", 400)
    body["details"].append({"errorCode": "ACTION.PROCESSING"})
    assert answers(genesys_action, {"status": 400, "body": body})[0] == "Uncertain"


def test_details_count_under_a_server_error_too(genesys_action: Bench) -> None:
    body = action_error_body("ACTION.PROCESSING", 500)
    assert answers(genesys_action, {"status": 500, "body": body})[0] == "Uncertain"


@pytest.mark.parametrize(
    "body",
    [
        "not an object",
        [],
        {"details": "none", "errors": "none"},
        {"details": [None, 1, {"errorCode": 5}], "errors": [None, {"details": 1}]},
        {"code": "bad.request", "details": []},
        "[" * 60_000,
    ],
)
def test_a_400_without_details_is_refused_for_good(genesys_action: Bench, body: object) -> None:
    assert answers(genesys_action, {"status": 400, "body": body})[0] == "Rejected"


def test_data_action_that_is_not_there_is_named_with_its_route(genesys_action: Bench) -> None:
    name, message = answers(genesys_action, 404)
    assert name == "NotConfigured"
    assert "no data action custom_-_1" in str(message["sentence"])
    assert "the route '*'" in str(message["sentence"])


def test_a_missing_permission_is_a_fault_of_the_set_up(genesys_action: Bench) -> None:
    name, message = answers(genesys_action, 403)
    assert name == "NotAuthorised"
    assert "missing.permissions" in str(message["sentence"])


def test_the_limits_of_genesys_are_waited_for(genesys_action: Bench) -> None:
    genesys_action.server.script.limits.per_minute = 2
    genesys_action.call(1)
    genesys_action.call(2)
    name, message = genesys_action.fails(3)
    assert name == "RateLimited"
    assert 50 <= message["retryAfterSeconds"] <= 60
    assert "too.many.requests" in message["sentence"]
