"""Reads each record of a capture with the real enrichment, and keeps what the audit needs of it."""

import json
import re
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from once_enrichment import ignored, routes_file
from once_enrichment.batch import enrich
from once_enrichment.envelope import Opened, open_event
from once_enrichment.family import Order
from once_enrichment.keys import canonical
from once_enrichment.routes import Routes
from once_enrichment.times import maybe_ms

from once.audit.shown import harmless
from once.errors import OnceError
from once.lines import Found, Place, parse, would_write

Json = dict[str, Any]


class Fact(NamedTuple):
    """One event. Long or personal values are hashes; 0 stands for a missing one."""

    file: int
    line: int
    item: int
    received_ms: int
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
    fields: str
    """JSON of the fields of a state, each with a hash of its values; empty for all but states."""

    @property
    def place(self) -> Place:
        return Place(self.file, self.line, self.item)


class Broken(NamedTuple):
    """A record without an event that could be decided on."""

    found: Found
    reason: str
    detail: str


def received_ms(record: Json) -> int:
    """Returns when the queue or the log group took a record; 0 if it does not say so."""
    attributes = record.get("attributes")
    return maybe_ms(attributes.get("SentTimestamp")) or 0 if isinstance(attributes, dict) else 0


def read_event(found: Found, routes: Path | None) -> Fact | Broken:
    """Returns what a record says of its event; `routes` is the file that says what is ignored."""
    place, record = found
    (element,) = enrich([record], would_write, _read_routes(routes))
    if element["kind"] != "event":
        return Broken(found, element["reason"], element["detail"])
    opened = open_event(parse(found.text))
    key, policy, trace = element["key"], element["policy"], element["trace"]
    pk, family = key["pk"], element["family"]
    latest = f"latest {pk}\n{policy['latest']}" if "latest" in policy else None
    is_custom = opened.template is None
    is_state = policy["order"] == "changes" or (policy["windowMs"] and not is_custom)
    message = record["messageId"]
    return Fact(
        *place,
        received_ms=received_ms(record),
        published_ms=maybe_ms(element.get("publishedAt"))
        or maybe_ms(opened.envelope.get("time"))
        or 0,
        message=number(f"message {message}") if message != "-" else 0,
        family=harmless(family),
        topic=harmless(opened.template or opened.topic or element["topic"]),
        is_custom=is_custom,
        source=trace.get("source", ""),
        subject=" ".join(element["subject"].values()),
        subject_key=number(pk),
        key=number(f"{pk}\n{key['sk']}"),
        latest=number(latest) if latest else None,
        occurred_ms=element["occurredAtMs"],
        window_ms=policy["windowMs"],
        order=policy["order"],
        event_id=_number_of(trace.get("eventId")),
        envelope=_number_of(trace.get("envelopeId")),
        correlation=_number_of(trace.get("correlationId")),
        is_replay="replayName" in trace,
        ignored=element.get("route", {}).get("ignored", ""),
        expires_ms=element.get("expiresAtMs"),
        content=number(canonical([opened.topic, opened.body])),
        note=element.get("note", ""),
        fields=_hash_fields(family, opened) if is_state else "",
    )


# Participant attributes and the like are maps, whose keys are chosen by people.
_MAPS = {"attributes", "additionalProperties", "context", "customAttributes"}
_NAME = re.compile(r"(?!.*\d{3})[A-Za-z_][A-Za-z_0-9]{0,39}")


def fields_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the fields of a body as ignored.toml names them, each as often as it has a value."""
    if isinstance(value, list):
        for inner in value:
            yield from fields_of(inner, f"{path}.*" if path else "*")
    elif isinstance(value, dict) and path.rpartition(".")[2] not in _MAPS:
        for name, inner in value.items():
            shown = name if _NAME.fullmatch(name) else "*"
            yield from fields_of(inner, f"{path}.{shown}" if path else shown)
    elif value is not None:
        yield path, value


def _hash_fields(family: str, opened: Opened) -> str:
    values: dict[str, list[Any]] = {}
    for path, value in fields_of(ignored.without(family, opened.body)):
        values.setdefault(path, []).append(value)
    found = {path: number(canonical(listed)) for path, listed in sorted(values.items())}
    return json.dumps(found | {"(metadata)": number(canonical(opened.metadata))})


@cache
def _read_routes(file: Path | None) -> Routes | None:
    try:
        return routes_file.read(str(file), file.read_text("utf-8")) if file else None
    except routes_file.InvalidRoutesError as error:
        raise OnceError(f"{error}.") from None


def number(text: str) -> int:
    """Returns a hash of 64 bits; of a million texts two are alike in one of 10^7 runs."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def _number_of(text: str | None) -> int:
    return number(text) if text else 0
