"""All that the targets over HTTP share: their secret, one POST, and the error of each response.

The POST is kept-alive, and bounded in time and size. It uses the standard library's client, in a
thread of its own: its time-outs begin again with every piece that arrives, so only a thread that is
not reading can tell when the time for all of it is over. urllib3's time-outs begin again as well,
and it takes 103 for the response.
"""

import contextlib
import http.client
import json
import math
import re
import select
import socket
import ssl
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from .errors import (
    ActionError,
    Failed,
    NotAuthorised,
    NotConfigured,
    NotNow,
    RateLimited,
    Rejected,
)
from .request import Budget, Clock

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient

# How long a refusal is taken for granted, so that not each event asks again.
REMEMBERED_MS = 30_000
_TEXT = re.compile(r"[ -~]+")

# So that of several addresses one that drops what it gets does not use up all the time.
_CONNECT_SECONDS = 3.0
_BODY_BYTES = 65_536
# A success needs no body; waiting for it only keeps the connection usable.
_SUCCESS_BODY_SECONDS = 1.0
# Lambda freezes between invocations, and a peer that hung up meanwhile is noticed too late.
_IDLE_MS = 30_000

# Above any daily limit.
_LONGEST_RETRY_AFTER_SECONDS = 86_400
_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_PASSING = {408, 409, 423, 425}
_NO_ADDRESS = {404, 405, 410}


@dataclass
class Secret:
    """A JSON object of texts in Secrets Manager."""

    arn: str
    fields: tuple[str, ...]
    client: "SecretsManagerClient"
    now_ms: Clock
    _values: dict[str, str] | None = field(default=None, init=False, repr=False)
    _unchanged_until_ms: int = field(default=0, init=False)

    def values(self) -> dict[str, str]:
        if self._values is None:
            self._values = self._read()
        return self._values

    def has_changed(self) -> bool:
        """Reads it again after its values were refused, unless that was in vain a moment ago."""
        now_ms = self.now_ms()
        if now_ms < self._unchanged_until_ms:
            return False
        before = self._values
        # If it cannot be read now, it is what it was.
        with contextlib.suppress(NotNow):
            self._values = self._read()
        if self._values == before:
            self._unchanged_until_ms = now_ms + REMEMBERED_MS
        return self._values != before

    def _read(self) -> dict[str, Any]:
        try:
            response = self.client.get_secret_value(SecretId=self.arn)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if (
                code == "ThrottlingException"
                or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500
            ):
                raise NotNow("Secrets Manager could not answer: nothing was sent") from None
            raise NotConfigured(
                f"the destination's secret could not be read ({code}); "
                "check DestinationSecretArn and the function's role",
                for_all=True,
            ) from None
        except BotoCoreError:
            raise NotNow("Secrets Manager was not reached: nothing was sent") from None
        content = json_object(response.get("SecretString"))
        values = {name: content.get(name) for name in self.fields}
        if not all(isinstance(value, str) and _TEXT.fullmatch(value) for value in values.values()):
            wanted = ", ".join(f'"{name}": "..."' for name in self.fields)
            raise NotConfigured(
                f"the destination's secret is not JSON text of the form {{{wanted}}} in plain "
                "ASCII",
                for_all=True,
            )
        return values


@dataclass(frozen=True)
class Response:
    status: int
    retry_after: str | None
    body: bytes

    @property
    def ok(self) -> bool:
        return _ok(self.status)


class Outbound:
    """The connections of this environment. TLS is verified against the system's authorities."""

    def __init__(self, now_ms: Clock) -> None:
        self._now_ms = now_ms
        self._tls = ssl.create_default_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        self._idle: dict[str, tuple[http.client.HTTPConnection, int]] = {}
        weakref.finalize(self, _close, self._idle)

    def post(self, url: str, headers: Mapping[str, str], body: bytes, budget: Budget) -> Response:
        is_first = budget.started_ms is None
        seconds = budget.seconds_for_a_request()
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        connection = self._kept(origin) or self._new(origin)
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        exchange = _Exchange(connection, target, headers, body, seconds, budget.check_deadline)
        try:
            status, retry_after, content = exchange.wait()
        except NotNow:
            if is_first:
                budget.started_ms = None
            raise
        except ssl.SSLCertVerificationError:
            raise NotConfigured(
                "the destination's TLS certificate is not valid for its address; "
                "renew it there or correct the address"
            ) from None
        except ssl.SSLError:
            raise Failed("the TLS connection to the destination failed") from None
        except _NoConnection as problem:
            raise Failed(f"no connection to the destination: {problem}", is_sent=False) from None
        except TimeoutError:
            # It may still be acting: another request now would overlap with this one.
            raise Failed(
                f"the destination did not answer within {seconds:.1f} s", repeatable=False
            ) from None
        except (OSError, http.client.HTTPException, ValueError):
            raise Failed("the connection to the destination broke before its answer") from None
        if exchange.kept:
            self._idle[origin] = (connection, self._now_ms())
        return Response(status, retry_after, content)

    def _new(self, origin: str) -> http.client.HTTPConnection:
        parts = urlsplit(origin)
        host, port = str(parts.hostname), parts.port
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=_CONNECT_SECONDS, context=self._tls
            )
        return http.client.HTTPConnection(host, port, timeout=_CONNECT_SECONDS)

    def _kept(self, origin: str) -> http.client.HTTPConnection | None:
        connection, used_at_ms = self._idle.pop(origin, (None, 0))
        if connection is None:
            return None
        # What can be read before anything was asked is the peer's goodbye, or no answer of ours.
        if self._now_ms() - used_at_ms > _IDLE_MS or _has_more(connection.sock):
            connection.close()
            return None
        return connection


