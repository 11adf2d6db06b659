"""Reads what a family relies on out of a body, validated as declared.

pydantic could compile the declarations as well, and the tests hold both to the same answers. But
it would cost each cold start more than all else, and each event an instance (bench/enrichment.py).
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic_core import SchemaValidator, ValidationError, core_schema
from pydantic_core.core_schema import CoreSchema

from enrichment.field_types import After

Values = tuple[Any, ...]
Read = Callable[[Mapping[str, Any]], Values]


def reader(body: type, required: Sequence[str], optional: Sequence[str]) -> Read:
    """How to get the values at some paths, as a tuple.

    What is missing is None where it is required and "" where it is optional.
    """
    paths, n = (*required, *optional), len(required)
    fields = {path: _field(body, path, None if path in required else "") for path in paths}
    validate = SchemaValidator(core_schema.typed_dict_schema(fields)).validate_python
    pick = itemgetter(*paths) if len(paths) > 1 else lambda seen: (seen[paths[0]],)

    def read(event_body: Mapping[str, Any]) -> Values:
        values: Values = pick(validate(event_body))
        if None in values[n:]:  # a null is as good as nothing
            return (*values[:n], *("" if value is None else value for value in values[n:]))
        return values

    return read


def _field(body: Any, path: str, missing: str | None) -> core_schema.TypedDictField:
    """What lies at a dotted path: it may be missing, or null."""
    steps: list[str | int] = [*path.split(".")]
    for step in steps:
        body = get_type_hints(body, include_extras=True)[str(step)]
    schema = core_schema.nullable_schema(_schema(body))
    return core_schema.typed_dict_field(
        core_schema.with_default_schema(schema, default=missing),
        required=False,
        validation_alias=[steps] if len(steps) > 1 else path,
    )


def _schema(kind: Any) -> CoreSchema:
    if get_origin(kind) is Annotated:
        inner, note = get_args(kind)
        return note.schema(_schema(inner)) if isinstance(note, After) else note.schema
    if get_origin(kind) is list:
        return core_schema.list_schema(_schema(get_args(kind)[0]))
    if kind is Any:
        return core_schema.any_schema()
    if kind is bool:
        return core_schema.bool_schema()
    inner_fields = {
        name: core_schema.typed_dict_field(
            core_schema.nullable_schema(_schema(inner)), required=False
        )
        for name, inner in get_type_hints(kind, include_extras=True).items()
    }
    return core_schema.typed_dict_schema(inner_fields)


def read_carefully(read: Read, body: Mapping[str, Any]) -> tuple[Values, list[str]]:
    """What can be read, and the names of the fields that are not of their declared type."""
    try:
        return read(body), []
    except ValidationError as error:
        wrong = sorted({str(problem["loc"][0]) for problem in error.errors(include_input=False)})
    return read({name: value for name, value in body.items() if name not in wrong}), wrong
