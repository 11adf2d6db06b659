"""The table of families, and the rules of keys for each topic, over bodies of the SDK's models."""

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from once_enrichment.families import (
    BY_TOPIC,
    FAMILIES,
    SLOT,
    Family,
    family_name,
    slot_ids,
    slot_names,
    template_of,
)
from once_enrichment.identity import read

from tests.enrichment import sdk
from tests.enrichment.examples import disguised, event
from tests.enrichment.sdk import MODELS
from tests.enrichment.sending import body, changed, element, key, without

TOPICS = sorted(MODELS)
OTHERS = [topic for topic in TOPICS if topic not in BY_TOPIC]
# The media of a conversation are one model ten times; topics that no family declares share a rule.
FEW = [topic for topic in TOPICS if topic in BY_TOPIC and ".conversations." not in topic]
FEW += OTHERS[::8]
WHOLE = [topic for topic in FEW if topic not in BY_TOPIC or BY_TOPIC[topic].is_whole]
EXACT = [topic for topic in FEW if topic not in WHOLE]


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


def needed_paths(family: Family) -> list[str]:
    """Returns the paths that each event of the family must have."""
    return f"{family.subject.partition(' ')[2]} {family.each} {family.ids} {family.time}".split()


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


def test_each_optional_field_is_one_of_the_sdk() -> None:
    for family in FAMILIES:
        bodies = [body_of(sdk.event(t, 1)) for t in family.topics if t in MODELS]
        shown = family.shown if family.shown != "topic" else ""
        for path in f"{family.state} {family.selection} {shown}".split() if bodies else ():
            assert any(read(body, path) is not None for body in bodies), (family.topics[0], path)


def test_adding_a_family_takes_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/families.md, run as it is there."""
    docs = Path(__file__).parents[2] / "docs" / "families.md"
    example = docs.read_text("utf-8").partition("## Adding a family")[2]
    code = example.partition("```python\n")[2].partition("```")[0]
    seat = eval(code, {"Family": Family})  # noqa: S307 - the documents are ours
    monkeypatch.setitem(BY_TOPIC, seat.topics[0], seat)
    one = element(event(seat.topics[0], {"userId": "u"}, "d7"))
    assert (one["subject"], one["state"]) == ({"type": "desk", "id": "d7"}, "u")
    assert one["policy"]["latest"] == "latest/desk.seat"
    assert "note" not in one


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


@for_each(WHOLE)
def test_any_change_of_a_state_or_undeclared_topic_is_another_key(topic: str) -> None:
    event = sdk.event(topic, 1)
    own = key(event)
    for path, value in sample(leaves(body_of(event))):
        other = key(changed(event, *path, to=other_than(value)))
        assert (other == own) == (path[-1] == "selfUri"), path
    assert key(changed(event, "addedByGenesys", to=False)) != own
    other = copy.deepcopy(event)
    other["detail"]["metadata"]["action"] = "Disassociated"
    assert key(other) != own


@for_each(EXACT)
def test_each_declared_field_of_an_exact_family_and_no_other_is_in_its_key(topic: str) -> None:
    """docs/families.md lists the fields, and why the others lose nothing."""
    event, family = sdk.event(topic, 1), BY_TOPIC[topic]
    named = (*needed_paths(family), *family.selection.split(), *family.state.split())
    declared = {tuple(path.split(".")) for path in named}
    if not family.subject:
        declared.add(((family.slots or slot_names(topic))[0],))
    own = key(event)
    for path, value in leaves(body_of(event)):
        names = tuple(step for step in path if isinstance(step, str))
        is_declared = any(names[: len(one)] == one for one in declared)
        other = key(changed(event, *path, to=other_than(value)))
        assert (other != own) == is_declared, path


@for_each([topic for topic in FEW if topic in BY_TOPIC])
def test_needed_field_of_another_type_makes_the_whole_body_the_identity(topic: str) -> None:
    """Nothing drops out of a key: whatever else changes then is another event."""
    event = sdk.event(topic, 1)
    for path in needed_paths(BY_TOPIC[topic]):
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


HOSTILE = ("a/b", "%2F", "~", "x" * 5000, "\U0001f512" * 80, "\u0000\u001f", " ", "-")


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
