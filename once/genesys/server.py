"""A mock of Genesys Cloud's login and data actions, and of a webhook's receiver.

It is a real HTTP server on this machine. It misbehaves as a script says, event by event, remembers
every Idempotency-Key, and keeps a log of all that it received.
"""

import json
import socket
import struct
import threading
import time
import uuid
from base64 import b64decode
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from once.errors import OnceError
from once.genesys.script import Reply, Script, read_part, signature_holds
from once.ports import LOOPBACK, find_fault, is_key, new_key

CLIENT_ID = "once-client"
CLIENT_SECRET = "once-client-secret"  # noqa: S105 — known to this machine's imitation only
SIGNING_SECRET = "whsec_b25jZS1sb2NhbC1zaWduaW5nLXNlY3JldC0wMDAx"  # noqa: S105

# Paths of its own, which no Genesys has. They need the key of this start.
RECEIVED, ALWAYS, RULES = "/once/received", "/once/always", "/once/rules"
KEY_HEADER = "X-Once-Key"
_HOLD_SECONDS = 60


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
    """It had acted under this Idempotency-Key before."""
    duration_ms: float = 0.0


class GenesysServer:
    """Used as a context manager; `url` is the host and, with /webhook behind it, the webhook."""

    def __init__(self, script: dict[str, Any] | Path | None = None) -> None:
        self.script_file = script if isinstance(script, Path) else None
        self.script = Script.read(script)
        self.client_id = CLIENT_ID
        self.client_secret = CLIENT_SECRET
        self.signing_secret = SIGNING_SECRET
        self.key = new_key()
        self.log: list[Received] = []
        self._always: Reply | None = None
        self.answering: Any = None
        """The reply that every event gets, as it was given; None while the script decides."""
        self.tokens: set[str] = set()
        self.token_seconds = 86_400
        self._acted: set[str] = set()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

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

    def answer(self, entry: Received) -> Reply:
        """Chooses the reply, and enters the request in the log."""
        with self._lock:
            self.log.append(entry)
        if entry.endpoint == "token":
            reply = self._scripted(entry)
            self._server.closing.wait(reply.delay_ms / 1_000)
            return self._login(entry) if reply.plain else reply
        if entry.endpoint == "unknown":
            return Reply(status=404)
        if not self._is_allowed(entry):
            return Reply(status=401)
        reply = self._scripted(entry)
        self._server.closing.wait(reply.delay_ms / 1_000)
        if reply.act:
            key = entry.facts.get("idempotencyKey", "")
            with self._lock:
                entry.acted, entry.repeated = True, key in self._acted
                self._acted.add(key)
        if reply.plain:
            reply = reply.model_copy(update={"body": {"acted": True, "repeated": entry.repeated}})
        return reply

    def _scripted(self, entry: Received) -> Reply:
        if self._always is not None and entry.endpoint != "token":
            return self._always
        return self.script.next_reply(entry.endpoint, entry.facts) or Reply()

    def answer_always(self, reply: Any) -> None:
        """Gives every event this reply from now on; None returns to the script."""
        self._always = None if reply is None else read_part(Reply, reply, "the reply")
        self.answering = reply

    def _login(self, entry: Received) -> Reply:
        scheme, _, pair = entry.headers.get("authorization", "").partition(" ")
        given = b64decode(pair).decode(errors="replace") if scheme == "Basic" else ""
        if given != f"{self.client_id}:{self.client_secret}":
            return Reply(status=401, body={"error": "invalid_client"})
        if entry.body.get("grant_type") != ["client_credentials"]:
            return Reply(status=400, body={"error": "unsupported_grant_type"})
        value = uuid.uuid4().hex
        self.tokens.add(value)
        return Reply(
            body={"access_token": value, "token_type": "bearer", "expires_in": self.token_seconds}
        )

    def _is_allowed(self, entry: Received) -> bool:
        """Checks credentials first, as Genesys does before its action runs."""
        if entry.endpoint == "webhook":
            return signature_holds(self.signing_secret, entry.headers, entry.raw)
        scheme, _, value = entry.headers.get("authorization", "").partition(" ")
        return scheme == "Bearer" and value in self.tokens


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: GenesysServer) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.owner = owner
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints nothing: callers may hang up."""

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "once-genesys"
    sys_version = ""
    wbufsize = -1  # one write an answer: two would wait for each other's acknowledgement
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Prints nothing; the log is in memory."""

    def parse_request(self) -> bool:
        """Refuses web pages on every path, before anything of their request is kept."""
        if not super().parse_request():
            return False
        host, port = self.server.server_address[:2]
        fault = find_fault(self.headers.items(), f"{host!s}:{port}")
        if fault is None:
            return True
        self.close_connection = True  # the body is not read
        self._send(Reply(status=403, body={"message": fault}))
        return False

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
        if reply.answer == "none":
            self.server.closing.wait(_HOLD_SECONDS)
        if reply.answer in ("none", "reset"):
            self.close_connection = True
            # Lingering for zero seconds turns the close into a reset.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        else:
            entry.status = reply.status
            self._send(reply)
        entry.duration_ms = (time.perf_counter() - started) * 1000

    def do_GET(self) -> None:
        """Returns the behaviour or the requests so far, for `once destination`."""
        owner = self.server.owner
        if self.path in (ALWAYS, RECEIVED) and not self._may_control():
            return
        if self.path == ALWAYS:
            file = None if owner.script_file is None else str(owner.script_file)
            self._send(Reply(body={"reply": owner.answering, "script": file}))
        elif self.path == RECEIVED:
            received = [
                {
                    "atMs": entry.at_ms,
                    "endpoint": entry.endpoint,
                    "facts": entry.facts,
                    "status": entry.status,
                    "durationMs": round(entry.duration_ms),
                    "acted": entry.acted,
                    "repeated": entry.repeated,
                    "body": entry.body,
                }
                for entry in list(owner.log)
            ]
            self._send(Reply(body=received))
        else:
            self._send(Reply(status=404))

    def do_PUT(self) -> None:
        """Sets the reply to every event from now on, or adds a rule to the script."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        owner = self.server.owner
        change = {ALWAYS: owner.answer_always, RULES: owner.script.add}.get(self.path)
        if change is None:
            self._send(Reply(status=404))
        elif self._may_control():
            try:
                change(json.loads(raw))
            except (ValueError, OnceError) as error:
                self._send(Reply(status=400, body={"message": str(error)}))
            else:
                self._send(Reply(body={}))

    def _may_control(self) -> bool:
        """Refuses other users of this machine, or returns true."""
        may = is_key(self.headers.get(KEY_HEADER, ""), self.server.owner.key)
        if not may:
            message = f"{self.path} needs the key of this start in {KEY_HEADER}."
            self._send(Reply(status=403, body={"message": message}))
        return may

    def _send(self, reply: Reply) -> None:
        content = b"" if reply.body is None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.retry_after is not None:
            self.send_header("Retry-After", reply.retry_after)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()


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
    """Reads what a rule of the script can match, by the same names for action and webhook."""
    inputs = body if isinstance(body, dict) else {}
    subject = inputs.get("subject")
    ids = inputs.get("ids")
    facts = {
        **{name: inputs.get(name) for name in ("family", "state", "subjectId", "conversationId")},
        **({"subjectId": subject.get("id")} if isinstance(subject, dict) else {}),
        **({"conversationId": ids.get("conversationId")} if isinstance(ids, dict) else {}),
        "idempotencyKey": headers.get("idempotency-key") or inputs.get("idempotencyKey"),
        "action": action or None,
    }
    return {name: str(value) for name, value in facts.items() if value is not None}
