"""Counts what becomes of the events of each subject, and how copies came about."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from once.audit.entries import Broken, Entry
from once.lines import Place
from once.model.outcomes import Outcome
from once.model.rule import Rows, Verdict

_EXAMPLES = 3
_MOST_FIELDS = 3  # that tell a state from the one before it, for them to be named
_MOST_PASSED = 1_000
_MINUTE_MS = 60_000
_FEWEST = 3  # states that changed in a field; the name of a rarer one may be anybody's
# Fields with these names are what people act on. Genesys' own softphone compares the first four.
_STATES = frozenset(
    ("state", "confined", "held", "muted", "status", "systemPresence", "adherenceState",
     "fileState", "joined", "purpose", "currentState")
)  # fmt: skip


class Example(NamedTuple):
    """A record, and the other one that says why it is an example."""

    place: Place
    who: str = ""
    other: Place | None = None


class Examples:
    """Counts, and keeps the first few by their places."""

    def __init__(self, most: int = _EXAMPLES) -> None:
        self.count = 0
        self.few: list[Example] = []
        self._most = most

    def add(self, example: Example) -> None:
        self.count += 1
        if len(self.few) < self._most or example.place < self.few[-1].place:
            self.few = sorted([*self.few, example], key=lambda example: example.place)[: self._most]


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
        """Sorts them, after all were added."""
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
class FactsOfFamily:
    """The effect of facts on the states of a family."""

    facts: tuple[str, ...]
    is_in_use: bool
    """The routes have these facts; else they are proposed."""
    acts_without: int = 0
    acts_with: int = 0


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
    """Records that note when they arrived."""
    kinds: dict[str, Examples] = field(default_factory=lambda: defaultdict(Examples))
    apart: dict[str, Distances] = field(default_factory=lambda: defaultdict(Distances))
    differences: Counter[str] = field(default_factory=Counter)
    changed: Counter[tuple[str, tuple[str, ...]]] = field(default_factory=Counter)
    """By family: the fields that alone tell a state from the one before it."""
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By family: how often a field was there that looks like a state."""
    facts: dict[str, FactsOfFamily] = field(default_factory=dict)
    windows: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    notes: dict[tuple[str, str], Examples] = field(default_factory=lambda: defaultdict(Examples))
    passed: dict[str, Examples] = field(
        default_factory=lambda: defaultdict(lambda: Examples(_MOST_PASSED))
    )
    """By family: stale events, each with the state that passed it."""
    late: int = 0
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

    def judge(self, subject: Iterable[tuple[int, Entry]]) -> None:
        """Settles the events of one subject, each before the next comes."""
        rows, first_of = Rows(self.claim_days), dict[int, tuple[int, Entry]]()
        newest: Entry | None = None
        states: dict[int, tuple[int, dict[str, int]]] = {}
        for now_ms, entry in subject:
            verdict = rows.settle(entry.make_event(), now_ms)
            self._count_event(entry, verdict, now_ms)
            if verdict.reason == "ACTED":
                self.acted += 1
                self.acting_minutes[now_ms // _MINUTE_MS] += 1
                self._compare_states(entry, states)
            # A copy by another clock takes the claim, and has copies of its own.
            first_of.setdefault(entry.message, (now_ms, entry))
            if verdict.reason in ("SAME_KEY", "SAME_EVENT_ID", "SETTLED_BEFORE"):
                self._add_copy(entry, *first_of[verdict.because], now_ms, verdict)
                continue
            if verdict.outcome is Outcome.STALE:
                by = first_of[verdict.because][1].place
                self.passed[entry.family].add(Example(entry.place, entry.subject, by))
            if newest is not None and entry.occurred_ms < newest.occurred_ms:
                self.families[entry.family]["late"] += 1
                self.late += 1
                late_ms = newest.occurred_ms - entry.occurred_ms
                self.longest_late_ms = max(self.longest_late_ms, late_ms)
            else:
                newest = entry

    def propose_facts(self) -> None:
        """Proposes the fields that look like a state, for families in which others changed alone
        and whose routes have no facts."""
        changed = Counter[str]()
        for (family, names), count in self.changed.items():
            if any(name.rpartition(".")[2] not in _STATES for name in names):
                changed[family] += count
        for family in sorted(changed.keys() - self.facts.keys()):
            counts = {path: n for (name, path), n in self.states.items() if name == family}
            facts = sorted(path for path, count in counts.items() if count >= _FEWEST)
            if facts and changed[family] >= _FEWEST:
                self.facts[family] = FactsOfFamily(tuple(facts), is_in_use=False)

    def try_facts(self, subject: Iterable[tuple[int, Entry]]) -> None:
        """Counts for one subject how often the facts of each family would act, and how often its
        events act without any."""
        without, with_facts = Rows(self.claim_days), Rows(self.claim_days)
        for now_ms, entry in subject:
            if facts := self.facts.get(entry.family):
                bare = without.settle(entry.make_event_with(()), now_ms)
                own = entry.make_event()
                event = own if facts.is_in_use else entry.make_event_with(facts.facts)
                counted = with_facts.settle(event, now_ms)
                facts.acts_without += bare.reason == "ACTED"
                facts.acts_with += counted.reason == "ACTED"

    def add_broken(self, broken: Broken, now_ms: int) -> None:
        """Counts a record that would be parked."""
        self._count(Outcome.PARKED, "(unreadable)", "(unreadable)", now_ms)
        self.broken_in[broken.place.file] += 1
        self.details.setdefault(broken.reason, broken.detail.partition(":")[0].rstrip("."))
        self.broken[broken.reason].add(Example(broken.place))

    def _count(self, outcome: Outcome, family: str, source: str, now_ms: int) -> None:
        """Counts one settled record."""
        self.outcomes[outcome] += 1
        self.families[family][outcome] += 1
        self.sources[source][outcome] += 1
        if now_ms:
            self.began_ms = min(self.began_ms or now_ms, now_ms)
            self.ended_ms = max(self.ended_ms, now_ms)
            self.minutes[now_ms // _MINUTE_MS] += 1

    def _count_event(self, entry: Entry, verdict: Verdict, now_ms: int) -> None:
        self._count(verdict.outcome, entry.family, entry.source or "(none)", now_ms)
        self.noted += bool(entry.arrived_ms)
        self.custom += entry.is_custom
        self.topics.add(entry.topic)
        is_new = verdict.reason == "ACTED" or verdict.outcome is Outcome.IGNORED
        self.brought[entry.source, entry.topic, is_new] += 1
        self.unchanged += verdict.reason == "UNCHANGED"
        if verdict.outcome is Outcome.IGNORED:
            self.ignored[verdict.reason] += 1
        if entry.window_ms:
            self.families[entry.family]["windowed"] += 1
            self.windows[entry.window_ms][entry.family] += 1
        if entry.fields and (facts := entry.route_facts):
            self.facts.setdefault(entry.family, FactsOfFamily(tuple(facts), is_in_use=True))
        for part in filter(None, entry.note.split("; ")):
            text = part.partition(": 2")[0]  # without the time of this event
            self.notes[entry.family, text].add(Example(entry.place))

    def _add_copy(
        self, copy: Entry, first_ms: int, first: Entry, now_ms: int, verdict: Verdict
    ) -> None:
        kind = "published" if copy.envelope and first.envelope else "unknown"
        if verdict.reason == "SETTLED_BEFORE":
            kind = "queue"
        elif copy.is_replay:
            kind = "replay"
        elif copy.envelope and copy.envelope == first.envelope:
            kind = "envelope"
        elif copy.is_custom:
            kind = "custom"
        elif copy.source != first.source:
            kind = "integration"
        self.copies += 1
        self.kinds[kind].add(Example(copy.place, first.subject, first.place))
        self.distances.add(abs(now_ms - first_ms))
        self.apart[kind].add(abs(now_ms - first_ms))
        self.differences.update(_compare(copy, first))

    def _compare_states(self, entry: Entry, states: dict[int, tuple[int, dict[str, int]]]) -> None:
        if not entry.fields or entry.latest is None:
            return
        fields = entry.read_fields()
        self.states.update(
            (entry.family, path) for path in fields if path.rpartition(".")[2] in _STATES
        )
        key, before = states.get(entry.latest, (entry.key, {}))
        states[entry.latest] = entry.key, fields
        if before and key != entry.key:
            names = {*fields, *before}
            differ = sorted(name for name in names if fields.get(name) != before.get(name))
            if 0 < len(differ) <= _MOST_FIELDS:
                self.changed[entry.family, tuple(differ)] += 1


def _compare(copy: Entry, first: Entry) -> Iterator[str]:
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
    differing = [name for name, is_equal in compared.items() if not is_equal]
    yield from differing or ["nothing at all"]
