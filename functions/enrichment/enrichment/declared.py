"""Identity of an event by its family's declaration."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from enrichment import topics
from enrichment.bodies import Body
from enrichment.elements import KEY_VERSION
from enrichment.families import BY_TOPIC, Family
from enrichment.identity import Identity, Json, Kind, subject_of
from enrichment.keys import compose, digest, is_plain, part

Values = tuple[Any, ...]


class Declared:
    """A family's declaration for one of its topics, made ready to read bodies fast."""

    def __init__(self, family: Family, template: str) -> None:
        self._family = family
        self._template = template
        self._word = family.word or None
        self._has_slots = bool(family.slots)
        self._slots = family.slots or topics.slot_names(template)
        time = (family.time,) if family.time else ()
        unique = (family.unique,) if family.unique else ()
        required = (family.subject[1], *family.identity, *time)
        self._paths = (*required, *family.state, *family.content, *family.lane, *unique)
        self._read = _reader(family.body, self._paths)
        self._n_required = len(required)
        self._n_states = len(required) + len(family.state)
        self._n_contents = self._n_states + len(family.content)
        self._labels = tuple(f"{_alias(path)}=" for path in family.state)
        self._format = "/".join(["%s"] * len(required) + [f"{s}%s" for s in self._labels])
        self._slashes = self._format.count("/")
        self._contents = tuple(map(_alias, family.content))
        self._is_simple = bool(time and family.word) and not family.content
        name = topics.family_name(template)
        self._prefix = f"{KEY_VERSION}/{name}/"
        self._exact = Kind(name, family.subject[0], True, family.latest)
        self._windowed = Kind(name, family.subject[0], False, True)
        # A discrete event that lacks a part of its identity must not make another one stale.
        self._fallen_back = Kind(name, family.subject[0], False, family.latest)

    def identify(self, body: Json, topic: str) -> Identity:
        """The identity of an event with this topic."""
        n = self._n_required
        found: Mapping[str, str] = {}
        values: Values | None = None
        try:
            if self._has_slots:
                found = self._from_topic(topic)
                values = self._read({**found, **body})
            else:
                values = self._read(body)
                # Most events are whole and need no escape: one format makes their key.
                if self._is_simple and None not in values:
                    text = self._format % values
                    if is_plain(text, self._slashes):
                        subject, _, rest = text.partition("/")
                        sk, ms = self._prefix + rest, values[n - 1]
                        return self._exact, subject, subject, sk, ms, self._word, "", found, None
        except (ValidationError, AttributeError):
            pass  # some field is not as declared
        note = None
        if values is None or None in values[:n]:
            # The topic's name holds ids as well, so it may fill what the body lacks.
            found = self._from_topic(topic)
            values, note = self._read_carefully({**found, **_without_nulls(body)})
            if None in values[:n]:
                return self._fall_back(body, values, found, note)

        family = self._family
        parts = list(map(str, values[1:n]))
        state = self._word
        for label, value in zip(self._labels, values[n:], strict=False):
            if value is not None:
                parts.append(f"{label}{value}")
                state = state or str(value)
        sk = compose(self._prefix, parts, self._content(body, values))
        ms = values[n - 1] if family.time else None
        is_exact = family.time or (family.unique and values[-1] is not None)
        kind = self._exact if is_exact else self._windowed
        return kind, values[0], part(values[0]), sk, ms, state, self._lane(values), found, note

    def _content(self, body: Json, values: Values) -> str | None:
        if self._family.whole:
            return digest(body)
        free = dict(zip(self._contents, values[self._n_states :], strict=False))
        return digest(free) if any(value is not None for value in free.values()) else None

    def _lane(self, values: Values) -> str:
        at = self._n_contents
        return _lane(values[at : at + len(self._family.lane)])

    def _from_topic(self, topic: str) -> dict[str, str]:
        ids = topics.slots(self._template, topic) or ()
        return dict(zip(self._slots, ids, strict=False))

    def _read_carefully(self, body: Json) -> tuple[Values, str | None]:
        """Reads past fields that are of another type than declared, as if they were missing."""
        note = None
        family_body = self._family.body
        try:
            seen = family_body.model_validate(body)
        except ValidationError as error:
            wrong = {str(problem["loc"][0]) for problem in error.errors(include_input=False)}
            seen = family_body.model_validate({k: v for k, v in body.items() if k not in wrong})
            note = f"not as declared: {', '.join(sorted(wrong))}"
        return tuple(_reach(seen, path) for path in self._paths), note

    def _fall_back(
        self, body: Json, values: Values, found: Mapping[str, str], note: str | None
    ) -> Identity:
        family = self._family
        required = values[: self._n_required]
        missing = [
            _alias(path) for path, v in zip(self._paths, required, strict=False) if v is None
        ]
        why = f"missing {', '.join(missing)}: identity is the whole body"
        kind, subject_id = self._fallen_back, required[0]
        if subject_id is None:
            subject_type, subject_id = subject_of(found, body)
            kind = Kind(kind.family, subject_type, False, False)
        return (
            kind,
            subject_id,
            part(subject_id or ""),
            compose(self._prefix, (), digest(body)),
            required[-1] if family.time else None,
            family.word or None,
            self._lane(values),
            found,
            f"{note}; {why}" if note else why,
        )


def _reader(model: type[Body], paths: tuple[str, ...]) -> Callable[[Json], Values]:
    """How to validate a body and get the values of some paths; None for each that is missing."""
    model.model_rebuild()
    if not all(path in model.model_fields for path in paths):
        validate = model.__pydantic_validator__.validate_python
        reach = attrgetter(*paths, "__class__")
        return lambda body: reach(validate(body))[:-1]
    # Plain fields need no instance, which would cost as much again (bench/enrichment.py).
    fields: Any = model.__pydantic_core_schema__["schema"]
    plain = SchemaValidator(
        core_schema.typed_dict_schema(
            {
                name: core_schema.typed_dict_field(
                    field["schema"], required=False, validation_alias=field["validation_alias"]
                )
                for name, field in fields["fields"].items()
                if name in paths
            },
            config=core_schema.CoreConfig(coerce_numbers_to_str=True),
        )
    ).validate_python
    pick = itemgetter(*paths)
    return (
        (lambda body: pick(plain(body))) if len(paths) > 1 else (lambda body: (pick(plain(body)),))
    )


def _alias(path: str) -> str:
    steps = (step.split("_") for step in path.split("."))
    return ".".join(first + "".join(map(str.title, rest)) for first, *rest in steps)


def _reach(seen: Any, path: str) -> Any:
    for step in path.split("."):
        seen = getattr(seen, step, None)
    return seen


def _without_nulls(body: Json) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _lane(values: Values) -> str:
    parts = [str(value) for value in values if value is not None]
    return compose("/", parts) if parts else ""


@lru_cache(maxsize=1024)
def declared(template: str) -> Declared | None:
    """What is declared for a topic; None where the generic rule holds."""
    family = BY_TOPIC.get(template)
    return Declared(family, template) if family else None
