"""The function as Lambda starts it: from the environment alone, with AWS behind it."""

import importlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from once_data_action import handler, request
from once_data_action.errors import NotConfigured
from once_data_action.settings import Settings

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer
from proof.template import TEMPLATE
from tests.data_action.support import BUCKET, TABLE, event, now_ms, payload


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 20_000


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name, value in {
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "OVERFLOW_BUCKET": BUCKET,
        "CLAIM_TABLE": TABLE,
    }.items():
        monkeypatch.setenv(name, value)
    handler._data_action.cache_clear()
    with mock_aws():
        yield monkeypatch
    handler._data_action.cache_clear()


def store_secret(environment: pytest.MonkeyPatch, **values: str) -> None:
    secret = boto3.client("secretsmanager").create_secret(
        Name="destination", SecretString=json.dumps(values)
    )
    environment.setenv("DESTINATION_SECRET_ARN", secret["ARN"])


def call() -> dict[str, object]:
    return handler.handler(payload(deadlineMs=now_ms() + 10_000), Context())


def test_genesys_from_the_environment(
    environment: pytest.MonkeyPatch, server: GenesysServer
) -> None:
    store_secret(environment, clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    environment.setenv("ACTION_TARGET", "genesys")
    environment.setenv("GENESYS_HOST", server.url)
    assert call()["result"] == "ACTED"
    assert call()["result"] == "ACTED"
    assert server.tokens_issued == 1


def test_webhook_from_the_environment_with_a_body_from_the_bucket(
    environment: pytest.MonkeyPatch, server: GenesysServer
) -> None:
    store_secret(environment, signingSecret=SIGNING_SECRET)
    environment.setenv("ACTION_TARGET", "webhook")
    environment.setenv("WEBHOOK_URL", server.webhook_url)
    s3 = boto3.client("s3")
    s3.create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    s3.put_object(Bucket=BUCKET, Key="events/1", Body=b'{"n": 1}')
    one = event()
    del one["body"]
    one["bodyRef"] = {"bucket": BUCKET, "key": "events/1"}
    handler.handler(payload(event=one, deadlineMs=now_ms() + 10_000), Context())
    assert server.log[-1].body["body"] == {"n": 1}


def test_without_a_target_events_are_only_observed(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("ACTION_TARGET", raising=False)
    assert call() == {"version": "2", "result": "OBSERVED", "requests": 0}


def test_a_fault_of_the_environment_is_told_on_every_call(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("ACTION_TARGET", "genesys")
    for _ in range(2):
        with pytest.raises(NotConfigured, match="DestinationSecretArn"):
            call()


def test_the_first_client_is_made_while_the_function_starts(
    environment: pytest.MonkeyPatch, server: GenesysServer
) -> None:
    store_secret(environment, clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    environment.setenv("ACTION_TARGET", "genesys")
    environment.setenv("GENESYS_HOST", server.url)
    importlib.reload(handler)
    assert handler._data_action.cache_info().currsize == 1
    environment.setattr(boto3, "client", lambda *_, **__: pytest.fail("made by a call"))
    assert call()["result"] == "ACTED"


def test_no_library_logs_the_secret_even_at_debug(
    environment: pytest.MonkeyPatch, server: GenesysServer, caplog: pytest.LogCaptureFixture
) -> None:
    store_secret(environment, clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    environment.setenv("ACTION_TARGET", "genesys")
    environment.setenv("GENESYS_HOST", server.url)
    with caplog.at_level(logging.DEBUG):
        call()
    assert CLIENT_SECRET not in caplog.text


GENESYS = {
    "ACTION_TARGET": "genesys",
    "DESTINATION_SECRET_ARN": "arn",
    "GENESYS_HOST": "mypurecloud.de",
}
WEBHOOK = {
    "ACTION_TARGET": "webhook",
    "DESTINATION_SECRET_ARN": "arn",
    "WEBHOOK_URL": "https://example.com/in",
}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ACTION_TARGET": "kafka"}, "ActionTarget"),
        (GENESYS | {"DESTINATION_SECRET_ARN": ""}, "DestinationSecretArn"),
        (GENESYS | {"GENESYS_HOST": ""}, "GenesysHost"),
        (GENESYS | {"GENESYS_HOST": "api.mypurecloud.de"}, "GenesysHost"),
        (GENESYS | {"GENESYS_HOST": "https://mypurecloud.de"}, "GenesysHost"),
        (GENESYS | {"GENESYS_HOST": "mypurecloud.de.evil.example"}, "GenesysHost"),
        (GENESYS | {"GENESYS_HOST": "evil.example/mypurecloud.de"}, "GenesysHost"),
        (GENESYS | {"GENESYS_HOST": "http://10.0.0.1:80"}, "GenesysHost"),
        (WEBHOOK | {"WEBHOOK_URL": ""}, "WebhookUrl"),
        (WEBHOOK | {"WEBHOOK_URL": "http://example.com/in"}, "https"),
        (WEBHOOK | {"WEBHOOK_URL": "https://user:pw@example.com/in"}, "password"),
        (WEBHOOK | {"WEBHOOK_URL": "https://[/in"}, "not an address"),
        (WEBHOOK | {"WEBHOOK_URL": "https://example.com:99999/in"}, "not an address"),
        (WEBHOOK | {"WEBHOOK_URL": "https://example.com/in\r\nX-Evil: 1"}, "ASCII"),
        (WEBHOOK | {"WEBHOOK_URL": "https://example.com/für"}, "percent-encoded"),
        (WEBHOOK | {"WEBHOOK_URL": "http://127.0.0.1:80@example.com/in"}, "https"),
    ],
)
def test_a_wrong_setting_is_named(
    environment: pytest.MonkeyPatch,  # noqa: ARG001 — AWS must not be reached
    settings: dict[str, str],
    says: str,
) -> None:
    with pytest.raises(NotConfigured) as raised:
        handler.build(Settings.read(settings))
    assert says in str(raised.value)
    assert ":pw@" not in str(raised.value)


@pytest.mark.parametrize(
    ("host", "login", "api"),
    [
        (
            "mypurecloud.com.au",
            "https://login.mypurecloud.com.au",
            "https://api.mypurecloud.com.au",
        ),
        ("usw2.pure.cloud", "https://login.usw2.pure.cloud", "https://api.usw2.pure.cloud"),
        (
            "use2.us-gov-pure.cloud",
            "https://login.use2.us-gov-pure.cloud",
            "https://api.use2.us-gov-pure.cloud",
        ),
        ("http://127.0.0.1:8090", "http://127.0.0.1:8090", "http://127.0.0.1:8090"),
    ],
)
def test_the_addresses_of_a_region(host: str, login: str, api: str) -> None:
    settings = Settings.read(GENESYS | {"GENESYS_HOST": host})
    assert (settings.genesys("login"), settings.genesys("api")) == (login, api)


def test_each_variable_that_the_template_sets_is_read() -> None:
    function = TEMPLATE["Resources"]["DataActionFunction"]["Properties"]
    variables = {name: f"of {name}" for name in function["Environment"]["Variables"]}
    variables |= {"ACTION_TARGET": "none", "CALL_SECONDS": "2"}
    assert vars(Settings.read(variables)) == {
        "target": "none",
        "request_ms": 2_000,
        "secret_arn": "of DESTINATION_SECRET_ARN",
        "webhook_url": "of WEBHOOK_URL",
        "genesys_host": "of GENESYS_HOST",
        "overflow_bucket": "of OVERFLOW_BUCKET",
        "claim_table": "of CLAIM_TABLE",
        "target_bus_arn": "of TARGET_BUS_ARN",
        "source_bus_arn": "of SOURCE_BUS_ARN",
    }


def test_an_aws_service_that_hangs_leaves_time_to_answer(
    environment: pytest.MonkeyPatch,
) -> None:
    clients: dict[str, Any] = {}
    make = boto3.client

    def keep(name: str, **how: Any) -> Any:
        return clients.setdefault(name, make(name, **how))

    environment.setattr(boto3, "client", keep)
    handler.build(Settings.read(WEBHOOK))

    def longest_ms(name: str) -> float:
        config = clients[name].meta.config
        seconds = config.connect_timeout + config.read_timeout
        return float(1000 * config.retries["total_max_attempts"] * seconds)

    assert longest_ms("dynamodb") < request._ANSWER_MARGIN_MS
    timing = TEMPLATE["Mappings"]["Durations"]["production"]
    whole_ms = 1000 * timing["Action"]
    assert longest_ms("secretsmanager") + request._ANSWER_MARGIN_MS < whole_ms
