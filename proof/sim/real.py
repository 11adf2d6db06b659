"""Traffic with bodies as Genesys sends them: the deployed enrichment finds their keys and order."""

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from once_enrichment.normalise import normalise

from proof.asl.jsonata import iso
from proof.events import enveloped
from proof.sim.events import START_MS, Event, Message, record, routes_of

_BASE_MS = START_MS - 90_000
_SOURCE = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a/events"
# A copy's number, the event, and when its first message arrives.
Made = Iterator[tuple[int, int, Event]]


def _id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def _event(name: str, topic: str, number: int, body: dict[str, Any], at_ms: int) -> Event:
    envelope = enveloped(topic, _id(number), body, at_ms, _SOURCE, lambda: _named(name))
    return _derived(name, json.dumps(envelope))


def _named(name: str) -> str:
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


def _discrete(rng: random.Random) -> Made:
    for n in range(3):
        at_ms = _BASE_MS + 3_000 * n
        body = {
            "eventTime": at_ms,
            "conversationId": _id(1),
            "participantId": _id(50 + n),
            "sessionId": _id(7),
            "mediaType": "VOICE",
            "queueId": _id(9),
        }
        topic = "v2.detail.events.conversation.{id}.acd.start"
        yield 0, rng.choice([1, 2, 3]), _event(f"acd{n}", topic, 1, body, at_ms)


def _latest(rng: random.Random) -> Made:
    gap_ms = rng.choice([300, 900, 4_000])
    for n in range(4):
        at_ms = _BASE_MS + n * gap_ms
        status = {
            "userId": _id(3),
            "status": ("IDLE", "INTERACTING")[n % 2],
            "startTime": iso(at_ms),
        }
        body = {"id": _id(3), "routingStatus": status}
        event = _event(f"status{n}", "v2.users.{id}.routingStatus", 3, body, at_ms)
        yield n * rng.choice([0, gap_ms]), rng.choice([1, 1, 2]), event


def _changes(rng: random.Random) -> Made:
    gap_ms = rng.choice([300, 1_100, 5_000, 20_000])
    kinds = rng.choice([("plain",), ("plain", "every"), ("plain", "plain", "unwanted")])
    for n in range(6):
        at_ms = _BASE_MS + n * gap_ms
        body = {"associatedStation": {"id": _id(50 + rng.choice([0, 0, 1]))}}
        made = _event(f"station{n}", "v2.users.{id}.station", 4, body, at_ms)
        match rng.choice(kinds):
            case "every":
                made = _derived(made.name, made.body, order="every")
            case "unwanted":
                made = _derived(made.name, made.body, wanted=False)
        yield n * rng.choice([0, gap_ms, gap_ms]), rng.choice([1, 1, 2]), made


def _own(rng: random.Random) -> Made:
    for n in range(3):
        for copy in range(rng.choice([1, 2])):
            at_ms = _BASE_MS + n * 5_000 + copy * rng.choice([0, 200])
            detail = {
                "conversationId": _id(5),
                "status": ("on", "off")[n % 2],
                "timestamp": iso(at_ms),
            }
            envelope = {
                "version": "0",
                "id": _named(f"own{n}.{copy}"),
                "detail-type": "Conversation Status Change",
                "source": "my.app",
                "time": f"{iso(at_ms)[:19]}Z",
                "account": "1",
                "region": "eu-central-1",
                "resources": [],
                "detail": detail,
            }
            event = _derived(f"own{n}.{copy}", json.dumps(envelope))
            yield 0, 1, replace(event, name_of_copy=f"own{n}")


def _broken(_: random.Random) -> Made:
    yield 0, 1, replace(_derived("broken0", "no JSON"), temper="broken")


MAKERS: dict[str, Callable[[random.Random], Made]] = {
    "real discrete": _discrete,
    "real latest": _latest,
    "real changes": _changes,
    "real own": _own,
    "real broken": _broken,
}
