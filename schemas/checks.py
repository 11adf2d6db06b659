"""Checks the generated files: each check returns what is wrong and what to do about it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from once_enrichment.families import FAMILIES

from schemas import contracts, examples, families, registry
from schemas.contracts import Schema
from schemas.examples import ELEMENT, EVENT

_AGAIN = "run `make schemas`"
_BY_EVENTS = {"event", "parked"}  # the examples of events cover these
_DECLARED = {families.name_of(family): family for family in FAMILIES}


def write(root: Path) -> None:
    """Every file that follows from the models; a pinned key stays as it is."""
    made = _made(root)
    for old in _files(root).keys() - made.keys():
        (root / old).unlink()
    for path, text in made.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def find(root: Path) -> list[str]:
    """All that is wrong."""
    schemas = contracts.schemas()
    return [
        *drift(root, _made(root)),
        *malformed(schemas),
        *idle(schemas),
        *example_faults(root / "schemas" / "examples", schemas),
    ]


def drift(root: Path, made: dict[str, str]) -> Iterator[str]:
    """Files that are not what the models make of them."""
    there = _files(root)
    for path in sorted(made.keys() | there.keys()):
        if path not in made:
            yield f"{path}: follows from no model any more; {_AGAIN}, which removes it"
        elif there.get(path) != made[path]:
            yield f"{path}: is not what the models say; {_AGAIN} and commit what it changed"


def malformed(schemas: dict[str, Schema]) -> Iterator[str]:
    """Schemas that are none, or that leave a field of ours unexplained."""
    for name, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        if fields := list(contracts.undescribed(schema)):
            yield (
                f"{name}: {', '.join(fields)} has no description; give the model's field a line "
                "under it, or DESCRIPTIONS in schemas/descriptions.py"
            )


def idle(schemas: dict[str, Schema]) -> Iterator[str]:
    """Descriptions that no field has any more."""
    for name in contracts.unused_descriptions(schemas):
        yield f"schemas/descriptions.py: {name} describes no field; remove it"


def example_faults(folder: Path, schemas: dict[str, Schema]) -> Iterator[str]:
    """Examples that are missing, not valid, or not what the enrichment makes of them."""
    there = examples.names(folder)
    for missing in sorted(_DECLARED.keys() - set(there)):
        yield f"schemas/examples/{missing}{EVENT}: is missing; every family has an example"
    for contract in contracts.CONTRACTS:
        path = folder / f"{contract.name}.json"
        if path.exists():
            schema = contracts.closed(schemas[contract.name])
            yield from _invalid(
                path.name, json.loads(path.read_text("utf-8")), schema, contract.name
            )
        elif contract.name not in _BY_EVENTS:
            yield f"schemas/examples/{path.name}: is missing; every contract has an example"
    for name in there:
        event = json.loads((folder / f"{name}{EVENT}").read_text("utf-8"))
        path = folder / f"{name}{ELEMENT}"
        if not path.exists():
            yield f"schemas/examples/{path.name}: is missing; {_AGAIN}"
            continue
        pinned, now = json.loads(path.read_text("utf-8")), examples.element_of(event)
        kind = str(pinned.get("kind"))
        yield from _invalid(path.name, pinned, contracts.closed(schemas[kind]), kind)
        if name in _DECLARED and "note" in pinned:
            yield f"schemas/examples/{name}{EVENT}: lacks what identifies it: {pinned['note']}"
        yield from examples.changed_key(name, pinned, now)
        if pinned != now and pinned.get("key") == now.get("key"):
            yield f"schemas/examples/{path.name}: the enrichment answers otherwise; {_AGAIN}"


def _invalid(file: str, value: Any, schema: Schema, schema_name: str) -> Iterator[str]:
    for error in Draft202012Validator(schema).iter_errors(value):
        yield f"schemas/examples/{file}: {error.json_path}: {error.message} ({schema_name})"


def _made(root: Path) -> dict[str, str]:
    schemas = contracts.schemas()
    made = {f"schemas/{name}.schema.json": _text(schema) for name, schema in schemas.items()}
    made["docs/families.md"] = families.table()
    template = (root / "template.yaml").read_text("utf-8")
    made["template.yaml"] = registry.in_template(template, schemas["bus-event"])
    folder = root / "schemas" / "examples"
    for name in examples.names(folder):
        now = examples.element_of(json.loads((folder / f"{name}{EVENT}").read_text("utf-8")))
        order = [*schemas[now["kind"]]["properties"], *now]
        now = {field: now[field] for field in dict.fromkeys(order) if field in now}
        path = folder / f"{name}{ELEMENT}"
        text = path.read_text("utf-8") if path.exists() else _text(now)
        kept = any(examples.changed_key(name, json.loads(text), now))
        made[f"schemas/examples/{name}{ELEMENT}"] = text if kept else _text(now)
    for contract, request in examples.requests(folder).items():
        made[f"schemas/examples/{contract}.json"] = _text(request)
    for function, given in examples.invocations(folder):
        made[f"events/{function}.json"] = _text(given)
    return made


def _files(root: Path) -> dict[str, str]:
    folder = root / "schemas"
    requests = examples.requests(folder / "examples")
    paths = [
        *folder.glob("*.schema.json"),
        *folder.glob(f"examples/*{ELEMENT}"),
        *(path for name in requests if (path := folder / "examples" / f"{name}.json").exists()),
        *root.glob("docs/families.md"),
        *root.glob("template.yaml"),
        *root.glob("events/*.json"),
    ]
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in paths}


def _text(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
