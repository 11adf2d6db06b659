"""Gives an event of a Genesys topic its identity: as its family declares it, or by a generic rule.

If the whole body counts, it counts without the fields in ignored.toml. Its paths, and those of the
`facts` of a route, are followed here: `*` stands for each item of a list or each field of an
object, `**` for any number of fields, or none.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from once_enrichment.envelope import Json, Opened, maybe_ms
from once_enrichment.families import (
    BY_TOPIC,
    SLOT,
    Family,
    Order,
    covers,
    family_name,
    slot_ids,
    slot_names,
)
from once_enrichment.keys import KEY_VERSION, canonical, digest, is_plain, opaque, part, sort_key

Way = tuple[str, ...]

# Names that tell when the event happened. A creation date is none: it survives every change.
_TIMES = (
    "eventTime",
    "eventTimeMs",
    "timestamp",
    "metricDate",
    "modifiedDate",
    "modifyDate",
    "dateModified",
    "modifiedDateTime",
    "changedDate",
    "invocationTime",
    "exportTimestamp",
)
_STATES = ("state", "status", "action", "operation", "eventType", "currentOperation")
_SUBJECTS = ("conversationId", "userId", "queueId")
_NO_VALUE = "~"  # no literal part of a key begins with it, and a hashed part is longer
_TRACES = ("correlationId", "eventId")
_NESTED = ("user", "queue", "conversation", "entity", "agent", "member", "sender", "flow", "team")

# Beside the package, where it is deployed from; a wheel carries it inside.
_FILES = [folder / "ignored.toml" for folder in Path(__file__).resolve().parents[:2]]
IGNORED: dict[str, list[str]] = tomllib.loads(
    next(path.read_text("utf-8") for path in _FILES if path.exists())
)
"""The fields that may change without a change that matters, by family."""

ABSENT = object()
"""Returned by `only` if no path leads to anything."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """All that tells an event apart before the organisation and the clock are added."""

    family: str
    topic: str
    """It has a hash in place of each word that may be about a person."""
    subject_type: str
    subject_id: str | None
    sk: str
    is_exact: bool
    """The key alone decides; else copies lie within a window."""
    order: Order = "none"
    latest: str = ""
    """Sort key of the row that holds the latest event."""
    time_ms: int | None = None
    """The time in the key."""
    published: Any = None
    """The time at which its publisher sent it."""
    event_id: str | None = None
    """The publisher's own id of the event, readable if a machine made it."""
    state: str | None = None
    ids: Json = field(default_factory=dict)
    """The ids in the topic's name."""
    note: str | None = None


def identify(opened: Opened, template: str) -> Identity:
    """Returns the identity of an event of a topic."""
    family = BY_TOPIC.get(template)
    return _declared(opened, template, family) if family else _generic(opened, template)


def _declared(opened: Opened, template: str, family: Family) -> Identity:
    """Identifies an event as its family declares.

    If anything is missing or not as declared, the whole body is the identity: no change is lost.
    """
    name, body = family_name(template), opened.body
    slots = family.slots or slot_names(template)
    in_topic = dict(zip(slots, slot_ids(template, opened.topic), strict=False))
    given = {**in_topic, **{key: value for key, value in body.items() if value is not None}}
    # One of the topic's ids may be the subject. The others tell to whom it is published.
    subject_type, _, path = family.subject.partition(" ")
    if not family.subject:
        subject_type, path = slots[0].removesuffix("Id"), slots[0]
    readers = {
        slot: in_topic.get(slot, given.get(slot))
        for slot in slots
        if slot not in (path, f"{subject_type}Id")
    }
    subject_id = read(given, path)
    each, ids = family.each.split(), family.ids.split()
    wrong = [place for place in (path, *each, *ids) if not _is_text(read(given, place))]
    wrong += [slot for slot, value in readers.items() if not _is_text(value)]
    time = maybe_ms(read(given, family.time)) if family.time else None
    if family.time and time is None:
        wrong.append(family.time)
    if not _is_text(subject_id):
        subject_type, subject_id = _subject_of(in_topic, body)

    parts = [opaque(str(value)) for value in readers.values() if _is_text(value)]
    content: str | None = hash_whole(opened, name) if wrong or family.is_whole else None
    latest, note = "", None
    if wrong:
        missing = ", ".join(wrong)
        note = f"missing or not as declared {missing}: the whole body is the identity"
    else:
        parts += [_part(read(given, place)) for place in (*each, *family.selection.split())]
        latest = latest_key(name, parts) if family.order != "none" else ""
        parts += [opaque(read(given, place)) for place in ids]
        parts += [] if time is None else [str(time)]
        if not family.is_whole and family.state:
            content = digest({place: read(given, place) for place in family.state.split()})
    state = name.partition(".")[2] if family.shown == "topic" else read(body, family.shown)
    return Identity(
        family=name,
        topic=opened.topic,
        subject_type=subject_type,
        subject_id=subject_id,
        sk=sort_key(f"{KEY_VERSION}/{name}/", parts, content),
        is_exact=time is not None and not wrong,
        order="none" if wrong else family.order,
        latest=latest,
        time_ms=time,
        published=opened.published,
        state=state if _is_text(state) else None,
        ids=in_topic,
        note=note,
    )


