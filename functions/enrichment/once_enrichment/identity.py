"""The identity of an event, and the generic rule that gives one to any topic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from once_enrichment import ignored, topics
from once_enrichment.contract import KEY_VERSION
from once_enrichment.envelope import Opened
from once_enrichment.family import Order
from once_enrichment.keys import canonical, digest, family_of, is_plain, opaque, sort_key
from once_enrichment.times import maybe_ms

Json = Mapping[str, Any]

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
_TRACES = ("correlationId", "eventId")
_NESTED = ("user", "queue", "conversation", "entity", "agent", "member", "sender", "flow", "team")


@dataclass(frozen=True, kw_only=True)
class Identity:
    """All that tells an event apart before the organisation and the clock are added."""

    family: str
    subject_type: str
    subject_id: str | None
    sk: str
    is_exact: bool
    """The key alone decides; else copies lie within a window."""
    order: Order = "none"
    latest: str = ""
    """Sort key of the row that holds the latest event."""
    whole: str = ""
    """The hash of the whole body, if it is in the key."""
    time_ms: int | None = None
    """The time in the key."""
    state: str | None = None
    ids: Json = field(default_factory=dict)
    """The ids in the topic's name."""
    note: str | None = None


def hash_whole(opened: Opened, family: str) -> str:
    """Hashes the whole body and the metadata, without the fields that the family ignores."""
    return digest({"body": ignored.without(family, opened.body), "metadata": opened.metadata})


def generic(opened: Opened, template: str) -> Identity:
    """Identifies any topic by the ids in its name, a known time or a version, and its body."""
    body = opened.body
    name, names = topics.family_name(template), topics.slot_names(template)
    ids = topics.slots(template, opened.topic)
    in_topic = dict(zip(names, ids, strict=False))
    subject_type, subject_id = subject_of(in_topic, body)
    if not opened.is_genuine:
        name = name if is_plain(name) else family_of(name)
        subject_type = subject_type if is_plain(subject_type) else "topic"
    times = [maybe_ms(body[field]) for field in _TIMES if field in body]
    time = next(filter(None, times), None)
    version, own_id = body.get("version"), body.get("id")
    parts = [*map(opaque, ids[1:])]
    is_versioned = isinstance(own_id, str) and own_id and type(version) in (int, float)
    if is_versioned:
        parts += [opaque(str(own_id)), canonical(version)]
    if time is not None:
        parts.append(str(time))
    return Identity(
        family=name,
        subject_type=subject_type,
        subject_id=subject_id,
        sk=sort_key(f"{KEY_VERSION}/{name}/", parts, hash_whole(opened, name)),
        is_exact=bool(time is not None or is_versioned),
        time_ms=time,
        state=next((body[field] for field in _STATES if isinstance(body.get(field), str)), None),
        ids=in_topic,
    )


def topic_in_log(opened: Opened, template: str) -> str:
    """Returns the topic with a hash for each word of it that may be about a person."""
    words = [
        word if opened.is_genuine or word == topics.SLOT or is_plain(word) else opaque(word)
        for word in template.split(".")
    ]
    return topics.filled(".".join(words), map(opaque, topics.slots(template, opened.topic)))


def latest_key(name: str, parts: Sequence[str]) -> str:
    """Returns the sort key of the row that holds the latest event of a subject."""
    return sort_key(f"latest/{name}/", parts) if parts else f"latest/{name}"


def subject_of(in_topic: Mapping[str, str], body: Json) -> tuple[str, str | None]:
    """Returns the subject by the topic's first id, else by the body; at last the organisation."""
    if in_topic:
        first = next(iter(in_topic))
        return first.removesuffix("Id"), in_topic[first]
    for name in _SUBJECTS:
        value = body.get(name)
        if isinstance(value, str) and value:
            return name.removesuffix("Id"), value
    return "organization", None


def ids_of(body: Json) -> dict[str, str]:
    """Returns the ids at the top of a body, and those of known objects there."""
    ids = {
        name: value for name, value in body.items() if isinstance(value, str) and is_id_name(name)
    }
    for name in _NESTED:
        inner = body.get(name)
        if isinstance(inner, dict) and isinstance(inner.get("id"), str):
            ids.setdefault(f"{name}Id", inner["id"])
    return ids


def is_id_name(name: str) -> bool:
    """Returns true if a field of this name is an id."""
    return (name.endswith("Id") or name == "id") and name not in _TRACES
