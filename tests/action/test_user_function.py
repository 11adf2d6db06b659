"""The target lambda: what the user's function gets, and what becomes of each of its ends."""

import io
import json
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, ReadTimeoutError
from once_data_action.breaker import Row
from once_data_action.errors import ActionError
from once_data_action.request import ActionRequest, webhook_text
from once_data_action.user_function import UserFunction

from tests.action.support import NOW, Site, aws_error, payload

ARN = "arn:aws:lambda:eu-central-1:111122223333:function:crm:live"
PHONE = "+4915550001234"


@pytest.fixture
def service() -> Mock:
    service = Mock()
    service.invoke.return_value = {"StatusCode": 200, "Payload": io.BytesIO(b'{"ok": true}')}
    return service


@pytest.fixture
def bench(service: Mock) -> Site:
    site = Site(target="lambda")
    site.driver.target = UserFunction(ARN, service)
    return site


def ends(service: Mock, content: bytes) -> None:
    """Lets the function end with an error."""
    service.invoke.return_value = {
        "StatusCode": 200,
        "FunctionError": "Unhandled",
        "Payload": io.BytesIO(content),
    }


def raises(service: Mock, name: str, message: object = f"customer {PHONE}") -> None:
    error = {"errorType": name, "errorMessage": message, "stackTrace": []}
    ends(service, json.dumps(error).encode())


def test_function_gets_the_json_of_a_webhook_and_its_return_is_a_success(
    bench: Site, service: Mock
) -> None:
    answer = bench.act()
    assert (answer["reason"], answer["status"]) == ("ACTED", 200)
    body = webhook_text(ActionRequest.read(payload())).encode()
    service.invoke.assert_called_once_with(FunctionName=ARN, Payload=body)


# Any other name is a failure, and so is a name of ours that no target raises.
OTHERS = ("Transient", "KeyError", "Sandbox.Timedout", "GaveUp", None)


@pytest.mark.parametrize(
    ("name", "wanted", "reason"),
    [
        *((kind.__name__, kind.__name__, kind.reason) for kind in ActionError.__subclasses__()),
        *((name, "Transient", "CALL_FAILED") for name in OTHERS),
    ],
)
def test_error_of_the_function_counts_by_its_name_and_says_nothing_of_its_message(
    bench: Site, service: Mock, name: Any, wanted: str, reason: str
) -> None:
    raises(service, name)
    kind, facts = bench.fails()
    assert (kind, facts["reason"], facts["requests"]) == (wanted, reason, 1)
    assert PHONE not in str(facts)


@pytest.mark.parametrize("content", [b"", b"null", b"[1]", b"not JSON", b"\xff", b"[" * 60_000])
def test_error_that_cannot_be_read_is_a_failure(bench: Site, service: Mock, content: bytes) -> None:
    ends(service, content)
    assert bench.fails()[0] == "Transient"


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ('{"retryAfterSeconds": 45}', 45),
        ('{"retryAfterSeconds": 7200}', 180),
        ('{"retryAfterSeconds": 0.5}', 1),
        ('{"retryAfterSeconds": "45"}', 30),
        ('{"retryAfterSeconds": true}', 30),
        ('{"retryAfterSeconds": NaN}', 30),
        ("in a while", 30),
        (None, 30),
    ],
)
def test_rate_limited_function_names_its_time_in_the_message(
    bench: Site, service: Mock, message: object, seconds: int
) -> None:
    raises(service, "RateLimited", message)
    bench.fails()
    assert bench.table.row() == Row(NOW, not_before_ms=NOW + 1_000 * seconds)


# test_docs.py has the error of every code.
@pytest.mark.parametrize(
    ("code", "wanted", "for_all"),
    [
        ("TooManyRequestsException", "RateLimited", False),
        ("AccessDeniedException", "NotAuthorised", True),
        ("ResourceNotFoundException", "NotConfigured", True),
        ("SomethingNew", "Transient", False),
    ],
)
def test_code_of_a_refused_invocation_is_one_error(
    bench: Site, service: Mock, code: str, wanted: str, for_all: bool
) -> None:
    service.invoke.side_effect = aws_error(code)
    name, facts = bench.fails()
    assert name == wanted
    assert facts.get("status") == (429 if wanted == "RateLimited" else None)
    bench.clock.pass_seconds(2)  # after a 429
    bench.fails(2)
    assert service.invoke.call_count == (1 if for_all else 2), "remembered, if it meets all"
    assert code in facts["cause"]
    assert PHONE not in str(facts)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("", 2), ("soon", 2), ("0", 1)])
def test_throttled_invocation_waits_as_lambda_says(
    bench: Site, service: Mock, header: str, seconds: int
) -> None:
    error = aws_error("TooManyRequestsException", 429, retryAfterSeconds=header)
    service.invoke.side_effect = error
    bench.fails()
    assert bench.table.row() == Row(NOW, not_before_ms=NOW + 1_000 * seconds)


@pytest.mark.parametrize(
    ("kind", "wanted", "requests"),
    [
        (ReadTimeoutError, "Failed", 1),  # it may still run
        (ConnectTimeoutError, "Failed", 0),
        (ConnectionClosedError, "Transient", 1),
    ],
)
def test_invocation_without_a_response_is_a_failure(
    bench: Site, service: Mock, kind: type[Exception], wanted: str, requests: int
) -> None:
    service.invoke.side_effect = kind(endpoint_url="https://lambda")
    name, facts = bench.fails()
    assert (name, facts["reason"], facts["requests"]) == (wanted, "CALL_FAILED", requests)
