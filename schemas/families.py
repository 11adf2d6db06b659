"""Writes the declared families as the table of docs/families.md."""

from collections.abc import Iterator

from once_enrichment.families import FAMILIES
from once_enrichment.family import Family, Role, is_whole, places, with_role
from once_enrichment.ignored import IGNORED
from once_enrichment.times import SENT_WINDOW_MS, WHOLE_SECOND_WINDOW_MS, WINDOW_MS
from once_enrichment.topics import family_name, slot_names

from once.routes.fields import Shape, shapes


def name_of(family: type[Family]) -> str:
    """Returns the name of a declaration: that of its first topic's family."""
    return family_name(family.topics[0])


def table() -> str:
    """Returns docs/families.md."""
    head = ["| topic | about | key | order | why |", "|---|---|---|---|---|"]
    rows = [row_of(*cells) for cells in (*map(_cells, FAMILIES), *_OTHERS)]
    return _PAGE.format(
        table="\n".join([*head, *rows]),
        left_out="\n".join(
            f"| `{name_of(family)}` | {', '.join(f'`{field}`' for field in fields)} |"
            for family in FAMILIES
            if not is_whole(family) and (fields := _left_out(family))
        ),
        ignored="\n".join(
            f"| `{family}` | {', '.join(f'`{path}`' for path in paths)} |"
            for family, paths in IGNORED.items()
        ),
        window=WINDOW_MS,
        whole=f"{WHOLE_SECOND_WINDOW_MS:,}",
        sent=f"{SENT_WINDOW_MS:,}",
    )


def row_of(*cells: str) -> str:
    """Returns a row of a table; an empty cell has one space."""
    return "| " + "".join(f"{cell} | " if cell else "| " for cell in cells).rstrip()


def _cells(family: type[Family]) -> list[str]:
    declared = [place.name for place in with_role(family, Role.SUBJECT)]
    subjects = {
        (family.slots or slot_names(topic))[0] if "{id}" in topic else "" for topic in family.topics
    }
    about = f"{family.subject} `{declared[0]}`" if declared else ", ".join(sorted(subjects))
    readers = {
        slot
        for topic in family.topics
        for slot in (family.slots or slot_names(topic))
        if slot not in (f"{family.subject}Id", *declared, *(subjects if not declared else ()))
    }
    hashed = ", ".join(f"`{place.name}`" for place in with_role(family, Role.CONTENT))
    each = "" if family.order == "none" else "each "
    key = [
        *(f"{each}{slot} of the topic" for slot in sorted(readers)),
        *(f"{each}`{place.name}`" for place in with_role(family, Role.SLOT)),
        *(f"`{place.name}`" for place in with_role(family, Role.IDENTITY)),
        *(f"time `{place.name}`" for place in with_role(family, Role.TIME)),
        *(f"state `{place.name}`" for place in with_role(family, Role.STATE)),
        *(["hash of the whole body"] if is_whole(family) else []),
        *([f"hash of {hashed}"] if hashed and not is_whole(family) else []),
    ]
    return [
        "<br>".join(f"`{topic}`" for topic in family.topics),
        about,
        "<br>".join(key),
        family.order,
        " ".join(str(family.__doc__).split()),
    ]


def _left_out(family: type[Family]) -> list[str]:
    """Returns the fields of Genesys' own models that do not enter the key of an exact family."""
    slots = [(slot,) for topic in family.topics for slot in (family.slots or slot_names(topic))]
    kept = [*slots, *(place.path for place in places(family))]
    names = {*map(family_name, family.topics)} & shapes().keys()
    return sorted({field for name in names for field in _outside(shapes()[name], kept, ())})


def _outside(shape: Shape, kept: list[tuple[str, ...]], above: tuple[str, ...]) -> Iterator[str]:
    for name, node in shape.items():
        path = (*above, name)
        if isinstance(node, dict) and any(one[: len(path)] == path != one for one in kept):
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
        "events of your own, without a Genesys topic",
        "conversation, user or queue: `conversationId`, `conversation_id`, `interactionId`, …",
        "kind, status, known ids<br>hash of all other fields but `correlationId`, `metadata`, "
        "`version`, `source`<br>without a status: its own id and time as well",
        "latest with a status and a time",
        "Equal statuses within the window are one event, whatever their ids. Each other id varies "
        "independently.",
    ),
)


_PAGE = """\
<!-- Written by `make schemas` from functions/enrichment/once_enrichment/families.py. -->
# What counts as a copy

Two messages carry the same event if organisation, subject, family and the parts of the key are
equal. `once explain` shows the key of an event, and what was decided about it.

- **about**: the subject. If no field is named, it is the first id in the topic's name.
- **key**: the parts that distinguish the events of a subject. *State* is readable, content is
  hashed. A field that is absent or null enters the key as absent. If an identity or a time is
  missing, or a field has another type than declared, the whole body is the identity, and the
  event's `note` says so. A hash of the whole body includes `metadata` without the correlation id.
- **time**: the field that says when the event occurred. It must change with every change. A family
  with a time is exact: the key alone decides. A family without a time is *windowed*: the same key
  within {window} ms is a copy ({whole} ms if the clock shows whole seconds, {sent} ms if only the
  queue dates the event).
- **order**:
  - *latest*: an event is STALE, and not acted on, if a newer one came first. If the family has no
    time, the time of publishing (`timestamp`) decides which is newer.
  - *changes*: the same; and a state is acted on only if it differs from the newest settled one, in
    the order of publishing (`timestamp`). An event without `timestamp` is treated as windowed, with
    order *none*.
  - *none*: every event is acted on, early or late.

A part with *each* varies independently. With order *latest* or *changes*, events are compared only
with events that have the same value in it: a user's presence, for example, by its source.

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

Add one model to [families.py](../functions/enrichment/once_enrichment/families.py). Its docstring
gives the reason for the key:

```python
class Seat(Family):
    \"\"\"The person at a desk; the event has no time, and persons return.\"\"\"

    topics = ("v2.desks.{{id}}.seat",)
    order = "changes"
    shown = "userId"
```

[CONTRIBUTING.md](../CONTRIBUTING.md#typical-changes) has the other steps.

## In a function of your own

The same identity is a library: `identify` in
[library.py](../functions/enrichment/once_enrichment/library.py) returns key, family, subject, order
and window of an event. Put the folder `functions/enrichment` beside your code and install its
`requirements.txt`. With the idempotency of Powertools for AWS Lambda, for example, a function
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

This skips copies only. An unchanged state that is published at another time is acted on again, and
an older state may follow a newer one. Each repeat of a windowed event within those 30 days counts
as a copy. The state machine of this project compares these too.
"""
