"""The function returns one element with its route, and raises if it cannot."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once_enrichment import handler
from once_enrichment.handler import TooLargeError
from once_enrichment.routes import InvalidRoutesError

from tests.enrichment.examples import NINE_MS, conversation, presence
from tests.enrichment.sending import record

Json = dict[str, Any]


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder for files of routes, which the function reads anew."""
    (tmp_path / "routes.toml").write_text('[[routes]]\nfamily = "*"\naction = "send"\n')
    monkeypatch.setattr(handler, "_FOLDER", tmp_path)
    handler._routes.cache_clear()
    yield tmp_path
    handler._routes.cache_clear()


def returned(event: Any, **more: Any) -> Json:
    (element,) = handler.handler([record(event) | more], None)
    return element


def test_event_has_the_route_of_the_file() -> None:
    assert returned(presence())["route"] == {"name": "*", "action": "send"}


@pytest.mark.parametrize("event", ["no event", {"once": {"canary": True}, "event": "{}"}])
def test_message_without_an_event_has_no_route(event: Any) -> None:
    element = returned(event)
    assert element["broken"] == "UNREADABLE"
    assert "route" not in element


def test_canary_has_no_route() -> None:
    element = returned(presence(), messageAttributes={"GenesysOnceCanary": {"stringValue": "1"}})
    assert element["canary"] is True
    assert "route" not in element


def test_route_says_when_an_event_expires_and_why_it_is_ignored(folder: Path) -> None:
    (folder / "routes.toml").write_text(
        '[[routes]]\nfamily = "*"\naction = "none"\nmax_age = "1m"\n'
    )
    element = returned(conversation("acd.end"))
    assert element["route"]["ignored"] == "NO_ROUTE_MATCHED"
    assert element["expiresAtMs"] == NINE_MS + 60_000


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("bad.toml", '[[routes]]\nfamily = "*"\n', "bad.toml, routes.1.action: action is"),
        ("bad.toml", '[[routes]\nfamily = "*"\n', "bad.toml is not TOML: .* line 1"),
        ("none.toml", None, "RoutesFile names none.toml, and the function has no such file"),
    ],
)
def test_unusable_routes_raise_and_a_corrected_file_is_read(
    file: str, text: str | None, says: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    if text is not None:
        (folder / file).write_text(text)
    monkeypatch.setenv("ROUTES_FILE", file)
    with pytest.raises(InvalidRoutesError, match=says):
        returned(presence())
    (folder / file).write_text('[[routes]]\nfamily = "*"\naction = "send"\n')
    assert returned(presence())["route"]["action"] == "send"


@pytest.mark.parametrize("text", ['"' * 65_000, "ä" * 130_000], ids=len)
def test_event_larger_than_a_state_takes_raises(text: str) -> None:
    """Put back, a message is JSON text in JSON text: each quotation mark takes four bytes."""
    with pytest.raises(TooLargeError, match=r"message m needs 2[56]"):
        returned(text)


def test_largest_message_that_a_state_takes_passes() -> None:
    room = 248 * 1024 - handler.size_of(returned("x"))
    assert returned("x" * (1 + room))["broken"] == "UNREADABLE"
    with pytest.raises(TooLargeError):
        returned("x" * (2 + room))


def test_more_than_one_record_raises() -> None:
    """The pipe's BatchSize is 1: to return less than it sent would lose a message."""
    with pytest.raises(ValueError, match="unpack"):
        handler.handler([record(presence()), record(presence())], None)
