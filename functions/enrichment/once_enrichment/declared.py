"""Gives an event the identity that its family declares."""

from typing import Any

from once_enrichment import topics
from once_enrichment.contract import KEY_VERSION
from once_enrichment.envelope import Opened
from once_enrichment.family import Family, is_text, read
from once_enrichment.identity import Identity, hash_whole, latest_key, subject_of
from once_enrichment.keys import canonical, digest, opaque, shown, sort_key
from once_enrichment.times import maybe_ms

_ABSENT = "~"  # no literal part of a key begins with it, and a hashed part is longer


def identify(opened: Opened, template: str, family: Family) -> Identity:
    """Returns the identity of an event of a declared topic.

    If anything is missing or not as declared, the whole body is the identity: no change is lost.
    """
    name, body = topics.family_name(template), opened.body
    slots = family.slots or topics.slot_names(template)
    in_topic = dict(zip(slots, topics.slots(template, opened.topic), strict=False))
    given = {**in_topic, **{key: value for key, value in body.items() if value is not None}}
    # One of the topic's ids may be the subject. The others tell to whom it is published.
    subject_type, path = _subject(family, slots)
    readers = {
        slot: in_topic.get(slot, given.get(slot))
        for slot in slots
        if slot not in (path, f"{subject_type}Id")
    }
    subject_id = read(given, path)
    each, ids = family.each.split(), family.ids.split()
    wrong = [place for place in (path, *each, *ids) if not is_text(read(given, place))]
    wrong += [slot for slot, value in readers.items() if not is_text(value)]
    time = maybe_ms(read(given, family.time)) if family.time else None
    if family.time and time is None:
        wrong.append(family.time)
    if not is_text(subject_id):
        subject_type, subject_id = subject_of(in_topic, body)

    parts = [opaque(str(value)) for value in readers.values() if is_text(value)]
    content: str | None = hash_whole(opened, name) if wrong or family.is_whole else None
    latest = ""
    if not wrong:
        parts += [_part(read(given, place)) for place in (*each, *family.selection.split())]
        latest = latest_key(name, parts) if family.order != "none" else ""
        parts += [opaque(read(given, place)) for place in ids]
        parts += [] if time is None else [str(time)]
        if not family.is_whole and family.state:
            content = digest({place: read(given, place) for place in family.state.split()})
    return Identity(
        family=name,
        subject_type=subject_type,
        subject_id=subject_id,
        sk=sort_key(f"{KEY_VERSION}/{name}/", parts, content),
        is_exact=time is not None and not wrong,
        order="none" if wrong else family.order,
        latest=latest,
        whole=(content or "") if family.is_whole else "",
        time_ms=time,
        state=_state(body, family, name),
        ids=in_topic,
        note=_note(wrong) if wrong else None,
    )


def _subject(family: Family, slots: tuple[str, ...]) -> tuple[str, str]:
    """Returns the kind of subject and the path of its id."""
    if family.subject:
        kind, _, path = family.subject.partition(" ")
        return kind, path
    return slots[0].removesuffix("Id"), slots[0]


def _part(value: Any) -> str:
    if value is None:
        return _ABSENT
    if isinstance(value, dict | list):
        return f"~{digest(value)}"
    return shown(value) if isinstance(value, str) else canonical(value)


def _state(body: Any, family: Family, name: str) -> str | None:
    value = name.partition(".")[2] if family.shown == "topic" else read(body, family.shown)
    return str(value) if is_text(value) else None


def _note(wrong: list[str]) -> str:
    return f"missing or not as declared {', '.join(wrong)}: the whole body is the identity"
