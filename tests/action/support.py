"""An event, and the function around it: a clock, the simulator's table, and a target that is told
what to do, or the real targets with the mock of Genesys."""

import hashlib
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError
from once_data_action import genesys, webhook
from once_data_action.breaker import Limiter, Row, read
from once_data_action.errors import ActionError, Parked, Transient, Verdict
from once_data_action.handler import Driver, Settings
from once_data_action.outbound import Outbound, Secret
from once_data_action.request import ActionRequest, Budget

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer
from once.model.reasons import REASONS, Outcome
from proof.sim.table import Key, RefusedError, key_of, written

NOW = 1_777_888_900_000
TABLE = "claims"
REMAINING_MS = 13_000
# The authorities take 20 ms to read, and each test has a driver of its own.
TLS = ssl.create_default_context()


def event(number: int = 1, body: str = '{"disconnectType":"PEER"}') -> dict[str, Any]:
    pk, sk = f"org/conversation/c{number}", "v2/conversation.user.end/x"
    return {
        "version": "2",
        "firstMessageId": f"m{number}",
        "waitsSinceMs": NOW - 2_000,
        "family": "conversation.user.end",
        "topic": f"v2.detail.events.conversation.c{number}.user.end",
        "organizationId": "org",
        "subject": {"type": "conversation", "id": f"c{number}"},
        "state": "end",
        "occurredAt": "2026-05-04T10:00:00.123Z",
        "occurredAtMs": 1_777_888_800_123,
        "ids": {"conversationId": f"c{number}", "participantId": "p", "queueId": "q"},
        "key": {"pk": pk, "sk": sk},
        "keyHash": hashlib.sha256(f"{pk}\n{sk}".encode()).hexdigest(),
        "policy": {"windowMs": 0, "order": "none"},
        "route": {"name": "*", "action": "custom_-_1"},
        "trace": {"envelopeId": "e", "correlationId": "k", "source": "s"},
        "raw": f'{{"id":"e","detail":{{"eventBody":{body}}}}}',
        "bodyPath": ["detail", "eventBody"],
    }


def payload(number: int = 1, **changes: Any) -> dict[str, Any]:
    one = changes.pop("event", None) or event(number)
    return {
        "version": "3",
        "event": one,
        "idempotencyKey": one["keyHash"],
        "owner": f"0f0f:1#m{number}",
        "tries": 0,
        "failedAtMs": 0,
        "deaths": 0,
        "retry": 0,
        **changes,
    }


def read_facts(error: BaseException) -> dict[str, Any]:
    """Reads an error as the state machine does, from Lambda's JSON in the Cause."""
    text = str(error)
    assert text.isascii()
    assert len(text) < 2_048
    cause = json.dumps({"errorMessage": text, "errorType": type(error).__name__})
    facts: dict[str, Any] = json.loads(json.loads(cause)["errorMessage"])
    return facts


def aws_error(code: str, status: int = 400, **more: Any) -> ClientError:
    response: Any = {
        "Error": {"Code": code, "Message": "quotes +4915550001234"},
        "ResponseMetadata": {"HTTPStatusCode": status},
        **more,
    }
    return ClientError(response, "Operation")


class Clock:
    """Stands still until a test, or a request, moves it."""

    def __init__(self, ms: int = NOW) -> None:
        self.ms = ms

    def __call__(self) -> int:
        return self.ms

    def pass_seconds(self, seconds: float) -> None:
        self.ms += round(seconds * 1_000)


