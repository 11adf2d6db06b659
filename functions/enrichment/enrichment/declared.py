"""Identity of an event by its family's declaration."""

from functools import lru_cache

from pydantic_core import ValidationError

from enrichment import topics
from enrichment.contract import KEY_VERSION
from enrichment.families import BY_TOPIC, Family
from enrichment.field_types import TIMED
from enrichment.identity import Identity, Json, Kind, latest_key, subject_of
from enrichment.keys import canonical, compose, compose_plain, digest, digest_texts, is_plain
from enrichment.reader import Values, read_carefully, reader


class Declared:
    """A family's declaration for one of its topics, made ready to read bodies fast.

    The values of a body come in the order subject, identity, time, state, content, latest_by and
    times.
    """

    def __init__(self, family: Family, template: str) -> None:
        required = [family.subject[1], *family.identity]
        if family.time:
            required.append(family.time)
        self._family = family
        self._word = family.word or None
        optional = (*family.state, *family.content, *family.latest_by, *family.times)
        self._paths = (*required, *optional)
        self._read = reader(family.body, required, optional)
        self._template = template
        self._slots = family.slots or topics.slot_names(template)
        # Where the ids that only the topic holds belong among the values.
        names = [path.replace(".id", "Id") for path in self._paths]
        gaps = [(at, name) for at, name in enumerate(names) if name in self._slots]
        self._gaps = gaps if family.slots else []
        self._every_gap = gaps
        self._n_required = len(required)
        self._n_states = self._n_required + len(family.state)
        self._n_contents = self._n_states + len(family.content)
        self._n_latest_bys = self._n_contents + len(family.latest_by)
        self._has_content = bool(family.whole or family.content)
        self._labels = tuple(f"{path}=" for path in family.state)
        self._format = "/".join(["%s"] * len(required) + [f"{s}%s" for s in self._labels])
        self._slashes = self._format.count("/")
        name = topics.family_name(template)
        self._prefix = f"{KEY_VERSION}/{name}/"
        self._exact = Kind(name, family.subject[0], exact=True)
        self._windowed = Kind(name, family.subject[0], exact=False)
        self._latest = latest_key(name, ()) if family.latest else ""

    def identify(self, body: Json, topic: str) -> Identity:
        """The identity of an event with this topic."""
        n = self._n_required
        try:
            values = self._read(body)
        except ValidationError:  # some field is not as declared
            return self._identify_carefully(body, topic)
        found = self._from_topic(topic) if self._gaps else {}
        values = _filled(values, self._gaps, found)
        if None in values[:n]:
            return self._identify_carefully(body, topic)
        return self._identity(body, values, found, None)

    def _identify_carefully(self, body: Json, topic: str) -> Identity:
        # The topic's name holds ids as well, so it may fill what the body lacks.
        found = self._from_topic(topic)
        there = {name: value for name, value in body.items() if value is not None}
        values, wrong = read_carefully(self._read, there)
        values = _filled(values, self._every_gap, found)
        note = f"not as declared: {', '.join(wrong)}" if wrong else None
        if None in values[: self._n_required]:
            return self._fall_back(body, values, found, note)
        return self._identity(body, values, found, note)

    def _identity(
        self, body: Json, values: Values, found: dict[str, str], note: str | None
    ) -> Identity:
        family, n = self._family, self._n_required
        head = values[: self._n_states]
        content = self._content(body, values) if self._has_content else None
        text = self._format % head
        if is_plain(text, self._slashes):
            subject, sk = compose_plain(self._prefix, text, content)
        else:
            labelled = map(str.__add__, self._labels, map(str, head[n:]))
            subject, sk = compose(self._prefix, [*map(str, head[:n]), *labelled], content)
        kind, ms = self._exact, values[n - 1] if family.time else None
        if family.times:
            ms = max(filter(None, values[self._n_latest_bys :]), default=None)
        if ms is None and not self._has_time(values):
            kind = self._windowed
        latest = self._latest_key(values) if family.latest_by else self._latest
        state = self._word or _first(head[n:])
        return kind, values[0], subject, sk, ms, state, latest, found, note

    def _content(self, body: Json, values: Values) -> str | None:
        if self._family.whole:
            return digest(body)
        content = values[self._n_states : self._n_contents]
        if not any(content):
            return None
        texts = [value if type(value) is str else canonical(value) for value in content]
        return digest_texts(texts)

    def _has_time(self, values: Values) -> bool:
        if not self._family.timed:
            return False
        content: str = values[self._paths.index(self._family.timed)]
        return content.startswith(TIMED)

    def _latest_key(self, values: Values) -> str:
        if not self._latest:
            return ""
        by = values[self._n_contents : self._n_latest_bys]
        if len(by) == 1 and type(by[0]) is str and by[0] and is_plain(by[0], 0):
            return f"{self._latest}/{by[0]}"
        return latest_key(self._exact.family, [value for value in by if value != ""])

    def _from_topic(self, topic: str) -> dict[str, str]:
        return dict(zip(self._slots, topics.slots(self._template, topic), strict=False))

    def _fall_back(
        self, body: Json, values: Values, found: dict[str, str], note: str | None
    ) -> Identity:
        family = self._family
        required = values[: self._n_required]
        missing = [path for path, v in zip(self._paths, required, strict=False) if v is None]
        why = f"missing {', '.join(missing)}: identity is the whole body"
        kind, latest, subject_id = self._windowed, self._latest_key(values), required[0]
        if subject_id is None:
            subject_type, subject_id = subject_of(found, body)
            kind, latest = Kind(kind.family, subject_type, exact=False), ""
        return (
            kind,
            subject_id,
            *compose(self._prefix, [subject_id or ""], digest(body)),
            required[-1] if family.time else None,
            self._word,
            latest,  # a discrete event that lacks an id must not make another one stale
            found,
            f"{note}; {why}" if note else why,
        )


def _filled(values: Values, gaps: list[tuple[int, str]], found: dict[str, str]) -> Values:
    for at, slot in gaps:
        if not values[at]:
            values = (*values[:at], found.get(slot, values[at]), *values[at + 1 :])
    return values


def _first(states: Values) -> str | None:
    """The state to show: the first that is there."""
    for state in states:
        if state != "":
            return str(state)
    return None


@lru_cache(maxsize=1024)
def declared(template: str) -> Declared | None:
    """What is declared for a topic; None where the generic rule holds."""
    family = BY_TOPIC.get(template)
    return Declared(family, template) if family else None
