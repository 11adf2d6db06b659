"""The table of families: it is read as its models say, and nothing in it is idle."""

from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from enrichment.declared import Declared
from enrichment.families import BY_TOPIC, FAMILIES, Family
from enrichment.field_types import Id
from enrichment.reader import reader
from enrichment.topics import family_name
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from tests.enrichment import sdk
from tests.enrichment.sending import element
from tests.enrichment.topic_models import MODELS

TOPICS = sorted(set(BY_TOPIC) & set(MODELS))


def paths(family: Family) -> tuple[str, ...]:
    one = (family.subject[1], *family.identity, *family.state, *family.content, *family.latest_by)
    return (*one, *family.times, *((family.time,) if family.time else ()))


@cache
def adapter(body: type) -> TypeAdapter[Any]:
    return TypeAdapter(body)


def by_pydantic(body: type, event_body: dict[str, Any], path: str) -> Any:
    """What pydantic's own reading of the declaration holds at a path."""
    seen: Any = adapter(body).validate_python(event_body)
    for step in path.split("."):
        seen = seen.get(step) if seen else None
    return "" if seen is None else seen


@pytest.mark.parametrize("topic", TOPICS)
def test_the_reader_reads_what_pydantic_would(topic: str) -> None:
    family = BY_TOPIC[topic]
    every = paths(family)
    body = sdk.Maker(7).body(topic)
    for name in (None, *body):
        part = {key: value for key, value in body.items() if key != name}
        assert reader(family.body, (), every)(part) == tuple(
            by_pydantic(family.body, part, path) for path in every
        )


def test_every_field_of_every_body_is_relied_on() -> None:
    used: dict[type, set[str]] = {}
    for family in FAMILIES:
        used.setdefault(family.body, set()).update(p.partition(".")[0] for p in paths(family))
    for body, names in used.items():
        assert set(get_type_hints(body)) == names, body


def test_what_identifies_is_never_empty() -> None:
    """So that a missing part is None, and no key has an empty one."""
    for family in FAMILIES:
        for path in (family.subject[1], *family.identity):
            kind: Any = family.body
            for step in path.split("."):
                kind = get_type_hints(kind, include_extras=True)[step]
            assert kind == Id, path


def test_no_topic_is_declared_twice_and_no_two_have_one_name() -> None:
    declared = [topic for family in FAMILIES for topic in family.topics]
    assert len(declared) == len(set(declared))
    names = [family_name(topic) for topic in {*declared, *MODELS}]
    assert len(names) == len(set(names))


def test_discrete_events_never_make_each_other_stale() -> None:
    for topic, family in BY_TOPIC.items():
        if topic.startswith("v2.detail.events."):
            assert not family.latest, topic


def test_windowed_families_keep_the_latest() -> None:
    for family in FAMILIES:
        if not (family.time or family.times):
            assert family.latest, family.topics


@pytest.mark.parametrize("topic", [t for t in TOPICS if BY_TOPIC[t].time])
def test_a_time_of_another_type_is_a_missing_one_and_said_so(topic: str) -> None:
    event = sdk.event(topic, 1)
    name = BY_TOPIC[topic].time.partition(".")[0]
    event["detail"]["eventBody"][name] = ["no time"]
    one = element(event)
    assert one["kind"] == "event"
    assert name in one["note"]
    assert one["policy"]["windowMs"] > 0


def test_a_family_needs_only_its_declaration() -> None:
    """The worked example of docs/families.md, run as it stands there."""
    docs = Path(__file__).parents[2] / "docs" / "families.md"
    example = docs.read_text("utf-8").partition("## Adding a family")[2]
    code = example.partition("```python\n")[2].partition("```")[0]
    assert len(code.splitlines()) <= 15
    names: dict[str, Any] = {"TypedDict": TypedDict, "Id": Id, "Family": Family}
    exec(code.replace("\nFamily(", "\nfamily = Family("), names)  # noqa: S102
    topic = "v2.desks.{id}.seat"
    declared = Declared(names["family"], topic)
    kind, subject, _, sk, _, state, latest, _, note = declared.identify(
        {"userId": "u"}, topic.replace("{id}", "d7")
    )
    assert (kind.exact, subject, state, note) == (False, "d7", "u", None)
    assert (sk, latest) == ("v1/desk.seat/userId=u", "latest/desk.seat")
