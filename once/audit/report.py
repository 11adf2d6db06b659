"""The answer of `once audit`: `--json` writes it, page and terminal show nothing else.

`make_report` makes it of what was counted; the sentences in it are advice.py's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, TypeVar

from pydantic import ConfigDict, Field

from once.audit.origins import ORIGINS
from once.audit.shown import Shown
from once.audit.tally import Examples, Tally
from once.lines import Place, Source
from once.model.base import Model
from once.model.outcomes import Outcome

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
_FEWEST = 3  # states that differ in a field alone; the name of a rarer one may be anybody's
_MOST_NAMES = 1_000  # a mistaken publisher could make millions

Outcomes = dict[Outcome, int]
Name = TypeVar("Name")


class FileReport(Model):
    """One file of the capture."""

    name: str
    records: int
    broken: int = Field(description="Records that hold no event.")
    trouble: str | None = Field(description="Why it was not read, or not to its end.")


class Share(Model):
    """The ends of the events of one family or source."""

    name: str
    received: int
    outcomes: Outcomes
    windowed: int = Field(description="Without a time and an id of their own.")
    late: int = Field(description="Came after a newer event of their subject.")


class Distances(Model):
    """The time from the first message to its copies."""

    clock: Literal["arrival", "publication"] = Field(
        description="The capture notes when each event arrived, or only when it was published."
    )
    median_ms: int
    p99_ms: int
    longest_ms: int
    counts: dict[str, int] = Field(description="Copies by distance.")


class CopyKind(Model):
    """Copies that came about in the same way."""

    kind: str
    what: str
    who: str = Field(description="Who makes such copies.")
    count: int
    median_ms: int = Field(description="Half of them came no later after the first.")
    longest_ms: int = Field(description="The last of them came so long after the first.")
    examples: list[str]


class Facts(Model):
    """The effect of facts on a family, those of its route or a proposal."""

    family: str
    facts: list[str]
    is_in_use: bool = Field(description="False: a proposal.")
    acts_without: int = Field(description="Requests if the whole body counts.")
    acts_with: int
    changed_alone: dict[str, int] = Field(
        description="States that differ from the one before only in these fields."
    )


class Passed(Model):
    """Stale events of a family."""

    family: str
    count: int
    examples: list[str] = Field(description="Each stale event with the state that passed it.")
    every_would_act: bool = Field(description='`order = "every"` on its route would have acted.')


class Note(Model):
    """Keys that had to be made of something else than their family's identity."""

    family: str
    note: str
    count: int
    examples: list[str]


class Window(Model):
    """Events that nothing but their distance tells from a copy."""

    window_ms: int
    clock: str
    count: int
    families: list[str]


class NoEvent(Model):
    """Records that hold no event, for the same reason."""

    reason: str
    detail: str
    count: int
    examples: list[str]


class OnlyCopies(Model):
    """A topic of a source that brought nothing new: all of its events were copies."""

    source: str
    topic: str
    received: int


class Plan(Model):
    """The capture's traffic, and the settings to deploy with."""

    events_per_month: int
    peak_per_minute: int
    acts_per_minute: int = Field(description="Requests to the destination in the busiest minute.")
    parameters: dict[str, str] = Field(description="To deploy with.")
    because: dict[str, str]


class AuditReport(Model):
    """The whole of an audit."""

    model_config = ConfigDict(title="once audit report")

    received: int = Field(ge=0, description="Records read.")
    outcomes: Outcomes = Field(
        description="Records per outcome; an outcome that did not occur is left out."
    )
    began: str | None = Field(description="The earliest time in it, ISO 8601.")
    ended: str | None
    seconds: float = Field(description="How long it covers.")
    conclusions: list[str] = Field(default=[], description="What was found, the verdict first.")
    advice: list[str] = Field(default=[], description="What to do about it.")
    files: list[FileReport]
    families: list[Share]
    sources: list[Share]
    acted: int
    copies: int
    unchanged: int = Field(description="States with the same facts as the newest before them.")
    ignored: dict[str, int] = Field(description="Events that no request is made for, by reason.")
    distances: Distances | None
    copy_kinds: list[CopyKind]
    differences: dict[str, int] = Field(description="In what copies differ from the first.")
    facts: list[Facts] = Field(description="Families in which fewer fields would count.")
    passed: list[Passed] = Field(description="Stale events, and which state passed each.")
    late: int = Field(description="Events that came after a newer one of their subject.")
    longest_late_ms: int
    windows: list[Window]
    notes: list[Note] = Field(description="Where Genesys sent another form than is declared.")
    broken: list[NoEvent]
    only_copies: list[OnlyCopies]
    plan: Plan | None = None


