"""Reads each record of a capture with the real enrichment, and keeps what the audit needs of it."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, cast

from once_enrichment.envelope import Opened, maybe_ms, open_event, parse
from once_enrichment.handler import normalise
from once_enrichment.identity import without_ignored
from once_enrichment.keys import canonical
from once_enrichment.routes import Routes

from once.audit.shown import harmless
from once.lines import Captured, Place
from once.model.rule import Event

Order = Literal["none", "latest", "changes", "every"]


class Entry(NamedTuple):
    """One event. Long or personal values are hashes; 0 stands for a missing one."""

    file: int
    line: int
    item: int
    arrived_ms: int
    """The time at which the queue or the log group took it; 0 if the capture has none."""
    published_ms: int
    message: int
    family: str
    topic: str
    """The topic's template; of a home-made event its detail-type."""
    is_custom: bool
    source: str
    """In clear, as the next one is: the audit replaces both before it keeps them."""
    subject: str
    subject_key: int
    key: int
    latest: int | None
    occurred_ms: int
    window_ms: int
    order: Order
    event_id: int
    envelope: int
    correlation: int
    is_replay: bool
    ignored: str
    expires_ms: int | None
    content: int
    """Topic and body, which copies share."""
    note: str
    route: str
    """JSON of the facts of its route."""
    facts: int
    fields: str
    """JSON of the fields of a state, each with a hash of its values; empty for all but states."""

    @property
    def place(self) -> Place:
        return Place(self.file, self.line, self.item)

    @property
    def route_facts(self) -> list[str]:
        return cast(list[str], json.loads(self.route))

    def read_fields(self) -> dict[str, int]:
        return cast(dict[str, int], json.loads(self.fields))

    def make_event(self) -> Event:
        """Returns what the claim rule reads."""
        return Event(
            self.message,
            self.key,
            self.latest,
            self.occurred_ms,
            self.window_ms,
            self.order,
            self.event_id,
            self.facts,
            self.ignored,
            self.expires_ms,
        )

    def make_event_with(self, facts: Collection[str]) -> Event:
        """Returns the same as if its route had these facts; without any, the whole body counts."""
        event = self.make_event()
        if self.order not in ("latest", "changes") or not self.fields:
            return event
        fields = self.read_fields()
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


def read_entry(captured: Captured, routes: Routes | None) -> Entry | Broken:
    """Returns what a record says of its event, and what these routes make of it."""
    element = normalise(captured.record, routes)
    if "broken" in element:
        code, _, sentence = element["detail"].partition(": ")
        return Broken(captured.place, captured.arrived_ms, code, sentence)
    opened = open_event(parse(element["raw"]))
    key, policy, trace = element["key"], element["policy"], element["trace"]
    pk, route = key["pk"], element.get("route", {})
    is_custom = opened.template is None
    facts = next((r.facts for r in routes.routes if r.name == route["name"]), ()) if routes else ()
    return Entry(
        *captured.place,
        arrived_ms=captured.arrived_ms,
        published_ms=maybe_ms(element.get("publishedAt"))
        or maybe_ms(opened.envelope.get("time"))
        or 0,
        message=number(f"message {captured.record['messageId']}"),
        family=harmless(element["family"]),
        topic=harmless(opened.template or opened.topic or element["topic"]),
        is_custom=is_custom,
        source=trace.get("source", ""),
        subject=" ".join(element["subject"].values()),
        subject_key=number(pk),
        key=number(f"{pk}\n{key['sk']}"),
        latest=number(f"latest {pk}\n{policy['latest']}") if "latest" in policy else None,
        occurred_ms=element["occurredAtMs"],
        window_ms=policy["windowMs"],
        order=policy["order"],
        event_id=_number_of(trace.get("eventId")),
        envelope=_number_of(trace.get("envelopeId")),
        correlation=_number_of(trace.get("correlationId")),
        is_replay="replayName" in trace,
        ignored=route.get("ignored", ""),
        expires_ms=element.get("expiresAtMs"),
        content=number(canonical([opened.topic, opened.body])),
        note=element.get("note", ""),
        route=json.dumps(facts),
        facts=_number_of(element.get("facts")),
        fields=_hash_fields(element["family"], opened) if "latest" in policy else "",
    )


# Participant attributes and the like are maps, whose keys are chosen by people.
_MAPS = {"attributes", "additionalProperties", "context", "customAttributes"}
_NAME = re.compile(r"(?!.*\d{3})[A-Za-z_][A-Za-z_0-9]{0,39}")


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


def _hash_fields(family: str, opened: Opened) -> str:
    body: Mapping[str, Any] = without_ignored(family, opened.body)
    values: dict[str, list[str]] = {}
    for path, value in fields_of({**body, "metadata": opened.metadata}):
        values.setdefault(path, []).append(canonical(value))
    return json.dumps({path: number("\n".join(sorted(v))) for path, v in sorted(values.items())})


def number(text: str) -> int:
    """Returns a hash of 64 bits; of a million texts two are alike in one of 10^7 runs."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _number_of(text: str | None) -> int:
    return number(text) if text else 0
