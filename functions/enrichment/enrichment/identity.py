"""What an event's identity is made of, and the generic rule that gives one to any topic."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from enrichment import topics
from enrichment.contract import KEY_VERSION
from enrichment.keys import compose, digest, is_id, opaque
from enrichment.times import maybe_ms

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


class Kind(NamedTuple):
    """What all events of one family have in common."""

    family: str
    subject_type: str
    exact: bool


Identity = tuple[
    Kind,
    str | None,  # the subject's id, and how it is written in a key
    str,
    str,  # sk
    int | None,  # business time
    str | None,  # state
    str,  # sk of the row that holds the latest, or empty
    Mapping[str, str],  # ids from the topic's name
    str | None,  # note
]
"""All that tells an event apart before the organisation and the clock are added."""


def generic(template: str, topic: str, body: Json) -> Identity:
    """Any topic: ids from its name, a known time or a version, and a hash of the body."""
    name = topics.family_name(template)
    names = topics.slot_names(template)
    ids = topics.slots(template, topic)
    found = dict(zip(names, ids, strict=False))
    subject_type, subject_id = subject_of(found, body)
    times = [maybe_ms(body[name]) for name in _TIMES if name in body]
    time = next(filter(None, times), None)
    version, own_id = body.get("version"), body.get("id")
    named, exact = list(ids[1:]), time is not None
    versions = []
    if own_id and isinstance(own_id, str) and type(version) is int:
        named.append(own_id)
        versions, exact = [str(version)], True
    # What may be about a person is known by its hash alone.
    hidden = [None if is_id(one) else one for one in named]
    parts = [*filter(is_id, named), *versions, *([] if time is None else [str(time)])]
    content = digest([hidden, body]) if any(hidden) else digest(body)
    return (
        Kind(name, subject_type, exact),
        subject_id,
        opaque(subject_id) if subject_id else "",
        compose(f"{KEY_VERSION}/{name}/", ["", *parts], content)[1],
        time,
        next((body[name] for name in _STATES if type(body.get(name)) is str), None),
        "" if exact else latest_key(name, [dict(ids_of(body))]),
        found,
        None,
    )


def latest_key(family: str, by: Sequence[Any]) -> str:
    """The sk of the row that holds the latest event of a subject, by what tells apart several."""
    if not by:
        return f"latest/{family}"
    parts = [value if type(value) is str else digest(value) for value in by]
    return compose(f"latest/{family}/", ["", *parts])[1]


def subject_of(found: Mapping[str, str], body: Json) -> tuple[str, str | None]:
    """The subject by the topic's first id, else by the body; at last the organisation."""
    if found:
        first = next(iter(found))
        return first.removesuffix("Id"), found[first]
    for name in _SUBJECTS:
        value = body.get(name)
        if isinstance(value, str) and value:
            return name.removesuffix("Id"), value
    return "organization", None


def ids_of(body: Json) -> dict[str, str]:
    """The ids at the top of a body, and those of the objects there that are known to be named."""
    flat, nested = id_names(tuple(body))
    ids = {name: value for name in flat if type(value := body[name]) is str}
    for name in nested:
        inner = body[name]
        if type(inner) is dict and type(inner.get("id")) is str:
            ids.setdefault(f"{name}Id", inner["id"])
    return ids


def id_names(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which fields of a body are ids, and which are objects known to be named by one."""
    return _id_names(names) if len(names) < 100 else _pick_id_names(names)


def _pick_id_names(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    flat = [n for n in names if (n.endswith("Id") or n == "id") and n not in _TRACES]
    return tuple(flat), tuple(n for n in names if n in _NESTED)


# Events of one family have the same fields, so their names are looked at once.
_id_names = lru_cache(maxsize=512)(_pick_id_names)
