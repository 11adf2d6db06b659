"""Gives the flattened events that people make themselves an identity.

Keys are logged and kept. So of such an event they hold only what is known to be no text about a
person: the ids and states known here. All else is in a hash.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from once_enrichment import ignored
from once_enrichment.contract import KEY_VERSION, ParkedReason
from once_enrichment.envelope import Opened, UnfitError
from once_enrichment.identity import Identity, latest_key
from once_enrichment.keys import canonical, digest, is_id, opaque, part, sort_key
from once_enrichment.times import maybe_ms
from once_enrichment.vocabulary import family_of, is_known

# All names here are as `_plain` writes them: conversation_id and conversationId are one.
_SUBJECTS = {
    "conversationid": "conversation",
    "conversation.id": "conversation",
    "interactionid": "conversation",
    "userid": "user",
    "agentid": "user",
    "queueid": "queue",
}
_RESOURCES = ("data.id", "body.id")
_KNOWN_IDS = {
    *_SUBJECTS,
    *("participantid", "sessionid", "communicationid", "flowid", "flowoutcomeid", "wrapupcodeid"),
    *("divisionid", "teamid", "groupid", "campaignid", "messageid", "recordid"),
}
_NESTED = ("body", "data", "conversation")
_STATUSES = ("status", "state")
_KINDS = ("eventtype", "type", "eventname", "action")
_TIMES = ("timestamp", "eventtime", "time", "occurredat")
# Each copy may have these anew.
_OF_THE_COPY = ("correlationid", "metadata", "version", "source")
_LONGEST_STATE = 64


@dataclass(frozen=True)
class _Field:
    path: str
    value: Any

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    def is_text(self) -> bool:
        """Returns true for text and numbers, which may be an id, a status or a kind."""
        return type(self.value) in (str, int)


@dataclass(frozen=True)
class Custom:
    """A home-made event, read."""

    identity: Identity
    topic: str
    """Its detail-type, if that holds known words alone."""
    event_id: str | None
    """The publisher's id of the event, readable if a machine made it."""
    published: Any


def identify(opened: Opened) -> Custom:
    """Returns the identity of a home-made event: subject, kind, status, and a hash of the rest.

    With a status, equal ones within the window are one occurrence. Without one, the event's own id
    and time are part of its identity: only they tell it from the next of its kind.
    """
    fields = _fields(opened.body)
    kind = opened.topic or _text(fields, _KINDS) or ""
    status = _text(fields, _STATUSES)
    if not kind and status is None:
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE,
            "The object has no detail-type, event type, action or status that says what happened.",
        )
    subject_type, subject = _subject(fields, kind)
    family = family_of(kind or f"{subject_type}.status")
    published = next(_named(fields, _TIMES), _Field("", None)).value
    own_ids = _own_ids(fields, opened.body)

    rest = [one for one in _fields(ignored.without(family, opened.body)) if one != subject]
    rest = [one for one in rest if one.name not in _OF_THE_COPY]
    if status is not None:
        rest = [one for one in rest if one.name not in _TIMES and one not in own_ids]
    readable = sorted(f"{f.path}={part(str(f.value))}" for f in rest if _is_readable(f))
    hidden = sorted(canonical([f.path, f.value]) for f in rest if not _is_readable(f))
    return Custom(
        Identity(
            family=family,
            subject_type=subject_type,
            subject_id=str(subject.value),
            is_hidden=True,
            sk=sort_key(f"{KEY_VERSION}/{family}/", readable, digest(hidden) if hidden else None),
            is_exact=status is None and (bool(own_ids) or maybe_ms(published) is not None),
            order="none" if status is None else "latest",
            latest="" if status is None else _latest_key(family, rest),
            state=_text(fields, (*_STATUSES, *_KINDS)),
        ),
        topic=opened.topic if is_known(opened.topic) else "",
        event_id=opaque(str(own_ids[0].value)) if own_ids else None,
        published=published,
    )


def _latest_key(family: str, rest: list[_Field]) -> str:
    """The newest status is kept for each thing that the event names beside its subject."""
    ids = [field for field in rest if field.name.endswith("id") and field.is_text()]
    known = sorted(f"{field.path}={field.value}" for field in ids if _is_readable(field))
    other = sorted(canonical([one.path, one.value]) for one in ids if not _is_readable(one))
    return latest_key(family, [*known, *([f"~{digest(other)}"] if other else [])])


def _fields(body: Any) -> list[_Field]:
    """Returns the fields by plain names, those further down after the others."""
    flat: list[_Field] = []
    below: list[_Field] = []
    for name, value in body.items():
        plain = _plain(name)
        if plain in _NESTED and isinstance(value, dict):
            below += [_Field(f"{plain}.{_plain(inner)}", value[inner]) for inner in value]
        else:
            flat.append(_Field(plain, value))
    return [field for field in flat + below if field.value is not None and field.value != ""]


def _named(fields: list[_Field], names: tuple[str, ...]) -> Iterator[_Field]:
    """Yields the fields with one of these names or paths, in the order of the names."""
    for name in names:
        yield from (field for field in fields if name in (field.name, field.path))


def _text(fields: list[_Field], names: tuple[str, ...]) -> str | None:
    return next((str(field.value) for field in _named(fields, names) if field.is_text()), None)


def _subject(fields: list[_Field], kind: str) -> tuple[str, _Field]:
    for field in _named(fields, (*_SUBJECTS, *_RESOURCES)):
        if field.is_text():
            known = _SUBJECTS.get(field.path) or _SUBJECTS.get(field.name)
            return known or family_of(kind or "object").partition(".")[0], field
    raise UnfitError(
        ParkedReason.NO_SUBJECT,
        "The event names no conversation, user or queue that it is about.",
    )


def _own_ids(fields: list[_Field], body: Any) -> list[_Field]:
    """Returns the publisher's ids of the event. One that is another id in it as well says what the
    event is about: taken for the event's own, it would make each later state a copy."""
    others = {*_other_ids(body)}
    own = [
        *(field for field in fields if field.name == "eventid"),
        *(field for field in fields if field.path == "id"),
    ]
    return [field for field in own if field.is_text() and str(field.value) not in others]


def _other_ids(value: Any, is_top: bool = True) -> Iterator[str]:
    """Yields all ids in an event but those that may be its own."""
    if isinstance(value, list):
        for part in value:
            yield from _other_ids(part, is_top=False)
    elif isinstance(value, dict):
        for name, part in value.items():
            plain = _plain(name)
            is_own = plain == "eventid" or (is_top and plain == "id")
            if isinstance(part, dict | list):
                yield from _other_ids(part, is_top=False)
            elif plain.endswith("id") and not is_own and isinstance(part, str | int):
                yield str(part)


def _is_readable(field: _Field) -> bool:
    value = field.value
    if field.name in _KNOWN_IDS:
        return isinstance(value, str) and is_id(value)
    if field.name not in (*_STATUSES, *_KINDS):
        return False
    if isinstance(value, int):
        return abs(value) < 1000
    return isinstance(value, str) and len(value) <= _LONGEST_STATE and is_known(value)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
