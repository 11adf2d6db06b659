"""Breaks events in every way that could be thought of and holds the enrichment to its promises.

Run: python -m tests.enrichment.fuzz [--messages N] [--seed N].
"""

import argparse
import copy
import itertools
import json
import platform
import re
import time
from collections import Counter
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from once_enrichment.batch import enrich
from once_enrichment.elements import Element
from pydantic import TypeAdapter

from tests.enrichment import sdk
from tests.enrichment.examples import presence, snapshot
from tests.enrichment.sending import element
from tests.enrichment.test_custom_events import SHAPES
from tests.enrichment.topic_models import MODELS

MESSAGES = 200_000
_CONTRACT: TypeAdapter[Any] = TypeAdapter(Element)

ODD_TEXT = (
    *("", " ", "/", "~", "%", "null", "NaN", "Infinity", "{id}", "v2.", "v2.users.{id}.presence"),
    *(
        "\u0000",
        "\u2028",
        "ÄÖ",
        "\ufffe\uffff",
        "\U0001f512",
        "e\u0301",
        "x" * 2000,
        "1741770000",
        "2025-03-12",
    ),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "channel.metadata", "event", "-1", "1e999"),
)
ODD: tuple[Any, ...] = (
    *ODD_TEXT,
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        1.5,
        1e300,
        10**17,
        10**18,
        10**30,
        -(2**63),
        2**63,
        1741770000,
        1741770000123,
    ),
    *([], {}, [[]], [None], {"id": None}, {"id": "x"}, [{"id": {}}], {"": ""}),
)
NAMES = (
    *("id", "eventBody", "detail", "topicName", "timestamp", "eventTime", "source", "metadata"),
    *(
        "participants",
        "version",
        "state",
        "kind",
        "key",
        "body",
        "userId",
        "time",
        "organizationId",
    ),
)
NUMBERS = ("1e999", "-1.5E+400", "1e15", "9" * 309 + ".5", "9" * 5000, "1E-7", "0.1", "1e5 ")
_A_NUMBER = re.compile(r"(?<=[:\[, ])-?[0-9]+")
LARGE = ("x" * 150_000, "\u00e4" * 40_000, "\u0001" * 90_000)
STEPS = ("replace", "delete", "rename", "add", "nest", "listed", "repeat")


@cache
def _bases() -> tuple[str, ...]:
    events = [sdk.event(topic, seed) for topic in MODELS for seed in (1, 2)]
    heartbeat = {"topicName": "channel.metadata", "eventBody": {"message": "WebSocket Heartbeat"}}
    others = [*SHAPES, snapshot(), heartbeat, element(presence()), element(snapshot())]
    return tuple(map(json.dumps, [*events, *others * 4]))


mutations = st.tuples(
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.sampled_from(STEPS),
    st.sampled_from(ODD) | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(NAMES) | st.text(max_size=4),
)
damages = st.tuples(
    st.sampled_from(["cut", "insert", "remove", "swap", "quote", "wrap", "number", "escape"]),
    st.integers(0, 3000),
    st.integers(1, 30),
    st.text(max_size=6)
    | st.sampled_from(["NaN", "\\ud800", "[" * 300, "{", '"', "1e999", "\ufeff"]),
)


def _mutate(value: Any, mutation: Any) -> None:
    """Walks down to one place and changes it there."""
    path, step, odd, name = copy.deepcopy(mutation)  # what is put in twice must not be one
    parent: Any = value
    for at in path[:-1]:
        inner = _children(parent)
        if not inner:
            break
        below = inner[at % len(inner)][1]
        if not isinstance(below, dict | list) or not below:
            break
        parent = below
    children = _children(parent)
    if not children:
        return
    key, child = children[path[-1] % len(children)]
    if step == "delete":
        del parent[key]
    elif step == "rename" and isinstance(parent, dict):
        parent[name] = parent.pop(key)
    elif step == "add" and isinstance(parent, dict):
        parent[name] = odd
    elif step == "nest":
        parent[key] = {name: child}
    elif step == "listed":
        parent[key] = [child, odd]
    elif step == "repeat":
        parent[key] = json.dumps(child)
    else:
        parent[key] = odd


def _children(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, list) else []


