"""Identity of the flattened events people make themselves: a subject, a state, maybe a time.

Keys are logged and kept. So of such an event they hold only what is known to be no text about a
person: the ids and states known here. All else that tells it apart is in a hash.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from enrichment.contract import KEY_VERSION, ParkedReason
from enrichment.envelope import UnfitError
from enrichment.identity import Identity, Json, Kind, latest_key
from enrichment.keys import compose, digest, is_id, opaque
from enrichment.vocabulary import family_of, is_known

# All names here are as `_plain` writes them: conversation_id and conversationId are one.
_SUBJECTS = {
    "conversationid": "conversation",
    "interactionid": "conversation",
    "userid": "user",
    "agentid": "user",
    "queueid": "queue",
}
_KNOWN_IDS = {
    *_SUBJECTS,
    *("participantid", "sessionid", "communicationid", "flowid", "flowoutcomeid", "wrapupcodeid"),
    *("divisionid", "teamid", "groupid", "campaignid", "messageid", "recordid", "dataid"),
}
_NESTED = ("body", "data", "conversation")
_EVENT_IDS = ("eventid", "id")
_STATES = ("status", "state", "eventtype", "type", "action")
_KINDS = ("eventtype", "type", "eventname")
_TIMES = ("timestamp", "eventtime", "time", "occurredat")
_NO_STATE = {*_EVENT_IDS, *_TIMES, *_NESTED, "correlationid", "metadata", "version", "source"}
_LONGEST_STATE = 64


class Shape:
    """A flattened event, read: its fields by plain names, those further down after the others."""

    def __init__(self, detail: Json, topic: str) -> None:
        fields = {_plain(name): value for name, value in detail.items() if _is_given(value)}
        for name in _NESTED:
            inner = detail.get(name)
            if type(inner) is dict:
                for key, value in inner.items():
                    plain = _plain(key)
                    if _is_given(value):
                        fields.setdefault(f"{name}id" if plain == "id" else plain, value)
        self._fields: dict[str, Any] = fields
        self._kind = topic or self._first(_KINDS)
        self.topic = topic if is_known(topic) else ""
        self.event_id = self._event_id(detail)
        self.time = next((fields[name] for name in _TIMES if name in fields), None)

    def _first(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            value = self._fields.get(name)
            if type(value) is str or type(value) is int:
                return str(value)
        return None

    def _event_id(self, detail: Json) -> str | None:
        """The publisher's id of the event. One that is another id of the event as well says what
        the event is about: taken for the event's own, it would make each later state a copy."""
        others: set[str] | None = None
        for name in _EVENT_IDS:
            value = self._first((name,))
            if value is not None:
                others = {*_other_ids(detail)} if others is None else others
                if value not in others:
                    return opaque(value)
        return None

    def _subject(self) -> tuple[str, str]:
        for name, kind in _SUBJECTS.items():
            value = self._fields.get(name)
            if value is not None and isinstance(value, str | int):
                return kind, str(value)
        value = self._first(("dataid",))
        if value is None:
            raise UnfitError(
                ParkedReason.NO_SUBJECT,
                "The event names no conversation, user or queue that it is about.",
            )
        return family_of(self._kind or "object").partition(".")[0], value

    def identify(self) -> Identity:
        """Subject and state; nothing in such a shape is known to be a time of its own."""
        fields = self._fields
        states = {n: fields[n] for n in _STATES if isinstance(fields.get(n), str | int)}
        if not self._kind and not states:
            raise UnfitError(
                ParkedReason.UNKNOWN_SHAPE,
                "The object has neither a topicName, a detail-type, an event type nor a status.",
            )
        subject_type, subject_id = self._subject()
        family = family_of(self._kind or f"{subject_type}.status")
        ids = {
            name: str(value)
            for name, value in sorted(fields.items())
            if name.endswith("id")
            and (type(value) is str or type(value) is int)
            and str(value) != subject_id
            and name not in _NO_STATE
        }
        known_ids = [f"{n}={v}" for n, v in ids.items() if n in _KNOWN_IDS and is_id(v)]
        other_ids = {n: v for n, v in ids.items() if n not in _KNOWN_IDS or not is_id(v)}
        known_states = [f"{n}={v}" for n, v in states.items() if _is_known_state(v)]
        hidden = other_ids | {n: str(v) for n, v in states.items() if not _is_known_state(v)}
        content = digest(hidden) if hidden else None
        if not states:
            content = digest({n: v for n, v in fields.items() if n not in _NO_STATE})
        return (
            Kind(family, subject_type, exact=False),
            subject_id,
            opaque(subject_id),
            compose(f"{KEY_VERSION}/{family}/", ["", *known_states, *known_ids], content)[1],
            None,
            str(next(iter(states.values()))) if states else None,
            latest_key(family, [*known_ids, *([other_ids] if other_ids else [])]),
            {},
            None,
        )


def _other_ids(value: Any, is_top: bool = True) -> Iterator[str]:
    """All ids in an event but those that may be its own."""
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


def _is_known_state(value: str | int) -> bool:
    if isinstance(value, int):
        return abs(value) < 1000
    return len(value) <= _LONGEST_STATE and is_known(value)


def _is_given(value: Any) -> bool:
    return value is not None and value != ""


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
