"""Reads each record of a capture with the real enrichment, and keeps what the audit needs of it.

Ids and names are hidden, so that nothing personal is left and each still has one name.
"""

import json
import re
import secrets
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from once_enrichment.envelope import Opened, maybe_ms, open_event, parse
from once_enrichment.handler import normalise
from once_enrichment.identity import without_ignored
from once_enrichment.keys import canonical
from once_enrichment.routes import Routes

from once.lines import Captured, Place
from once.model.rule import Event

Order = Literal["none", "latest", "changes", "every"]
_LOOKS_LIKE_DATA = re.compile(r"[0-9a-fA-F-]{12,}|\d{4,}|@")
# Dates and numbers of parts stay: they say which file it is.
_LOOKS_LIKE_AN_ID = re.compile(
    r"[0-9a-fA-F]{12,}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\d{7,}|@|\+\d"
)
# Participant attributes and the like are maps, whose keys are chosen by people.
_MAPS = {"attributes", "additionalProperties", "context", "customAttributes"}
_NAME = re.compile(r"(?!.*\d{3})[A-Za-z_][A-Za-z_0-9]{0,39}")


class Entry(NamedTuple):
    """One event. Long or personal values are hashes; 0 stands for a missing one."""

    place: Place
    arrived_ms: int
    """The time at which the queue or the log group took it; 0 if the capture has none."""
    published_ms: int
    event: Event
    """The event, for the rule of claims."""
    family: str
    topic: str
    """The topic's template; of a home-made event its detail-type."""
    is_custom: bool
    source: str
    """The name that the report shows; so is the next field."""
    subject: str
    subject_key: int
    envelope: int
    correlation: int
    is_replay: bool
    content: int
    """Topic and body, which copies share."""
    note: str
    route_facts: tuple[str, ...]
    fields: dict[str, int]
    """The fields of a state, each with a hash of its values; empty for all but states."""

    def make_event_with(self, facts: Collection[str]) -> Event:
        """Returns the event as if its route had these facts; without any, the whole body counts."""
        event, fields = self.event, self.fields
        if event.order not in ("latest", "changes") or not fields:
            return event
        counted = {path: fields[path] for path in facts if path in fields} or fields
        # A family that is ordered by time alone counts no field unless its route names facts.
        order: Order = "changes" if facts else event.order
        return event._replace(order=order, facts=number(json.dumps(counted)))


class Broken(NamedTuple):
    """A record without an event that could be decided on."""

    place: Place
    arrived_ms: int
    reason: str
    detail: str


def read_entry(captured: Captured, routes: Routes, shown: "Shown") -> Entry | Broken | None:
    """Returns what a record says of its event, and what these routes make of it; None for a
    canary."""
    element = normalise(captured.record, routes)
    if "broken" in element:
        code, _, sentence = element["detail"].partition(": ")
        return Broken(captured.place, captured.arrived_ms, code, sentence)
    if "route" not in element:
        return None
    opened = open_event(parse(element["raw"]))
    key, policy, trace = element["key"], element["policy"], element["trace"]
    pk, route, subject = key["pk"], element["route"], element["subject"]
    facts = next((r.facts for r in routes.routes if r.name == route["name"]), ())
    return Entry(
        captured.place,
        arrived_ms=captured.arrived_ms,
        published_ms=maybe_ms(element.get("publishedAt"))
        or maybe_ms(opened.envelope.get("time"))
        or 0,
        event=Event(
            number(f"message {captured.record['messageId']}"),
            number(f"{pk}\n{key['sk']}"),
            number(f"latest {pk}\n{policy['latest']}") if "latest" in policy else None,
            element["occurredAtMs"],
            policy["windowMs"],
            policy["order"],
            _number_of(trace.get("eventId")),
            _number_of(element.get("facts")),
            route.get("ignored", ""),
            element.get("expiresAtMs"),
        ),
        family=harmless(element["family"]),
        topic=harmless(opened.template or opened.topic or element["topic"]),
        is_custom=opened.template is None,
        source=shown.source(trace.get("source", "")),
        subject=f"{subject['type']} {shown.id(subject['id'])}",
        subject_key=number(pk),
        envelope=_number_of(trace.get("envelopeId")),
        correlation=_number_of(trace.get("correlationId")),
        is_replay="replayName" in trace,
        content=number(canonical([opened.topic, opened.body])),
        note=element.get("note", ""),
        route_facts=tuple(facts),
        fields=_hash_fields(element["family"], opened) if "latest" in policy else {},
    )


def fields_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the fields of a body as facts name them, each as often as it has a value."""
    if isinstance(value, list):
        for inner in value:
            yield from fields_of(inner, f"{path}.*" if path else "*")
    elif isinstance(value, dict) and path.rpartition(".")[2] not in _MAPS:
        for name, inner in value.items():
            shown = name if _NAME.fullmatch(name) else "*"
            yield from fields_of(inner, f"{path}.{shown}" if path else shown)
    elif value not in (None, [], {}):
        yield path, value


def _hash_fields(family: str, opened: Opened) -> dict[str, int]:
    body: Mapping[str, Any] = without_ignored(family, opened.body)
    values: dict[str, list[str]] = {}
    for path, value in fields_of({**body, "metadata": opened.metadata}):
        values.setdefault(path, []).append(canonical(value))
    return {path: number("\n".join(sorted(texts))) for path, texts in sorted(values.items())}


def number(text: str) -> int:
    """Returns a hash of 64 bits; of a million texts two are alike in one of 10^7 runs."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _number_of(text: str | None) -> int:
    return number(text) if text else 0


class Shown:
    """Writes ids and names as they are, or hashed with a key that is thrown away."""

    def __init__(self, with_ids: bool) -> None:
        self._with_ids = with_ids
        self._key = secrets.token_bytes(32)
        self._sources: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    def id(self, text: str) -> str:
        if self._with_ids:
            return _printable(text)
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=4, key=self._key).hexdigest()

    def source(self, source: str) -> str:
        """Returns the integration's name, the last part of a partner's source.

        Two of the same name, or that may not be shown, are numbered.
        """
        if source and source not in self._sources:
            name = source.rpartition("/")[2]
            shown = _printable(name) if self._with_ids else harmless(name)
            self._sources[source] = self._numbered(shown)
        return self._sources.get(source, "")

    def files(self, names: list[str]) -> list[str]:
        shown, safe = Shown(self._with_ids), []
        for name in names:
            if not self._with_ids:
                parts = re.split(r"([/.])", name)
                name = "".join("*" if _LOOKS_LIKE_AN_ID.search(part) else part for part in parts)
            safe.append(shown._numbered(_printable(name)))
        return safe

    def _numbered(self, name: str) -> str:
        self._times[name] += 1
        times = self._times[name]
        return name if times == 1 else f"{name} {times}"


@lru_cache(maxsize=4096)
def harmless(name: str) -> str:
    """Returns a name without what looks like an id, a number or an address."""
    return ".".join("*" if _LOOKS_LIKE_DATA.search(word) else word for word in name.split("."))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
