"""The mock's script: rules in plain JSON for its misbehaviour, and responses in Genesys' forms.

    {"rules": [{"match":    {"family": "conversation.*", "subjectId": "…"},
                "replies":  [{"status": 429, "retryAfter": 1}, 500, "lose", "ok"],
                "perEvent": true, "then": "ok"}]}

A matching request takes the next of the rule's replies; after
the last one `then` counts, without `then` the next matching rule, and in the end success. With
`perEvent` each Idempotency-Key goes through the replies by itself.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
import uuid
from collections import defaultdict
from http.client import responses
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from once.errors import OnceError

_Fact = Literal[
    "endpoint", "family", "state", "subjectId", "conversationId", "idempotencyKey", "action"
]
_ActionError = Literal["ACTION.REMOTE_ENDPOINT", "ACTION.AUTHENTICATION", "ACTION.PROCESSING"]
_M = TypeVar("_M", bound=BaseModel)
_MISTAKES = {
    "extra_forbidden": "there is no such field; docs/data-action.md lists them",
    "model_type": 'it is not an object, such as {"rules": []}',
    "dict_type": "it is not an object",
    "list_type": "it is not a list",
}
_SHORT: dict[str, dict[str, Any]] = {
    "ok": {"status": 200},
    "reset": {"answer": "reset"},
    "timeout": {"answer": "none"},
    "lose": {"act": True, "answer": "reset"},
    "remote-endpoint": {"status": 400, "action": "ACTION.REMOTE_ENDPOINT"},
    "authentication": {"status": 400, "action": "ACTION.AUTHENTICATION"},
    "processing": {"status": 400, "action": "ACTION.PROCESSING", "act": True},
    "invalid-scope": {"status": 400, "body": {"error": "invalid_scope"}},
}
_ACTION_ERRORS = {
    "ACTION.REMOTE_ENDPOINT": ("BAD_REQUEST", "The remote system did not do what it was asked."),
    "ACTION.AUTHENTICATION": ("INVALID_CREDENTIALS", "The remote system refused the credentials."),
    "ACTION.PROCESSING": ("INVALID_SCHEMA", "What the remote system said could not be used."),
}


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        extra="forbid",
        coerce_numbers_to_str=True,
    )


class Reply(_Model):
    """Answers a request. An error without a body gets the platform's."""

    status: int = 200
    action: _ActionError | None = None
    body: Any = None
    headers: dict[str, str] = {}
    retry_after: str | None = None
    act: bool = Field(default=False, description="By default an answer of 2xx acts.")
    delay_ms: float = 0
    answer: Literal["send", "none", "reset"] = "send"

    @model_validator(mode="before")
    @classmethod
    def _read_short(cls, given: Any) -> Any:
        if isinstance(given, int):
            return {"status": given}
        if not isinstance(given, str):
            return given
        if given not in _SHORT:
            raise ValueError(f"no reply is called {given}; there are {', '.join(_SHORT)}")
        return _SHORT[given]

    @model_validator(mode="after")
    def _fill_in(self) -> Self:
        if "act" not in self.model_fields_set:
            self.act = self.answer == "send" and 200 <= self.status < 300
        if self.body is None and self.action is not None:
            self.body = action_error_body(self.action, self.status)
        elif self.body is None and self.status >= 400:
            self.body = error_body(self.status)
        return self

    @property
    def plain(self) -> bool:
        """A success whose content is left to the server."""
        return self.status == 200 and self.body is None and self.answer == "send"


class Rule(_Model):
    match: dict[_Fact, str] = {}
    replies: list[Reply] = []
    then: Reply | None = None
    per_event: bool = False
    _taken: defaultdict[str, int] = PrivateAttr(default_factory=lambda: defaultdict(int))

    def matches(self, endpoint: str, facts: dict[str, str]) -> bool:
        # The login is left alone unless a rule names it.
        if endpoint != self.match.get("endpoint", endpoint if endpoint != "token" else ""):
            return False
        return all(
            _fits(name, wanted, facts.get(name, ""))
            for name, wanted in self.match.items()
            if name != "endpoint"
        )

    def next_reply(self, facts: dict[str, str]) -> Reply | None:
        counter = facts.get("idempotencyKey", "") if self.per_event else ""
        number = self._taken[counter]
        if number >= len(self.replies):
            return self.then
        self._taken[counter] += 1
        return self.replies[number]


class Script(_Model):
    rules: list[Rule] = []
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @classmethod
    def read(cls, source: dict[str, Any] | Path | None) -> Self:
        """Reads JSON or a file of it; OnceError says which part is wrong."""
        document: Any = source or {}
        if isinstance(source, Path):
            try:
                document = json.loads(source.read_text("utf-8"))
            except ValueError as error:
                raise OnceError(f"{source} is not JSON: {error}") from None
        return read_part(cls, document, str(source) if isinstance(source, Path) else "the script")

    def add(self, rule: dict[str, Any]) -> None:
        """Adds a rule while the server runs; it goes before the others."""
        with self._lock:
            self.rules.insert(0, read_part(Rule, rule, "the rule"))

    def next_reply(self, endpoint: str, facts: dict[str, str]) -> Reply | None:
        with self._lock:
            for rule in self.rules:
                if rule.matches(endpoint, facts) and (reply := rule.next_reply(facts)):
                    return reply
        return None


def error_body(status: int) -> dict[str, Any]:
    """Returns an error in the platform's form."""
    phrase = responses.get(status, "Error")
    return {
        "message": phrase,
        "code": phrase.lower().replace(" ", "."),
        "status": status,
        "contextId": str(uuid.uuid4()),
        "details": [],
        "errors": [],
    }


def action_error_body(detail: str, status: int) -> dict[str, Any]:
    """Returns an error in the form of the data action service."""
    code, message = _ACTION_ERRORS[detail]
    inner: dict[str, Any] = {
        "status": status,
        "errorCode": code,
        "userMessage": message,
        "userParams": [],
        "details": [],
        "errors": [],
    }
    outer = {"correlationId": str(uuid.uuid4()), "details": [{"errorCode": detail}]}
    return {**inner, **outer, "errors": [inner]}


def signature_holds(secret: str, headers: dict[str, str], raw: bytes) -> bool:
    """Checks the signature of a Standard Webhooks message, as its receiver does."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + raw
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{wanted}", signature) for signature in given)


def _fits(name: str, wanted: str, value: str) -> bool:
    if name == "idempotencyKey":
        return value.startswith(wanted)
    if wanted.endswith("*"):
        return value.startswith(wanted[:-1])
    return value == wanted


def read_part(model: type[_M], document: Any, where: str) -> _M:
    """Reads a part of a script; OnceError says where it is wrong."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        mistake = _MISTAKES.get(first["type"]) or first["msg"].removeprefix("Value error, ")
        raise OnceError(f"{'.'.join(map(str, (where, *first['loc'])))}: {mistake}") from None
