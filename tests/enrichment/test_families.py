"""The table of families: it is read as its models say, and nothing in it is idle."""

from typing import Any

import pytest
from enrichment.bodies import Body, Id
from enrichment.declared import Declared
from enrichment.families import BY_TOPIC, FAMILIES, Family
from enrichment.reader import reader
from enrichment.topics import family_name

from tests.enrichment import sdk
from tests.enrichment.sending import element
from tests.enrichment.topic_models import MODELS

TOPICS = sorted(set(BY_TOPIC) & set(MODELS))


def paths(family: Family) -> tuple[str, ...]:
    one = (family.subject[1], *family.identity, *family.state, *family.content, *family.lane)
    return (*one, *family.times, *((family.time,) if family.time else ()))


def of_model(model: type[Body], body: dict[str, Any], path: str) -> Any:
    """What an instance of the model holds at a path."""
    seen: Any = model.model_validate(body)
    for step in path.split("."):
        seen = getattr(seen, step, None)
    return "" if seen is None else seen


@pytest.mark.parametrize("topic", TOPICS)
def test_the_compiled_reader_reads_what_the_model_does(topic: str) -> None:
    family = BY_TOPIC[topic]
    every = paths(family)
    body = sdk.Maker(7).body(topic)
    for name in (None, *body):
        part = {key: value for key, value in body.items() if key != name}
        assert reader(family.body, (), every)(part) == tuple(
            of_model(family.body, part, path) for path in every
        )


def test_every_field_of_every_model_is_relied_on() -> None:
    used: dict[type[Body], set[str]] = {}
    for family in FAMILIES:
        used.setdefault(family.body, set()).update(p.partition(".")[0] for p in paths(family))
    assert {model: set(model.model_fields) - names for model, names in used.items()} == {
        model: set() for model in used
    }


def test_every_field_may_be_missing() -> None:
    for family in FAMILIES:
        family.body.model_validate({})


def test_what_identifies_is_text_or_a_time() -> None:
    """So that a missing part is None, and never an empty text in a key."""
    for family in FAMILIES:
        for path in (family.subject[1], *family.identity):
            name, _, rest = path.partition(".")
            assert rest or family.body.model_fields[name].annotation == (Id | None), path


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


def time_name(topic: str) -> str | None:
    """What the field of the family's one time is called, where only one name holds it."""
    field = BY_TOPIC[topic].body.model_fields.get(BY_TOPIC[topic].time)
    alias = field.validation_alias if field else None
    return alias if isinstance(alias, str) else None


@pytest.mark.parametrize("topic", [t for t in TOPICS if time_name(t)])
def test_a_field_of_another_type_is_a_missing_one_and_said_so(topic: str) -> None:
    event = sdk.event(topic, 1)
    event["detail"]["eventBody"][time_name(topic)] = {"not": "a time"}
    one = element(event)
    assert one["kind"] == "event"
    assert f"not as declared: {time_name(topic)}" in one["note"]
    assert one["policy"]["windowMs"] > 0


def test_a_family_needs_only_its_declaration() -> None:
    """The worked example of docs/families.md."""

    class Seat(Body):
        desk_id: Id | None = None
        user_id: Id | None = None

    family = Family(
        topics=("v2.desks.{id}.seat",),
        body=Seat,
        slots=("deskId",),
        subject=("desk", "desk_id"),
        state=("user_id",),
        latest=True,
    )
    kind, subject, _, sk, _, state, latest, _, note = Declared(
        family, "v2.desks.{id}.seat"
    ).identify({"userId": "u"}, "v2.desks.d7.seat")
    assert (kind.exact, subject, state, note) == (False, "d7", "u", None)
    assert (sk, latest) == ("v1/desk.seat/userId=u", "latest/desk.seat")
