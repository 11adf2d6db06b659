"""Computes an event's identity: by its family's declaration, or by the generic rule."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import ValidationError

from enrichment import topics
from enrichment.elements import KEY_VERSION
from enrichment.families import BY_TOPIC, Family
from enrichment.keys import compose, digest
from enrichment.times import maybe_ms

Json = Mapping[str, Any]

_TIMES = (
    "eventTime",
    "eventTimeMs",
    "timestamp",
    "metricDate",
    "modifiedDate",
    "modifyDate",
    "dateModified",
    "modifiedDateTime",
    "changedDate",
    "invocationTime",
    "exportTimestamp",
)
_STATES = ("state", "status", "action", "operation", "eventType", "currentOperation")
_SUBJECTS = ("conversationId", "userId", "queueId")
_TRACES = ("correlationId", "eventId")


class Identity(NamedTuple):
    """What tells an event apart, before the organisation and the clock are added."""

    family: str
    subject_type: str
    subject_id: str | None
    sk: str
    business_ms: int | None = None
    exact: bool = True
    latest: bool = False
    lane: str = ""
    state: str | None = None
    found: Mapping[str, str] = {}
    note: str | None = None


class Declared:
    """A family's declaration for one topic, made ready to read bodies fast."""

    def __init__(self, family: Family, template: str) -> None:
        family.body.model_rebuild()
        self._family = family
        self._template = template
        self._validate = family.body.__pydantic_validator__.validate_python
        self._name = family.name(template)
        self._prefix = f"{KEY_VERSION}/{self._name}/"
        time = (family.time,) if family.time else ()
        required = (family.subject[1], *family.identity, *time)
        self._required = len(required)
        self._paths = required + family.state + family.content + family.lane
        self._read: Callable[[Any], tuple[Any, ...]] = attrgetter(*self._paths, "__class__")
        self._states = [_alias(path) for path in family.state]
        self._contents = [_alias(path) for path in family.content]
        self._slots = family.slots or topics.slot_names(template)

    def identify(self, body: Json, topic: str) -> Identity:
        family = self._family
        note = None
        found: Mapping[str, str] = {}
        if family.slots:
            found = self._from_topic(topic)
            body = {**found, **body}
        try:
            values = self._read(self._validate(body))
        except (ValidationError, AttributeError):
            values, note = self._read_carefully(body)
        required = values[: self._required]
        if None in required and not family.slots:
            # The ids are in the topic's name as well, so the name may fill what the body lacks.
            found = self._from_topic(topic)
            values, note = self._read_carefully({**found, **_without_nulls(body)})
            required = values[: self._required]
        subject_type, _ = family.subject
        if None in required:
            return self._fall_back(body, required, values, found, note)

        parts = [str(value) for value in required[1:]]
        at = self._required
        state = family.word or None
        for name in self._states:
            value = values[at]
            at += 1
            if value is not None and value != "":
                parts.append(f"{name}={value}")
                state = state or str(value)
        content = None
        if self._contents:
            free = {
                n: v for n, v in zip(self._contents, values[at:], strict=False) if v is not None
            }
            content = digest(free) if free else None
            at += len(self._contents)
        return Identity(
            family=self._name,
            subject_type=subject_type,
            subject_id=required[0],
            sk=compose(self._prefix, parts, content),
            business_ms=required[-1] if family.time else None,
            exact=family.time is not None or family.unique,
            latest=family.latest,
            lane=_lane(values[at:-1]),
            state=state or parts[0],
            found=found,
            note=note,
        )

    def _from_topic(self, topic: str) -> dict[str, str]:
        ids = topics.slots(self._template, topic) or ()
        return dict(zip(self._slots, ids, strict=False))

    def _read_carefully(self, body: Json) -> tuple[tuple[Any, ...], str | None]:
        """Reads past fields that are of another type than declared, as if they were missing."""
        note = None
        try:
            seen = self._validate(body)
        except ValidationError as error:
            wrong = {str(line["loc"][0]) for line in error.errors() if line["loc"]}
            seen = self._validate({k: v for k, v in body.items() if k not in wrong})
            note = f"not of the declared type: {', '.join(sorted(wrong))}"
        return (*(_reach(seen, path) for path in self._paths), type(seen)), note

    def _fall_back(
        self,
        body: Json,
        required: tuple[Any, ...],
        values: tuple[Any, ...],
        found: Mapping[str, str],
        note: str | None,
    ) -> Identity:
        family = self._family
        missing = [
            _alias(path)
            for path, value in zip(self._paths, required, strict=False)
            if value is None
        ]
        why = f"missing {', '.join(missing)}: identity is the whole body"
        return Identity(
            family=self._name,
            subject_type=family.subject[0],
            subject_id=required[0],
            sk=compose(self._prefix, (), digest(body)),
            business_ms=required[-1] if family.time else None,
            exact=False,
            latest=family.latest,
            lane=_lane(values[len(values) - 1 - len(family.lane) : -1]),
            state=family.word or None,
            found=found,
            note=f"{note}; {why}" if note else why,
        )


