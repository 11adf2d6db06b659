"""One POST to the destination: kept-alive, bounded in time and size, and its failures typed."""

import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import urllib3

from .errors import NotConfigured, Transient
from .request import Budget

_CONNECT_SECONDS = 3.0
_BODY_BYTES = 65_536
# A success needs no body; waiting for it only keeps the connection usable.
_SUCCESS_BODY_SECONDS = 1.0
# Lambda freezes between calls, and a peer that hung up meanwhile is noticed too late.
_IDLE_MS = 30_000


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes
    duration_ms: int

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class _Timed:
    """Keeps the socket in reach: a connection that is to be closed drops it before the body."""

    sock: socket.socket
    answering: socket.socket

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        self.answering = self.sock


class _PlainConnection(_Timed, urllib3.connection.HTTPConnection):
    pass


class _TlsConnection(_Timed, urllib3.connection.HTTPSConnection):
    pass


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TlsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


class Outbound:
    """The connections of this environment. TLS is verified against the system's authorities."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._pool = urllib3.PoolManager(num_pools=4, maxsize=4)
        self._pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _TlsPool}
        self._now_ms = now_ms
        self._used_at_ms = now_ms()

    def post(self, url: str, headers: Mapping[str, str], body: bytes, budget: Budget) -> Reply:
        seconds = budget.seconds_for_a_call()
        if self._now_ms() - self._used_at_ms > _IDLE_MS:
            self._pool.clear()
        started = time.perf_counter()
        try:
            response = self._pool.request(
                "POST",
                url,
                body=body,
                headers=headers,
                timeout=urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), total=seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
            content = _content(response, budget.seconds_left())
        except urllib3.exceptions.SSLError as error:
            if any(isinstance(arg, ssl.SSLCertVerificationError) for arg in error.args):
                raise NotConfigured(
                    "the destination's TLS certificate is not valid for its address; "
                    "renew it there or correct the address"
                ) from None
            raise Transient("the TLS connection to the destination failed") from None
        except urllib3.exceptions.NewConnectionError:
            raise Transient("no connection to the destination: refused or not found") from None
        except urllib3.exceptions.TimeoutError:
            raise Transient(f"the destination did not answer within {seconds:.1f} s") from None
        except urllib3.exceptions.HTTPError:
            raise Transient("the connection to the destination broke before its answer") from None
        finally:
            self._used_at_ms = self._now_ms()
        duration_ms = round((time.perf_counter() - started) * 1000)
        return Reply(response.status, response.headers, content, duration_ms)


def _content(response: urllib3.BaseHTTPResponse, seconds: float) -> bytes:
    """The body. What breaks off after a success is still a success."""
    if not 200 <= response.status < 300:
        return _read(response, seconds)
    try:
        return _read(response, min(seconds, _SUCCESS_BODY_SECONDS))
    except urllib3.exceptions.HTTPError:
        return b""


def _read(response: urllib3.BaseHTTPResponse, seconds: float) -> bytes:
    """Up to the limit of size; the connection is kept only if the body was read whole."""
    until = time.perf_counter() + seconds
    content = bytearray()
    try:
        # Once all is read the connection is back in the pool, perhaps in use by another call.
        while isinstance(connection := response.connection, _Timed):
            if len(content) >= _BODY_BYTES:
                break
            left = until - time.perf_counter()
            if left <= 0:
                raise urllib3.exceptions.TimeoutError
            # The pool's own timeout starts anew with every piece.
            connection.answering.settimeout(left)
            content += response.read1(_BODY_BYTES)
    finally:
        if response.connection is not None:
            response.close()
    return bytes(content)
