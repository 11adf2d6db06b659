"""Gives the flattened events that people make themselves an identity.

Three rules. An event with a status is its status and all fields that are no time and no event id;
equal events within the window are copies. An event without a status that has an `eventId` is that
id. Any other event is all its fields. `correlationId` and `metadata` never count: each copy may
have these anew. Only `eventId` is an event's own id: many publishers name an object in `id`.
"""

from typing import Any

from once_enrichment.envelope import Opened, UnfitError, maybe_ms
from once_enrichment.identity import Identity, latest_key, without_ignored
from once_enrichment.keys import KEY_VERSION, digest, family_of, is_plain, opaque, part, sort_key

# All names here are as `_plain` writes them: conversation_id and conversationId are the same.
_SUBJECTS = {
    "conversationid": "conversation",
    "conversation.id": "conversation",
    "interactionid": "conversation",
    "userid": "user",
    "agentid": "user",
    "queueid": "queue",
    "data.id": "",  # its kind is the first word of the family
    "body.id": "",
    "payload.id": "",
}
_NESTED = ("body", "data", "conversation", "payload")
_STATUSES = ("status", "state")
_KINDS = ("eventtype", "type", "eventname", "action")
_TIMES = ("timestamp", "eventtime", "time", "occurredat")
_OF_THE_COPY = ("correlationid", "metadata")
_OF_THE_EVENT = (*_TIMES, "eventid")

Fields = dict[str, Any]


def identify(opened: Opened) -> Identity:
    """Returns the identity of a home-made event."""
    fields = _fields(opened.body)
    kind = opened.topic or _text(fields, _KINDS) or ""
    status = _text(fields, _STATUSES)
    if not kind and status is None:
        raise UnfitError(
            "UNKNOWN_SHAPE: The object has no detail-type, event type, action or status that says "
            "what happened."
        )
    subject_type, subject_id = _subject(fields, kind)
    family = family_of(kind or f"{subject_type}.status")
    event_id, published = _text(fields, ("eventid",)), _first(fields, _TIMES)
    counted = _without(_fields(without_ignored(family, opened.body)), _OF_THE_COPY)
    parts, latest = [], ""
    if status is not None:
        counted = _without(counted, _OF_THE_EVENT)
        counted.pop("id", None)  # of the copy in some publishers' events
        latest = latest_key(family, [f"~{digest(_without(counted, _STATUSES))}"])
        parts = [part(status)] if is_plain(status) else []
    elif event_id is not None:
        counted = {"eventid": event_id}
    return Identity(
        family=family,
        topic=opened.topic if is_plain(opened.topic) else "",
        subject_type=subject_type,
        subject_id=subject_id,
        sk=sort_key(f"{KEY_VERSION}/{family}/", parts, digest(counted)),
        is_exact=status is None and (event_id is not None or maybe_ms(published) is not None),
        order="none" if status is None else "latest",
        latest=latest,
        published=published,
        event_id=None if event_id is None else opaque(event_id),
        state=_text(fields, (*_STATUSES, *_KINDS)),
    )


def _fields(body: Any) -> Fields:
    """Returns the fields by plain names, those one step further down after the others."""
    flat: Fields = {}
    below: Fields = {}
    for name in sorted(body):
        plain, value = _plain(name), body[name]
        if plain in _NESTED and isinstance(value, dict):
            for inner in sorted(value):
                _add(below, f"{plain}.{_plain(inner)}", f"{plain}.{inner}", value[inner])
        else:
            _add(flat, plain, name, value)
    return {path: value for path, value in (flat | below).items() if value not in (None, "")}


def _add(fields: Fields, plain: str, written: str, value: Any) -> None:
    """Adds a field by its plain name, or as it is written if another spelling is there already."""
    fields[written if plain in fields else plain] = value


def _first(fields: Fields, names: tuple[str, ...]) -> Any:
    """Returns the first field with one of these names or paths, in the order of the names."""
    values = (fields[path] for name in names for path in fields if name in (path, _name(path)))
    return next(values, None)


def _text(fields: Fields, names: tuple[str, ...]) -> str | None:
    texts = {path: value for path, value in fields.items() if type(value) in (str, int)}
    value = _first(texts, names)
    return None if value is None else str(value)


def _without(fields: Fields, names: tuple[str, ...]) -> Fields:
    return {path: value for path, value in fields.items() if _name(path) not in names}


def _subject(fields: Fields, kind: str) -> tuple[str, str]:
    """Returns the kind and the id of the event's subject."""
    for name, subject_type in _SUBJECTS.items():
        value = _text(fields, (name,))
        if value is not None:
            return subject_type or family_of(kind or "object").partition(".")[0], value
    raise UnfitError("NO_SUBJECT: The event names no conversation, user or queue that it is about.")


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
