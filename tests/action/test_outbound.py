"""Destinations with bad HTTP, and certificates that are not to be trusted."""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from once_data_action.errors import Failed, NotConfigured, NotNow
from once_data_action.outbound import Outbound, Response
from once_data_action.request import Budget

HEAD = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n"
CHUNKED = b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSING = b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
# Half as long as a destination keeps a request busy here, and long enough for a busy machine.
SOON_SECONDS = 10
# The time of a request that no destination here responds to.
QUICK_SECONDS = 0.1


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class RawServer:
    """Accepts one connection after the other and writes what it was given, piece by piece."""

    def __init__(
        self, pieces: list[bytes], pause: float, linger: float, tls: ssl.SSLContext | None
    ) -> None:
        self._pieces, self._pause, self._linger, self._tls = pieces, pause, linger, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._done = threading.Event()
        self.requests = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    def stop(self) -> None:
        self._done.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while not self._done.is_set():
            try:
                connection, _ = self._listener.accept()
                with connection:
                    self._answer(connection)
            except OSError:
                continue  # the client gave up, or the test is over

    def _answer(self, plain: socket.socket) -> None:
        connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
        with connection:
            request = b""
            # To close with something unread would reset the connection, and the answer with it.
            while not request.endswith(b"\r\n\r\n{}"):
                request += (received := connection.recv(65_536))
                if not received:
                    return
                if not request.startswith(b"POST"):
                    break  # it is no HTTP
            self.requests += 1
            for piece in self._pieces:
                connection.sendall(piece)
                self._done.wait(self._pause)
            self._done.wait(self._linger)


Raw = Callable[..., RawServer]


