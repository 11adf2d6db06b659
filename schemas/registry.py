"""Schemas of what a bus receives, for EventBridge's schema registry, which reads draft 4."""

import json
import re
from typing import Any

Schema = dict[str, Any]
_HEAD = {"$schema": "http://json-schema.org/draft-04/schema#"}
_PLACE = re.compile(r"(\n  EventSchema:\n(?:    .*\n)*?      Content: )'.*'\n")


def in_template(template: str, event: Schema) -> str:
    """template.yaml with the schema in its place."""
    content = json.dumps(_HEAD | draft4(event), separators=(",", ":"))
    quoted = content.replace("'", "''")
    made, places = _PLACE.subn(lambda found: f"{found[1]}'{quoted}'\n", template)
    if places != 1:
        raise ValueError("template.yaml: EventSchema has no Content in one quoted line to write to")
    return made


def draft4(schema: Schema) -> Schema:
    """The same schema in the words of draft 4, which has none for examples."""
    if "$ref" in schema:  # draft 4 reads nothing beside it
        return {"$ref": schema["$ref"].replace("#/$defs/", "#/definitions/")}
    made: Schema = {}
    for word, value in schema.items():
        match word:
            case "properties":
                made[word] = {name: draft4(part) for name, part in value.items()}
            case "$defs":
                made["definitions"] = {name: draft4(part) for name, part in value.items()}
            case "const":
                made["enum"] = [value]
            case "exclusiveMinimum":
                made |= {"minimum": value, word: True}
            case "$schema" | "$id" | "examples":
                pass
            case _:
                made[word] = draft4(value) if isinstance(value, dict) else value
    return made
