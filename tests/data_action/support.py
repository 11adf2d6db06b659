"""A data action wired as in Lambda, to the imitation of Genesys and stand-ins for two AWS calls."""

import hashlib
import io
import json
import ssl
import time
from typing import Any
from unittest.mock import patch

import pytest
from botocore.exceptions import ClientError
from once_data_action import genesys, webhook
from once_data_action.bodies import Bodies
from once_data_action.breaker import Breaker
from once_data_action.handler import DataAction
from once_data_action.outbound import Outbound
from once_data_action.secret import Secret

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer

BUCKET = "overflow"
TABLE = "claims"
REQUEST_MS = 8_000
# The authorities take 20 ms to read, and each test has a data action of its own.
TLS = ssl.create_default_context()


def aws_error(code: str, status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}},
        "Operation",
    )


class FakeSecrets:
    """Secrets Manager with one secret; counts its reads."""

    def __init__(self, **values: str) -> None:
        self.text: str | None = json.dumps(values)
        self.error: Exception | None = None
        self.reads = 0

    def get_secret_value(self, SecretId: str) -> dict[str, Any]:  # noqa: N803, ARG002
        self.reads += 1
        if self.error:
            raise self.error
        return {} if self.text is None else {"SecretString": self.text}


class FakeTable:
    """DynamoDB that takes whatever it is sent; the conditions are for a real one to judge."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.error: Exception | None = None

    def get_item(self, **request: Any) -> dict[str, Any]:
        return self._take("GetItem", request)

    def update_item(self, **request: Any) -> dict[str, Any]:
        return self._take("UpdateItem", request)

    def delete_item(self, **request: Any) -> dict[str, Any]:
        return self._take("DeleteItem", request)

    def _take(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((operation, request))
        if self.error:
            raise self.error
        return {}


class FakeBucket:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.error: Exception | None = None
        self.reads = 0

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == BUCKET
        self.reads += 1
        if self.error:
            raise self.error
        if Key not in self.objects:
            raise aws_error("NoSuchKey", 404)
        return {"Body": io.BytesIO(self.objects[Key])}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Clock:
    def __init__(self) -> None:
        self.ahead_ms = 0

    def __call__(self) -> int:
        return now_ms() + self.ahead_ms


class Bench:
    """One data action and the things around it that a test turns."""

    def __init__(self, server: GenesysServer, target: str) -> None:
        self.server = server
        self.clock = Clock()
        self.bucket = FakeBucket()
        bodies = Bodies(BUCKET, lambda: self.bucket)  # type: ignore[arg-type, return-value]
        with patch.object(ssl, "create_default_context", return_value=TLS):
            self.http = http = Outbound(self.clock)
        if target == "webhook":
            self.secrets = FakeSecrets(signingSecret=SIGNING_SECRET)
            secret = Secret("arn", webhook.FIELDS, self.secrets, self.clock)  # type: ignore[arg-type]
            act: Any = webhook.Webhook(server.webhook_url, secret, bodies, http, self.clock)
        else:
            self.secrets = FakeSecrets(clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
            secret = Secret("arn", genesys.FIELDS, self.secrets, self.clock)  # type: ignore[arg-type]
            tokens = genesys.Tokens(server.url, secret, http, self.clock)
            act = genesys.Genesys(server.url, tokens, bodies, http)
        self.table = FakeTable()
        breaker = Breaker(TABLE, self.table, self.clock)
        self.action = DataAction(act, breaker, REQUEST_MS, self.clock)

    def call(
        self, number: int = 1, *, remaining_ms: int = 20_000, **changes: Any
    ) -> dict[str, Any]:
        changes.setdefault("deadlineMs", self.clock() + 10_000)
        changes.setdefault("pace", {"readMs": self.clock()})
        return self.action(payload(number, **changes), remaining_ms)

    def fails(self, number: int = 1, **changes: Any) -> tuple[str, dict[str, Any]]:
        """The name and the message of the error that the state machine would see."""
        with pytest.raises(Exception) as raised:  # noqa: PT011
            self.call(number, **changes)
        return type(raised.value).__name__, read_error(raised.value)


def read_error(error: BaseException) -> dict[str, Any]:
    """Reads an error as the state machine does, from Lambda's JSON."""
    cause = json.dumps({"errorMessage": str(error), "errorType": type(error).__name__})
    assert '"errorMessage": "{\\"once\\":\\"1\\",' in cause
    facts: dict[str, Any] = json.loads(json.loads(cause)["errorMessage"])
    assert facts.pop("once") == "1"
    return facts


def event(number: int = 1) -> dict[str, Any]:
    pk = f"org/conversation/c{number}"
    sk = "v1/conversation.user.end/x"
    return {
        "messageId": f"m{number}",
        "kind": "event",
        "subjectKey": pk,
        "receives": 1,
        "sentAtMs": 1741777200000,
        "version": "1",
        "family": "conversation.user.end",
        "topic": f"v2.detail.events.conversation.c{number}.user.end",
        "organizationId": "org",
        "subject": {"type": "conversation", "id": f"c{number}"},
        "state": "end",
        "occurredAt": "2026-05-04T10:00:00.123Z",
        "occurredAtMs": 1_777_888_800_123,
        "ids": {"conversationId": f"c{number}", "participantId": "p", "queueId": "q"},
        "key": {"pk": pk, "sk": sk},
        "idempotencyKey": hashlib.sha256(f"{pk}\n{sk}".encode()).hexdigest(),
        "policy": {"windowMs": 0, "order": "none"},
        "route": {"name": "*", "action": "custom_-_1"},
        "body": {"conversationId": f"c{number}", "disconnectType": "PEER"},
        "trace": {"envelopeId": "e", "correlationId": "k", "source": "s"},
    }


def payload(number: int = 1, **changes: Any) -> dict[str, Any]:
    one = event(number)
    return {
        "version": "2",
        "event": one,
        "idempotencyKey": one["idempotencyKey"],
        "requestsAllowed": 2,
        "retry": 0,
        "pace": {"readMs": now_ms()},
        "failedBefore": False,
        "execution": f"0f0f:1#m{number}",
        **changes,
    }
