"""Writes docs/families.md from the rows of families."""

from collections.abc import Iterator

from once_enrichment.envelope import SENT_WINDOW_MS, WHOLE_SECOND_WINDOW_MS, WINDOW_MS
from once_enrichment.families import FAMILIES, Family, family_name, slot_names
from once_enrichment.identity import IGNORED

from once.routes.fields import Shape, shapes


def page() -> str:
    """Returns docs/families.md."""
    head = ["| topic | about | key | order | why |", "|---|---|---|---|---|"]
    rows = [_row(*cells) for cells in (*map(_cells, FAMILIES), *_OTHERS)]
    return _PAGE.format(
        table="\n".join([*head, *rows]),
        left_out="\n".join(map(_left_out_row, _with_left_out())),
        ignored="\n".join(_row(f"`{name}`", _codes(paths)) for name, paths in IGNORED.items()),
        window=WINDOW_MS,
        whole=f"{WHOLE_SECOND_WINDOW_MS:,}",
        sent=f"{SENT_WINDOW_MS:,}",
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _codes(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _cells(family: Family) -> list[str]:
    kind, _, path = family.subject.partition(" ")
    names = {topic: family.slots or slot_names(topic) for topic in family.topics}
    firsts = sorted({slots[0] for slots in names.values() if slots and not path})
    about = f"{kind} `{path}`" if path else ", ".join(firsts)
    readers = {slot for slots in names.values() for slot in slots} - {f"{kind}Id", path, *firsts}
    each = "" if family.order == "none" else "each "
    key = [
        *(f"{each}{slot} of the topic" for slot in sorted(readers)),
        *(f"each `{name}`" for name in (*family.each.split(), *family.selection.split())),
        *(f"`{name}`" for name in family.ids.split()),
        *([f"time `{family.time}`"] if family.time else []),
    ]
    if family.is_whole or family.state:
        counted = _codes(family.state.split())
        key.append("hash of the whole body" if family.is_whole else f"hash of {counted}")
    topics = "<br>".join(f"`{topic}`" for topic in family.topics)
    return [topics, about, "<br>".join(key), family.order, family.why]


def _with_left_out() -> Iterator[tuple[str, list[str]]]:
    """Yields the fields of Genesys' own models that do not enter the key of a family."""
    for family in FAMILIES:
        for topic in family.topics if not family.is_whole else ():
            name = family_name(topic)
            slots = family.slots or slot_names(topic)
            paths = f"{family.subject.partition(' ')[2]} {family.each} {family.selection}"
            paths += f" {family.ids} {family.time} {family.state}"
            kept = [tuple(path.split(".")) for path in (*slots, *paths.split())]
            if name in shapes() and (fields := sorted(_outside(shapes()[name], kept, ()))):
                yield name, fields


def _left_out_row(entry: tuple[str, list[str]]) -> str:
    name, fields = entry
    return _row(f"`{name}`", _codes(fields))


def _outside(shape: Shape, kept: list[tuple[str, ...]], above: tuple[str, ...]) -> Iterator[str]:
    for name, node in shape.items():
        path = (*above, name)
        if isinstance(node, dict) and any(way[: len(path)] == path != way for way in kept):
            yield from _outside(node, kept, path)
        elif path not in kept:
            yield ".".join(path)


_OTHERS = (
    (
        "any other topic",
        "the first id in the topic, else `conversationId`, `userId`, `queueId` or the organisation",
        "ids in the topic<br>`id` and `version`, if both are present<br>time: the first field "
        "with a known name (`identity.py`)<br>hash of the whole body",
        "none",
        "Windowed if it has neither a time nor a version.",
    ),
    (
        "events of your own, with a status",
        "conversation, user or queue: `conversationId`, `conversation_id`, `interactionId`, …",
        "kind, status<br>hash of all fields but times, `eventId`, `id`, `correlationId` and "
        "`metadata`",
        "latest with a time",
        "Equal statuses within the window are one event, whatever their ids. The newest status is "
        "kept for all other fields together: two legs of a call never make one another stale.",
    ),
    (
        "events of your own, without a status",
        "the same",
        "kind<br>`eventId`, if there is one; else hash of all fields but `correlationId` and "
        "`metadata`",
        "none",
        "An event id alone is the identity, also if the event is published again with another "
        "time. Without an id and a time it is windowed.",
    ),
)


_PAGE = """\
<!-- Written by `make schemas` from functions/enrichment/once_enrichment/families.py. -->
# What counts as a copy

Two messages carry the same event if organisation, subject, family and the parts of the key are
equal. `once explain --event FILE` shows the key of any event, and `once explain` what was decided
about it.

- **about**: the subject. If no field is named, it is the first id in the topic's name.
- **key**: the parts that distinguish the events of a subject. A field that is absent, null or empty
  enters the key as absent, and lists are compared without their order. If an identity or a time is
  missing, the whole body is the identity, and the event's `note` says so. A hash of the whole body
  includes `metadata` without the correlation id.
- **time**: the field that says when the event occurred. It must change with every change. A family
  with a time is exact: the key alone decides. A family without a time is *windowed*, unless its
  order is *changes*: the same key within {window} ms is a copy ({whole} ms if the clock shows whole
  seconds, {sent} ms if only the queue dates the event).
- **order**:
  - *latest*: an event is STALE, and not acted on, if a newer event came first. If the family has no
    time, the time of publishing (`timestamp`) decides which is newer.
  - *changes*: the same; and a state is acted on only if its facts differ from those of the newest
    state, in the order of publishing (`timestamp`). Its facts are the whole body, or the `facts` of
    its [route](routes.md). Equal keys are copies if `timestamp` is equal too. An event without it
    is treated as windowed, with order *none*.
  - *none*: every event is acted on, early or late.

A part with *each* varies independently. With order *latest* or *changes*, events are compared only
with events that have the same value in it: a user's presence, for example, by its source.

A route with `facts` makes *latest* into *changes*, also for states of the family that another route
ignores: the same facts after such a state are a change. A route with `order = "every"` acts on
every change, also if a newer state has passed it: the time is then part of the key.

{table}

## What does not enter a key

In these families some fields of Genesys' own models are not in the key, because identity, time and
state distinguish the events already. The column *why* above has the reason for each.

| family | not in the key |
|---|---|
{left_out}

## What is ignored

[ignored.toml](../functions/enrichment/ignored.toml) lists fields that enter no hash of a whole
body. Add fields whose changes mean nothing to you, and deploy.

| family | fields |
|---|---|
{ignored}

## Adding a family

Add a row to [families.py](../functions/enrichment/once_enrichment/families.py), with the reason for
its key, and an example to schemas/examples.jsonl:

```python
Family(
    topics=("v2.desks.{{id}}.seat",),
    why="The person at a desk; the event has no time, and persons return.",
    order="changes",
    shown="userId",
)
```

[CONTRIBUTING.md](../CONTRIBUTING.md#typical-changes) has the other steps.

## In a function of your own

The same identity is a library: `identify` in
[library.py](../functions/enrichment/once_enrichment/library.py) returns key, family, subject,
order, facts and window of an event. Put the folder `functions/enrichment` beside your code; it
needs no other package. With the idempotency of Powertools for AWS Lambda, for example, a function
acts once on each event and each state:

```python
import os
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from once_enrichment.library import identify

STORE = DynamoDBPersistenceLayer(table_name=os.environ["TABLE"])
CONFIG = IdempotencyConfig(expires_after_seconds=30 * 86_400)


@idempotent_function(data_keyword_argument="occurrence", persistence_store=STORE, config=CONFIG)
def act(event: dict[str, Any], occurrence: str) -> None:
    ...  # what must happen once


def handler(event: dict[str, Any], context: Any) -> None:
    CONFIG.register_lambda_context(context)
    act(event=event, occurrence=identify(event).occurrence)
```

This skips copies only, because such a store knows only keys. An unchanged state that is published
at another time is acted on again: skip it if `facts` equal those that you acted on last in the same
`series`. An older state may follow a newer one: compare `occurred_at_ms` within the `series`. Each
repeat of a windowed event within those 30 days counts as a copy. The state machine of this project
compares all of these.
"""
