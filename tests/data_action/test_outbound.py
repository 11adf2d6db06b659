"""Destinations that speak HTTP badly, and certificates that are not to be trusted."""

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme
from data_action.errors import ActionError, NotConfigured, Transient
from data_action.outbound import Outbound, Reply
from data_action.request import Budget

HEAD = b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n"
CLOSING = b"HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class RawServer:
    """Accepts one connection after the other and writes what it was given, piece by piece."""

    def __init__(self, pieces: list[bytes], pause: float, tls: ssl.SSLContext | None) -> None:
        self._pieces, self._pause, self._tls = pieces, pause, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._done = threading.Event()
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
            for piece in self._pieces:
                connection.sendall(piece)
                self._done.wait(self._pause)


@pytest.fixture
def raw() -> Iterator[Callable[..., RawServer]]:
    servers: list[RawServer] = []

    def start(*pieces: bytes, pause: float = 0.0, tls: ssl.SSLContext | None = None) -> RawServer:
        servers.append(RawServer(list(pieces), pause, tls))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def post(url: str, seconds: float = 3.0) -> Reply:
    budget = Budget(now_ms() + 60_000, int(seconds * 1000) + 500, now_ms)
    return Outbound(now_ms).post(url, {"A": "b"}, b"{}", budget)


@pytest.mark.parametrize("head", [HEAD, CLOSING])
def test_a_success_counts_even_if_its_body_never_ends(
    raw: Callable[..., RawServer], head: bytes
) -> None:
    server = raw(head % (200, 10), b"...", pause=5)
    started = time.monotonic()
    assert post(f"http://127.0.0.1:{server.port}", 20).ok
    assert time.monotonic() - started < 3


def test_a_success_counts_even_if_its_body_breaks_off(raw: Callable[..., RawServer]) -> None:
    server = raw(HEAD % (200, 10), b"...")
    assert post(f"http://127.0.0.1:{server.port}").ok


def test_a_refusal_whose_body_breaks_off_is_transient(raw: Callable[..., RawServer]) -> None:
    server = raw(HEAD % (400, 10), b"...")
    with pytest.raises(Transient):
        post(f"http://127.0.0.1:{server.port}")


@pytest.mark.parametrize("head", [HEAD, CLOSING])
def test_a_body_that_drips_is_left_in_time(raw: Callable[..., RawServer], head: bytes) -> None:
    server = raw(head % (400, 1000), *[b"."] * 1000, pause=0.05)
    started = time.monotonic()
    with pytest.raises(Transient, match=r"within 0\.5 s"):
        post(f"http://127.0.0.1:{server.port}", 0.5)
    assert time.monotonic() - started < 3


def test_of_a_large_body_only_the_beginning_is_read(raw: Callable[..., RawServer]) -> None:
    server = raw(HEAD % (400, 50_000_000), b"." * 1_000_000, pause=0.5)
    assert len(post(f"http://127.0.0.1:{server.port}").body) <= 2 * 65_536


def test_what_is_not_http_is_transient(raw: Callable[..., RawServer]) -> None:
    server = raw(b"220 mail.example ready\r\n\r\n")
    with pytest.raises(Transient):
        post(f"http://127.0.0.1:{server.port}")


def test_a_port_where_nobody_listens_is_transient() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Transient, match="refused or not found"):
        post(f"http://127.0.0.1:{port}")


def test_a_name_that_is_not_found_is_transient() -> None:
    with pytest.raises(Transient, match="refused or not found"):
        post("https://nowhere.invalid")


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def tls_of(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_a_certificate_of_a_trusted_authority_is_accepted(
    raw: Callable[..., RawServer],
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = raw(HEAD % (200, 0), tls=tls_of(authority, "localhost"))
    assert post(f"https://localhost:{server.port}").status == 200


@pytest.mark.parametrize("name", ["localhost", "another.example"])
def test_any_other_certificate_is_a_fault_of_the_set_up(
    raw: Callable[..., RawServer],
    authority: trustme.CA,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    if name != "localhost":  # trusted, but for another name
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    server = raw(HEAD % (200, 0), tls=tls_of(authority, name))
    with pytest.raises(NotConfigured, match="certificate"):
        post(f"https://localhost:{server.port}")


def test_a_destination_that_does_not_speak_tls_is_transient(
    raw: Callable[..., RawServer],
) -> None:
    server = raw(b"HTTP/1.1 400 X\r\n\r\n")
    with pytest.raises(ActionError) as raised:
        post(f"https://localhost:{server.port}")
    assert isinstance(raised.value, Transient)
