"""The console refuses foreign requests, and no page acts."""

import pytest

from tests.console.conftest import ask, cookie
from tests.console.stacks import TOKEN

STYLE = "/static/console.css"


def test_nothing_is_shown_without_the_token(console: str) -> None:
    for path in ("/", "/event?of=x", "/search", STYLE, "/nothing-there", "/?token=another"):
        assert ask(console, path, {})[0] == 401
        assert ask(console, path, cookie(console, "another"))[0] == 401


def test_printed_address_leads_to_the_page_without_the_token(console: str) -> None:
    status, _, headers = ask(console, f"/event?of=m-1&token={TOKEN}", {})
    assert (status, headers["Location"].endswith("/event?of=m-1")) == (303, True)
    given = headers["Set-Cookie"]
    assert "HttpOnly" in given
    assert "samesite=lax" in given.lower()
    assert ask(console, STYLE, {"Cookie": given.partition(";")[0]})[0] == 200


@pytest.mark.parametrize("host", ["attacker.example", "attacker.example:80", "127.0.0.1", "[::1]"])
def test_name_that_leads_here_is_refused(console: str, host: str) -> None:
    assert ask(console, STYLE, {**cookie(console), "Host": host})[0] == 421


@pytest.mark.parametrize("origin", ["http://attacker.example", "null", "http://127.0.0.1:1"])
def test_page_of_another_origin_is_refused(console: str, origin: str) -> None:
    assert ask(console, STYLE, {**cookie(console), "Origin": origin})[0] == 403


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
def test_page_on_another_port_may_link_here_and_embed_nothing(console: str, site: str) -> None:
    headers = {**cookie(console), "Sec-Fetch-Site": site}
    assert ask(console, STYLE, {**headers, "Sec-Fetch-Mode": "no-cors"})[0] == 403
    assert ask(console, STYLE, {**headers, "Sec-Fetch-Mode": "navigate"})[0] == 200


def test_foreign_scripts_and_frames_are_refused(console: str) -> None:
    for path in ("/", STYLE, "/nothing-there"):
        headers = ask(console, path)[2]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_no_page_takes_what_a_form_posts(console: str) -> None:
    for path in ("/", "/event?of=x", "/search", "/act/resume", STYLE):
        assert ask(console, path, body=b"yes=yes")[0] in (404, 405)
