"""Counts what becomes of the events of each subject, and how copies came about."""

import json
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from once.audit.facts import Broken, Fact
from once.lines import Place
from once.outcomes import Outcome
from once.verdict import Event, Rows, Verdict

_EXAMPLES = 3
_MOST_FIELDS = 3  # that tell a state from the one before it, for them to be named
_MINUTE_MS = 60_000


class Example(NamedTuple):
    """A record, and the other one that says why it is an example."""

    place: Place
    who: str = ""
    other: Place | None = None


class Examples:
    """Counts, and keeps the first few by their places."""

    def __init__(self) -> None:
        self.count = 0
        self.few: list[Example] = []

    def add(self, example: Example) -> None:
        self.count += 1
        if len(self.few) < _EXAMPLES or example.place < self.few[-1].place:
            self.few = sorted([*self.few, example], key=lambda one: one.place)[:_EXAMPLES]


class Distances:
    """The delays of copies behind their first, in milliseconds."""

    def __init__(self) -> None:
        self._found = array("q")

    def add(self, ms: int) -> None:
        self._found.append(ms)

    def __len__(self) -> int:
        return len(self._found)

    @cached_property
    def _ordered(self) -> Sequence[int]:
        """Sorts them, once all were added."""
        return array("q", sorted(self._found))

    @property
    def longest_ms(self) -> int:
        return self._ordered[-1]

    def quantile(self, share: float) -> int:
        """Returns the distance that such a share of them does not exceed."""
        return self._ordered[max(0, round(share * len(self)) - 1)]

    def up_to(self, steps: Iterable[int]) -> Iterator[int]:
        """Yields how many are within each step, those of smaller steps not counted again."""
        before = 0
        for step in steps:
            within = bisect_left(self._ordered, step + 1)
            yield within - before
            before = within


