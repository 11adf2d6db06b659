"""The short way and the long way answer the same; fuzz.py holds them to it over broken events."""

from typing import Any

import pytest
from enrichment import normalise
from enrichment.families import BY_TOPIC
from enrichment.straight import straight

from tests.enrichment import sdk
from tests.enrichment.examples import conversation
from tests.enrichment.sending import SENT_MS, changed, element, without

ODD: tuple[Any, ...] = (None, "", " ", 7, True, 1.5, [], {"id": "x"}, "a/b", "%", 10**11, 10**20)
STEPS = sorted(topic for topic, family in BY_TOPIC.items() if family.word and not family.content)


def long_way(event: dict[str, Any]) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normalise, "straight", lambda *_: None)
        return element(event)


# The times among its states are numbers, which only the long way takes.
OUTCOME = "v2.detail.events.conversation.{id}.flow.outcome"


@pytest.mark.parametrize("topic", sorted({*STEPS} - {OUTCOME}))
def test_every_step_of_a_conversation_goes_straight(topic: str) -> None:
    for seed in range(5):
        event = sdk.event(topic, seed)
        short = straight("m", event, SENT_MS)
        assert short is not None
        assert short == long_way(event)


@pytest.mark.parametrize("topic", STEPS)
def test_whatever_is_missing_both_ways_agree(topic: str) -> None:
    event = sdk.event(topic, 1)
    for name in event["detail"]["eventBody"]:
        for odd in (without(event, name), *(changed(event, name, to=value) for value in ODD)):
            assert element(odd) == long_way(odd), name
    for name in event:
        odd = {key: value for key, value in event.items() if key != name}
        assert element(odd) == long_way(odd), name


@pytest.mark.parametrize(
    "unusual",
    [
        {"replay-name": "tuesday"},
        {"source": "my.app"},
        {"id": 7},
        {"detail-type": "v2.users.{id}.presence"},
    ],
)
def test_what_is_unusual_goes_the_long_way(unusual: dict[str, Any]) -> None:
    event = {**conversation("user.start"), **unusual}
    assert straight("m", event, SENT_MS) is None
    assert element(event)["kind"] in ("event", "parked")


@pytest.mark.parametrize("more", [{"id": "x"}, {"user": {"id": "x"}}, {"userId": None}])
def test_ids_that_are_not_as_usual_go_the_long_way(more: dict[str, Any]) -> None:
    event = conversation("user.start", **more)
    assert straight("m", event, SENT_MS) is None
    assert element(event)["ids"].get("userId") == ("x" if "user" in more else None)


@pytest.mark.parametrize("body", [None, [], "text", ["conversationId", "participantId"]])
def test_a_body_that_is_none_goes_the_long_way(body: Any) -> None:
    event = conversation("user.start")
    event["detail"]["eventBody"] = body
    assert straight("m", event, SENT_MS) is None
    assert element(event)["kind"] in ("event", "parked")


def test_a_time_ahead_goes_the_long_way() -> None:
    assert straight("m", conversation("user.start", eventTime=SENT_MS + 300_001), SENT_MS) is None
