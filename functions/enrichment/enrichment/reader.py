"""Reads what a family relies on out of a body, validated by the family's model."""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, core_schema

Values = tuple[Any, ...]
Read = Callable[[Mapping[str, Any]], Values]


def reader(model: type[BaseModel], required: tuple[str, ...], optional: tuple[str, ...]) -> Read:
    """How to get the values at some paths, as a tuple.

    What is missing is None where it is required and "" where it is optional. The model's schema
    is compiled to answer a dict of only those fields: an instance would cost more than all of its
    validation (bench/enrichment.py).
    """
    model.model_rebuild()
    paths = required + optional
    names = [path.partition(".")[0] for path in paths]
    blank = [name for name in names[len(required) :] if name not in names[: len(required)]]
    pick = itemgetter(*names) if len(names) > 1 else lambda seen: (seen[names[0]],)
    schema = _as_dict(model.__pydantic_core_schema__, names, blank)
    validate = SchemaValidator(schema).validate_python
    nested = [(at, path.split(".")[1:]) for at, path in enumerate(paths) if "." in path]

    def read(body: Mapping[str, Any]) -> Values:
        values = pick(validate(body))
        if not nested and None not in values:
            return values
        found = list(values)
        for at, steps in nested:
            for step in steps:
                found[at] = found[at][step] if found[at] else None
        for at in range(len(required), len(found)):
            if found[at] is None:
                found[at] = ""
        return tuple(found)

    return read


def _as_dict(schema: Any, names: list[str] | None = None, blank: Sequence[str] = ()) -> Any:
    if schema["type"] in ("definitions", "default", "nullable"):
        return {**schema, "schema": _as_dict(schema["schema"], names, blank)}
    if schema["type"] != "model":
        return schema
    fields = {}
    for name, field in schema["schema"]["fields"].items():
        if names is None or name in names:
            inner = _as_dict(field["schema"])
            fields[name] = core_schema.typed_dict_field(
                {**inner, "default": ""} if name in blank else inner,
                required=False,
                validation_alias=field["validation_alias"],
            )
    return core_schema.typed_dict_schema(fields, config=schema["config"])


def read_carefully(read: Read, body: Mapping[str, Any]) -> tuple[Values, list[str]]:
    """What can be read, and the names of the fields that are not of their declared type."""
    try:
        return read(body), []
    except ValidationError as error:
        wrong = sorted({str(problem["loc"][0]) for problem in error.errors(include_input=False)})
    return read({name: value for name, value in body.items() if name not in wrong}), wrong