def make_report(tally: Tally, shown: Shown, sources: Sequence[Source] = ()) -> AuditReport:
    """Makes the report of what was counted, without the sentences."""
    files = shown.files([source.name for source in sources])

    def name_places(examples: Examples, relation: str = "first in") -> list[str]:
        places = []
        for place, who, other in examples.few:
            text = _name_place(place, files)
            if other is not None:
                text += f", {relation} {_name_place(other, files)}"
            places.append(f"{text} ({who})" if who else text)
        return places

    report = AuditReport(
        received=tally.received,
        outcomes=dict(tally.outcomes),
        began=_iso(tally.began_ms),
        ended=_iso(tally.ended_ms),
        seconds=(tally.ended_ms - tally.began_ms) / 1000,
        files=[
            FileReport(
                name=files[number],
                records=source.records,
                broken=tally.broken_in[number],
                trouble=source.trouble or (None if source.records else "holds nothing"),
            )
            for number, source in enumerate(sources)
        ],
        families=_make_shares(tally.families),
        sources=_make_shares(tally.sources),
        acted=tally.acted,
        copies=tally.copies,
        unchanged=tally.unchanged,
        ignored=dict(tally.ignored.most_common()),
        distances=_make_distances(tally),
        copy_kinds=[
            CopyKind(
                kind=kind,
                what=ORIGINS[kind].what,
                who=ORIGINS[kind].who,
                count=examples.count,
                median_ms=tally.apart[kind].quantile(0.5),
                longest_ms=tally.apart[kind].longest_ms,
                examples=name_places(examples),
            )
            for kind, examples in _by_count(tally.kinds)
        ],
        differences=dict(tally.differences.most_common()),
        facts=[
            Facts(
                family=family,
                facts=list(facts.facts),
                is_in_use=facts.is_in_use,
                acts_without=facts.acts_without,
                acts_with=facts.acts_with,
                changed_alone={
                    " and ".join(fields): count
                    for (name, fields), count in tally.changed.most_common()
                    if name == family and count >= _FEWEST
                },
            )
            for family, facts in tally.facts.items()
            if facts.is_in_use or facts.acts_with < facts.acts_without
        ],
        passed=[
            Passed(
                family=family,
                count=examples.count,
                examples=name_places(examples, "passed by"),
                every_would_act=not tally.families[family]["windowed"],
            )
            for family, examples in _by_count(tally.passed)
        ],
        late=tally.late,
        longest_late_ms=tally.longest_late_ms,
        windows=[
            Window(
                window_ms=ms,
                clock=_CLOCKS.get(ms, f"a window of {ms} ms"),
                count=families.total(),
                families=[name for name, _ in families.most_common()],
            )
            for ms, families in sorted(tally.windows.items())
        ],
        notes=[
            Note(family=family, note=note, count=examples.count, examples=name_places(examples))
            for (family, note), examples in _by_count(tally.notes)
        ],
        broken=[
            NoEvent(
                reason=reason,
                detail=tally.details[reason],
                count=examples.count,
                examples=name_places(examples),
            )
            for reason, examples in _by_count(tally.broken)
        ],
        only_copies=_find_only_copies(tally),
    )
    report.facts.sort(key=lambda facts: facts.acts_with - facts.acts_without)
    return report


def _name_place(place: Place, files: Sequence[str]) -> str:
    file = f"{files[place.file]} " if len(files) > 1 else ""
    item = f", record {place.item}" if place.item > 1 else ""
    return f"{file}line {place.line}{item}"


def _by_count(examples: Mapping[Name, Examples]) -> list[tuple[Name, Examples]]:
    return sorted(examples.items(), key=lambda item: -item[1].count)


def _make_shares(shares: Mapping[str, Counter[str]]) -> list[Share]:
    made = []
    for name, counts in shares.items():
        outcomes = {outcome: counts[outcome] for outcome in Outcome if counts[outcome]}
        made.append(
            Share(
                name=name,
                received=sum(outcomes.values()),
                outcomes=outcomes,
                windowed=counts["windowed"],
                late=counts["late"],
            )
        )
    return sorted(made, key=lambda share: -share.received)[:_MOST_NAMES]


def _make_distances(tally: Tally) -> Distances | None:
    distances = tally.distances
    if not len(distances):
        return None
    return Distances(
        clock="arrival" if 2 * tally.noted > tally.received else "publication",
        median_ms=distances.quantile(0.5),
        p99_ms=distances.quantile(0.99),
        longest_ms=distances.longest_ms,
        counts=dict(zip(_STEPS, distances.up_to(_STEPS.values()), strict=True)),
    )


def _find_only_copies(tally: Tally) -> list[OnlyCopies]:
    """Finds topics of a source that brought nothing but copies, most events first."""
    topics = [
        OnlyCopies(source=source, topic=topic, received=count)
        for (source, topic, is_new), count in tally.brought.items()
        if source and not is_new and not tally.brought[source, topic, True]
    ]
    return sorted(topics, key=lambda topic: (-topic.received, topic.source, topic.topic))


def _iso(ms: int) -> str | None:
    if not ms:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
