"""A family: one pydantic model of a body, whose fields carry their role in the identity."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from once_enrichment.times import to_ms

Order = Literal["none", "latest", "changes"]


class Role(Enum):
    """The role of a field in the identity of its event."""

    SUBJECT = "What the event is about"
    SLOT = "Varies independently of others; the newest event is kept for each of its values"
    IDENTITY = "Part of the identity"
    TIME = "When it happened; changes with every change"
    STATE = "State: another value is another event"
    CONTENT = "State, hashed: another content is another event"


class Hidden:
    """Marks a field that may hold text about a person: only a machine's id is readable in a key."""


Text = Annotated[str, Field(min_length=1)]
Subject = Annotated[Text, Role.SUBJECT]
Identity = Annotated[Text, Role.IDENTITY]
Slot = Annotated[Text, Role.SLOT]
AnySlot = Annotated[Any, Role.SLOT]
Time = Annotated[
    int,
    PlainValidator(to_ms),
    WithJsonSchema({"type": ["integer", "number", "string"]}),
    Role.TIME,
]
State = Annotated[str | None, Role.STATE]
HiddenSubject = Annotated[Text, Role.SUBJECT, Hidden]
HiddenState = Annotated[str | None, Role.STATE, Hidden]
Flag = Annotated[bool | None, Role.STATE]
Number = Annotated[int | float | None, Role.STATE]
Content = Annotated[Any, Role.CONTENT]


class Part(BaseModel):
    """An object in a body."""

    # Built when an event needs it: a cold start builds none that it does not.
    model_config = ConfigDict(extra="allow", strict=True, defer_build=True)


class Family(Part):
    """The events of some topics. Its docstring says why it tells them apart as it does."""

    topics: ClassVar[tuple[str, ...]]
    subject: ClassVar[str] = ""
    """The kind of thing that the events are about; empty if the topic's first id tells it."""
    slots: ClassVar[tuple[str, ...]] = ()
    """Names of the ids in a topic's name, if the words before them do not tell."""
    order: ClassVar[Order] = "none"
    """`latest`: what is older than the latest settled event is stale. `changes`: a state, which is
    acted on if it differs from the latest settled one; the key holds the whole body."""
    whole: ClassVar[bool] = False
    """The whole body is content."""
    shown: ClassVar[str] = ""
    """The field that an element shows as its state."""
    topic_is_state: ClassVar[bool] = False
    """The topic names what became the case."""


@dataclass(frozen=True)
class Place:
    """A field with a role, and the way to it."""

    path: tuple[str, ...]
    role: Role
    is_hidden: bool

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def read(self, event: Any) -> Any:
        """Returns the value in a validated event; of a list, a list of values."""
        return _read(event, self.path)


def _read(value: Any, path: tuple[str, ...]) -> Any:
    for at, name in enumerate(path):
        if isinstance(value, list):
            return [_read(one, path[at:]) for one in value]
        if value is None:
            return None
        value = getattr(value, name)
    return value


@cache
def places(family: type[Family]) -> tuple[Place, ...]:
    """Returns the fields with a role, in the order of their declaration."""
    return tuple(_places(family, ()))


def _places(model: type[BaseModel], above: tuple[str, ...]) -> Iterator[Place]:
    for name, field in model.model_fields.items():
        path = (*above, name)
        for mark in field.metadata:
            if isinstance(mark, Role):
                yield Place(path, mark, Hidden in field.metadata)
        for inner in _models(field.annotation):
            yield from _places(inner, path)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def with_role(family: type[Family], *roles: Role) -> list[Place]:
    """Returns the fields with one of these roles."""
    return [place for place in places(family) if place.role in roles]


def is_whole(family: type[Family]) -> bool:
    """Returns true if every field of the body counts."""
    return family.whole or family.order == "changes"
