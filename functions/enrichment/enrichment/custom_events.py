"""Identity of the flattened shapes people build themselves: a subject, a state, maybe a time."""

import re
from functools import lru_cache
from typing import Any

from enrichment.contract import KEY_VERSION, ParkedReason
from enrichment.envelope import UnfitError
from enrichment.identity import Identity, Json, Kind, latest_key
from enrichment.keys import compose, digest

# All names here are as `_plain` writes them: conversation_id and conversationId are one.
_SUBJECTS = {
    "conversationid": "conversation",
    "interactionid": "conversation",
    "userid": "user",
    "agentid": "user",
    "queueid": "queue",
}
_NESTED = ("body", "data", "conversation")
_EVENT_IDS = ("eventid", "id")
_STATES = ("status", "state", "eventtype", "type", "action")
_KINDS = ("eventtype", "type", "eventname")
_TIMES = ("timestamp", "eventtime", "time", "occurredat")
_NO_STATE = {*_EVENT_IDS, *_TIMES, *_NESTED, "correlationid", "metadata", "version", "source"}
_NO_WORD = re.compile(r"[^0-9A-Za-z]+")
_LONGEST_FAMILY = 100


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
        self.event_id = self._first(_EVENT_IDS)
        self.time = next((fields[name] for name in _TIMES if name in fields), None)

    def _first(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            value = self._fields.get(name)
            if type(value) is str or type(value) is int:
                return str(value)
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
        return _slug(self._kind or "object").partition(".")[0], value

    def identify(self) -> Identity:
        """Subject and state; nothing in such a shape is known to be a time of its own."""
        fields = self._fields
        states = [f"{n}={fields[n]}" for n in _STATES if isinstance(fields.get(n), str | int)]
        if not self._kind and not states:
            raise UnfitError(
                ParkedReason.UNKNOWN_SHAPE,
                "The object has neither a topicName, a detail-type, an event type nor a status.",
            )
        subject_type, subject_id = self._subject()
        family = _slug(self._kind or f"{subject_type}.status")
        ids = [
            f"{name}={value}"
            for name, value in sorted(fields.items())
            if name.endswith("id")
            and type(value) is str
            and value != subject_id
            and name not in _NO_STATE
        ]
        content = None
        if not states:
            content = digest({n: v for n, v in fields.items() if n not in _NO_STATE})
        return (
            Kind(family, subject_type, exact=False),
            subject_id,
            *compose(f"{KEY_VERSION}/{family}/", [subject_id, *states, *ids], content),
            None,
            states[0].partition("=")[2] if states else None,
            latest_key(family, ids),
            {},
            None,
        )


def _is_given(value: Any) -> bool:
    return value is not None and value != ""


@lru_cache(maxsize=1024)
def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=1024)
def _slug(text: str) -> str:
    """`Conversation Status Change` as the name of a family."""
    return _NO_WORD.sub(".", text).strip(".").lower()[:_LONGEST_FAMILY] or "event"
