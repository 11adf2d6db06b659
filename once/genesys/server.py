"""An imitation of Genesys Cloud's login and data actions, and of a webhook's receiver.

A real HTTP server on this machine. It misbehaves as a script says, event by event, remembers every
Idempotency-Key, and keeps a log of all it received.
"""

import json
import socket
import struct
import threading
import time
import uuid
from base64 import b64decode
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from once.errors import OnceError
from once.genesys.script import Reply, Script, error_body, read_reply, signature_holds

CLIENT_ID = "once-client"
CLIENT_SECRET = "once-client-secret"  # noqa: S105 — known to this machine's imitation only
SIGNING_SECRET = "whsec_b25jZS1sb2NhbC1zaWduaW5nLXNlY3JldC0wMDAx"  # noqa: S105

# Paths of its own, which no Genesys has.
RECEIVED, ALWAYS = "/once/received", "/once/always"


@dataclass
class Received:
    """One request, as it came and as it was answered."""

    at_ms: int
    endpoint: str
    facts: dict[str, str]
    headers: dict[str, str]
    body: Any
    raw: bytes
    status: int | None = None  # None: no answer was given
    acted: bool = False
    repeated: bool = False
    duration_ms: float = 0.0
    answer: str = "send"  # as the script names it: send, none, reset


@dataclass
class KeyRecord:
    """What became of one Idempotency-Key: many calls, one effect."""

    calls: int = 0
    acts: int = 0
    effects: int = 0
    facts: dict[str, str] = field(default_factory=dict)


@dataclass
class _Token:
    ends_at: float
    calls_left: int | None