def _generic(opened: Opened, template: str) -> Identity:
    """Identifies any topic by the ids in its name, a known time or a version, and its body."""
    body = opened.body
    name, names = family_name(template), slot_names(template)
    ids = slot_ids(template, opened.topic)
    in_topic = dict(zip(names, ids, strict=False))
    subject_type, subject_id = _subject_of(in_topic, body)
    times = [maybe_ms(body[field]) for field in _TIMES if field in body]
    time = next(filter(None, times), None)
    version, own_id = body.get("version"), body.get("id")
    parts = [*map(opaque, ids[1:])]
    is_versioned = isinstance(own_id, str) and own_id and type(version) in (int, float)
    if is_versioned:
        parts += [opaque(str(own_id)), canonical(version)]
    if time is not None:
        parts.append(str(time))
    # Only Genesys' own words are sure to be no private text.
    words = template.split(".")
    topic = ".".join(w if w == SLOT or is_plain(w) else opaque(w) for w in words)
    for text in ids:
        topic = topic.replace(SLOT, opaque(text), 1)
    return Identity(
        family=name,
        topic=topic,
        subject_type=subject_type if is_plain(subject_type) else "topic",
        subject_id=subject_id,
        sk=sort_key(f"{KEY_VERSION}/{name}/", parts, hash_whole(opened, name)),
        is_exact=bool(time is not None or is_versioned),
        time_ms=time,
        published=opened.published,
        state=next((body[field] for field in _STATES if isinstance(body.get(field), str)), None),
        ids=in_topic,
    )


def hash_whole(opened: Opened, family: str) -> str:
    """Hashes the whole body and the metadata, without the fields that the family ignores."""
    body = without_ignored(family, opened.body)
    return digest({"body": body, "metadata": opened.metadata})


def read(value: Any, path: str) -> Any:
    """Returns the value at a path; of a list, a list of values."""
    name, _, below = path.partition(".")
    if isinstance(value, list):
        return [read(item, path) for item in value]
    inner = value.get(name) if isinstance(value, dict) else None
    return read(inner, below) if below else inner


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _part(value: Any) -> str:
    if value is None:
        return _NO_VALUE
    if isinstance(value, dict | list):
        return f"~{digest(value)}"
    if not isinstance(value, str):
        return canonical(value)
    return part(value) if is_plain(value) else opaque(value)


def latest_key(name: str, parts: Sequence[str]) -> str:
    """Returns the sort key of the row that holds the latest event of a subject."""
    return sort_key(f"latest/{name}/", parts) if parts else f"latest/{name}"


def _subject_of(in_topic: Mapping[str, str], body: Json) -> tuple[str, str | None]:
    """Returns the subject by the topic's first id, else by the body; at last the organisation."""
    if in_topic:
        first = next(iter(in_topic))
        return first.removesuffix("Id"), in_topic[first]
    for name in _SUBJECTS:
        value = body.get(name)
        if isinstance(value, str) and value:
            return name.removesuffix("Id"), value
    return "organization", None


def ids_of(identity: Identity, subject_id: str, body: Json) -> dict[str, str]:
    """Returns the ids in the topic's name, at the top of a body, and of known objects there."""
    ids = {
        name: value for name, value in body.items() if isinstance(value, str) and is_id_name(name)
    }
    for name in _NESTED:
        inner = body.get(name)
        if isinstance(inner, dict) and isinstance(inner.get("id"), str):
            ids.setdefault(f"{name}Id", inner["id"])
    ids = {**identity.ids, **ids}
    if ids.get("id") == subject_id:
        del ids["id"]
    ids.setdefault(f"{identity.subject_type}Id", subject_id)
    return ids


def is_id_name(name: str) -> bool:
    """Returns true if a field of this name is an id."""
    return (name.endswith("Id") or name == "id") and name not in _TRACES


def ways(paths: Iterable[str]) -> list[Way]:
    """Splits paths into their steps."""
    return [tuple(path.split(".")) for path in paths]


def without_ignored(family: str, body: Any) -> Any:
    """Returns a body without what its family ignores."""
    left_out = [path for name in IGNORED if covers(name, family) for path in IGNORED[name]]
    return without(body, ways(left_out))


def without(value: Any, left_out: Sequence[Way]) -> Any:
    """Returns the value without the fields and items at these paths."""
    if isinstance(value, list):
        below = _below(left_out, None)
        return [] if () in below else [without(item, below) for item in value]
    if not isinstance(value, dict) or not left_out:
        return value
    kept = {}
    for name, inner in value.items():
        below = _below(left_out, name)
        if () not in below:
            kept[name] = without(inner, below) if isinstance(inner, dict | list) else inner
    return kept


def only(value: Any, counted: Sequence[Way]) -> Any:
    """Returns what is at these paths. An item of a list is told by its `id`, if it has one."""
    if () in counted:
        return value
    if not counted:
        return ABSENT
    if isinstance(value, list):
        below = _below(counted, None)
        items = [(item, only(item, below)) for item in value]
        kept = [_told(item, inner) for item, inner in items if inner is not ABSENT]
        return kept or ABSENT
    if not isinstance(value, dict):
        return ABSENT
    parts = {name: only(inner, _below(counted, name)) for name, inner in value.items()}
    return {name: inner for name, inner in parts.items() if inner is not ABSENT} or ABSENT


def _told(item: Any, inner: Any) -> Any:
    """Keeps the states of two items apart: "A held, B talking" is not "A talking, B held"."""
    has_id = isinstance(item, dict) and item.get("id") is not None
    return {"id": item["id"], "counts": inner} if has_id else inner


def _below(those: Sequence[Way], name: str | None) -> list[Way]:
    """Returns the rest of each way below a field, or below the items of a list."""
    rest = []
    for way in those:
        if way and way[0] == "**":
            rest.append(way)
            way = way[1:]
        if way and way[0] in ("*", name):
            rest.append(way[1:])
    return rest
