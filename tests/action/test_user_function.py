"""The target lambda: what the user's function gets, and what becomes of each of its ends."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, ReadTimeoutError
from once_data_action.request import ActionRequest, webhook_text
from once_data_action.user_function import UserFunction

from tests.action.support import NOW, Site, aws_error, payload

ARN = "arn:aws:lambda:eu-central-1:111122223333:function:crm:live"
PHONE = "+4915550001234"


class FakeLambda:
    """Lambda, which responds as it is told and keeps what it was given."""

    def __init__(self) -> None:
        self.invoked: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.raised: Any = None

    def invoke(self, **arguments: Any) -> dict[str, Any]:
        self.invoked.append(arguments)
        if self.error:
            raise self.error
        response: dict[str, Any] = {"StatusCode": 200, "Payload": io.BytesIO(b'{"ok": true}')}
        if self.raised is not None:
            response |= {"FunctionError": "Unhandled", "Payload": io.BytesIO(self.raised)}
        return response


@pytest.fixture
def service() -> FakeLambda:
    return FakeLambda()


@pytest.fixture
def bench(service: FakeLambda) -> Site:
    site = Site(target="lambda")
    site.driver.target = UserFunction(ARN, service)
    return site


def raised(name: str, message: object = f"customer {PHONE}") -> bytes:
    return json.dumps({"errorType": name, "errorMessage": message, "stackTrace": []}).encode()


def test_function_gets_the_json_of_a_webhook_and_its_return_is_a_success(
    bench: Site, service: FakeLambda
) -> None:
    answer = bench.act()
    assert (answer["reason"], answer["status"]) == ("ACTED", 200)
    (arguments,) = service.invoked
    assert arguments == {
        "FunctionName": ARN,
        "Payload": webhook_text(ActionRequest.read(payload())).encode(),
    }


@pytest.mark.parametrize(
    ("name", "wanted", "reason"),
    [
        ("Transient", "Transient", "CALL_FAILED"),
        ("Failed", "Failed", "CALL_FAILED"),
        ("RateLimited", "RateLimited", "RATE_LIMITED"),
        ("Rejected", "Rejected", "REJECTED"),
        ("Uncertain", "Uncertain", "UNCERTAIN"),
        ("NotAuthorised", "NotAuthorised", "SETUP_FAULT"),
        ("NotConfigured", "NotConfigured", "SETUP_FAULT"),
        ("KeyError", "Transient", "CALL_FAILED"),
        ("Sandbox.Timedout", "Transient", "CALL_FAILED"),
        ("GaveUp", "Transient", "CALL_FAILED"),
        (None, "Transient", "CALL_FAILED"),
    ],
)
def test_error_of_the_function_counts_by_its_name_and_says_nothing_of_its_message(
    bench: Site, service: FakeLambda, name: Any, wanted: str, reason: str
) -> None:
    service.raised = raised(name)
    kind, facts = bench.fails()
    assert (kind, facts["reason"], facts["requests"]) == (wanted, reason, 1)
    assert PHONE not in str(facts)


@pytest.mark.parametrize("content", [b"", b"null", b"[1]", b"not JSON", b"\xff", b"[" * 60_000])
def test_error_that_cannot_be_read_is_a_failure(
    bench: Site, service: FakeLambda, content: bytes
) -> None:
    service.raised = content
    assert bench.fails()[0] == "Transient"


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ('{"retryAfterSeconds": 45}', 45),
        ('{"retryAfterSeconds": 0.5}', 1),
        ('{"retryAfterSeconds": "45"}', 30),
        ('{"retryAfterSeconds": true}', 30),
        ('{"retryAfterSeconds": NaN}', 30),
        ("in a while", 30),
        (None, 30),
    ],
)
def test_rate_limited_function_names_its_time_in_the_message(
    bench: Site, service: FakeLambda, message: object, seconds: int
) -> None:
    service.raised = raised("RateLimited", message)
    bench.fails()
    row = bench.table.row()
    assert row
    assert row.not_before_ms == NOW + 1_000 * seconds


@pytest.mark.parametrize(
    ("code", "wanted", "for_all"),
    [
        ("TooManyRequestsException", "RateLimited", False),
        ("AccessDeniedException", "NotAuthorised", True),
        ("KMSAccessDeniedException", "NotAuthorised", True),
        ("ResourceNotFoundException", "NotConfigured", True),
        ("RequestTooLargeException", "Rejected", False),
        ("SomethingNew", "Transient", False),
    ],
)
def test_code_of_a_refused_invocation_is_one_error(
    bench: Site, service: FakeLambda, code: str, wanted: str, for_all: bool
) -> None:
    service.error = aws_error(code)
    name, facts = bench.fails()
    assert name == wanted
    assert facts.get("status") == (429 if wanted == "RateLimited" else None)
    bench.clock.pass_seconds(2)  # after a 429
    bench.fails(2)
    assert len(service.invoked) == (1 if for_all else 2), "remembered, if it meets all"
    assert code in facts["cause"]
    assert PHONE not in str(facts)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("", 2), ("soon", 2), ("0", 1)])
def test_throttled_invocation_waits_as_lambda_says(
    bench: Site, service: FakeLambda, header: str, seconds: int
) -> None:
    service.error = aws_error("TooManyRequestsException", 429, retryAfterSeconds=header)
    bench.fails()
    row = bench.table.row()
    assert row
    assert row.not_before_ms == NOW + 1_000 * seconds


@pytest.mark.parametrize(
    ("kind", "wanted", "requests"),
    [
        (ReadTimeoutError, "Failed", 1),  # it may still run
        (ConnectTimeoutError, "Failed", 0),
        (ConnectionClosedError, "Transient", 1),
    ],
)
def test_invocation_without_a_response_is_a_failure(
    bench: Site, service: FakeLambda, kind: type[Exception], wanted: str, requests: int
) -> None:
    service.error = kind(endpoint_url="https://lambda")
    name, facts = bench.fails()
    assert (name, facts["reason"], facts["requests"]) == (wanted, "CALL_FAILED", requests)
