"""The function puts a route into each event, and returns all events without usable routes."""

from collections.abc import Iterator
from typing import Any

import pytest
from once_enrichment import handler

from tests.enrichment.examples import conversation, presence
from tests.enrichment.sending import record


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    handler._routes.cache_clear()
    yield
    handler._routes.cache_clear()


def answer(*events: Any, **attributes: Any) -> list[dict[str, Any]]:
    batch = [record(event, str(n)) for n, event in enumerate(events)]
    return handler.handler([{**one, **attributes} for one in batch], None)


def test_every_event_has_the_route_of_the_file() -> None:
    event, parked = answer(presence(), "no event")
    assert event["route"] == {"name": "*", "action": "send"}
    assert "route" not in parked


def test_canary_has_no_route() -> None:
    (event,) = answer(presence(), messageAttributes={"GenesysOnceCanary": {"stringValue": "1"}})
    assert event["canary"] is True
    assert "route" not in event


def test_replayed_event_gets_its_route_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (event,) = answer(conversation("acd.end"))
    (tmp_path / "other.toml").write_text(
        '[[routes]]\nfamily = "*"\naction = "none"\nmax_age = "1m"\n'
    )
    monkeypatch.setattr(handler, "_FOLDER", tmp_path)
    monkeypatch.setenv("ROUTES_FILE", "other.toml")
    handler._routes.cache_clear()
    (again,) = answer(event)
    assert again["route"]["ignored"] == "NO_ROUTE_MATCHED"
    assert again["expiresAtMs"] == event["occurredAtMs"] + 60_000


def test_event_whose_body_is_in_the_bucket_keeps_its_route(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (event,) = answer(presence())
    del event["body"]
    event["bodyRef"] = {"bucket": "b", "key": "k"}
    (tmp_path / "routes.toml").write_text('[[routes]]\nfamily = "*"\naction = "none"\n')
    monkeypatch.setattr(handler, "_FOLDER", tmp_path)
    handler._routes.cache_clear()
    (again,) = answer(event)
    assert again["route"] == {"name": "*", "action": "send"}


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("bad.toml", '[[routes]]\nfamily = "*"\n', "bad.toml, line 1: action is"),
        ("none.toml", None, "RoutesFile names none.toml, and the function has no such file"),
    ],
)
def test_without_usable_routes_every_message_is_returned(
    file: str, text: str | None, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    if text is not None:
        (tmp_path / file).write_text(text)
    monkeypatch.setattr(handler, "_FOLDER", tmp_path)
    monkeypatch.setenv("ROUTES_FILE", file)
    elements = answer(presence(), "no event")
    assert [element["reason"] for element in elements] == ["ROUTES_INVALID"] * 2
    assert {element["kind"] for element in elements} == {"retry"}
    assert all(says in element["detail"] for element in elements)
