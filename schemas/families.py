"""What the declared families rely on, as schemas and as the table of docs/families.md."""

import re
from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any

from enrichment.families import FAMILIES, Family
from enrichment.snapshots import Snapshot
from enrichment.times import SENT_WINDOW_MS, WHOLE_SECOND_WINDOW_MS, WINDOW_MS
from enrichment.topics import family_name
from pydantic import TypeAdapter

Schema = dict[str, Any]


def name_of(family: Family) -> str:
    """A declaration goes by the name of its first topic's family."""
    return family_name(family.topics[0])


def inputs() -> dict[str, Schema]:
    """What each declaration relies on in the body of an event."""
    return {name_of(family): _input(family) for family in FAMILIES}


def required_of(family: Family) -> list[str]:
    """The fields without which an event is not told apart as declared."""
    paths = [family.subject[1], *family.identity, *([family.time] if family.time else [])]
    return [path for path in paths if path.replace(".id", "Id") not in family.slots]


@cache
def _schema_of(body: type) -> Schema:
    """Making it takes long, and many families share a body."""
    return TypeAdapter(body).json_schema()


def _input(family: Family) -> Schema:
    schema = deepcopy(_schema_of(family.body))
    renamed = {name: name.lstrip("_") for name in schema.get("$defs", {})}
    schema = _with_refs(schema, renamed)
    parts = {renamed[name]: part for name, part in schema.pop("$defs", {}).items()}
    roles = _roles(family)
    relied_on = {path.partition(".")[0] for path in roles}
    properties = {field: part for field, part in schema["properties"].items() if field in relied_on}
    _describe(properties, "", [_STATE], roles, parts)
    properties = _plain(properties)
    required: list[str] = []
    for path in required_of(family):
        field, _, inner = path.partition(".")
        required.append(field)
        if inner:
            parts[properties[field]["$ref"].rpartition("/")[2]]["required"] = [inner]
    made: Schema = {
        "title": f"Body of {name_of(family)}",
        "description": _about(family),
        "type": "object",
        "properties": properties,
    }
    if required:
        made["required"] = list(dict.fromkeys(required))
    used = _used(properties, parts)
    if used:
        made["$defs"] = {name: _plain(parts[name]) for name in sorted(used)}
    return made


def _about(family: Family) -> str:
    text = (
        "What is relied on in `eventBody`; all else passes untouched. An event that lacks a "
        "required field is still taken: the whole body identifies it then, and its note says so."
        if required_of(family)
        else "What is relied on in `eventBody`; all else passes untouched."
    )
    if family.whole:
        text += " Every field counts as state, so a change of any of them is another event."
    return f"{text} Topics: {', '.join(family.topics)}."


_STATE = "State, with all else in the body: another value is another event"


def _roles(family: Family) -> dict[str, list[str]]:
    """What is read at each path, and what for."""
    roles: dict[str, list[str]] = {}

    def add(paths: Iterable[str], role: str) -> None:
        for path in filter(None, paths):
            roles.setdefault(path, []).append(role)

    add([family.subject[1]], "What the event is about")
    add(family.identity, "Part of the identity")
    add([family.time], "When it happened")
    add(family.times, "When it happened; the latest one that is there counts")
    add(family.state, "State: another value is another event")
    add(family.content, "State, hashed: another content is another event")
    add(family.latest_by, "Only where it is equal does a later event make an earlier one stale")
    return roles


def _describe(
    fields: dict[str, Schema],
    above: str,
    inherited: list[str],
    roles: dict[str, list[str]],
    parts: dict[str, Schema],
) -> None:
    """Says of each field what it is read for: by itself, for what it holds, or for its holder."""
    for name, field in fields.items():
        path = f"{above}{name}"
        held = [inner.removeprefix(f"{path}.") for inner in roles if inner.startswith(f"{path}.")]
        own = roles.get(path, inherited)
        field["description"] = f"Holds {', '.join(held)}." if held else ". ".join(own) + "."
        for part in re.findall(r"#/\$defs/(\w+)", str(field)):
            _describe(parts[part]["properties"], f"{path}.", own, roles, parts)


def _with_refs(schema: Any, renamed: dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_with_refs(part, renamed) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _with_refs(part, renamed) for name, part in schema.items()}
    if isinstance(made.get("$ref"), str):
        stem, _, name = made["$ref"].rpartition("/")
        made["$ref"] = f"{stem}/{renamed[name]}"
    return made


