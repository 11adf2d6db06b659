"""The table of families: each topic once, nothing idle, and adding one takes one class."""

from pathlib import Path
from typing import Any

import pytest
from once_enrichment import families
from once_enrichment.families import BY_TOPIC, FAMILIES
from once_enrichment.family import Family, Role, with_role
from once_enrichment.topics import family_name

from tests.enrichment import sdk
from tests.enrichment.examples import event
from tests.enrichment.sending import element
from tests.enrichment.topic_models import MODELS

TOPICS = sorted(set(BY_TOPIC) & set(MODELS))


def test_each_topic_is_declared_once_and_has_a_name_of_its_own() -> None:
    declared = [topic for family in FAMILIES for topic in family.topics]
    assert len(declared) == len(set(declared))
    names = [family_name(topic) for topic in {*declared, *MODELS}]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_family_has_one_subject_and_a_time_or_an_order(family: type[Family]) -> None:
    assert len(with_role(family, Role.SUBJECT)) == bool(family.subject)
    times = with_role(family, Role.TIME)
    assert len(times) <= (family.order != "changes")
    assert times or family.order != "none"
    assert not with_role(family, Role.STATE, Role.IDENTITY) or times
    assert family.__doc__, "says why no change is lost"


@pytest.mark.parametrize("topic", TOPICS)
def test_each_declared_field_is_one_of_the_sdk(topic: str) -> None:
    family = BY_TOPIC[topic]
    slots = {f"{family.subject}Id", *family.slots}
    unknown = {*family.model_fields} - {*sdk.fields(MODELS[topic])} - slots
    shared = {"userId"} if topic.endswith(".wrapup") else set()
    assert unknown <= shared, "Genesys renamed it, or it is misspelt"
    shown = family.shown.partition(".")[0]
    assert not shown or shown in sdk.fields(MODELS[topic])


@pytest.mark.parametrize("topic", [t for t in TOPICS if with_role(BY_TOPIC[t], Role.TIME)])
def test_a_time_of_another_type_is_said_in_the_note(topic: str) -> None:
    one_event = sdk.event(topic, 1)
    (time,) = with_role(BY_TOPIC[topic], Role.TIME)
    one_event["detail"]["eventBody"][time.path[0]] = ["no time"]
    one = element(one_event)
    assert time.path[0] in one["note"]
    assert one["policy"]["windowMs"] > 0


def test_adding_a_family_takes_one_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/families.md, run as it is there."""
    docs = Path(__file__).parents[2] / "docs" / "families.md"
    example = docs.read_text("utf-8").partition("## Adding a family")[2]
    code = example.partition("```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {"Family": Family, "__name__": "example"}
    exec(code, names)  # noqa: S102 - the documents are ours
    seat = names["Seat"]
    monkeypatch.setitem(families.BY_TOPIC, seat.topics[0], seat)
    one = element(event(seat.topics[0], {"userId": "u"}, "d7"))
    assert (one["subject"], one["state"]) == ({"type": "desk", "id": "d7"}, "u")
    assert one["policy"]["latest"] == "latest/desk.seat"
    assert "note" not in one