class ToldTarget:
    """Responds as it is told: a status or an error; then with 200."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.told: list[int | ActionError] = []
        self.sent: list[str] = []
        self.takes_seconds = 0.2
        self.waits_seconds = 0.0  # before its request begins

    def act(self, request: ActionRequest, headers: Mapping[str, str], budget: Budget) -> int:  # noqa: ARG002
        told = self.told.pop(0) if self.told else 200
        self.clock.pass_seconds(self.waits_seconds)
        budget.seconds_for_a_request()
        self.sent.append(request.idempotency_key)
        self.clock.pass_seconds(self.takes_seconds)
        if isinstance(told, int):
            return told
        raise told


class Table:
    """DynamoDB, which counts the requests and can be told to fail."""

    def __init__(self) -> None:
        self.rows: dict[Key, dict[str, Any] | None] = {}
        self.requests: list[str] = []
        self.is_broken = False

    def get_item(self, **request: Any) -> Any:
        self._note("get_item", request)
        item = self.rows.get(key_of(request))
        return {"Item": item} if item and request["ConsistentRead"] else {}

    def update_item(self, **request: Any) -> Any:
        return {"Attributes": self._write("update", request)}

    def delete_item(self, **request: Any) -> Any:
        return {"Attributes": self._write("delete", request)}

    def _write(self, verb: str, request: Any) -> Any:
        self._note(f"{verb}_item", request)
        key = key_of(request)
        try:
            self.rows[key] = row = written(verb, request, self.rows.get(key))
        except RefusedError:
            raise aws_error("ConditionalCheckFailedException") from None
        return row if request.get("ReturnValues") == "ALL_NEW" else {}

    def _note(self, verb: str, request: Any) -> None:
        assert request["TableName"] == TABLE
        self.requests.append(verb)
        if self.is_broken:
            raise aws_error("InternalServerError", 500)

    def row(self) -> Row | None:
        """Returns the breaker's row."""
        return Row.of(self.rows.get(key_of(read(TABLE))))


class Acting:
    """A function that is given events."""

    driver: Driver

    def act(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        return self.driver(payload(number, **changes), REMAINING_MS)

    def fails(self, number: int = 1, **changes: Any) -> tuple[str, dict[str, Any]]:
        """Returns the facts that the state machine sees, and the class: `Transient`, or that of the
        error from which it follows."""
        with pytest.raises(Verdict) as raised:
            self.act(number, **changes)
        facts = read_facts(raised.value)
        is_parked = REASONS[facts["reason"]].outcome is Outcome.PARKED
        assert isinstance(raised.value, Parked) == is_parked, "errors.py, once/model/reasons.py"
        is_transient = isinstance(raised.value, Transient)
        return type(raised.value if is_transient else raised.value.__context__).__name__, facts


class Site(Acting):
    """One stack: a function, a table and a destination."""

    def __init__(self, **settings: Any) -> None:
        self.clock = Clock()
        self.table = Table()
        self.target = ToldTarget(self.clock)
        self.settings = replace(Settings("webhook", claim_table=TABLE), **settings)
        self.driver = self._environment()

    def _environment(self) -> Driver:
        return Driver(
            self.settings,
            self.target,
            self.table,
            self.clock,
            draw=lambda: 0.5,
            sleep=self.clock.pass_seconds,
        )

    def limit(self, per_minute: int) -> None:
        self.settings = replace(self.settings, limiter=Limiter(per_minute))
        self.driver = self._environment()


class FakeSecrets:
    """Secrets Manager with one secret; counts its reads."""

    def __init__(self, **values: str) -> None:
        self.values = list(values.values())[-1:]  # the last one is secret
        self.text: str | None = json.dumps(values)
        self.error: Exception | None = None
        self.reads = 0

    def get_secret_value(self, SecretId: str) -> dict[str, Any]:  # noqa: N803, ARG002
        self.reads += 1
        if self.error:
            raise self.error
        return {} if self.text is None else {"SecretString": self.text}


class Sender(Acting):
    """The real target of Genesys or of a webhook, with the mock destination behind it."""

    def __init__(self, server: GenesysServer, target: str, request_ms: int = 8_000) -> None:
        self.server = server
        self.clock = Clock(time.time_ns() // 1_000_000)
        with patch.object(ssl, "create_default_context", return_value=TLS):
            http = Outbound(self.clock)
        if target == "webhook":
            self.secrets = FakeSecrets(signingSecret=SIGNING_SECRET)
            secret = Secret("arn", webhook.FIELDS, self.secrets, self.clock)  # type: ignore[arg-type]
            self.target: Any = webhook.Webhook(server.webhook_url, secret, http, self.clock)
        else:
            self.secrets = FakeSecrets(clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
            secret = Secret("arn", genesys.FIELDS, self.secrets, self.clock)  # type: ignore[arg-type]
            tokens = genesys.Tokens(server.url, secret, http, self.clock)
            self.target = genesys.Genesys(server.url, tokens, http)
        settings = Settings("webhook", claim_table=TABLE, request_ms=request_ms)
        self.driver = Driver(settings, self.target, Table(), self.clock)
