"""Reads what a family relies on out of a body, validated as declared.

pydantic could compile the declarations as well, and the tests hold both to the same answers. But
it would cost each cold start more than all else, and each event an instance (bench/enrichment.py).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic_core import SchemaValidator, ValidationError, core_schema
from pydantic_core.core_schema import CoreSchema

from enrichment.kinds import After

Values = tuple[Any, ...]
Read = Callable[[Mapping[str, Any]], Values]


def reader(body: type, required: Sequence[str], optional: Sequence[str]) -> Read:
    """How to get the values at some paths, as a tuple.

    What is missing is None where it is required and "" where it is optional.
    """
    paths = (*required, *optional)
    names = [path.partition(".")[0] for path in paths]
    blank = set(names[len(required) :]) - set(names[: len(required)])
    pick = itemgetter(*names) if len(names) > 1 else lambda seen: (seen[names[0]],)
    validate = SchemaValidator(_fields(body, names, blank)).validate_python
    nested = [(at, path.split(".")[1:]) for at, path in enumerate(paths) if "." in path]

    def read(event_body: Mapping[str, Any]) -> Values:
        values: Values = pick(validate(event_body))
        if not nested and None not in values:
            return values
        found = list(values)
        for at, steps in nested:
            for step in steps:
                found[at] = found[at].get(step) if found[at] else None
        for at in range(len(required), len(found)):
            if found[at] is None:
                found[at] = ""
        return tuple(found)

    return read


def _fields(declared: type, names: Collection[str], blank: Collection[str]) -> CoreSchema:
    """The schema of some fields of a TypedDict, of which each may be missing or null."""
    fields = {}
    for name, kind in get_type_hints(declared, include_extras=True).items():
        if name in names:
            schema: CoreSchema = core_schema.nullable_schema(_schema(kind))
            default = "" if name in blank else None
            schema = core_schema.with_default_schema(schema, default=default)
            fields[name] = core_schema.typed_dict_field(schema, required=False)
    return core_schema.typed_dict_schema(fields)


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
