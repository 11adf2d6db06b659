"""The function returns one element, which has the fields of its message and a route, or raises."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from once_enrichment import handler
from once_enrichment.handler import TooLargeError, normalise
from once_enrichment.keys import opaque
from once_enrichment.routes import InvalidRoutesError

from tests.enrichment.examples import presence, snapshot
from tests.enrichment.sending import SENT_MS, element, record

Json = dict[str, Any]
SEND = '[[routes]]\nfamily = "*"\naction = "send"\n'


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder for files of routes, which the function reads anew."""
    (tmp_path / "routes.toml").write_text(SEND)
    monkeypatch.setattr(handler, "_FOLDER", tmp_path)
    handler._routes.cache_clear()
    yield tmp_path
    handler._routes.cache_clear()


def returned(event: Any, **more: Any) -> Json:
    (element,) = handler.handler([record(event) | more], None)
    return element


@pytest.mark.parametrize("event", ["no event", {"once": {"canary": True}, "event": "{}"}])
def test_message_without_an_event_has_no_route(event: Any) -> None:
    element = returned(event)
    assert element["broken"] == "UNREADABLE"
    assert "route" not in element


def test_canary_has_no_route() -> None:
    element = returned(presence(), messageAttributes={"GenesysOnceCanary": {"stringValue": "1"}})
    assert element["canary"] is True
    assert "route" not in element


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
    (folder / file).write_text(SEND)
    assert returned(presence())["route"]["action"] == "send"


@pytest.mark.parametrize("letter", ["x", "ä"])
def test_largest_message_that_a_state_takes_passes(letter: str) -> None:
    room = 248 * 1024 - handler.size_of(returned(letter))
    more = room // len(letter.encode())
    assert returned(letter * (1 + more))["broken"] == "UNREADABLE"
    with pytest.raises(TooLargeError):
        returned(letter * (2 + more))


def test_more_than_one_record_raises() -> None:
    """The pipe's BatchSize is 1: to return less than it sent would lose a message."""
    with pytest.raises(ValueError, match="unpack"):
        handler.handler([record(presence()), record(presence())], None)


FIRST_MS = SENT_MS - 86_400_000
ONCE = {
    "firstMessageId": "first",
    "firstSentAtMs": FIRST_MS,
    "waitsSinceMs": FIRST_MS + 5_000,
    "after": "run#first",
}
UNDATED = {"detail-type": "t", "detail": {"conversationId": "c1", "status": "connected"}}


def sent_again(event: Any, **once: Any) -> Json:
    text = event if isinstance(event, str) else json.dumps(event)
    return {"once": {**ONCE, **once}, "event": text}


def test_put_back_message_goes_on_with_its_chain() -> None:
    event = json.dumps(presence())
    first, again = element(event, message_id="m1"), element(sent_again(event), message_id="m2")
    assert first["firstMessageId"] == "m1"
    assert first["firstSentAtMs"] == first["waitsSinceMs"] == SENT_MS
    assert "after" not in first
    assert again == {**first, **ONCE}


@pytest.mark.parametrize(("reason", "last"), [("BREAKER_OPEN", "BREAKER_OPEN"), ("Jörg", "")])
def test_put_back_message_says_why_and_when_it_is_due(reason: str, last: str) -> None:
    put_back = element(sent_again(presence(), reason=reason, dueAtMs=SENT_MS + 900_000))
    assert (put_back["lastReason"], put_back["dueAtMs"]) == (last, SENT_MS + 900_000)


def test_parked_message_begins_to_wait_anew_and_its_reason_is_not_read() -> None:
    one = element(sent_again(snapshot(), reason="REJECTED", cause="why", waitsSinceMs=None))
    assert one["waitsSinceMs"] == SENT_MS
    assert one["after"] == "run#first"
    assert not {"lastReason", "dueAtMs"} & one.keys()


def test_event_that_only_the_queue_dates_keeps_its_time_when_it_is_put_back() -> None:
    first = element(UNDATED, sent_ms=FIRST_MS)
    again = element(sent_again(UNDATED))
    for name in ("occurredAtMs", "keyHash", "policy", "raw"):
        assert again[name] == first[name]


def test_broken_message_is_told_by_its_text_and_keeps_its_time() -> None:
    first, again = element("nothing", sent_ms=FIRST_MS), element(sent_again("nothing"))
    other = element("nothing else")
    assert first["key"] == again["key"] != other["key"]
    assert first["occurredAtMs"] == again["occurredAtMs"] == FIRST_MS
    assert (again["raw"], again["bodyPath"], again["trace"]) == ("nothing", [], {})
    assert (first["family"], first["key"]["sk"]) == ("broken", "v2/broken")
    assert first["policy"] == {"windowMs": 0, "order": "none"}


@pytest.mark.parametrize(
    "once",
    [
        {},
        {"firstMessageId": 7, "after": [], "waitsSinceMs": "soon"},
        {"firstSentAtMs": SENT_MS + 1, "waitsSinceMs": None, "firstMessageId": ""},
    ],
)
def test_wrapper_written_by_hand_is_read_as_far_as_it_can_be(once: Any) -> None:
    one = element({"once": once, "event": json.dumps(UNDATED)}, message_id="m")
    assert one["firstMessageId"] == "m"
    assert one["firstSentAtMs"] == one["waitsSinceMs"] == SENT_MS
    assert "after" not in one


@pytest.mark.parametrize(
    "wrapped",
    [
        {"once": ONCE, "event": json.dumps(UNDATED), "more": 1},
        {"once": ONCE, "event": UNDATED},
        {"once": "x", "event": json.dumps(UNDATED)},
    ],
)
def test_other_objects_are_no_message_of_ours(wrapped: Any) -> None:
    one = element(wrapped)
    assert (one["broken"], one["raw"]) == ("UNREADABLE", json.dumps(wrapped))


@pytest.mark.parametrize(
    ("sent", "is_canary"),
    [
        (sent_again(presence(), canary=True), True),
        (sent_again("nothing", canary=True), True),
        (sent_again(presence(), canary="yes"), False),
        ({**presence(), "canary": True}, False),
    ],
)
def test_canary_is_marked_by_the_project_alone(sent: Any, is_canary: bool) -> None:
    assert element(sent).get("canary", False) is is_canary


def test_record_that_lacks_everything_is_a_broken_message() -> None:
    one = normalise({})
    assert one["detail"].startswith("BODY_MISSING: ")
    names = ("firstMessageId", "firstSentAtMs", "waitsSinceMs", "receives", "occurredAtMs")
    assert [one[name] for name in names] == ["", 0, 0, 0, 0]


def test_long_texts_are_cut() -> None:
    envelope = {"id": "i" * 200, "source": "s" * 90}
    one = element({**envelope, "detail": {"conversationId": "c" * 200, "status": "s" * 200}})
    assert (len(one["subject"]["id"]), len(one["state"])) == (160, 160)
    assert one["trace"] == {"envelopeId": opaque("i" * 200), "source": "s" * 90}


def test_redelivered_message_becomes_the_same_element() -> None:
    first, second = record(presence()), record(presence())
    second["attributes"]["ApproximateReceiveCount"] = "17"
    second["receiptHandle"] = "another"
    assert normalise(second) == {**normalise(first), "receives": 17}
