"""Each topic of Genesys keeps the rules of keys, over bodies in the shape of the SDK's models."""

import copy
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from once_enrichment.families import BY_TOPIC, SLOT, Family, slot_ids, slot_names, template_of

from tests.enrichment import sdk
from tests.enrichment.examples import disguised
from tests.enrichment.sdk import MODELS
from tests.enrichment.sending import body, changed, element, key, without

TOPICS = sorted(MODELS)
OTHERS = [topic for topic in TOPICS if topic not in BY_TOPIC]
# The media of a conversation are one model ten times; topics that no family declares share a rule.
FEW = [topic for topic in TOPICS if topic in BY_TOPIC and ".conversations." not in topic]
FEW += OTHERS[::8]


def for_each(some: list[str]) -> Callable[[Callable[[str], None]], Callable[[], None]]:
    """Makes a check of one topic a test, which names all topics that fail."""

    def decorate(check: Callable[[str], None]) -> Callable[[], None]:
        def test() -> None:
            failures = {}
            for topic in some:
                try:
                    check(topic)
                except Exception as error:
                    failures[topic] = error
            if failures:
                first = next(iter(failures.values()))
                raise AssertionError(f"{len(failures)} topics: {', '.join(failures)}") from first

        return test

    return decorate


def body_of(event: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = event["detail"]["eventBody"]
    return body


# Declared topics that the SDK has no model for, each with where it is known from.
NOT_IN_THE_SDK = {
    "v2.conversations.chats.{id}.members": "Genesys' guide to guest chat",
    "v2.conversations.chats.{id}.messages": "Genesys' guide to guest chat",
}


def test_every_declared_topic_is_one_of_the_sdk_or_known_from_elsewhere() -> None:
    """A new topic that the SDK lacks is added to NOT_IN_THE_SDK, with where it is known from."""
    assert {*BY_TOPIC} - {*MODELS} == {*NOT_IN_THE_SDK}


@for_each(TOPICS)
def test_full_event_needs_no_fall_back_and_its_disguised_copy_has_the_same_key(topic: str) -> None:
    event = sdk.event(topic, 1)
    one, copied = element(event), element(disguised(event))
    assert "broken" not in one, one["detail"]
    assert "note" not in one
    assert one["subject"]["id"]
    assert body(one) == body_of(event)
    assert copied["key"] == one["key"]
    assert copied["policy"] == one["policy"]


def is_key_whole(topic: str) -> bool:
    family = BY_TOPIC.get(topic)
    return family is None or family.is_whole


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yields the paths of the plain values at any depth, of a list those of its first element."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from leaves(inner, (*path, 0))
    else:
        yield path, value


def sample(some: Iterator[Any], size: int = 12) -> list[Any]:
    """Returns the values of an ordinary body, and a few of a snapshot, which many topics share."""
    every = list(some)
    if len(every) > 60:
        size = min(size, 5)
    return Random(7).sample(every, min(size, len(every)))  # noqa: S311


def other_than(value: Any) -> Any:
    """Returns another value of the same kind, a time for a time."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value[:-2]}7Z" if value.endswith("5Z") else re.sub(r"\d(?=Z$)|$", "5", value, count=1)


@for_each(FEW)
def test_any_change_of_a_state_or_undeclared_topic_is_another_key(topic: str) -> None:
    if not is_key_whole(topic):
        return
    event = sdk.event(topic, 1)
    own = key(event)
    for path, value in sample(leaves(body_of(event))):
        other = key(changed(event, *path, to=other_than(value)))
        assert (other == own) == (path[-1] == "selfUri"), path
    assert key(changed(event, "addedByGenesys", to=False)) != own
    other = copy.deepcopy(event)
    other["detail"]["metadata"]["action"] = "Disassociated"
    assert key(other) != own


def declared_paths(family: Family) -> list[str]:
    """Returns the paths of all fields that a family names."""
    subject = family.subject.partition(" ")[2]
    names = (subject, family.each, family.selection, family.ids, family.time, family.state)
    return [path for name in names for path in name.split()]


@for_each(FEW)
def test_each_declared_field_of_an_exact_family_and_no_other_is_in_its_key(topic: str) -> None:
    """docs/families.md lists the fields, and why the others lose nothing."""
    if is_key_whole(topic):
        return
    event = sdk.event(topic, 1)
    family = BY_TOPIC[topic]
    declared = {tuple(path.split(".")) for path in declared_paths(family)}
    if not family.subject:
        declared.add(((family.slots or slot_names(topic))[0],))
    own = key(event)
    for path, value in leaves(body_of(event)):
        names = tuple(step for step in path if isinstance(step, str))
        is_declared = any(names[: len(one)] == one for one in declared)
        other = key(changed(event, *path, to=other_than(value)))
        assert (other != own) == is_declared, path


@for_each(FEW)
def test_needed_field_of_another_type_makes_the_whole_body_the_identity(topic: str) -> None:
    """Nothing drops out of a key: whatever else changes then is another event."""
    if topic not in BY_TOPIC:
        return
    event, family = sdk.event(topic, 1), BY_TOPIC[topic]
    subject = family.subject.partition(" ")[2]
    for path in f"{subject} {family.each} {family.ids} {family.time}".split():
        broken = copy.deepcopy(event)
        inner = body_of(broken)
        *above, name = path.split(".")
        for step in above:
            inner = inner[step]
        inner[name] = [{"not": "declared"}]
        one = element(broken)
        assert path in one["note"], path
        assert one["policy"]["order"] == "none"
        assert one["policy"]["windowMs"] > 0
        for way, value in sample(leaves(body_of(event)), 4):
            if way[-1] != "selfUri" and way[: len(above) + 1] != (*above, name):
                other = changed(broken, *way, to=other_than(value))
                assert element(other)["key"] != one["key"], (path, way)


@for_each(FEW)
def test_absent_state_is_in_the_key_as_absent_without_a_note(topic: str) -> None:
    family = BY_TOPIC.get(topic)
    if family is None or family.is_whole:
        return
    event = sdk.event(topic, 1)
    for name in family.state.split():
        if name in body_of(event):
            one = element(without(event, name))
            assert "note" not in one
            assert one["key"] == element(changed(event, name, to=None))["key"]
            assert one["key"] != element(event)["key"]


@for_each(FEW)
def test_without_a_time_nothing_is_exact_or_ordered(topic: str) -> None:
    timeless = sdk.event(topic, 1)
    strip(timeless["detail"]["eventBody"])
    policy = element(timeless)["policy"]
    if policy["order"] != "none":
        assert (policy["windowMs"] == 0) == (policy["order"] == "changes")
        del timeless["detail"]["timestamp"]
        policy = element(timeless)["policy"]
    assert policy["windowMs"] in (500, 1500)
    assert policy["order"] == "none"


def strip(value: Any) -> None:
    """Takes away all times and what is unique to one event."""
    if isinstance(value, dict):
        for name in list(value):
            lowered = name.lower()
            if re.search("time|date|timestamp|created|start", lowered) or name == "version":
                del value[name]
            else:
                strip(value[name])
    elif isinstance(value, list):
        for part in value:
            strip(part)


@for_each(FEW)
def test_nothing_is_keyed_on_a_null(topic: str) -> None:
    event = sdk.event(topic, 1)
    for path, _ in sample(leaves(body_of(event)), 4):
        if isinstance(path[-1], int):
            continue
        found = key(changed(event, *path, to=None))
        assert found == key(without(event, *path)), path
        assert not re.search(r"None|null", "/".join(found))


HOSTILE = (
    "a/b",
    "%2F",
    "~",
    "x" * 5000,
    "\U0001f512" * 80,
    "\u0000\u001f",
    " ",
    "-",
)


@for_each(FEW)
def test_hostile_ids_fit_dynamodb_and_stay_apart(topic: str) -> None:
    event = sdk.event(topic, 1)
    names = [n for n in body_of(event) if n == "id" or n.endswith("Id")]
    for name in names:
        assert element(changed(event, name, to=""))["subject"]["id"], "an empty id is a missing one"
    keys = set()
    for hostile in HOSTILE:
        other = copy.deepcopy(event)
        for name in names:
            body_of(other)[name] = hostile
        other["detail"]["topicName"] = topic.replace("{id}", hostile[:100])
        pk, sk = key(other)
        assert 0 < len(pk.encode()) <= 2048
        assert 0 < len(sk.encode()) <= 1024
        assert pk.count("/") == 2
        keys.add((pk, sk))
    if names or "{id}" in topic:
        why = "the id in the topic's name is in no key; leave the subject to the topic"
        assert len(keys) == len(HOSTILE), why


@for_each(FEW)
def test_without_its_envelope_it_is_the_same_event(topic: str) -> None:
    event = sdk.event(topic, 1)
    web_socket = {k: v for k, v in event["detail"].items() if k != "timestamp"}
    named = body_of(event) | {"organizationId": "4c0ffee0-51de-4d15-8a5e-0b5e55edface"}
    assert key({**event, "detail": {**event["detail"], "eventBody": named}}) == key(
        {**web_socket, "eventBody": named}
    )


@pytest.mark.parametrize("word", ["conversations", "a7", ""])
def test_topic_without_a_template_is_found_among_the_declared_ones(word: str) -> None:
    for template in BY_TOPIC:
        filled = template.replace(SLOT, word)
        assert template_of(filled) == template
    for unknown in ("v2.a7.b", "v2.users.a7.presence.b"):
        assert template_of(unknown) == unknown.replace("a7", SLOT)


def test_the_ids_of_a_topic_are_what_a_regular_expression_would_find() -> None:
    def lazily(template: str, topic: str) -> tuple[str, ...]:
        *before, last = map(re.escape, template.split(SLOT))
        found = re.fullmatch("(.+?)".join([*before, last]), topic, re.DOTALL)
        return found.groups() if found else ()

    words = ("", "a", "aa", "b", ".", "a.b")
    for template in (f"{x}{{id}}{y}{{id}}{z}" for x in words for y in words for z in words):
        for topic in ("a", "aab", "a.b.a", "aaaa.b", "b.a.a.b", "a.bb.a.b", ""):
            assert slot_ids(template, topic) == lazily(template, topic), (template, topic)
