"""Counts what becomes of the events of each subject, and how copies came about."""

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import TypeVar

from once.audit.entries import Broken, Entry
from once.audit.report import (
    AuditReport,
    CopyKind,
    Distances,
    Examples,
    Facts,
    FileReport,
    NoEvent,
    Note,
    OnlyCopies,
    Passed,
    Share,
    Window,
)
from once.lines import Place, Source
from once.model.reasons import Outcome
from once.model.rule import Rows, Verdict

_MOST_FIELDS = 3  # that tell a state from the one before it, for them to be named
_MINUTE_MS = 60_000
_FEWEST = 3  # states that differ in a field; the name of a rarer one may be anybody's
# Fields with these names are what people act on. Genesys' own softphone compares the first four.
_STATES = frozenset(
    ("state", "confined", "held", "muted", "status", "systemPresence", "adherenceState",
     "fileState", "joined", "purpose", "currentState")
)  # fmt: skip
_CLOCKS = {
    500: "a clock with milliseconds",
    1_500: "a clock with whole seconds",
    60_000: "only the time at which they arrived",
}
_STEPS = {
    "same ms": 0,
    "to 10 ms": 10,
    "to 100 ms": 100,
    "to 1 s": 1_000,
    "to 10 s": 10_000,
    "to 1 min": 60_000,
    "to 5 min": 300_000,
    "to 1 h": 3_600_000,
    "to 1 day": 86_400_000,
    "longer": 253_402_300_799_999,
}
_K = TypeVar("_K")
_V = TypeVar("_V")
_E = TypeVar("_E", bound=Examples)


class _Parts(dict[_K, _V]):
    """Parts of the report by their names, each made when it is first counted."""

    def __init__(self, make: Callable[[_K], _V]) -> None:
        self._make = make

    def __missing__(self, name: _K) -> _V:
        part = self[name] = self._make(name)
        return part


