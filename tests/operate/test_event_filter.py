"""`once check` warns of an EventFilter that orders nothing or drops everything."""

import json

import pytest

from once.operate.checks import Check
from once.operate.event_filter import check_filter

VOICE = json.dumps({"eventBody": {"mediaType": ["VOICE"]}})
PRESENCE = "v2.users.{id}.presence"


def checked(event_filter: str, detail_types: str = "*") -> Check:
    (found,) = check_filter({"EventFilter": event_filter, "DetailTypes": detail_types})
    return found


def test_no_filter_says_nothing() -> None:
    assert list(check_filter({"EventFilter": ""})) == []


def test_a_filter_that_splits_an_ordered_family_is_warned_of() -> None:
    by_status = json.dumps({"eventBody": {"presenceDefinition": {"systemPresence": ["BUSY"]}}})
    found = checked(by_status)
    assert found.works is False
    assert "user.presence" in found.said


@pytest.mark.parametrize(
    ("event_filter", "detail_types"),
    [
        (VOICE, "v2.detail.events.conversation.{id}.customer.end"),
        (VOICE, PRESENCE),  # has no such field, so all its events are dropped
        (json.dumps({"topicName": [{"prefix": "v2.users."}]}), PRESENCE),
    ],
)
def test_a_filter_that_splits_no_ordered_family_is_no_fault(
    event_filter: str, detail_types: str
) -> None:
    assert checked(event_filter, detail_types).works is None


def test_a_filter_on_the_envelope_splits_every_ordered_family() -> None:
    found = checked(json.dumps({"metadata": {"action": ["Associated"]}}), PRESENCE)
    assert found.works is False


@pytest.mark.parametrize("event_filter", ["{no json}", '{"eventBody": "VOICE"}'])
def test_a_filter_that_cannot_be_read_is_said(event_filter: str) -> None:
    assert checked(event_filter).works is None
    assert "cannot be judged" in checked(event_filter).said
