"""Traffic with bodies as Genesys sends them: the deployed enrichment finds their keys and order."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from once_enrichment.handler import normalise

from proof.asl.jsonata import iso
from proof.events import enveloped
from proof.sim.events import START_MS, Event, Message, own_envelope, record, routes_of

_BASE_MS = START_MS - 90_000
_SOURCE = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a/events"
# Milliseconds after the start, copies, and the event that they carry.
Made = Iterator[tuple[int, int, Event]]
Maker = Callable[[random.Random], Made]
Body = Callable[[int, int], dict[str, Any]]  # by the event's number and its time


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _uuid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _derived(name: str, body: str, **more: Any) -> Event:
    """Returns an event with the keys and the order that the enrichment finds."""
    event = Event(name, body=body, **more)
    element = normalise(record(Message("m", name, body, START_MS, 0)), routes_of(event))
    pk, policy = element["key"]["pk"], element["policy"]
    return replace(
        event,
        at_ms=element["occurredAtMs"],
        state=element.get("facts") or element["key"]["sk"],
        order=policy["order"],
        window_ms=policy["windowMs"],
        keys=((pk, element["key"]["sk"]), (pk, policy.get("latest", ""))),
    )


def _topic(name: str, topic: str, count: int, gaps_ms: tuple[int, ...], body: Body) -> Maker:
    def make(rng: random.Random) -> Made:
        gap_ms = rng.choice(gaps_ms)
        for n in range(count):
            at_ms = _BASE_MS + n * gap_ms
            new_id = iter(_uuid(f"{name}{n} {part}") for part in range(9)).__next__
            envelope = enveloped(topic, _id(3), body(n, at_ms), at_ms, _SOURCE, new_id)
            event = _derived(f"{name}{n}", json.dumps(envelope))
            yield n * rng.choice([0, gap_ms]), rng.choice([1, 1, 2]), event

    return make


def _start(n: int, at_ms: int) -> dict[str, Any]:
    ids = {"participantId": _id(50 + n), "sessionId": _id(7), "queueId": _id(9)}
    return {"eventTime": at_ms, "conversationId": _id(3), "mediaType": "VOICE", **ids}


def _status(n: int, at_ms: int) -> dict[str, Any]:
    status = {"status": ("IDLE", "INTERACTING")[n % 2], "startTime": iso(at_ms)}
    return {"id": _id(3), "routingStatus": {"userId": _id(3), **status}}


def _station(n: int, _: int) -> dict[str, Any]:
    return {"associatedStation": {"id": _id((50, 50, 51, 50, 51, 51)[n])}}


def _changes(rng: random.Random) -> Made:
    """Stations; some are unwanted, or wanted at every change."""
    kinds = rng.choice([("plain",), ("plain", "every"), ("plain", "plain", "unwanted")])
    make = _topic("station", "v2.users.{id}.station", 6, (300, 1_100, 5_000, 20_000), _station)
    for after_ms, copies, event in make(rng):
        match rng.choice(kinds):
            case "every":
                event = _derived(event.name, event.body, order="every")
            case "unwanted":
                event = _derived(event.name, event.body, wanted=False)
        yield after_ms, copies, event


def _own(rng: random.Random) -> Made:
    """Events of one's own, whose copies differ in their ids and times."""
    for n in range(3):
        for copy in range(rng.choice([1, 2])):
            at_ms = _BASE_MS + n * 5_000 + copy * rng.choice([0, 200])
            detail = {"conversationId": _id(5), "status": ("on", "off")[n % 2]}
            body = own_envelope(_uuid(f"own{n}.{copy}"), at_ms, detail)
            event = _derived(f"own{n}.{copy}", body)
            yield 0, 1, replace(event, name_of_copy=f"own{n}")


def _broken(_: random.Random) -> Made:
    yield 0, 1, replace(_derived("broken0", "no JSON"), temper="broken")


_ACD = "v2.detail.events.conversation.{id}.acd.start"
_ROUTING = "v2.users.{id}.routingStatus"
MAKERS: dict[str, Maker] = {
    "real discrete": _topic("acd", _ACD, 3, (3_000,), _start),
    "real latest": _topic("status", _ROUTING, 4, (300, 900, 4_000), _status),
    "real changes": _changes,
    "real own": _own,
    "real broken": _broken,
}
