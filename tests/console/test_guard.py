"""Who may ask the console, and what a page may do: no stack is needed to find out."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from once.errors import OnceError
from once.operate.stack import Stack
from once.ports import listen
from proof.console import TOKEN, Served, served
from tests.console.conftest import ask

STACK = cast(Stack, SimpleNamespace(is_local=True, up=None, name="once"))
ONLY_LOOKED_AT = cast(Stack, SimpleNamespace(is_local=False, up=None, name="once"))
STYLE = "/static/console.css"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    with served(STACK) as one:
        yield one


def headers(guarded: Served, **given: str) -> dict[str, str]:
    """Makes the headers of our own page, with the given ones instead."""
    usual = {"Authorization": f"Bearer {TOKEN}", "Origin": guarded.address}
    return {**usual, **{name.capitalize(): value for name, value in given.items()}}


def test_without_the_token_nothing_is_answered(guarded: Served) -> None:
    for path in ("/", "/now.json", "/stream", STYLE, "/nothing-there"):
        status, text, _ = ask(guarded, path, {})
        assert (status, "the address that `once console` printed" in text) == (401, True)
    assert ask(guarded, "/now.json", {"Authorization": "Bearer another"})[0] == 401
    assert ask(guarded, "/?token=another", {})[0] == 401


def test_the_address_that_was_printed_leads_to_the_page_without_the_token(guarded: Served) -> None:
    status, _, said = ask(guarded, f"/event?of=m-1&token={TOKEN}", {})
    assert status == 303
    assert said["Location"].endswith("/event?of=m-1")
    cookie = said["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=lax" in cookie.lower()
    assert ask(guarded, STYLE, {"Cookie": cookie.partition(";")[0]})[0] == 200


@pytest.mark.parametrize("host", ["attacker.example", "attacker.example:80", "127.0.0.1", "[::1]"])
def test_a_name_that_leads_here_is_not_ours(guarded: Served, host: str) -> None:
    assert ask(guarded, STYLE, headers(guarded, host=host))[0] == 421


def test_a_page_of_another_origin_neither_asks_nor_acts(guarded: Served) -> None:
    for origin in ("http://attacker.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"):
        assert ask(guarded, STYLE, headers(guarded, origin=origin))[0] == 403
        assert ask(guarded, "/act/resume", headers(guarded, origin=origin), b"")[0] == 403
    without = {"Authorization": f"Bearer {TOKEN}"}
    assert ask(guarded, "/act/resume", without, b"yes=yes")[0] == 403


def test_a_page_on_another_port_may_link_here_and_embed_nothing(guarded: Served) -> None:
    for site in ("same-site", "cross-site"):
        sent = {"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": site}
        assert ask(guarded, STYLE, {**sent, "Sec-Fetch-Mode": "no-cors"})[0] == 403
        assert ask(guarded, STYLE, {**sent, "Sec-Fetch-Mode": "navigate"})[0] == 200


def test_foreign_scripts_and_frames_are_refused(guarded: Served) -> None:
    for path in (STYLE, "/nothing-there"):
        _, _, said = ask(guarded, path)
        policy = said["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert said["X-Content-Type-Options"] == "nosniff"


def test_a_deployed_stack_is_not_acted_on_unless_it_was_asked_for() -> None:
    with served(ONLY_LOOKED_AT, write=False) as only_looks:
        for name in (
            "replay-parked",
            "drop-parked",
            "replay-dead-letters",
            "forget",
            "pause",
            "resume",
        ):
            status, text, _ = ask(
                only_looks, f"/act/{name}", headers(only_looks), b"ids=m-1&yes=yes&key=a/b/c/d"
            )
            assert (status, "once console --write" in text) == (400, True)
        assert ask(only_looks, "/sandbox")[0] == 404
        assert ask(only_looks, "/sandbox/send", headers(only_looks), b"text={}")[0] == 404


def test_an_empty_choice_acts_on_nothing(guarded: Served) -> None:
    for name in ("replay-parked", "drop-parked", "replay-dead-letters", "drop-dead-letters"):
        status, text, _ = ask(guarded, f"/act/{name}", headers(guarded), b"yes=yes")
        assert (status, "Choose what to act on first" in text) == (400, True)


def test_a_port_that_is_taken_is_said(guarded: Served) -> None:
    with pytest.raises(OnceError, match="once console --port 0"):
        listen(int(guarded.address.rpartition(":")[2]), "once console")