def _plain(schema: Any) -> Any:
    """Without the titles that are made of the names; a field of that name stays."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: _plain(v) for k, v in schema.items() if k != "title" or not isinstance(v, str)}


def _used(schema: Any, parts: dict[str, Schema]) -> set[str]:
    found: set[str] = set()
    todo = [schema]
    while todo:
        for name in re.findall(r"#/\$defs/(\w+)", str(todo.pop())):
            if name not in found:
                found.add(name)
                todo.append(parts[name])
    return found


def table() -> str:
    """docs/families.md"""
    rows = [_row(family) for family in FAMILIES]
    head = "| topic | subject | identity | time | window | order | latest by |"
    return _PAGE.format(
        table="\n".join([head, "|---|---|---|---|---|---|---|", *rows, *map(_line, _OTHERS)]),
        window=WINDOW_MS,
        whole=f"{WHOLE_SECOND_WINDOW_MS:,}",
        sent=f"{SENT_WINDOW_MS:,}",
    )


def _row(family: Family) -> str:
    fields = ", ".join(f"`{path}`" for path in family.identity)
    states = ", ".join(f"`{path}`" for path in family.state)
    hashed = "the whole body" if family.whole else ", ".join(f"`{p}`" for p in family.content)
    identity = [fields, states and f"state {states}", hashed and f"hash of {hashed}"]
    if family.body is Snapshot:
        identity[-1] = "hash of what means state in `participants`, `recordingState`, `securePause`"
    windowed = "windowed"
    if family.time:
        time, window = f"`{family.time}`", "0"
    elif family.times:
        time = "latest of " + ", ".join(f"`{path}`" for path in family.times)
        window = f"0; {windowed} without any"
    elif family.timed:
        time, window = f"those in `{family.timed}`", f"0; {windowed} without any"
    else:
        time, window = "", windowed
    paths = ", ".join(f"`{path}`" for path in family.latest_by)
    latest_by = paths or ("subject" if family.latest else "")
    cells = [
        "<br>".join(f"`{topic}`" for topic in family.topics),
        f"{family.subject[0]} `{family.subject[1]}`",
        "<br>".join(filter(None, identity)),
        time,
        window,
        "latest" if family.latest else "none",
        latest_by,
    ]
    return _line(cells)


def _line(cells: Iterable[str]) -> str:
    return "| " + "".join(f"{cell} | " if cell else "| " for cell in cells).rstrip()


_OTHERS = (
    (
        "any other topic",
        "the first id in the topic, else `conversationId`, `userId`, `queueId` or the organisation",
        "ids in the topic<br>`id` and `version`, where both are there<br>hash of the whole body",
        "the first field with a known name (`identity.py`)",
        "0; windowed without any",
        "none; latest if windowed",
        "ids of the body",
    ),
    (
        "events of your own, without a Genesys topic",
        "conversation, user or queue: `conversationId`, `conversation_id`, `interactionId`, …",
        "`status`, `state`, type<br>other ids",
        "",
        "windowed",
        "latest",
        "other ids",
    ),
)


_PAGE = """\
<!-- Written by `make schemas` from functions/enrichment/enrichment/families.py. -->
# What counts as a copy

Two messages carry the same event when organisation, subject, family, identity and time are the
same. `once normalise` shows the key of any event, and `once explain` what was decided about it.

- **identity**: fields of the body. *State* is what the event says: another value is another event.
  A missing part is never guessed: the whole body identifies the event then, and its `note` says so.
- **time**: when it happened. It is part of the identity where the window is 0.
- **window**: 0, the key alone decides. *Windowed*: nothing in the event tells one happening of a
  state from the next, so the same state within {window} ms is a copy ({whole} ms where the clock
  tells whole seconds, {sent} ms where only the queue knows the time).
- **order**: *latest*, an event older than the latest one that was settled is STALE and does not
  act. *none*, every event acts, early or late.
- **latest by**: what must be equal, beside subject and family, for one event to outdate another.

{table}

## Adding a family

One declaration in `FAMILIES` of [families.py](../functions/enrichment/enrichment/families.py). The
fields that it reads stand in [bodies.py](../functions/enrichment/enrichment/bodies.py), so there it
says `body=bodies.Seat`:

```python
class Seat(TypedDict, total=False):
    deskId: Id
    userId: Id

Family(
    topics=("v2.desks.{{id}}.seat",),
    body=Seat,
    slots=("deskId",),          # the topic's id is the desk
    subject=("desk", "deskId"),
    state=("userId",),
    latest=True,                # it has no time of its own, so it is windowed
)
```

[contracts.md](contracts.md) has the steps around it.
"""
