"""Makes the report of what was counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from once.audit.advice import advise, conclude, find_only_copies, plan
from once.audit.origins import ORIGINS
from once.audit.report import (
    AuditReport,
    Broken,
    Candidate,
    CopyKind,
    Distances,
    FileReport,
    Note,
    Share,
    Window,
)
from once.audit.shown import Shown
from once.audit.tally import Examples, Tally
from once.lines import Place, Source
from once.outcomes import Outcome

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


def answer(tally: Tally, shown: Shown, sources: Sequence[Source] = ()) -> AuditReport:
    files = shown.files([source.name for source in sources])
    where = _Where(files)
    only = find_only_copies(tally)
    distances, kinds = _distances(tally), _copy_kinds(tally, where)
    candidates = _candidates(tally)
    return AuditReport(
        received=tally.received,
        outcomes=dict(tally.outcomes),
        began=_iso(tally.began_ms),
        ended=_iso(tally.ended_ms),
        seconds=(tally.ended_ms - tally.began_ms) / 1000,
        conclusions=conclude(tally, kinds, distances, candidates),
        advice=advise(tally, kinds, only, candidates),
        files=[
            FileReport(
                name=files[number],
                records=source.records,
                broken=tally.broken_in[number],
                trouble=source.trouble or (None if source.records else "holds nothing"),
            )
            for number, source in enumerate(sources)
        ],
        families=_shares(tally.families),
        sources=_shares(tally.sources),
        copies=tally.copies,
        unchanged=tally.unchanged,
        ignored=dict(tally.ignored.most_common()),
        distances=distances,
        copy_kinds=kinds,
        differences=dict(tally.differences.most_common()),
        candidates=candidates,
        late=tally.late.count,
        late_examples=where.all(tally.late, "after"),
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
            Note(family=family, note=note, count=examples.count, examples=where.all(examples))
            for (family, note), examples in sorted(
                tally.notes.items(), key=lambda item: -item[1].count
            )
        ],
        broken=[
            Broken(
                reason=reason,
                detail=tally.details[reason],
                count=examples.count,
                examples=where.all(examples),
            )
            for reason, examples in sorted(tally.broken.items(), key=lambda item: -item[1].count)
        ],
        only_copies=only,
        plan=plan(tally, distances),
    )


class _Where:
    """Names places: by line, and by file if there are several."""

    def __init__(self, files: list[str]) -> None:
        self._files = files

    def all(self, examples: Examples, relation: str = "first in") -> list[str]:
        found = []
        for place, who, other in examples.few:
            text = self._place(place)
            if other is not None:
                text += f", {relation} {self._place(other)}"
            found.append(f"{text} ({who})" if who else text)
        return found

    def _place(self, place: Place) -> str:
        file = f"{self._files[place.file]} " if len(self._files) > 1 else ""
        item = f", record {place.item}" if place.item > 1 else ""
        return f"{file}line {place.line}{item}"


def _shares(shares: Mapping[str, Counter[str]]) -> list[Share]:
    found = []
    for name, counts in shares.items():
        outcomes = {one: counts[one] for one in Outcome if counts[one]}
        found.append(
            Share(
                name=name,
                received=sum(outcomes.values()),
                outcomes=outcomes,
                windowed=counts["windowed"],
                late=counts["late"],
            )
        )
    return sorted(found, key=lambda share: -share.received)[:_MOST_NAMES]


def _copy_kinds(tally: Tally, where: _Where) -> list[CopyKind]:
    """Returns the kinds of copies, most copies first."""
    found = []
    for kind, examples in tally.kinds.items():
        apart = tally.apart[kind]
        found.append(
            CopyKind(
                kind=kind,
                what=ORIGINS[kind].what,
                who=ORIGINS[kind].who,
                count=examples.count,
                median_ms=apart.quantile(0.5) if len(apart) else None,
                longest_ms=apart.longest_ms if len(apart) else None,
                examples=where.all(examples),
            )
        )
    return sorted(found, key=lambda one: -one.count)


def _distances(tally: Tally) -> Distances | None:
    found = tally.distances
    if not len(found):
        return None
    return Distances(
        clock="arrival" if 2 * tally.noted > tally.received else "publication",
        median_ms=found.quantile(0.5),
        p99_ms=found.quantile(0.99),
        longest_ms=found.longest_ms,
        counts=dict(zip(_STEPS, found.up_to(_STEPS.values()), strict=True)),
    )


def _candidates(tally: Tally) -> list[Candidate]:
    """Returns the fields that the most states differ in alone, without the metadata."""
    return [
        Candidate(family=family, fields=list(fields), count=count)
        for (family, fields), count in tally.changed.most_common()
        if count >= _FEWEST and "(metadata)" not in fields
    ][:_MOST_NAMES]


def _iso(ms: int) -> str | None:
    if not ms:
        return None
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
