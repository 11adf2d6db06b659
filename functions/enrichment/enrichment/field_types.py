"""Kinds of values in a body, each with how it is validated: by pydantic, and without loading it."""

from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any

from pydantic_core import core_schema, to_json
from pydantic_core.core_schema import CoreSchema

from enrichment.keys import without_nulls
from enrichment.times import EARLIEST_MS, LAST_MS, to_ms

TIMED = "timed "
_HAS_TIME = b'Time":'


class Checked:
    """Annotates a type with the schema that validates it."""

    def __init__(self, schema: CoreSchema, json_schema: dict[str, Any]) -> None:
        self.schema = schema
        self._json_schema = json_schema

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return self.schema

    def __get_pydantic_json_schema__(self, _schema: Any, _handler: Any) -> dict[str, Any]:
        return self._json_schema


class After:
    """Annotates a type with what makes text of a valid value."""

    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def schema(self, inner: CoreSchema) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._function, inner)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return self.schema(handler(source))


_TEXT = core_schema.str_schema(min_length=1, coerce_numbers_to_str=True)
_TIME = core_schema.no_info_plain_validator_function(to_ms)
_MS = core_schema.int_schema(strict=True, ge=EARLIEST_MS, le=LAST_MS)
_WORD = core_schema.union_schema(
    [core_schema.str_schema(strict=True), core_schema.int_schema(), core_schema.float_schema()]
)

Id = Annotated[str, Checked(_TEXT, {"type": "string", "minLength": 1})]
Word = Annotated[
    str | bool | int | float, Checked(_WORD, {"type": ["string", "boolean", "number"]})
]
When = Annotated[int, Checked(_TIME, {"type": ["integer", "number", "string"]})]
# Any spelling as well, but where milliseconds are the rule they never leave compiled code.
WhenMs = Annotated[
    int,
    Checked(
        core_schema.union_schema([_MS, _TIME], mode="left_to_right"),
        {"type": ["integer", "number", "string"]},
    ),
]


def digest_of_parts(parts: list[Any]) -> str:
    """A digest of what the parts tell, and `timed` before it where they tell a time.

    The parts are validated, so their fields are in the order of their declaration.
    """
    text = to_json(parts)
    if b"null" in text:
        text = to_json(without_nulls(parts))
    digest = sha256(text).hexdigest()
    return TIMED + digest if _HAS_TIME in text else digest