class GenesysServer:
    """Used as a context manager; `url` is the host and, with /webhook behind it, the webhook."""

    def __init__(
        self,
        port: int = 0,
        script: Script | dict[str, Any] | list[Any] | Path | None = None,
        on_received: Callable[[Received], None] | None = None,
    ) -> None:
        self.script_file = script if isinstance(script, Path) else None
        self.script = script if isinstance(script, Script) else Script.read(script)
        self.client_id = CLIENT_ID
        self.client_secret = CLIENT_SECRET
        self.signing_secret = SIGNING_SECRET
        self.log: list[Received] = []
        self.keys: dict[str, KeyRecord] = {}
        self.tokens_issued = 0
        self.always: Reply | None = None
        self._always_given: Any = None
        self.integrations: list[dict[str, Any]] = []
        self._on_received = on_received
        self._tokens: dict[str, _Token] = {}
        self._recent: deque[float] = deque()
        self._running = 0
        self._lock = threading.Lock()
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OnceError(f"Cannot listen on port {port}: {error.strerror}.") from None
        self._server.owner = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def webhook_url(self) -> str:
        return f"{self.url}/webhook"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._thread.join()

    def received(self, endpoint: str) -> list[Received]:
        with self._lock:
            return [entry for entry in self.log if entry.endpoint == endpoint]

    @property
    def connections(self) -> int:
        """How many were opened so far."""
        return self._server.ever_opened

    def expire_tokens(self) -> None:
        """From now on no token that was given out is accepted."""
        with self._lock:
            self._tokens.clear()

    def answer(self, entry: Received) -> Reply:
        """What to reply; also enters the request in the log and the key's record."""
        with self._lock:
            self.log.append(entry)
        if entry.endpoint == "token":
            reply = self._scripted(entry)
            self._server.closing.wait(reply.delay_seconds)
            return self._login(entry) if reply.plain else reply
        if entry.endpoint == "unknown":
            return Reply(404, error_body(404))
        key = entry.facts.get("idempotencyKey", "")
        with self._lock:
            record = self.keys.setdefault(key, KeyRecord(facts=entry.facts))
            record.calls += 1
            refused = self._refusal(entry)
            if refused:
                return refused
            self._running += 1
        try:
            reply = self._scripted(entry)
            self._server.closing.wait(reply.delay_seconds)
        finally:
            with self._lock:
                self._running -= 1
        if reply.act:
            with self._lock:
                record.acts += 1
                entry.acted, entry.repeated = True, record.effects > 0
                record.effects = 1
        if reply.plain:
            reply = reply.with_body({"acted": True, "repeated": entry.repeated})
        return reply

    def _scripted(self, entry: Received) -> Reply:
        if self.always is not None and entry.endpoint != "token":
            return self.always
        return self.script.next_reply(entry.endpoint, entry.facts) or Reply()

    def answer_always(self, reply: Any) -> None:
        """From now on every event gets this reply; with None what the script says again."""
        self.always = None if reply is None else read_reply(reply, "the reply")
        self._always_given = reply

    @property
    def answering(self) -> Any:
        """What every event gets, as it was given; None where it is what the script says."""
        return self._always_given if self.always is not None else None

    def answered(self, entry: Received) -> None:
        if self._on_received:
            self._on_received(entry)

    def _login(self, entry: Received) -> Reply:
        scheme, _, pair = entry.headers.get("authorization", "").partition(" ")
        given = b64decode(pair).decode(errors="replace") if scheme == "Basic" else ""
        if given != f"{self.client_id}:{self.client_secret}":
            return Reply(401, _oauth_error("invalid_client", "the credentials are wrong"))
        if entry.body.get("grant_type") != ["client_credentials"]:
            return Reply(400, _oauth_error("unsupported_grant_type", "not client_credentials"))
        value = uuid.uuid4().hex
        with self._lock:
            self.tokens_issued += 1
            self._tokens[value] = _Token(
                time.time() + self.script.token_seconds, self.script.token_calls
            )
        seconds = self.script.token_seconds_said or self.script.token_seconds
        return Reply(
            200, {"access_token": value, "token_type": "bearer", "expires_in": int(seconds)}
        )

    def _refusal(self, entry: Received) -> Reply | None:
        """What comes before the script, as at the real one: credentials, then limits."""
        if entry.endpoint == "webhook":
            if not signature_holds(self.signing_secret, entry.headers, entry.raw):
                return Reply(401)
            return None
        token = self._token(entry.headers.get("authorization", ""))
        if token is None:
            return Reply(401, error_body(401))
        if token.calls_left is not None:
            token.calls_left -= 1
        if self.script.concurrent is not None and self._running >= self.script.concurrent:
            body = error_body(429, ("actions.concurrent.executions.max", self.script.concurrent))
            return Reply(429, body, headers={"Retry-After": "1"})
        return self._over_the_minute()

    def _token(self, authorization: str) -> _Token | None:
        """The one that this header names, if it may still be used."""
        scheme, _, value = authorization.partition(" ")
        token = self._tokens.get(value) if scheme == "Bearer" else None
        if token is None or token.ends_at <= time.time() or token.calls_left == 0:
            return None
        return token

    def viewed(self, path: str, authorization: str) -> Reply:
        """The integrations of the organisation, one a page, and the configuration of each."""
        parts = urlsplit(path)
        if not parts.path.startswith("/api/v2/integrations"):
            return Reply(404, error_body(404))
        if self._token(authorization) is None:
            return Reply(401, error_body(401))
        if parts.path == "/api/v2/integrations":
            number = int(parse_qs(parts.query)["pageNumber"][0])
            page = self.integrations[number - 1 : number]
            shown = [{k: v for k, v in one.items() if k != "config"} for one in page]
            return Reply(200, {"entities": shown, "pageCount": len(self.integrations)})
        for one in self.integrations:
            if parts.path == f"/api/v2/integrations/{one['id']}/config/current":
                return Reply(200, one["config"])
        return Reply(404, error_body(404))

    def _over_the_minute(self) -> Reply | None:
        allowed, now = self.script.per_minute, time.time()
        if allowed is None:
            return None
        while self._recent and self._recent[0] <= now - 60:
            self._recent.popleft()
        if len(self._recent) >= allowed:
            wait = max(1, round(self._recent[0] + 60 - now)) if self._recent else 60
            body = error_body(429, ("client.credentials.token.rate.per.minute", allowed), wait)
            return Reply(429, body, headers={"Retry-After": str(wait)})
        self._recent.append(now)
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    owner: GenesysServer

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self.closing = threading.Event()
        self.ever_opened = 0
        self._open: set[socket.socket] = set()
        self._none_open = threading.Condition()

    def opened(self, connection: socket.socket) -> None:
        with self._none_open:
            self.ever_opened += 1
            self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        with self._none_open:
            self._open.discard(connection)
            self._none_open.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up is what this server is for; nothing to print."""

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        with self._none_open:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # it is closed already
            self._none_open.wait_for(lambda: not self._open, timeout=5)
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "once-genesys"
    sys_version = ""
    wbufsize = -1  # one write an answer: two would wait for each other's acknowledgement
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.opened(self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.server.closed(self.connection)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """The log is kept in memory, not printed."""

    def do_POST(self) -> None:
        started = time.perf_counter()
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = urlsplit(self.path).path
        endpoint, action = _endpoint(path)
        body = parse_qs(raw.decode()) if endpoint == "token" else _json_or_text(raw)
        facts = _facts(body, headers, action) if endpoint in ("execute", "webhook") else {}
        entry = Received(time.time_ns() // 1_000_000, endpoint, facts, headers, body, raw)
        owner = self.server.owner
        reply = owner.answer(entry)
        entry.answer = reply.answer
        if reply.answer == "none":
            self.server.closing.wait(reply.hold_seconds)
        if reply.answer in ("none", "reset"):
            self._hang_up()
        else:
            entry.status = reply.status
            self._send(reply)
        entry.duration_ms = (time.perf_counter() - started) * 1000
        owner.answered(entry)

    def do_GET(self) -> None:
        """What was received so far, for `once received`; and what an OAuth client may view."""
        owner = self.server.owner
        if self.path == ALWAYS:
            file = None if owner.script_file is None else str(owner.script_file)
            self._send(Reply(200, {"reply": owner.answering, "script": file}))
            return
        if self.path != RECEIVED:
            self._send(owner.viewed(self.path, self.headers.get("Authorization", "")))
            return
        self._send(Reply(200, [_noted(entry) for entry in list(self.server.owner.log)]))

    def do_PUT(self) -> None:
        """How it behaves from now on, for `once destination`."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != ALWAYS:
            self._send(Reply(404, error_body(404)))
            return
        try:
            self.server.owner.answer_always(json.loads(raw))
        except (ValueError, OnceError) as error:
            self._send(Reply(400, {"message": str(error)}))
        else:
            self._send(Reply(200, {}))

    def _send(self, reply: Reply) -> None:
        content = b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in reply.sent_headers().items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        # Lingering for zero seconds turns the close into a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def _noted(entry: Received) -> dict[str, Any]:
    return {
        "atMs": entry.at_ms,
        "endpoint": entry.endpoint,
        "facts": entry.facts,
        "status": entry.status,
        "acted": entry.acted,
        "repeated": entry.repeated,
        "body": entry.body,
    }