def _close(idle: dict[str, tuple[http.client.HTTPConnection, int]]) -> None:
    for connection, _ in idle.values():
        connection.close()


def _has_more(kept: socket.socket) -> bool:
    decrypted = kept.pending() if isinstance(kept, ssl.SSLSocket) else 0
    return decrypted > 0 or bool(select.select([kept], [], [], 0)[0])


class _NoConnection(Exception):  # noqa: N818
    """Its message names the reason, in none of the destination's words."""


class _FinalResponse(http.client.HTTPResponse):
    """The answer itself: the client's own skips 100, but not 102 and 103 (RFC 9110, 15.2)."""

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200 and self.status != http.HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()


class _Exchange:
    """A request and its response, made by a thread that may outlive its caller."""

    def __init__(
        self,
        connection: http.client.HTTPConnection,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        seconds: float,
        check_deadline: Callable[[], None],
    ) -> None:
        self.kept = False
        self._connection = connection
        self._request = ("POST", target, body, dict(headers))
        self._seconds = seconds
        self._check_deadline = check_deadline
        self._head: Future[http.client.HTTPResponse] = Future()
        self._content: Future[bytes] = Future()
        self._lock = Lock()
        self._left = False
        self._socket: socket.socket | None = None
        self._response: _FinalResponse | None = None
        connection.response_class = self._respond  # type: ignore[assignment]

    def wait(self) -> tuple[int, str | None, bytes]:
        """Status, Retry-After and body. From its status line on, a success is one."""
        until = time.monotonic() + self._seconds
        Thread(target=self._run, daemon=True).start()
        try:
            response = self._head.result(self._seconds)
            left = max(until - time.monotonic(), 0)
            if _ok(response.status):
                left = min(left, _SUCCESS_BODY_SECONDS)
            content = self._content.result(left)
        except (OSError, http.client.HTTPException, ValueError):
            self._leave()
            if self._response is None or not _ok(self._response.status):
                raise
            return self._response.status, None, b""
        return response.status, response.headers.get("Retry-After"), content

    def _leave(self) -> None:
        """Ends the thread, wherever it is: it finds the end of the stream, or sends nothing."""
        with self._lock:
            self._left = True
            if self.kept:
                self.kept = False
                self._connection.close()
            elif self._socket:
                # The socket's own: that of TLS would take its state away from under the reader.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _run(self) -> None:
        step: Future[Any] = self._head
        try:
            self._send()
            response = self._connection.getresponse()
            self._head.set_result(response)
            step = self._content
            content = _read(response)
        except Exception as error:  # the caller gets it
            self._close()
            step.set_exception(error)
        else:
            with self._lock:
                # Read to the end, and the peer did not say that it hangs up.
                ended = response.isclosed() and self._connection.sock is not None
                self.kept = ended and not self._left
            if not self.kept:
                self._close()
            self._content.set_result(content)

    def _send(self) -> None:
        if self._connection.sock is None:
            try:
                self._connection.connect()
            except ssl.SSLError:
                raise
            except ConnectionRefusedError:
                raise _NoConnection("connection refused") from None
            except (socket.gaierror, UnicodeError):
                raise _NoConnection("its name was not found") from None
            except OSError:
                raise _NoConnection("no answer") from None
            self._check_deadline()
        with self._lock:
            if self._left:
                raise TimeoutError  # its caller has given up: it is not sent
            self._socket = self._connection.sock
        self._socket.settimeout(self._seconds)
        # Who refuses a large body may answer and hang up before all of it was sent.
        with contextlib.suppress(BrokenPipeError):
            self._connection.request(*self._request)

    def _respond(self, *arguments: Any, **named: Any) -> "_FinalResponse":
        self._response = _FinalResponse(*arguments, **named)
        return self._response

    def _close(self) -> None:
        with self._lock:
            self._socket = None
        if self._response:
            self._response.close()
        self._connection.close()


def _ok(status: int | str) -> bool:
    """A response without a status line has a word for it."""
    return isinstance(status, int) and 200 <= status < 300


def _read(response: http.client.HTTPResponse) -> bytes:
    """Up to the limit of size. What ends before the length it gave is broken."""
    content = response.read(_BODY_BYTES)
    if response.length and len(content) < _BODY_BYTES:
        raise http.client.IncompleteRead(content, response.length)
    return content


def retry_after_seconds(header: str | None, now: datetime) -> int | None:
    """Seconds to wait, 0 to 86400; None when the header is missing or cannot be read."""
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError):  # a date of numbers that no calendar has
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - now).total_seconds()
    return math.ceil(min(max(seconds, 0), _LONGEST_RETRY_AFTER_SECONDS))


def error_of(status: int, retry_after: str | None, said: str = "") -> ActionError:
    """The error of a status that is not a success. `said` is what may be told of the answer."""
    wait = retry_after_seconds(retry_after, datetime.now(UTC))
    answered = f"the destination answered {status}{said}"
    if status == 429 or (status == 503 and wait is not None):
        asked = "" if wait is None else f": asked to wait {wait} s"
        return RateLimited(f"{answered}{asked}", status=status, retry_after_seconds=wait)
    if status in (401, 403):
        return NotAuthorised(
            f"{answered}: check the credentials in the secret and what they are allowed to do",
            status=status,
        )
    if status in _PASSING or status >= 500:
        return Failed(answered, status=status)
    if status >= 400 and status not in _NO_ADDRESS:
        return Rejected(f"{answered}: it refuses this event", status=status)
    return NotConfigured(
        f"{answered}: check its address, since redirects are not followed", status=status
    )


def json_object(text: Any) -> dict[str, Any]:
    """Returns the object of a JSON text; an empty one for anything else."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):  # absent, not JSON, or of brackets alone
        return {}
    return value if isinstance(value, dict) else {}