class Tally:
    """All that the report is made of."""

    def __init__(self, files: Sequence[str]) -> None:
        """`files` are their names as the report shows them."""
        self._files = files
        self.families = _Parts[str, Share](lambda name: Share(name=name))
        self.sources = _Parts[str, Share](lambda name: Share(name=name))
        self.brought = Counter[tuple[str, str, bool]]()
        """By source, topic, and whether the event was more than a copy."""
        self.topics: set[str] = set()
        self.custom = 0
        self.acting_minutes = Counter[int]()
        self.began_ms = self.ended_ms = 0
        self.acted = self.unchanged = self.late = self.longest_late_ms = 0
        self.facts: dict[str, Facts] = {}
        self._outcomes = Counter[Outcome]()
        self._dated = 0
        self._ignored = Counter[str]()
        self._kinds = _Parts[str, CopyKind](lambda kind: CopyKind(kind=kind))
        self._apart: dict[str, array[int]] = defaultdict(lambda: array("q"))
        """By kind: milliseconds from the first message to each copy."""
        self._differences = Counter[str]()
        self._changed: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        """By family: the fields in which states differ from the one before, if they are few."""
        self._states: dict[str, Counter[str]] = defaultdict(Counter)
        """By family: fields with the name of a state."""
        self._windows: dict[int, Counter[str]] = defaultdict(Counter)
        self._notes = _Parts[tuple[str, str], Note](lambda key: Note(family=key[0], note=key[1]))
        self._passed = _Parts[str, Passed](lambda name: Passed(family=name))
        self._broken: dict[str, NoEvent] = {}
        self._broken_in = Counter[int]()

    @property
    def has_events(self) -> bool:
        return self._outcomes.total() > self._outcomes[Outcome.PARKED]

    def add_broken(self, broken: Broken, now_ms: int) -> None:
        """Counts a record that would be parked."""
        self._count(Outcome.PARKED, "(unreadable)", "(unreadable)", now_ms)
        self._broken_in[broken.place.file] += 1
        detail = broken.detail.partition(":")[0].rstrip(".")
        no_event = NoEvent(reason=broken.reason, detail=detail)
        self._broken.setdefault(broken.reason, no_event).add(broken.place, self._name(broken.place))

    def judge(self, subject: Iterable[tuple[int, Entry]]) -> None:
        """Settles the events of one subject, each before the next comes."""
        rows, first_of = Rows(), dict[int, tuple[int, Entry]]()
        newest_ms = 0
        states: dict[int, tuple[int, dict[str, int]]] = {}
        for now_ms, entry in subject:
            verdict = rows.settle(entry.event, now_ms)
            self._count_event(entry, verdict, now_ms)
            if verdict.reason == "ACTED":
                self.acted += 1
                self.acting_minutes[now_ms // _MINUTE_MS] += 1
                self._compare_states(entry, states)
            # A copy by another clock takes the claim, and has copies of its own.
            first_of.setdefault(entry.event.message_id, (now_ms, entry))
            if verdict.reason in ("SAME_KEY", "SAME_EVENT_ID", "SETTLED_BEFORE"):
                self._add_copy(entry, *first_of[verdict.because], now_ms, verdict)
                continue
            if verdict.outcome is Outcome.STALE:
                by = self._name(first_of[verdict.because][1].place)
                example = f"{self._name(entry.place)}, passed by {by} ({entry.subject})"
                self._passed[entry.family].add(entry.place, example)
            if entry.event.occurred_ms < newest_ms:
                self.families[entry.family].late += 1
                self.late += 1
                self.longest_late_ms = max(
                    self.longest_late_ms, newest_ms - entry.event.occurred_ms
                )
            newest_ms = max(newest_ms, entry.event.occurred_ms)

    def propose_facts(self) -> None:
        """Proposes the fields that look like a state, for families in which others changed alone
        and whose routes have no facts."""
        for family, changed in sorted(self._changed.items()):
            others = sum(
                count
                for names, count in changed.items()
                if any(name.rpartition(".")[2] not in _STATES for name in names)
            )
            facts = sorted(p for p, count in self._states[family].items() if count >= _FEWEST)
            if family not in self.facts and facts and others >= _FEWEST:
                self.facts[family] = Facts(family=family, facts=facts, is_in_use=False)

    def try_facts(self, subject: Iterable[tuple[int, Entry]]) -> None:
        """Counts for one subject how often the facts of each family would act, and how often its
        events act without any."""
        without, with_facts = Rows(), Rows()
        for now_ms, entry in subject:
            if facts := self.facts.get(entry.family):
                bare = without.settle(entry.make_event_with(()), now_ms)
                event = entry.event if facts.is_in_use else entry.make_event_with(facts.facts)
                counted = with_facts.settle(event, now_ms)
                facts.acts_without += bare.reason == "ACTED"
                facts.acts_with += counted.reason == "ACTED"

    def make_report(self, sources: Sequence[Source]) -> AuditReport:
        """Makes the report, without the sentences."""
        for kind, apart in self._apart.items():
            ordered = sorted(apart)
            self._kinds[kind].median_ms = _quantile(ordered, 0.5)
            self._kinds[kind].longest_ms = ordered[-1]
        for family, passed in self._passed.items():
            passed.every_would_act = not self.families[family].windowed
        for family, facts in self.facts.items():
            facts.changed_alone = {
                " and ".join(fields): count
                for fields, count in self._changed[family].most_common()
                if count >= _FEWEST
            }
        helpful = [f for f in self.facts.values() if f.is_in_use or f.acts_with < f.acts_without]
        return AuditReport(
            received=self._outcomes.total(),
            outcomes=dict(self._outcomes),
            began=_iso(self.began_ms),
            ended=_iso(self.ended_ms),
            seconds=(self.ended_ms - self.began_ms) / 1000,
            files=[
                FileReport(
                    name=self._files[number],
                    records=source.records,
                    broken=self._broken_in[number],
                    trouble=source.trouble or (None if source.records else "holds nothing"),
                )
                for number, source in enumerate(sources)
            ],
            families=_by_events(self.families),
            sources=_by_events(self.sources),
            acted=self.acted,
            copies=sum(kind.count for kind in self._kinds.values()),
            unchanged=self.unchanged,
            ignored=dict(self._ignored.most_common()),
            distances=self._make_distances(),
            copy_kinds=_by_count(self._kinds),
            differences=dict(self._differences.most_common()),
            facts=sorted(helpful, key=lambda facts: facts.acts_with - facts.acts_without),
            passed=_by_count(self._passed),
            late=self.late,
            longest_late_ms=self.longest_late_ms,
            windows=[
                Window(
                    window_ms=ms,
                    clock=_CLOCKS.get(ms, f"a window of {ms} ms"),
                    count=families.total(),
                    families=[name for name, _ in families.most_common()],
                )
                for ms, families in sorted(self._windows.items())
            ],
            notes=_by_count(self._notes),
            broken=_by_count(self._broken),
            only_copies=self._find_only_copies(),
        )

    def _name(self, place: Place) -> str:
        file = f"{self._files[place.file]} " if len(self._files) > 1 else ""
        item = f", record {place.item}" if place.item > 1 else ""
        return f"{file}line {place.line}{item}"

    def _count(self, outcome: Outcome, family: str, source: str, now_ms: int) -> None:
        """Counts one settled record."""
        self._outcomes[outcome] += 1
        self.families[family].add(outcome)
        self.sources[source].add(outcome)
        if now_ms:
            self.began_ms = min(self.began_ms or now_ms, now_ms)
            self.ended_ms = max(self.ended_ms, now_ms)

    def _count_event(self, entry: Entry, verdict: Verdict, now_ms: int) -> None:
        self._count(verdict.outcome, entry.family, entry.source or "(none)", now_ms)
        self._dated += bool(entry.arrived_ms)
        self.custom += entry.is_custom
        self.topics.add(entry.topic)
        is_new = verdict.reason == "ACTED" or verdict.outcome is Outcome.IGNORED
        self.brought[entry.source, entry.topic, is_new] += 1
        self.unchanged += verdict.reason == "UNCHANGED"
        if verdict.outcome is Outcome.IGNORED:
            self._ignored[verdict.reason] += 1
        if entry.event.window_ms:
            self.families[entry.family].windowed += 1
            self._windows[entry.event.window_ms][entry.family] += 1
        if entry.fields and entry.family not in self.facts and entry.route_facts:
            self.facts[entry.family] = Facts(
                family=entry.family, facts=[*entry.route_facts], is_in_use=True
            )
        for part in filter(None, entry.note.split("; ")):
            text = part.partition(": 2")[0]  # without the time of this event
            self._notes[entry.family, text].add(entry.place, self._name(entry.place))

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
        example = f"{self._name(copy.place)}, first in {self._name(first.place)} ({first.subject})"
        self._kinds[kind].add(copy.place, example)
        self._apart[kind].append(abs(now_ms - first_ms))
        self._differences.update(_compare(copy, first))

    def _compare_states(self, entry: Entry, states: dict[int, tuple[int, dict[str, int]]]) -> None:
        if not entry.fields or entry.event.latest is None:
            return
        fields = entry.fields
        self._states[entry.family].update(
            path for path in fields if path.rpartition(".")[2] in _STATES
        )
        key, before = states.get(entry.event.latest, (entry.event.key, {}))
        states[entry.event.latest] = entry.event.key, fields
        if before and key != entry.event.key:
            names = {*fields, *before}
            differ = sorted(name for name in names if fields.get(name) != before.get(name))
            if 0 < len(differ) <= _MOST_FIELDS:
                self._changed[entry.family][tuple(differ)] += 1

    def _make_distances(self) -> Distances | None:
        apart = sorted(ms for kind in self._apart.values() for ms in kind)
        if not apart:
            return None
        within = [0, *(bisect_right(apart, step) for step in _STEPS.values())]
        return Distances(
            clock="arrival" if 2 * self._dated > self._outcomes.total() else "publication",
            median_ms=_quantile(apart, 0.5),
            p99_ms=_quantile(apart, 0.99),
            longest_ms=apart[-1],
            counts={
                name: end - begin
                for name, (begin, end) in zip(_STEPS, pairwise(within), strict=True)
            },
        )

    def _find_only_copies(self) -> list[OnlyCopies]:
        """Finds topics of a source that brought nothing but copies, most events first."""
        topics = [
            OnlyCopies(source=source, topic=topic, received=count)
            for (source, topic, is_new), count in self.brought.items()
            if source and not is_new and not self.brought[source, topic, True]
        ]
        return sorted(topics, key=lambda topic: (-topic.received, topic.source, topic.topic))


def _by_events(shares: dict[str, Share]) -> list[Share]:
    return sorted(shares.values(), key=lambda share: -share.received)


def _by_count(examples: dict[_K, _E]) -> list[_E]:
    return sorted(examples.values(), key=lambda part: -part.count)


def _quantile(ordered: Sequence[int], share: float) -> int:
    """Returns the number that such a share of them does not exceed."""
    return ordered[max(0, round(share * len(ordered)) - 1)]


def _compare(copy: Entry, first: Entry) -> Iterator[str]:
    """Yields in what a copy differs from the first."""
    compared = {
        "envelope id": copy.envelope == first.envelope,
        "eventId": copy.event.event_id == first.event.event_id,
        "source": copy.source == first.source,
        "CorrelationId": copy.correlation == first.correlation,
        "publication time": copy.published_ms == first.published_ms,
        # Home-made events hold their own ids and times.
        "content beside the identity": copy.is_custom or copy.content == first.content,
    }
    differing = [name for name, is_equal in compared.items() if not is_equal]
    yield from differing or ["nothing at all"]


def _iso(ms: int) -> str | None:
    if not ms:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
