"""The function as Lambda starts it: from the environment alone, with AWS behind it."""

import importlib
import json
import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from once_data_action import handler
from once_data_action.breaker import Limiter, Times
from once_data_action.errors import NotConfigured, PutBack
from once_data_action.handler import Settings

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer
from tests.action.support import TABLE, payload, read_facts


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 13_000


@pytest.fixture
def environment(aws: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    aws.setenv("CLAIM_TABLE", TABLE)
    handler._driver.cache_clear()
    yield aws
    handler._driver.cache_clear()


def store_secret(environment: pytest.MonkeyPatch, **values: str) -> None:
    client = boto3.client("secretsmanager")
    secret = client.create_secret(Name="destination", SecretString=json.dumps(values))
    environment.setenv("DESTINATION_SECRET_ARN", secret["ARN"])


@pytest.fixture
def genesys(environment: pytest.MonkeyPatch, server: GenesysServer) -> pytest.MonkeyPatch:
    """Returns the environment of the target genesys."""
    store_secret(environment, clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    environment.setenv("ACTION_TARGET", "genesys")
    environment.setenv("GENESYS_HOST", server.url)
    return environment


def call() -> dict[str, object]:
    return handler.handler(payload(), Context())


def test_webhook_from_the_environment(
    environment: pytest.MonkeyPatch, server: GenesysServer
) -> None:
    store_secret(environment, signingSecret=SIGNING_SECRET)
    environment.setenv("ACTION_TARGET", "webhook")
    environment.setenv("WEBHOOK_URL", server.webhook_url)
    assert call()["reason"] == "ACTED"
    assert server.log[-1].body["body"] == {"disconnectType": "PEER"}


def test_setup_without_a_target_observes(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("ACTION_TARGET", raising=False)
    assert call() == {"result": "ACTED", "reason": "OBSERVED", "requests": 0}


def test_fault_of_the_environment_is_reported_at_every_event(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("ACTION_TARGET", "genesys")
    for _ in range(2):
        with pytest.raises(PutBack, match="DestinationSecretArn") as raised:
            call()
        facts = read_facts(raised.value)
        assert (facts["reason"], facts["requests"]) == ("SETUP_FAULT", 0)
        assert 1 <= facts["retryInSeconds"] <= 900


def test_clients_are_made_while_the_function_starts(genesys: pytest.MonkeyPatch) -> None:
    importlib.reload(handler)
    assert handler._driver.cache_info().currsize == 1
    genesys.setattr(boto3, "client", lambda *_, **__: pytest.fail("made by a call"))
    assert call()["reason"] == "ACTED"


@pytest.mark.usefixtures("genesys")
def test_no_library_logs_the_secret_even_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        call()
    assert CLIENT_SECRET not in caplog.text


BUS = "arn:aws:events:eu-central-1:111122223333:event-bus/lake"
TO_A_BUS = {"ACTION_TARGET": "eventbridge"}
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
        ({"ACTION_TARGET": "lambda", "TARGET_ARN": "my-function"}, "TargetArn"),
        ({"ACTION_TARGET": "eventbridge", "TARGET_ARN": ""}, "TargetArn"),
        ({"ACTION_TARGET": "eventbridge", "TARGET_ARN": "lake"}, "TargetArn"),
        (dict.fromkeys(("TARGET_ARN", "SOURCE_BUS_ARN"), BUS) | TO_A_BUS, "events come from"),
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
@pytest.mark.usefixtures("environment")  # AWS must not be reached
def test_wrong_setting_is_named(settings: dict[str, str], says: str) -> None:
    with pytest.raises(NotConfigured) as raised:
        handler.build(Settings.read(settings))
    assert says in str(raised.value)
    assert ":pw@" not in str(raised.value)


@pytest.mark.parametrize(
    "host", ["mypurecloud.com.au", "usw2.pure.cloud", "use2.us-gov-pure.cloud"]
)
def test_region_has_two_addresses(host: str) -> None:
    settings = Settings.read(GENESYS | {"GENESYS_HOST": host})
    addresses = [settings.genesys("login"), settings.genesys("api")]
    assert addresses == [f"https://login.{host}", f"https://api.{host}"]


def test_all_settings_are_read_from_the_environment() -> None:
    names = ("DESTINATION_SECRET_ARN", "WEBHOOK_URL", "GENESYS_HOST", "CLAIM_TABLE")
    given = {name: f"of {name}" for name in (*names, "TARGET_ARN", "SOURCE_BUS_ARN")}
    given |= {"CALL_SECONDS": "2", "MAX_TRIES": "7", "MAX_ACTIONS_PER_MINUTE": "300"}
    assert Settings.read(given | {"PACE_SCALE": "0.1"}) == Settings(
        target="none",
        request_ms=2_000,
        claim_table="of CLAIM_TABLE",
        limiter=Limiter(300),
        max_tries=7,
        times=Times.of(2_000, 0.1),
        secret_arn="of DESTINATION_SECRET_ARN",
        webhook_url="of WEBHOOK_URL",
        genesys_host="of GENESYS_HOST",
        target_arn="of TARGET_ARN",
        source_bus_arn="of SOURCE_BUS_ARN",
    )
    defaults = Settings.read({"MAX_ACTIONS_PER_MINUTE": "0"})
    assert defaults == Settings("none")
    assert defaults.limiter is None


@pytest.mark.parametrize("seconds", ["1", "8"])
@pytest.mark.parametrize("target", ["webhook", "lambda", "eventbridge"])
def test_service_that_hangs_leaves_time_to_answer(
    environment: pytest.MonkeyPatch, target: str, seconds: str
) -> None:
    clients: dict[str, Any] = {}
    make = boto3.client

    def keep(name: str, **how: Any) -> Any:
        return clients.setdefault(name, make(name, **how))

    environment.setattr(boto3, "client", keep)
    function = "arn:aws:lambda:eu-central-1:111122223333:function:crm:live"
    arns = {"lambda": function, "eventbridge": BUS}
    given = WEBHOOK | {"ACTION_TARGET": target, "TARGET_ARN": arns.get(target, "")}
    given |= {"CALL_SECONDS": seconds}
    handler.build(Settings.read(given))

    def longest_ms(name: str) -> float:
        config = clients[name].meta.config
        assert 0 < config.connect_timeout <= config.read_timeout
        once = config.connect_timeout + config.read_timeout
        return float(1_000 * config.retries["total_max_attempts"] * once)

    assert longest_ms("dynamodb") < handler._ANSWER_MARGIN_MS
    for name in clients.keys() - {"dynamodb"}:
        assert longest_ms(name) <= max(6_000, 1_000 * int(seconds))
