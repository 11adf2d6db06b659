"""Writes what follows from the models and the rows of families, and names what differs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from once_enrichment.families import FAMILIES, family_name

from schemas import contracts, examples, families, reasons
from schemas.contracts import Schema

EXAMPLES = "schemas/examples.jsonl"
_AGAIN = "run `make schemas`"


def write(root: Path) -> None:
    """Writes every file; a pinned key stays as it is."""
    made = made_files(root)
    for path in _schema_files(root) - made.keys():
        (root / path).unlink()
    for path, text in made.items():
        (root / path).write_text(text, "utf-8")


def find(root: Path) -> list[str]:
    """Returns all that is wrong."""
    schemas = contracts.schemas()
    lines = examples.read(root / EXAMPLES)
    return [
        *drift(root, made_files(root)),
        *undescribed(schemas),
        *example_faults(schemas, lines),
    ]


def made_files(root: Path) -> dict[str, str]:
    """Returns the text of each generated file by its path."""
    schemas = contracts.schemas().items()
    lines = examples.read(root / EXAMPLES)
    return {
        **{f"schemas/{name}.schema.json": contracts.text_of(schema) for name, schema in schemas},
        EXAMPLES: examples.text_of(lines),
        "docs/families.md": families.page(),
        "docs/runbook.md": reasons.runbook(_page(root, "runbook")),
        "docs/data-action.md": reasons.data_action(_page(root, "data-action")),
        **{f"events/{name}.json": _text(value) for name, value in _invocations(lines)},
    }


def drift(root: Path, made: dict[str, str]) -> Iterator[str]:
    """Yields the files that are not what the models make of them."""
    for path in sorted(_schema_files(root) - made.keys()):
        yield f"{path}: follows from no model; {_AGAIN}, which removes it"
    for path, text in made.items():
        file = root / path
        if not file.exists() or file.read_text("utf-8") != text:
            yield f"{path}: is not what the models say; {_AGAIN} and commit what it changed"


def undescribed(schemas: dict[str, Schema]) -> Iterator[str]:
    """Yields schemas that are none, or that leave a field unexplained."""
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        parts = schema.get("$defs", {})
        for part in (schema, *parts.values()):
            for field, inner in part.get("properties", {}).items():
                target = parts[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else {}
                if "description" not in inner | target:
                    yield f"{name}: {field} has no description; add a line under the model's field"


def example_faults(schemas: dict[str, Schema], lines: list[examples.Json]) -> Iterator[str]:
    """Yields examples that are missing, not valid, or not what the enrichment makes of them."""
    validator = Draft202012Validator(contracts.closed(schemas["event"]))
    declared = {family_name(family.topics[0]) for family in FAMILIES}
    for missing in sorted(declared - {example["name"] for example in lines}):
        yield f"{EXAMPLES}: {missing} is missing; every family has an example"
    for example in lines:
        name, element = example["name"], examples.element_of(example["event"])
        yield from examples.changed_key(example, element)
        if name in declared and "note" in element:
            yield f"{EXAMPLES}: {name} lacks what identifies it: {element['note']}"
        for error in validator.iter_errors(element):
            yield f"{EXAMPLES}: {name}: {error.json_path}: {error.message}"


def _invocations(lines: list[examples.Json]) -> Iterator[tuple[str, Any]]:
    """Yields an input of each function, by its name, for `sam local invoke`."""
    event = next(line["event"] for line in lines if line["name"] == "user.presence")
    element = examples.element_of(event)
    yield "enrichment", [examples.record_of(event)]
    yield (
        "data_action",
        {
            "version": "3",
            "event": element,
            "idempotencyKey": element["keyHash"],
            "owner": "example#example",
            "tries": 0,
            "failedAtMs": 0,
            "deaths": 0,
            "retry": 0,
        },
    )


def _page(root: Path, name: str) -> str:
    return (root / "docs" / f"{name}.md").read_text("utf-8")


def _text(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"


def _schema_files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.glob("schemas/**/*.schema.json")}