def _alias(path: str) -> str:
    return ".".join(
        first + "".join(word.title() for word in rest)
        for first, *rest in (step.split("_") for step in path.split("."))
    )


def _reach(seen: Any, path: str) -> Any:
    for step in path.split("."):
        seen = getattr(seen, step, None)
    return seen


def _without_nulls(body: Json) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _lane(values: tuple[Any, ...]) -> str:
    parts = [str(value) for value in values if value is not None]
    return compose("/", parts) if parts else ""


@lru_cache(maxsize=1024)
def declared(template: str) -> Declared | None:
    family = BY_TOPIC.get(template)
    return Declared(family, template) if family else None


def identify(template: str, topic: str, body: Json, organization_id: str | None) -> Identity:
    family = declared(template)
    if family is not None:
        return family.identify(body, topic)
    return generic(template, topic, body, organization_id)


def generic(template: str, topic: str, body: Json, organization_id: str | None) -> Identity:
    """Any topic: ids from its name, a known time or a version, and a hash of the body."""
    name = topics.family_name(template)
    names = topics.slot_names(template)
    ids = topics.slots(template, topic) or ()
    found = dict(zip(names, ids, strict=False))
    subject_type, subject_id = _generic_subject(found, body, organization_id)
    time = next((ms for ms in (maybe_ms(body.get(name)) for name in _TIMES) if ms), None)
    version, own_id = body.get("version"), body.get("id")
    versioned = type(version) is int and isinstance(own_id, str) and own_id != ""
    parts = [*ids[1:]]
    if versioned:
        parts += [f"id={own_id}", f"version={version}"]
    if time is not None:
        parts.append(str(time))
    exact = versioned or time is not None
    lane = "" if exact else "/~" + digest({**top_ids(body), **found})
    return Identity(
        family=name,
        subject_type=subject_type,
        subject_id=subject_id,
        sk=compose(f"{KEY_VERSION}/{name}/", parts, digest(body)),
        business_ms=time,
        exact=exact,
        latest=not exact,
        lane=lane,
        state=next((v for v in map(body.get, _STATES) if isinstance(v, str)), None),
        found=found,
    )


def _generic_subject(
    found: Mapping[str, str], body: Json, organization_id: str | None
) -> tuple[str, str | None]:
    if found:
        first = next(iter(found))
        return first.removesuffix("Id"), found[first]
    for name in _SUBJECTS:
        value = body.get(name)
        if isinstance(value, str) and value:
            return name.removesuffix("Id"), value
    return "organization", organization_id


def top_ids(body: Json) -> dict[str, str]:
    """The ids that lie at the top of a body, or one step below it in an object of that name."""
    ids = {}
    for name, value in body.items():
        if type(value) is str:
            if (name[-2:] == "Id" or name == "id") and value and name not in _TRACES:
                ids[name] = value
        elif type(value) is dict:
            inner = value.get("id")
            if type(inner) is str and inner:
                ids[f"{name}Id"] = inner
    return ids
