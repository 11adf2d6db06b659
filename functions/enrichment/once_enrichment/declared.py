"""Gives an event the identity that its family declares."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError
from typing_extensions import TypeIs

from once_enrichment import topics
from once_enrichment.contract import KEY_VERSION
from once_enrichment.envelope import Opened
from once_enrichment.family import Family, Place, Role, is_whole, with_role
from once_enrichment.identity import Identity, hash_whole, latest_key, subject_of
from once_enrichment.keys import canonical, digest, opaque, part, sort_key
from once_enrichment.times import maybe_ms

_ABSENT = "~"  # no literal part of a key begins with it, and a hashed one is longer


def identify(opened: Opened, template: str, family: type[Family]) -> Identity:
    """Returns the identity of an event of a declared topic.

    If anything is missing or not as declared, the whole body is the identity: no change is lost.
    """
    name = topics.family_name(template)
    slots = family.slots or topics.slot_names(template)
    in_topic = dict(zip(slots, topics.slots(template, opened.topic), strict=False))
    given = {**in_topic, **{n: value for n, value in opened.body.items() if value is not None}}
    # One of the topic's ids may be the subject. The others tell to whom it is published.
    places = with_role(family, Role.SUBJECT)
    subject = places[0] if places else Place((slots[0],), Role.SUBJECT, is_hidden=False)
    subject_type = family.subject or slots[0].removesuffix("Id")
    others = [slot for slot in slots if slot not in (subject.name, f"{subject_type}Id")]
    readers = {slot: in_topic.get(slot, given.get(slot)) for slot in others}
    slot_parts = [part(value) for value in readers.values() if _is_text(value)]
    wrong = {slot for slot, value in readers.items() if not _is_text(value)}
    event: Any = None
    try:
        event = family.model_validate(given)
    except ValidationError as error:
        wrong |= {str(one["loc"][0]) for one in error.errors(include_input=False)}
    subject_id: str | None = _value(given, subject.path)
    if not _is_text(subject_id):
        wrong.add(subject.path[0])
        subject_type, subject_id = subject_of(in_topic, opened.body)
    time = _time(family, given)
    content: str | None
    if wrong:
        content, parts = hash_whole(opened, name), slot_parts
    else:
        slot_parts += _parts(event, with_role(family, Role.SLOT))
        content = _content(opened, family, name, event)
        parts = [
            *slot_parts,
            *_parts(event, with_role(family, Role.IDENTITY)),
            *([] if time is None else [str(time)]),
            *(f"{one.name}={_part(event, one)}" for one in with_role(family, Role.STATE)),
        ]
    is_ordered = family.order != "none" and not wrong
    return Identity(
        family=name,
        subject_type=subject_type,
        subject_id=subject_id,
        is_hidden=subject.is_hidden,
        sk=sort_key(f"{KEY_VERSION}/{name}/", parts, content),
        is_exact=time is not None and not wrong,
        order=family.order if is_ordered else "none",
        latest=latest_key(name, slot_parts) if is_ordered else "",
        time_ms=time,
        state=_state(opened, family, name),
        ids=in_topic,
        note=_note(given, wrong) if wrong else None,
    )


def _time(family: type[Family], given: Mapping[str, Any]) -> int | None:
    return next((maybe_ms(_value(given, p.path)) for p in with_role(family, Role.TIME)), None)


def _parts(event: Family, places: Sequence[Place]) -> list[str]:
    return [_part(event, place) for place in places]


def _part(event: Family, place: Place) -> str:
    value = place.read(event)
    if value is None:
        return _ABSENT
    if isinstance(value, str):
        return opaque(value) if place.is_hidden else part(value)
    return f"~{digest(value)}" if isinstance(value, dict | list) else canonical(value)


def _content(opened: Opened, family: type[Family], name: str, event: Family) -> str | None:
    if is_whole(family):
        return hash_whole(opened, name)
    places = with_role(family, Role.CONTENT)
    return digest([place.read(event) for place in places]) if places else None


def _state(opened: Opened, family: type[Family], name: str) -> str | None:
    if family.topic_is_state:
        return name.partition(".")[2]
    value = _value(opened.body, family.shown.split("."))
    return value if _is_text(value) else None


def _note(given: Mapping[str, Any], wrong: set[str]) -> str:
    missing = sorted(name for name in wrong if given.get(name) is None)
    mistyped = sorted(wrong.difference(missing))
    said = [f"missing {', '.join(missing)}"] if missing else []
    said += [f"not as declared {', '.join(mistyped)}"] if mistyped else []
    return f"{' and '.join(said)}: the whole body is the identity"


def _value(body: Any, path: Sequence[str]) -> Any:
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _is_text(value: Any) -> TypeIs[str]:
    return isinstance(value, str) and value != ""