def _damage(text: str, damage: Any) -> str:
    how, at, length, inserted = damage
    at %= len(text) + 1
    before, middle, after = text[:at], text[at : at + length], text[at + length :]
    return {
        "cut": before,
        "insert": before + inserted + middle + after,
        "remove": before + after,
        "swap": before + inserted + after,
        "quote": json.dumps(text),
        "wrap": json.dumps({"body": text}),
        "number": _A_NUMBER.sub(NUMBERS[at % len(NUMBERS)], text, count=1 + length % 3),
        "escape": text.replace("e", "\\u0065") if length % 2 else text.replace("e", "\\\\u0065"),
    }[how]


@st.composite
def records(draw: st.DrawFn) -> Any:
    """An SQS record with a broken event in it."""
    event = json.loads(draw(st.sampled_from(_bases())))
    for mutation in draw(st.lists(mutations, max_size=4)):
        _mutate(event, mutation)
    if draw(st.integers(0, 80)) == 0:
        _mutate(event, ([8, 2, 0], "add", draw(st.sampled_from(LARGE)), "grown"))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", " :\t")]))
    body: Any = json.dumps(event, ensure_ascii=draw(st.booleans()), separators=separators)
    for damage in draw(st.lists(damages, max_size=draw(st.sampled_from([0, 0, 0, 2])))):
        body = _damage(body, damage)
    if draw(st.integers(0, 30)) == 0:
        body = draw(st.sampled_from([event, *ODD]))
    sent = draw(st.sampled_from(["1741777200000", "1741777200000", "0", "soon", 5, None]))
    attributes = draw(st.sampled_from([{"SentTimestamp": sent}] * 3 + [{}, None]))
    return {"messageId": str(draw(st.uuids())), "body": body, "attributes": attributes}


# A batch may hold the same message twice, and copies under other ids.
batches = st.lists(records(), min_size=1, max_size=3).flatmap(
    lambda some: st.lists(st.sampled_from(some), max_size=2).map(
        lambda more: [*some, *({**one, "messageId": f"{one['messageId']}-copy"} for one in more)]
    )
)


def hold(batch: list[Any]) -> list[str]:
    """Fails where the enrichment breaks a promise; answers the kinds of its elements."""
    written: dict[str, bytes] = {}

    def write(key: str, content: bytes) -> dict[str, str]:
        written[key] = content
        return {"bucket": "overflow", "key": key}

    answer = enrich(batch, write)
    assert [one["messageId"] for one in answer] == [*dict.fromkeys(m["messageId"] for m in batch)]
    text = json.dumps(answer, allow_nan=False, ensure_ascii=False).encode()
    assert len(text) < 262_144
    assert not set("\ufffe\uffff") & set(text.decode()), "SQS takes them in no parked message"
    assert json.dumps(enrich(batch, write), ensure_ascii=False).encode() == text
    for one in answer:
        _CONTRACT.validate_python(one)
        assert one["kind"] in ("event", "copy", "parked")
        assert one.get("reason") != "UNEXPECTED", one
        if one["kind"] == "event":
            assert len(one["key"]["pk"].encode()) <= 2048
            assert len(one["key"]["sk"].encode()) <= 1024
            assert len(one["policy"].get("latest", "").encode()) <= 1024
    return [_named(one) for one in answer]


def _named(one: dict[str, Any]) -> str:
    is_moved = "bodyRef" in one or "rawRef" in one
    return " ".join(filter(None, [one["kind"], one.get("reason"), "in the bucket" * is_moved]))


def fuzz(messages: int, first_seed: int) -> Counter[str]:
    """At least so many messages; how often each kind of element came out."""
    kinds: Counter[str] = Counter()

    def run(batch: list[Any]) -> None:
        kinds.update(hold(batch))

    run_some = settings(
        max_examples=500,  # what hypothesis remembers of a run would fill the memory
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )(given(batches)(run))
    for next_seed in itertools.count(first_seed):
        if kinds.total() >= messages:
            break
        seed(next_seed)(run_some)()
    return kinds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    start = time.monotonic()
    kinds = fuzz(chosen.messages, chosen.seed)
    result = {
        "seed": chosen.seed,
        "messages": kinds.total(),
        "elements": dict(kinds.most_common()),
        "seconds": round(time.monotonic() - start),
        "python": platform.python_version(),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
