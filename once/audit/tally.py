"""Goes through the facts of a capture in their order: settles each event as the machine would, and
counts what the report tells.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from once.audit.capture import Place
from once.audit.clock import Clock, milliseconds
from once.audit.distances import Histogram
from once.audit.facts import Fact, Parked, Recorded, again, number
from once.audit.memory import Row, Table
from once.audit.rivals import RULES, Answer, Rivals
from once.audit.shown import OTHERS, Shown
from once.audit.verdict import Claim, Event, Latest, Rows, Verdict
from once.outcomes import Outcome

EXAMPLES = 3
_MOST_NAMES = 1_000  # of families, topics and sources; a mistaken publisher could make millions
_MOST_HOURS = 20_000
_MOST_STRETCHES = 4_096
_HOUR_MS = 3_600_000
_MOST_OPEN = 100_000  # records of a log that others have to complete
_BACK_MS = 1_000  # within which files may disagree about the order

_OUTCOMES = list(Outcome)
_CLAIM = ("message", "occurred", "event_id", "expires", "outcome")
_FIRST = (
    "place",
    "who",
    "came",
    "published",
    "envelope",
    "correlation",
    "source",
    "fields",
    "content",
)
_COLUMNS = (*_CLAIM, *_FIRST, "acted")
_CELLS = ("a", "b", "c")


class First(NamedTuple):
    """What is kept of the event that won a claim, to hold its copies against."""

    place: int
    who: str
    came: int
    published: int
    envelope: int
    correlation: int
    source: int
    fields: int
    content: int

    @classmethod
    def of(cls, fact: Fact, who: str, now_ms: int) -> "First":
        return cls(
            packed(fact.place),
            who,
            now_ms,
            fact.published_ms or 0,
            fact.envelope,
            fact.correlation,
            number(fact.source),
            fact.order,
            fact.read.content,
        )


class Logged(NamedTuple):
    """What is kept of a message that the outcome log says was settled."""

    place: Place
    at_ms: int
    envelope: int
    source: int


class Example(NamedTuple):
    place: Place
    who: str = ""
    first: Place | None = None


@dataclass
class Examples:
    """How often, and the first few."""

    count: int = 0
    few: list[Example] = field(default_factory=list)

    def add(self, example: Example) -> None:
        self.count += 1
        if len(self.few) < EXAMPLES:
            self.few.append(example)


@dataclass
class Shares:
    """Outcomes by name, of so many names."""

    most: int = _MOST_NAMES
    outcomes: dict[str, Counter[Outcome]] = field(default_factory=dict)

    def add(self, name: str, outcome: Outcome) -> str:
        """The name under which it was counted."""
        if name not in self.outcomes:
            if len(self.outcomes) >= self.most:
                name = OTHERS
            self.outcomes.setdefault(name, Counter())
        self.outcomes[name][outcome] += 1
        return name


@dataclass
class RivalTally:
    acted: int = 0
    more_in_a_race: int = 0
    overwrote: int = 0
    unreadable: int = 0
    too_often: Examples = field(default_factory=Examples)
    wrongly_skipped: Examples = field(default_factory=Examples)


class Busiest:
    """The most events in any one stretch of time. Of a capture that is not quite in its order, the
    last few thousand stretches are still open.
    """

    def __init__(self, stretch_ms: int) -> None:
        self._stretch_ms = stretch_ms
        self._counts: Counter[int] = Counter()
        self.most = 0

    def add(self, now_ms: int) -> None:
        stretch = now_ms // self._stretch_ms
        self._counts[stretch] += 1
        self.most = max(self.most, self._counts[stretch])
        if len(self._counts) > _MOST_STRETCHES:
            for past in sorted(self._counts)[: _MOST_STRETCHES // 2]:
                del self._counts[past]


@dataclass
class Counts:
    """All that the report is made of, for captures and outcome logs alike."""

    received: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    families: Shares = field(default_factory=Shares)
    sources: Shares = field(default_factory=Shares)
    hours: Shares = field(default_factory=lambda: Shares(_MOST_HOURS))
    topics: Counter[str] = field(default_factory=Counter)
    brought: dict[tuple[str, str], Counter[bool]] = field(default_factory=dict)
    """By source and topic: how many events acted, and how many did not."""
    windowed: Counter[str] = field(default_factory=Counter)
    late: Counter[str] = field(default_factory=Counter)
    late_few: Examples = field(default_factory=Examples)
    longest_late_ms: int = 0
    backwards: int = 0
    """Events that arrived before one of another file, and were read after it."""
    custom: int = 0
    distances: Histogram = field(default_factory=Histogram)
    arrivals: int = 0
    logged: int = 0
    copies: int = 0
    kinds: dict[str, Examples] = field(default_factory=lambda: defaultdict(Examples))
    apart: dict[str, Histogram] = field(default_factory=lambda: defaultdict(Histogram))
    """The distances again, of the copies of each kind."""
    differences: Counter[str] = field(default_factory=Counter)
    windows: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    fallbacks: dict[tuple[str, str], Examples] = field(
        default_factory=lambda: defaultdict(Examples)
    )
    broken: dict[str, tuple[str, Examples]] = field(default_factory=dict)
    broken_in: Counter[int] = field(default_factory=Counter)
    rivals: list[RivalTally] = field(default_factory=lambda: [RivalTally() for _ in RULES])
    seconds: Busiest = field(default_factory=lambda: Busiest(1_000))
    minutes: Busiest = field(default_factory=lambda: Busiest(60_000))
    acting_minutes: Busiest = field(default_factory=lambda: Busiest(60_000))
    began_ms: int = 0
    ended_ms: int = 0

    @property
    def found_no_event(self) -> bool:
        return self.received == self.outcomes[Outcome.PARKED]

    def count(self, outcome: Outcome, family: str, source: str, now_ms: int) -> str:
        """One settled record. Answers the name that its family is counted by."""
        self.received += 1
        self.outcomes[outcome] += 1
        self.sources.add(source, outcome)
        if now_ms:
            self.hours.add(str(now_ms // _HOUR_MS * _HOUR_MS), outcome)
            self.began_ms = min(self.began_ms or now_ms, now_ms)
            self.ended_ms = max(self.ended_ms, now_ms)
            self.seconds.add(now_ms)
            self.minutes.add(now_ms)
        return self.families.add(family, outcome)

    def count_copy(self, kind: str, distance_ms: int | None, example: Example) -> None:
        self.copies += 1
        self.kinds[kind].add(example)
        if distance_ms is not None:
            self.distances.add(distance_ms)
            self.apart[kind].add(distance_ms)


class Tally:
    """One audit of a capture."""

    def __init__(self, connection: sqlite3.Connection, claim_days: int, shown: Shown) -> None:
        self.counts = Counts()
        self._shown = shown
        self._connection = connection
        self._claims = Table(connection, "claims", _COLUMNS)
        self._memory = Table(connection, "memory", _CELLS)
        self._rows = Rows(_Claims(self._claims), _LatestRows(self._memory), claim_days)
        self._rivals = Rivals(self._memory)
        self._clock = Clock()
        self._newest = 0, 0
        self._handed_back: dict[int, tuple[str, str, int]] = {}
        self._unmatched: dict[int, list[Logged]] = {}
        self._copies_left = 0

    def add(self, found: Iterable[Fact | Parked | Recorded]) -> None:
        """A chunk of the capture, in its order."""
        chunk = [self._timed(one) for one in found]
        facts = [one for one in chunk if isinstance(one, Fact)]
        self._claims.load({fact.key for fact in facts})
        self._memory.load({*_kept_of(facts), *_logged_by(chunk)})
        for one in chunk:
            if isinstance(one, Fact):
                self._settle(one)
            elif isinstance(one, Parked):
                self._park(one)
            else:
                self._note(one)

    def finish(self) -> Counts:
        """What can only be said at the end: on which events nobody acted."""
        self._claims.write()
        while self._handed_back:
            self._count_handed_back()
        while self._unmatched:
            self._give_up_matching()
        settled = _OUTCOMES.index(Outcome.PROCESSED)
        for bit, rival in enumerate(self.counts.rivals):
            skipped = f"FROM claims WHERE outcome = {settled} AND acted & {1 << bit} = 0"
            (count,) = self._connection.execute(f"SELECT COUNT(*) {skipped}").fetchone()
            rival.wrongly_skipped.count += count
            rows = self._connection.execute(
                f"SELECT place, who {skipped} ORDER BY place LIMIT {EXAMPLES}"
            )
            few = [*rival.wrongly_skipped.few, *(Example(unpacked(at), who) for at, who in rows)]
            rival.wrongly_skipped.few = sorted(few)[:EXAMPLES]
        return self.counts

    def _settle(self, fact: Fact) -> None:
        counts = self.counts
        now_ms = self._clock.at(fact.arrived_ms, fact.published_ms)
        counts.arrivals += fact.arrived_ms is not None
        event = Event(
            self._message(fact),
            fact.key,
            fact.latest,
            fact.occurred_ms,
            fact.window_ms,
            fact.event_id,
        )
        before = self._claims.get(fact.key)
        verdict = self._rows.settle(event, now_ms)
        row = self._claims.get(fact.key)
        assert row is not None  # noqa: S101 - a settled event has a claim, its own or another's
        claimed = verdict.reason in ("ACTED", "NEWER_STATE")
        if claimed:
            if before is not None:
                self._close(before)
            who = self._who(fact)
            row[len(_CLAIM) :] = [*First.of(fact, who, now_ms), 0]
        source = self._shown.source(fact.source) if fact.source else ""
        family = counts.count(verdict.outcome, fact.family, source or "(none)", now_ms)
        self._follow(fact)
        self._play(fact, verdict, row, now_ms)
        self._note_topic(fact, source, acted=verdict.reason == "ACTED")
        self._describe(fact, verdict, row, now_ms, family)

    def _who(self, fact: Fact) -> str:
        return f"{fact.subject} {self._shown.id(fact.subject_id)}"

    def _follow(self, fact: Fact) -> None:
        """Notices files that were read in another order than their events arrived in."""
        if fact.arrived_ms is None:
            return
        newest_ms, file = self._newest
        if fact.place.file != file and fact.arrived_ms < newest_ms - _BACK_MS:
            self.counts.backwards += 1
        self._newest = max(self._newest, (fact.arrived_ms, fact.place.file))

    def _note_topic(self, fact: Fact, source: str, acted: bool) -> None:
        counts = self.counts
        counts.custom += not fact.topic.startswith("v2.")
        if fact.topic in counts.topics or len(counts.topics) < _MOST_NAMES:
            counts.topics[fact.topic] += 1
        brought = source, fact.topic
        if brought in counts.brought or len(counts.brought) < _MOST_NAMES:
            counts.brought.setdefault(brought, Counter())[acted] += 1

    def _timed(self, one: Fact | Parked | Recorded) -> Fact | Parked | Recorded:
        if isinstance(one, Parked) and one.text is not None:
            return again(one, self._clock.now_ms)
        return one

    def _message(self, fact: Fact) -> int:
        """A number for the message, the same when the queue handed it out twice."""
        own = self.counts.received + 1
        if not fact.message:
            return own
        row = self._memory.get(fact.message)
        if row is None:
            row = self._memory[fact.message] = [own, None, None]
        return int(row[0])

    def _describe(self, fact: Fact, verdict: Verdict, row: Row, now_ms: int, family: str) -> None:
        counts = self.counts
        is_copy = verdict.outcome == Outcome.DUPLICATE or verdict.reason == "SETTLED_BEFORE"
        if is_copy:
            first = _first(row)
            same_message = verdict.reason == "SETTLED_BEFORE"
            kind = kind_of(fact, first, same_message)
            example = Example(fact.place, first.who, unpacked(first.place))
            counts.count_copy(kind, abs(now_ms - first.came), example)
            counts.differences.update(differing(fact, first, row))
        elif verdict.outcome == Outcome.PROCESSED:
            counts.acting_minutes.add(now_ms)
        if fact.window_ms:
            counts.windowed[family] += 1
            counts.windows[fact.window_ms][family] += 1
        if not is_copy:
            self._order(fact, family)
        if fact.note:
            for part in fact.note.split("; "):
                counts.fallbacks[family, part.partition(": 2")[0]].add(Example(fact.place))

    def _order(self, fact: Fact, family: str) -> None:
        row = self._memory.get(fact.about)
        newest = row[0] if row else 0
        if fact.occurred_ms < newest:
            self.counts.late[family] += 1
            newer = unpacked(row[1]) if row else None
            self.counts.late_few.add(Example(fact.place, self._who(fact), newer))
            late_ms = newest - fact.occurred_ms
            self.counts.longest_late_ms = max(self.counts.longest_late_ms, late_ms)
        else:
            self._memory[fact.about] = [fact.occurred_ms, packed(fact.place), None]

    def _play(self, fact: Fact, verdict: Verdict, row: Row, now_ms: int) -> None:
        """What each rival does, and whether it should have."""
        is_stale = verdict.outcome == Outcome.STALE or (
            verdict.outcome == Outcome.DUPLICATE
            and row[_CLAIM.index("outcome")] == _OUTCOMES.index(Outcome.STALE)
        )
        acted = row[-1]
        for number_of_rule, answer in enumerate(self._rivals.settle(fact.read, now_ms)):
            rival, bit = self.counts.rivals[number_of_rule], 1 << number_of_rule
            rival.acted += answer == Answer.ACTS
            if answer == Answer.CANNOT_READ:
                rival.unreadable += 1
                acted |= bit
            elif is_stale:
                rival.overwrote += answer == Answer.ACTS
            elif answer == Answer.ACTS:
                if acted & bit:
                    first = _first(row)
                    rival.too_often.add(Example(fact.place, first.who, unpacked(first.place)))
                acted |= bit
            elif answer == Answer.MAY_ACT and acted & bit:
                rival.more_in_a_race += 1
        if not is_stale:
            row[-1] = acted

    def _close(self, row: Row) -> None:
        """An occurrence that makes room for the next one of its state."""
        if row[_CLAIM.index("outcome")] != _OUTCOMES.index(Outcome.PROCESSED):
            return
        for bit, rival in enumerate(self.counts.rivals):
            if not row[-1] & 1 << bit:
                first = _first(row)
                rival.wrongly_skipped.add(Example(unpacked(first.place), first.who))

    def _park(self, parked: Parked) -> None:
        now_ms = self._clock.at(parked.arrived_ms, None)
        self.counts.count(Outcome.PARKED, "(unreadable)", "(unreadable)", now_ms)
        self.counts.broken_in[parked.place.file] += 1
        detail = parked.detail.partition(":")[0].rstrip(".")
        _, examples = self.counts.broken.setdefault(parked.reason, (detail, Examples()))
        examples.add(Example(parked.place))

    def _note(self, recorded: Recorded) -> None:
        """A line of an outcome log: the stack has judged already, and each message once."""
        record, counts = recorded.record, self.counts
        at_ms = self._clock.at(record.recorded_at_ms or None, milliseconds(record.occurred_at_ms))
        counts.logged += 1
        message = _logged(record.message_id)
        if self._memory.get(message) is not None:
            return  # it was settled, and delivered again
        source = self._shown.source(record.source) if record.source else "(none)"
        family = record.family or "(unreadable)"
        if record.outcome == Outcome.RETRY:
            self._handed_back[message] = family, source, at_ms
            if len(self._handed_back) > _MOST_OPEN:
                self._count_handed_back()
            return
        self._handed_back.pop(message, None)
        counts.arrivals += bool(record.recorded_at_ms)
        family = counts.count(record.outcome, family, source, at_ms)
        if record.window_ms:
            counts.windowed[family] += 1
            counts.windows[record.window_ms][family] += 1
        logged = Logged(
            recorded.place, at_ms, _number_of(record.envelope_id), _number_of(record.source)
        )
        self._memory[message] = [logged.at_ms, logged.envelope, logged.source]
        if record.outcome == Outcome.PROCESSED:
            counts.acting_minutes.add(at_ms)
        elif record.outcome == Outcome.DUPLICATE:
            self._match(logged, _logged(_winner(recorded)))
        for copy in self._unmatched.pop(message, ()):
            self._copies_left -= 1
            self._count_logged(copy, logged.at_ms, logged.envelope, logged.source)

    def _match(self, copy: Logged, winner: int) -> None:
        """Batches end in another order than they began, so a copy may come before its winner."""
        first = self._memory.get(winner)
        if first is not None:
            self._count_logged(copy, *first)
            return
        self._unmatched.setdefault(winner, []).append(copy)
        self._copies_left += 1
        if self._copies_left > _MOST_OPEN:
            self._give_up_matching()

    def _count_logged(self, copy: Logged, at_ms: int, envelope: int, source: int) -> None:
        if copy.envelope and copy.envelope == envelope:
            kind = "envelope"
        elif copy.source != source:
            kind = "integration"
        else:
            kind = "published" if copy.envelope and envelope else "unknown"
        self.counts.count_copy(kind, abs(copy.at_ms - at_ms), Example(copy.place))

    def _give_up_matching(self) -> None:
        """Of the copies that have waited longest for their winner."""
        copies = self._unmatched.pop(next(iter(self._unmatched)))
        self._copies_left -= len(copies)
        for copy in copies:
            self.counts.count_copy("unknown", None, Example(copy.place))

    def _count_handed_back(self) -> None:
        family, source, at_ms = self._handed_back.pop(next(iter(self._handed_back)))
        self.counts.count(Outcome.RETRY, family, source, at_ms)


def _first(row: Row) -> First:
    return First(*row[len(_CLAIM) : -1])


def kind_of(fact: Fact, first: First, same_message: bool) -> str:
    """How a copy came about, by what it shares with the first."""
    if same_message:
        return "queue"
    if fact.replayed:
        return "replay"
    if fact.envelope and fact.envelope == first.envelope:
        return "envelope"
    if not fact.topic.startswith("v2."):
        return "custom"
    if number(fact.source) != first.source:
        return "integration"
    return "published" if fact.envelope and first.envelope else "unknown"


def differing(fact: Fact, first: First, row: Row) -> list[str]:
    """In what a copy differs from the first."""
    event_id = row[_CLAIM.index("event_id")]
    found = [
        name
        for name, one, other in (
            ("envelope id", fact.envelope, first.envelope),
            ("eventId", fact.event_id, event_id),
            ("source", number(fact.source), first.source),
            ("CorrelationId", fact.correlation, first.correlation),
            ("publication time", fact.published_ms or 0, first.published),
        )
        if one != other
    ]
    if fact.read.content != first.content:
        if fact.topic.startswith("v2."):  # custom events hold their own ids and times
            found.append("content beside the identity")
    elif fact.order != first.fields:
        found.append("field order")
    return found or ["nothing at all"]


def packed(place: Place) -> int:
    """A place in one number, which sorts as places do."""
    return place.file << 43 | min(place.line, (1 << 26) - 1) << 17 | min(place.item, (1 << 17) - 1)


def unpacked(value: int) -> Place:
    return Place(value >> 43, value >> 17 & (1 << 26) - 1, value & (1 << 17) - 1)


def _kept_of(facts: Sequence[Fact]) -> set[int]:
    keys = {part for fact in facts for part in fact.read[:-1] if part is not None}
    keys |= {fact.latest for fact in facts if fact.latest is not None}
    return keys | {fact.about for fact in facts} | {fact.message for fact in facts if fact.message}


def _logged_by(chunk: Sequence[Fact | Parked | Recorded]) -> set[int]:
    records = [one for one in chunk if isinstance(one, Recorded)]
    return {_logged(one.record.message_id) for one in records} | {
        _logged(_winner(one)) for one in records
    }


def _logged(message_id: str) -> int:
    return number(f"recorded {message_id}")


def _winner(recorded: Recorded) -> str:
    """The message that acted, whose claim this one met."""
    record = recorded.record
    return (record.because or "").rpartition("#")[2] or record.copy_of or ""


def _number_of(text: str | None) -> int:
    return number(text) if text else 0


class _Claims:
    """The claim part of the rows."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, key: int, /) -> Claim | None:
        row = self._table.get(key)
        if row is None:
            return None
        message, occurred, event_id, expires, outcome = row[: len(_CLAIM)]
        return Claim(message, occurred, event_id, expires, _OUTCOMES[outcome])

    def __setitem__(self, key: int, claim: Claim, /) -> None:
        *values, outcome = claim
        self._table[key] = [*values, _OUTCOMES.index(outcome), *[0] * (len(_FIRST) + 1)]


class _LatestRows:
    """The rows that say how new the newest event is."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, key: int, /) -> Latest | None:
        row = self._table.get(key)
        return None if row is None else Latest(*row)

    def __setitem__(self, key: int, latest: Latest, /) -> None:
        self._table[key] = [*latest]