@pytest.fixture
def raw() -> Iterator[Raw]:
    servers: list[RawServer] = []

    def start(
        *pieces: bytes, pause: float = 0.0, linger: float = 0.0, tls: ssl.SSLContext | None = None
    ) -> RawServer:
        servers.append(RawServer(list(pieces), pause, linger, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def post(url: str, seconds: float = 3.0) -> Response:
    client = Outbound(now_ms)
    budget = Budget(now_ms() + 60_000, int(seconds * 1000), now_ms)
    return client.post(url, {"A": "b"}, b"{}", budget)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_of(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def trusted(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> ssl.SSLContext:
    """Makes the TLS context of a server named localhost, whose authority this machine trusts."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return tls_of(authority, "localhost")


@contextmanager
def soon() -> Iterator[None]:
    """Checks that what is done in it ends soon, and leaves no thread behind."""
    before, started = set(threading.enumerate()), time.monotonic()
    yield
    assert time.monotonic() - started < SOON_SECONDS
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON_SECONDS)
        assert not thread.is_alive(), "what nobody waits for any more ends"


def test_connection_that_stands_after_the_deadline_gets_no_request(raw: Raw) -> None:
    server, clock = raw(HEAD % (200, 0)), iter((0, 0, 100))
    budget = Budget(100, 8_000, lambda: next(clock))
    with pytest.raises(NotNow):
        Outbound(now_ms).post(f"http://127.0.0.1:{server.port}/", {}, b"{}", budget)
    assert (server.requests, budget.started_ms) == (0, None)


def test_success_counts_even_if_its_body_breaks_off(raw: Raw) -> None:
    success, rejection = (raw(HEAD % (status, 10), b"...") for status in (200, 400))
    assert post(f"http://127.0.0.1:{success.port}").ok
    with pytest.raises(Failed):
        post(f"http://127.0.0.1:{rejection.port}")


# What each sends for as long as anybody listens, and never comes to an end of.
DRIPPING = {
    "the status": (b"HTTP/1.1 500 ", b"x"),
    "a header": (b"HTTP/1.1 500 X\r\nA: ", b"x"),
    "headers": (b"HTTP/1.1 500 X\r\n", b"A: b\r\n"),
    "a header of an interim answer": (b"HTTP/1.1 103 X\r\nA: ", b"x"),
    "100 without end": (b"", b"HTTP/1.1 100 X\r\n\r\n"),
    "103 without end": (b"", b"HTTP/1.1 103 X\r\n\r\n"),
    "a body": (HEAD % (400, 1000), b"."),
    "a body before it hangs up": (CLOSING % (400, 1000), b"."),
    "a body without length": (b"HTTP/1.1 400 X\r\n\r\n", b"."),
    "chunks": (CHUNKED % 400, b"1\r\n.\r\n"),
    "the size of a chunk": (CHUNKED % 400, b"0"),
    "trailers": (CHUNKED % 400 + b"0\r\n", b"A: b\r\n"),
}
DRIPPING_SUCCESS = {
    name: (first.replace(b"500", b"200").replace(b"400", b"202"), then)
    for name, (first, then) in DRIPPING.items()
    if b"\r\n" in first and (b"500" in first or b"400" in first)
}


@pytest.mark.parametrize(
    ("over", "what"), [*(("http", what) for what in DRIPPING), ("https", "a body")]
)
def test_response_that_drips_is_left_in_time(
    raw: Raw, trusted: ssl.SSLContext, over: str, what: str
) -> None:
    tls, (first, then) = trusted if over == "https" else None, DRIPPING[what]
    server = raw(first, *[then] * 1000, pause=0.01, tls=tls)
    with soon(), pytest.raises(Failed):
        post(f"{over}://localhost:{server.port}", QUICK_SECONDS)


@pytest.mark.parametrize(("first", "then"), DRIPPING_SUCCESS.values(), ids=list(DRIPPING_SUCCESS))
def test_success_whose_end_drips_counts(raw: Raw, first: bytes, then: bytes) -> None:
    server = raw(first, *[then] * 1000, pause=0.02)
    with soon():
        assert post(f"http://127.0.0.1:{server.port}", 0.3).ok


def test_endless_tls_handshake_is_left_in_time() -> None:
    with soon(), socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Failed):
        post(f"https://127.0.0.1:{silent.getsockname()[1]}", QUICK_SECONDS)


def test_request_that_is_late_is_not_sent(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    server = raw(HEAD % (200, 0))
    asked, answer, found = socket.getaddrinfo, threading.Event(), threading.Event()

    def slow_name_server(*args: Any, **kwargs: Any) -> Any:
        assert answer.wait(SOON_SECONDS)
        found.set()
        return asked(*args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow_name_server)
    with soon():
        with pytest.raises(Failed, match=r"within 0\.1 s"):
            post(f"http://127.0.0.1:{server.port}", 0.1)
        answer.set()
        assert found.wait(SOON_SECONDS)
    assert server.requests == 0


@pytest.mark.parametrize("status", [100, 102, 103, 199])
def test_interim_response_is_not_the_response(raw: Raw, status: int) -> None:
    interim = b"HTTP/1.1 %d X\r\nLink: </x>; rel=preload\r\n\r\n" % status
    server = raw(interim, interim, HEAD % (422, 2), b"{}")
    reply = post(f"http://127.0.0.1:{server.port}")
    assert (reply.status, reply.body) == (422, b"{}")


def test_change_of_the_protocol_is_a_response(raw: Raw) -> None:
    server = raw(b"HTTP/1.1 101 X\r\nUpgrade: x\r\n\r\n")
    assert post(f"http://127.0.0.1:{server.port}").status == 101


@pytest.mark.parametrize("over", ["http", "https"])
def test_unrequested_response_does_not_answer_the_next_request(
    raw: Raw, trusted: ssl.SSLContext, over: str
) -> None:
    tls = trusted if over == "https" else None
    server = raw(HEAD % (500, 0), HEAD % (200, 0), pause=0.02, linger=1, tls=tls)
    client = Outbound(now_ms)
    for number in range(2):
        budget = Budget(now_ms() + 60_000, 3_000, now_ms)
        reply = client.post(f"{over}://localhost:{server.port}", {}, b"{}", budget)
        assert reply.status == 500
        assert server.requests == number + 1
        for connection, _ in client._idle.values():
            assert select.select([connection.sock], [], [], 5)[0], "it comes in the end"


@pytest.mark.parametrize(
    "said", [b"marker\r\n", b" : marker\r\n", b"marker: \xff\x00\r\n", b"A: \rmarker\r\n"]
)
def test_no_word_of_a_destination_or_its_address_is_logged(
    raw: Raw,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    said: bytes,
) -> None:
    server = raw(b"HTTP/1.1 200 marker\r\n" + said + b"Content-Length: 6\r\n\r\nmarker")
    with caplog.at_level("DEBUG"):
        assert post(f"http://127.0.0.1:{server.port}/marker?key=marker#marker").ok
    assert "marker" not in caplog.text + "".join(capfd.readouterr())


def test_large_body_is_read_in_part(raw: Raw) -> None:
    server = raw(HEAD % (400, 50_000_000), b"." * 1_000_000, pause=0.5)
    assert len(post(f"http://127.0.0.1:{server.port}").body) <= 2 * 65_536


@pytest.mark.parametrize(
    ("over", "response"),
    [("http", b"220 mail.example ready\r\n\r\n"), ("https", b"HTTP/1.1 400 X\r\n\r\n")],
)
def test_other_protocol_is_a_failure(raw: Raw, over: str, response: bytes) -> None:
    server = raw(response)
    with pytest.raises(Failed):
        post(f"{over}://localhost:{server.port}")


def test_destination_that_is_not_reached_has_got_no_request() -> None:
    with socket.socket() as silent:  # keeps the port, and accepts nothing
        silent.bind(("127.0.0.1", 0))
        for url in (f"http://127.0.0.1:{silent.getsockname()[1]}", "https://nowhere.invalid"):
            with pytest.raises(Failed, match=r"refused|not found") as raised:
                post(url)
            assert not raised.value.is_sent
            assert not raised.value.repeatable


@pytest.mark.usefixtures("trusted")
def test_other_certificate_is_a_configuration_error(raw: Raw, authority: trustme.CA) -> None:
    unknown, misnamed = tls_of(trustme.CA(), "localhost"), tls_of(authority, "another.example")
    for tls in (unknown, misnamed):
        server = raw(HEAD % (200, 0), tls=tls)
        with pytest.raises(NotConfigured, match="certificate"):
            post(f"https://localhost:{server.port}")
