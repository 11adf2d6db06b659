"""Identity of the flattened shapes people build themselves: a subject, a state, maybe a time."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from enrichment.elements import KEY_VERSION, ParkedReason
from enrichment.envelope import UnfitError
from enrichment.identity import Identity, Kind
from enrichment.keys import compose, digest, part

_NEST = ("body", "data", "conversation")
_SUBJECTS = (
    ("conversationid", "conversation"),
    ("interactionid", "conversation"),
    ("userid", "user"),
    ("agentid", "user"),
    ("queueid", "queue"),
)
_EVENT_IDS = ("eventid", "id")
_STATES = ("status", "state", "eventtype", "type", "action")
_KINDS = ("eventtype", "type", "eventname")
_TIMES = ("timestamp", "eventtime", "time", "occurredat")
_NOT_STATE = {
    *_EVENT_IDS,
    *_TIMES,
    "correlationid",
    "metadata",
    "version",
    "source",
    "detailtype",
    "publishedat",
}
_NOT_A_WORD = re.compile(r"[^0-9A-Za-z]+")


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _fields(detail: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Fields by their plain names, those of the top before those one step below."""
    for name, value in detail.items():
        yield _plain(name), value
    for name in _NEST:
        inner = detail.get(name)
        if type(inner) is dict:
            for inner_name, value in inner.items():
                plain = _plain(inner_name)
                yield (f"{name}id" if plain == "id" else plain), value


class Shape:
    """A flattened event, read."""

    def __init__(self, detail: Mapping[str, Any], topic: str) -> None:
        self.fields: dict[str, Any] = {}
        for name, value in _fields(detail):
            if value is not None and value != "":
                self.fields.setdefault(name, value)
        self.event_id = self._text(_EVENT_IDS)
        self.time = next((self.fields[name] for name in _TIMES if name in self.fields), None)
        self._kind = topic or self._text(_KINDS)

    def _text(self, names: tuple[str, ...]) -> str | None:
        for name in names:
            value = self.fields.get(name)
            if type(value) is str or type(value) is int:
                return str(value)
        return None

    def _subject(self) -> tuple[str, str]:
        for name, kind in _SUBJECTS:
            value = self._text((name,))
            if value:
                return kind, value
        value = self._text(("dataid",))
        if value:
            first = _slug(self._kind or "").partition(".")[0]
            return first or "subject", value
        raise UnfitError(
            ParkedReason.NO_SUBJECT,
            "The event names no conversation, user or queue that it is about.",
        )

    def identify(self) -> Identity:
        if not self._kind and not any(name in self.fields for name in _STATES):
            raise UnfitError(
                ParkedReason.UNKNOWN_SHAPE,
                "The object has neither a topicName, a detail-type, an event type nor a status.",
            )
        subject_type, subject_id = self._subject()
        family = _slug(self._kind or f"{subject_type}.status")
        told = {
            name: str(self.fields[name])
            for name in _STATES
            if isinstance(self.fields.get(name), str | int)
        }
        ids = {
            name: value
            for name, value in self.fields.items()
            if name.endswith("id") and name not in _NOT_STATE and type(value) is str
        }
        parts = [f"{name}={value}" for name, value in told.items()]
        rest = {k: v for k, v in self.fields.items() if k not in _NOT_STATE and k not in _NEST}
        return (
            Kind(family, subject_type, False, True),
            subject_id,
            part(subject_id),
            compose(f"{KEY_VERSION}/{family}/", parts, digest(ids if told else rest)),
            None,
            next(iter(told.values()), None),
            "/~" + digest(ids),
            {},
            None,
        )


def _slug(text: str) -> str:
    return _NOT_A_WORD.sub(".", text).strip(".").lower()[:100]
