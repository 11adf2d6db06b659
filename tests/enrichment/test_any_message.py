"""Breaks events in every way that could be thought of: each message becomes one valid element."""

import copy
import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from once_enrichment.handler import normalise

from schemas.models import Event
from tests.enrichment import sdk
from tests.enrichment.examples import presence, snapshot
from tests.enrichment.sdk import MODELS
from tests.enrichment.sending import body, record, routes
from tests.enrichment.test_custom_events import SHAPES

ODD_TEXT = ["", " ", "/", "~", "%", "null", "NaN", "{id}", "v2.", "v2.users.{id}.presence", "ÄÖ"]
ODD_TEXT += ["\u0000", "\u2028", "\ufffe\uffff", "\U0001f512", "x" * 2000, "1741770000", "-1"]
ODD_TEXT += ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "channel.metadata", "1e999", "{}"]
ODD: list[Any] = [*ODD_TEXT, None, True, 0, -1, 1.5, 1e300, 10**18, 2**63, -(2**63), 1741770000123]
ODD += [[], {}, [[]], [None], {"id": None}, {"id": "x"}, [{"id": {}}], {"": ""}]
NAMES = ["id", "eventBody", "detail", "topicName", "timestamp", "eventTime", "source", "metadata"]
NAMES += ["participants", "version", "state", "body", "userId", "time", "once", "event", "Message"]
SOURCES = [*SHAPES, presence(), snapshot(), *(sdk.event(t, 1) for t in sorted(MODELS)[::20])]
ROUTES = routes(
    '[[routes]]\nfamily = "user.*"\nfacts = ["**.state", "*.*.id"]\naction = "none"\n'
    '[[routes]]\nfamily = "routing.*"\norder = "every"\naction = "send"\n'
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Lists the fields and items at any depth, each with what holds it."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [
        place
        for name, part in inner
        for place in ((value, name), *(places(part) if isinstance(part, dict | list) else ()))
    ]


@st.composite
def messages(draw: st.DrawFn) -> str:
    """Text of an event in which some things are odd, gone, or under another name."""
    event = copy.deepcopy(draw(st.sampled_from(SOURCES)))
    for _ in range(draw(st.integers(0, 4))):
        holder, name = draw(st.sampled_from(places(event)))
        how = draw(st.sampled_from(["odd", "gone", "renamed", "text"]))
        if how == "gone" and isinstance(holder, dict):
            del holder[name]
        elif how == "renamed" and isinstance(holder, dict):
            holder[draw(st.sampled_from(NAMES))] = holder.pop(name)
        elif how == "text":
            holder[name] = json.dumps(holder[name])
        else:
            holder[name] = copy.deepcopy(draw(st.sampled_from(ODD)))
        if not event:
            break
    text = json.dumps(event, ensure_ascii=draw(st.booleans()))
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 9)) == 0 else text


ANY_JSON = st.recursive(st.sampled_from(ODD), lambda x: st.lists(x) | st.dictionaries(st.text(), x))


@settings(max_examples=300, suppress_health_check=list(HealthCheck), deadline=None)
@given(messages() | ANY_JSON.map(json.dumps) | st.text())
def test_any_message_becomes_one_valid_element(text: str) -> None:
    one = normalise(record(text), ROUTES)
    Event.model_validate(one)
    json.dumps(one, ensure_ascii=False, allow_nan=False).encode()
    assert one["raw"] == text
    assert one == normalise(record({"once": {}, "event": text}), ROUTES)
    if "broken" not in one:
        assert isinstance(body(one), dict | None)
        assert len(one["key"]["pk"].encode()) <= 2048
        assert len(one["key"]["sk"].encode()) <= 1024
        assert len(one["policy"].get("latest", "").encode()) <= 1024
        for logged in (one["family"], one["topic"], one.get("note", ""), *one["trace"].values()):
            assert logged.isascii()
            assert len(logged) <= 700