def _endpoint(path: str) -> tuple[str, str]:
    parts = path.strip("/").split("/")
    if parts == ["oauth", "token"]:
        return "token", ""
    if parts[:4] == ["api", "v2", "integrations", "actions"] and parts[5:] == ["execute"]:
        return "execute", unquote(parts[4])
    if parts == ["webhook"]:
        return "webhook", ""
    return "unknown", ""


def _json_or_text(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")


def _facts(body: Any, headers: dict[str, str], action: str) -> dict[str, str]:
    """What a rule of the script can match: the same names for an action and a webhook."""
    inputs = body if isinstance(body, dict) else {}
    subject = inputs.get("subject")
    ids = inputs.get("ids")
    found = {
        **{name: inputs.get(name) for name in ("family", "state", "subjectId", "conversationId")},
        **({"subjectId": subject.get("id")} if isinstance(subject, dict) else {}),
        **({"conversationId": ids.get("conversationId")} if isinstance(ids, dict) else {}),
        "idempotencyKey": headers.get("idempotency-key") or inputs.get("idempotencyKey"),
        "action": action or None,
    }
    return {name: str(value) for name, value in found.items() if value is not None}


def _oauth_error(error: str, description: str) -> dict[str, str]:
    return {"error": error, "description": description, "error_description": description}
