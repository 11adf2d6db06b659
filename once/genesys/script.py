"""How the imitation of Genesys misbehaves: rules as plain JSON, and the answers in its forms.

    {"token":  {"seconds": 3600, "saidSeconds": 3600, "calls": 100},
     "limits": {"perMinute": 300, "concurrent": 50},
     "rules":  [{"match":    {"family": "conversation.*", "subjectId": "…"},
                 "replies":  [{"status": 429, "retryAfter": 1}, 500, "lose", "ok"],
                 "perEvent": true, "then": "ok"}]}

A list alone is taken as the rules. A matching call takes the next of the rule's replies; after the
last one `then` counts, or where there is none the next matching rule, and at last success. With
`perEvent` each Idempotency-Key goes through the replies by itself.

    {"sometimes": [[0.05, 500], [0.01, "lose"]], "seed": 7}

In place of its replies a rule may have chances: of one call in a hundred to lose its answer, say.
With the same seed the same calls of the same Idempotency-Key meet them; with `perEvent` a key meets
one of them always, or never.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path
from typing import Any, Self

from once.errors import OnceError
from once.faults import uniform

_MATCHES = {
    "endpoint",
    "family",
    "state",
    "subjectId",
    "conversationId",
    "idempotencyKey",
    "action",
}
_REPLY_FIELDS = {
    "status",
    "action",
    "retryAfter",
    "retryAfterDate",
    "delayMs",
    "act",
    "answer",
    "holdSeconds",
    "body",
    "headers",
}
_SHORT: dict[str, dict[str, Any]] = {
    "ok": {"status": 200},
    "reset": {"answer": "reset"},
    "timeout": {"answer": "none"},
    "lose": {"act": True, "answer": "reset"},
    "remote-endpoint": {"status": 400, "action": "ACTION.REMOTE_ENDPOINT"},
    "authentication": {"status": 400, "action": "ACTION.AUTHENTICATION"},
    "processing": {"status": 400, "action": "ACTION.PROCESSING", "act": True},
    "invalid-scope": {
        "status": 400,
        "body": {
            "error": "invalid_scope",
            "description": "a scope is not granted to this client",
            "error_description": "a scope is not granted to this client",
        },
    },
}

_PLATFORM = {
    400: ("bad.request", "This request does not have the form that is wanted."),
    401: ("bad.credentials", "The token is missing, unknown or past its end."),
    403: ("missing.permissions", "The client lacks the permission integrations:action:execute."),
    404: ("not.found", "There is nothing under this address."),
    429: ("too.many.requests", "Too many requests. Come back in [{wait}] seconds."),
    500: ("internal.server.error", "The server failed."),
    502: ("bad.gateway", "A server behind this one failed."),
    503: ("service.unavailable", "The service is not there at the moment."),
    504: ("gateway.timeout", "A server behind this one did not answer in time."),
}
_ACTION_ERRORS = {
    "ACTION.REMOTE_ENDPOINT": ("BAD_REQUEST", "The remote system did not do what it was asked."),
    "ACTION.AUTHENTICATION": ("INVALID_CREDENTIALS", "The remote system refused the credentials."),
    "ACTION.PROCESSING": ("INVALID_SCHEMA", "What the remote system said could not be used."),
}


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    date_in_seconds: float | None = None
    act: bool | None = None
    delay_seconds: float = 0.0
    answer: str = "send"
    hold_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.act is None:
            acts = self.answer == "send" and 200 <= self.status < 300
            object.__setattr__(self, "act", acts)

    @property
    def plain(self) -> bool:
        """A success whose content is left to the server."""
        return self.status == 200 and self.body is None and self.answer == "send"

    def with_body(self, body: Any) -> "Reply":
        return replace(self, body=body)

    def sent_headers(self) -> dict[str, str]:
        if self.date_in_seconds is None:
            return self.headers
        date = formatdate(time.time() + self.date_in_seconds, usegmt=True)
        return {**self.headers, "Retry-After": date}


@dataclass
class _Rule:
    match: dict[str, str]
    replies: list[Reply]
    then: Reply | None
    per_event: bool
    sometimes: list[tuple[float, Reply]]
    seed: int
    taken: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))

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
        if self.sometimes:
            return self._by_chance(facts.get("idempotencyKey", "")) or self.then
        counter = facts.get("idempotencyKey", "") if self.per_event else ""
        number = self.taken[counter]
        if number >= len(self.replies):
            return self.then
        self.taken[counter] += 1
        return self.replies[number]

    def _by_chance(self, key: str) -> Reply | None:
        thrown = uniform(self.seed, key, 0 if self.per_event else self.taken[key])
        self.taken[key] += 1
        for chance, reply in self.sometimes:
            if thrown < chance:
                return reply
            thrown -= chance
        return None


def _fits(name: str, wanted: str, value: str) -> bool:
    if name == "idempotencyKey":
        return value.startswith(wanted)
    if wanted.endswith("*"):
        return value.startswith(wanted[:-1])
    return value == wanted


@dataclass
class Script:
    rules: list[_Rule] = field(default_factory=list)
    token_seconds: float = 86_400
    token_seconds_said: float | None = None
    token_calls: int | None = None
    per_minute: int | None = None
    concurrent: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def read(cls, source: dict[str, Any] | list[Any] | Path | None) -> Self:
        """From JSON or its file; OnceError says which part is wrong."""
        if isinstance(source, Path):
            try:
                source = json.loads(source.read_text("utf-8"))
            except ValueError as error:
                raise OnceError(f"{source} is not JSON: {error}") from None
        document: Any = {"rules": source} if isinstance(source, list) else source or {}
        _only(document, {"token", "limits", "rules"}, "the script")
        token, limits = document.get("token", {}), document.get("limits", {})
        _only(token, {"seconds", "saidSeconds", "calls"}, "token")
        _only(limits, {"perMinute", "concurrent"}, "limits")
        return cls(
            rules=[_read_rule(r, n) for n, r in enumerate(_list(document, "rules"), 1)],
            token_seconds=token.get("seconds", 86_400),
            token_seconds_said=token.get("saidSeconds"),
            token_calls=token.get("calls"),
            per_minute=limits.get("perMinute"),
            concurrent=limits.get("concurrent"),
        )

    def add(self, rule: dict[str, Any]) -> None:
        """One more rule while the server runs; it goes before the others."""
        with self._lock:
            self.rules.insert(0, _read_rule(rule, len(self.rules) + 1))

    def next_reply(self, endpoint: str, facts: dict[str, str]) -> Reply | None:
        with self._lock:
            for rule in self.rules:
                if rule.matches(endpoint, facts) and (reply := rule.next_reply(facts)):
                    return reply
        return None


def _read_rule(rule: Any, number: int) -> _Rule:
    where = f"rule {number}"
    _only(rule, {"match", "replies", "then", "perEvent", "sometimes", "seed"}, where)
    match = rule.get("match", {})
    _only(match, _MATCHES, f"{where}, match")
    return _Rule(
        match={name: str(value) for name, value in match.items()},
        replies=[read_reply(reply, where) for reply in _list(rule, "replies", where)],
        then=read_reply(rule["then"], where) if "then" in rule else None,
        per_event=bool(rule.get("perEvent", False)),
        sometimes=[_read_chance(chance, where) for chance in _list(rule, "sometimes", where)],
        seed=rule.get("seed", 1),
    )


def _read_chance(chance: Any, where: str) -> tuple[float, Reply]:
    try:
        share, reply = chance
        if not 0 <= share <= 1:
            raise ValueError
    except (TypeError, ValueError):
        raise OnceError(f"{where}: sometimes is pairs of a chance, 0 to 1, and a reply") from None
    return share, read_reply(reply, where)


def read_reply(reply: Any, where: str) -> Reply:
    if isinstance(reply, int):
        reply = {"status": reply}
    if isinstance(reply, str):
        if reply not in _SHORT:
            raise OnceError(f"{where}: no reply is called {reply}; there are {', '.join(_SHORT)}")
        reply = _SHORT[reply]
    _only(reply, _REPLY_FIELDS, f"{where}, reply")
    status = reply.get("status", 200)
    headers = {name: str(value) for name, value in reply.get("headers", {}).items()}
    if "retryAfter" in reply:
        headers["Retry-After"] = str(reply["retryAfter"])
    body = reply.get("body")
    if body is None and "action" in reply:
        if reply["action"] not in _ACTION_ERRORS:
            raise OnceError(f"{where}: action is one of {', '.join(_ACTION_ERRORS)}")
        body = action_error_body(reply["action"], status)
    elif body is None and status >= 400:
        body = error_body(status)
    answer = reply.get("answer", "send")
    if answer not in ("send", "none", "reset"):
        raise OnceError(f"{where}: answer is send, none or reset, not {answer}")
    return Reply(
        status=status,
        body=body,
        headers=headers,
        date_in_seconds=reply.get("retryAfterDate"),
        act=reply.get("act"),
        delay_seconds=reply.get("delayMs", 0) / 1000,
        answer=answer,
        hold_seconds=reply.get("holdSeconds", 60),
    )


def _list(given: dict[str, Any], name: str, where: str = "the script") -> list[Any]:
    found = given.get(name, [])
    if not isinstance(found, list):
        raise OnceError(f"{where}: {name} is not a list")
    return found


def _only(given: Any, known: set[str], where: str) -> None:
    if not isinstance(given, dict):
        raise OnceError(f"{where} is not an object")
    for name in given:
        if name not in known:
            raise OnceError(f"{where}: {name} is not one of {', '.join(sorted(known))}")


def error_body(status: int, limit: tuple[str, int] | None = None, wait: int = 1) -> dict[str, Any]:
    """The platform's form of an error."""
    code, message = _PLATFORM.get(status, ("error", "The request was not done."))
    body: dict[str, Any] = {
        "message": message.format(wait=wait),
        "code": code,
        "status": status,
        "contextId": str(uuid.uuid4()),
        "details": [],
        "errors": [],
    }
    if limit:
        key, value = limit
        body["limit"] = {"key": key, "namespace": "integrations", "value": value}
    return body


def action_error_body(detail: str, status: int) -> dict[str, Any]:
    """The data action service's form of an error."""
    code, message = _ACTION_ERRORS[detail]
    return {
        "status": status,
        "errorCode": code,
        "userMessage": message,
        "userParams": [],
        "correlationId": str(uuid.uuid4()),
        "details": [{"errorCode": detail}],
        "errors": [
            {
                "status": status,
                "errorCode": code,
                "userMessage": message,
                "userParams": [],
                "details": [],
                "errors": [],
            }
        ],
    }


def signature_holds(secret: str, headers: dict[str, str], raw: bytes) -> bool:
    """As a receiver checks a Standard Webhooks message."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + raw
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(f"v1,{wanted}", one) for one in given)
