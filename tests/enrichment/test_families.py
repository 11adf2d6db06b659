"""The table of families: each topic once, nothing idle, and adding one takes one row."""

from pathlib import Path

import pytest
from once_enrichment import families
from once_enrichment.families import BY_TOPIC, FAMILIES, Family, family_name
from once_enrichment.identity import read

from tests.enrichment import sdk
from tests.enrichment.examples import event
from tests.enrichment.sdk import MODELS
from tests.enrichment.sending import element

TOPICS = sorted(set(BY_TOPIC) & set(MODELS))


def test_each_topic_is_declared_once_and_has_a_name_of_its_own() -> None:
    declared = [topic for family in FAMILIES for topic in family.topics]
    assert len(declared) == len(set(declared))
    names = [family_name(topic) for topic in {*declared, *MODELS}]
    assert len(names) == len(set(names))


def test_family_is_named_by_its_nouns_in_the_singular() -> None:
    topic = "v2.policies.{id}.desks.{id}.business.{id}.events"
    assert family_name(topic) == "policy.desk.business.events"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.topics[0])
def test_family_has_a_time_or_an_order_and_a_reason(family: Family) -> None:
    assert family.time or family.order != "none"
    assert not (family.time and family.order == "changes")
    assert family.is_whole or family.state or family.order == "none"
    assert family.why


@pytest.mark.parametrize("topic", TOPICS)
def test_each_named_field_is_one_of_the_sdk(topic: str) -> None:
    family, body = BY_TOPIC[topic], sdk.event(topic, 1)["detail"]["eventBody"]
    # Families of several topics name fields that some of them have.
    needed = f"{family.subject.partition(' ')[2]} {family.ids} {family.time}"
    slots = {f"{family.subject.partition(' ')[0]}Id", *family.slots}
    missing = [path for path in needed.split() if read(body, path) is None]
    assert {*missing} <= slots, "Genesys renamed it, or it is misspelt"


def test_each_optional_field_is_one_of_the_sdk() -> None:
    for family in FAMILIES:
        bodies = [sdk.event(t, 1)["detail"]["eventBody"] for t in family.topics if t in MODELS]
        shown = family.shown if family.shown != "topic" else ""
        named = f"{family.state} {family.selection} {family.each} {shown}".split()
        for path in named if bodies else ():
            assert any(read(body, path) is not None for body in bodies), (family.topics[0], path)


def test_adding_a_family_takes_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/families.md, run as it is there."""
    docs = Path(__file__).parents[2] / "docs" / "families.md"
    example = docs.read_text("utf-8").partition("## Adding a family")[2]
    code = example.partition("```python\n")[2].partition("```")[0]
    seat = eval(code, {"Family": Family})  # noqa: S307 - the documents are ours
    monkeypatch.setitem(families.BY_TOPIC, seat.topics[0], seat)
    one = element(event(seat.topics[0], {"userId": "u"}, "d7"))
    assert (one["subject"], one["state"]) == ({"type": "desk", "id": "d7"}, "u")
    assert one["policy"]["latest"] == "latest/desk.seat"
    assert "note" not in one