@dataclass
class Tally:
    """All that the report is made of."""

    claim_days: int = 30
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    families: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By family: its outcomes, and how many were `windowed` or `late`."""
    sources: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    brought: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    """By source, topic, and whether the event was more than a copy."""
    topics: set[str] = field(default_factory=set)
    custom: int = 0
    acted: int = 0
    copies: int = 0
    unchanged: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    """By the reason why no request would be made."""
    distances: Distances = field(default_factory=Distances)
    noted: int = 0
    """Records that note when they were received."""
    kinds: dict[str, Examples] = field(default_factory=lambda: defaultdict(Examples))
    apart: dict[str, Distances] = field(default_factory=lambda: defaultdict(Distances))
    differences: Counter[str] = field(default_factory=Counter)
    changed: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    """By family: the fields that alone tell a state from the one before it."""
    windows: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    notes: dict[tuple[str, str], Examples] = field(default_factory=lambda: defaultdict(Examples))
    late: Examples = field(default_factory=Examples)
    longest_late_ms: int = 0
    broken: dict[str, Examples] = field(default_factory=lambda: defaultdict(Examples))
    details: dict[str, str] = field(default_factory=dict)
    """By the reason why a record holds no event: the same in a sentence."""
    broken_in: Counter[int] = field(default_factory=Counter)
    minutes: Counter[int] = field(default_factory=Counter)
    acting_minutes: Counter[int] = field(default_factory=Counter)
    began_ms: int = 0
    ended_ms: int = 0

    @property
    def received(self) -> int:
        return self.outcomes.total()

    def judge(self, subject: Iterable[tuple[int, Fact]]) -> None:
        """Settles the events of one subject, each before the next comes."""
        rows, first_of = Rows(self.claim_days), dict[int, tuple[int, Fact]]()
        newest: Fact | None = None
        states: dict[int, tuple[int, dict[str, int]]] = {}
        for number, (now_ms, fact) in enumerate(subject):
            message = fact.message or number
            event = Event(
                message,
                fact.key,
                fact.latest,
                fact.occurred_ms,
                fact.window_ms,
                fact.order,
                fact.event_id,
                fact.ignored,
                fact.expires_ms,
            )
            verdict = rows.settle(event, now_ms)
            self._count(fact, verdict, now_ms)
            if verdict.reason == "ACTED":
                self.add_to_acted(now_ms)
                self._compare_states(fact, states)
            is_copy = verdict.reason in ("SAME_KEY", "SAME_EVENT_ID", "SETTLED_BEFORE")
            if is_copy:
                self._add_copy(fact, *first_of[verdict.because], now_ms, verdict)
                continue
            first_of.setdefault(message, (now_ms, fact))
            if newest is not None and fact.occurred_ms < newest.occurred_ms:
                self.families[fact.family]["late"] += 1
                self.late.add(Example(fact.place, fact.subject, newest.place))
                late_ms = newest.occurred_ms - fact.occurred_ms
                self.longest_late_ms = max(self.longest_late_ms, late_ms)
            else:
                newest = fact

    def add_broken(self, broken: Broken, now_ms: int) -> None:
        """Counts a record that would be parked."""
        place = broken.found.place
        self.count(Outcome.PARKED, "(unreadable)", "(unreadable)", now_ms)
        self.broken_in[place.file] += 1
        self.details.setdefault(broken.reason, broken.detail.partition(":")[0].rstrip("."))
        self.broken[broken.reason].add(Example(place))

    def count(self, outcome: Outcome, family: str, source: str, now_ms: int) -> None:
        """Counts one settled record."""
        self.outcomes[outcome] += 1
        self.families[family][outcome] += 1
        self.sources[source][outcome] += 1
        if now_ms:
            self.began_ms = min(self.began_ms or now_ms, now_ms)
            self.ended_ms = max(self.ended_ms, now_ms)
            self.minutes[now_ms // _MINUTE_MS] += 1

    def add_to_acted(self, now_ms: int) -> None:
        """Counts an event that a request would be made for."""
        self.acted += 1
        self.acting_minutes[now_ms // _MINUTE_MS] += 1

    def add_to_copies(self, kind: str, distance_ms: int, example: Example) -> None:
        """Counts one copy, by how it came about."""
        self.copies += 1
        self.kinds[kind].add(example)
        self.distances.add(distance_ms)
        self.apart[kind].add(distance_ms)

    def add_window(self, family: str, window_ms: int) -> None:
        """Counts an event that nothing but its distance tells from a copy."""
        self.families[family]["windowed"] += 1
        self.windows[window_ms][family] += 1

    def _count(self, fact: Fact, verdict: Verdict, now_ms: int) -> None:
        self.count(verdict.outcome, fact.family, fact.source or "(none)", now_ms)
        self.noted += bool(fact.received_ms)
        self.custom += fact.is_custom
        self.topics.add(fact.topic)
        is_new = verdict.reason == "ACTED" or verdict.outcome == Outcome.IGNORED
        self.brought[fact.source, fact.topic, is_new] += 1
        self.unchanged += verdict.reason == "UNCHANGED"
        if verdict.outcome == Outcome.IGNORED:
            self.ignored[verdict.reason] += 1
        if fact.window_ms:
            self.add_window(fact.family, fact.window_ms)
        for part in filter(None, fact.note.split("; ")):
            text = part.partition(": 2")[0]  # without the time of this event
            self.notes[fact.family, text].add(Example(fact.place))

    def _add_copy(
        self, copy: Fact, first_ms: int, first: Fact, now_ms: int, verdict: Verdict
    ) -> None:
        kind = find_kind(copy.envelope, first.envelope, copy.source == first.source)
        if verdict.reason == "SETTLED_BEFORE":
            kind = "queue"
        elif copy.is_replay:
            kind = "replay"
        elif copy.is_custom and kind != "envelope":
            kind = "custom"
        example = Example(copy.place, first.subject, first.place)
        self.add_to_copies(kind, abs(now_ms - first_ms), example)
        self.differences.update(_compare(copy, first))

    def _compare_states(self, fact: Fact, states: dict[int, tuple[int, Any]]) -> None:
        if not fact.fields:
            return
        slot = fact.latest or hash(fact.family)
        fields = json.loads(fact.fields)
        key, before = states.get(slot, (fact.key, {}))
        states[slot] = fact.key, fields
        if key != fact.key:
            names = {*fields, *before}
            differ = sorted(name for name in names if fields.get(name) != before.get(name))
            if len(differ) <= _MOST_FIELDS:
                self.changed[fact.family, tuple(differ)] += 1


def find_kind(envelope: object, first_envelope: object, is_same_source: bool) -> str:
    """Says how a copy came about, by what it shares with the first."""
    if envelope and envelope == first_envelope:
        return "envelope"
    if not is_same_source:
        return "integration"
    return "published" if envelope and first_envelope else "unknown"


def _compare(copy: Fact, first: Fact) -> Iterator[str]:
    """Yields in what a copy differs from the first."""
    compared = {
        "envelope id": copy.envelope == first.envelope,
        "eventId": copy.event_id == first.event_id,
        "source": copy.source == first.source,
        "CorrelationId": copy.correlation == first.correlation,
        "publication time": copy.published_ms == first.published_ms,
        # Home-made events hold their own ids and times.
        "content beside the identity": copy.is_custom or copy.content == first.content,
    }
    found = [name for name, is_equal in compared.items() if not is_equal]
    yield from found or ["nothing at all"]
