"""Puts what was counted into the report."""

from datetime import UTC, datetime

from once.audit.advice import advice, conclusions, only_copies, plan
from once.audit.capture import Capture, Place
from once.audit.origins import ORIGINS
from once.audit.report import (
    AuditReport,
    Broken,
    CopyKind,
    Distances,
    Fallback,
    FileReport,
    RivalReport,
    Share,
    Window,
)
from once.audit.rivals import RULES
from once.audit.shown import Shown
from once.audit.tally import Counts, Example, Examples, Shares

_CLOCKS = {
    500: "a clock with milliseconds",
    1_500: "a clock with whole seconds",
    60_000: "only the time at which they arrived",
}


def answer(counts: Counts, capture: Capture, shown: Shown) -> AuditReport:
    only = only_copies(counts)
    files = shown.files([source.name for source in capture.sources])
    where = _Where(files)
    return AuditReport(
        received=counts.received,
        outcomes=dict(counts.outcomes),
        of="outcome log" if counts.logged else "capture",
        began=_iso(counts.began_ms),
        ended=_iso(counts.ended_ms),
        seconds=(counts.ended_ms - counts.began_ms) / 1000,
        conclusions=conclusions(counts),
        advice=advice(counts, only),
        files=[
            FileReport(
                name=files[number],
                records=source.records,
                broken=counts.broken_in[number],
                trouble=source.trouble or (None if source.records else "holds nothing"),
            )
            for number, source in enumerate(capture.sources)
        ],
        families=_shares(counts.families, counts),
        sources=_shares(counts.sources, counts),
        hours=[
            Share(name=_moment(int(hour)), received=kinds.total(), outcomes=dict(kinds))
            for hour, kinds in sorted(counts.hours.outcomes.items())
            if hour.isdecimal()
        ],
        copies=counts.copies,
        distances=_distances(counts),
        copy_kinds=[
            CopyKind(
                kind=kind,
                what=ORIGINS[kind].what,
                who=ORIGINS[kind].who,
                count=examples.count,
                median_ms=counts.apart[kind].quantile(0.5) if len(counts.apart[kind]) else None,
                longest_ms=counts.apart[kind].longest_ms if len(counts.apart[kind]) else None,
                examples=where.all(examples),
            )
            for kind, examples in sorted(counts.kinds.items(), key=lambda item: -item[1].count)
        ],
        differences=dict(counts.differences.most_common()),
        out_of_order=counts.late.total(),
        late_examples=where.all(counts.late_few, "after"),
        longest_late_ms=counts.longest_late_ms,
        windows=[
            Window(
                window_ms=ms,
                clock=_CLOCKS.get(ms, f"a window of {ms} ms"),
                count=families.total(),
                families=[name for name, _ in families.most_common()],
            )
            for ms, families in sorted(counts.windows.items())
        ],
        fallbacks=[
            Fallback(family=family, note=note, count=examples.count, examples=where.all(examples))
            for (family, note), examples in sorted(
                counts.fallbacks.items(), key=lambda item: -item[1].count
            )
        ],
        broken=[
            Broken(reason=reason, detail=detail, count=examples.count, examples=where.all(examples))
            for reason, (detail, examples) in sorted(
                counts.broken.items(), key=lambda item: -item[1][1].count
            )
        ],
        rivals=[] if counts.logged else _rivals(counts, where),
        only_copies=only,
        plan=plan(counts),
    )


class _Where:
    """Names places: by line, and by file where there are several."""

    def __init__(self, files: list[str]) -> None:
        self._files = files

    def all(self, examples: Examples, relation: str = "first in") -> list[str]:
        return [self._one(example, relation) for example in examples.few]

    def _one(self, example: Example, relation: str) -> str:
        text = self._place(example.place)
        if example.first is not None:
            text += f", {relation} {self._place(example.first)}"
        return f"{text} ({example.who})" if example.who else text

    def _place(self, place: Place) -> str:
        file = f"{self._files[place.file]} " if len(self._files) > 1 else ""
        item = f", record {place.item}" if place.item > 1 else ""
        return f"{file}line {place.line}{item}"


def _shares(shares: Shares, counts: Counts) -> list[Share]:
    return [
        Share(
            name=name,
            received=kinds.total(),
            outcomes=dict(kinds),
            windowed=counts.windowed[name],
            late=counts.late[name],
        )
        for name, kinds in sorted(shares.outcomes.items(), key=lambda item: -item[1].total())
    ]


def _distances(counts: Counts) -> Distances | None:
    found = counts.distances
    if not len(found):
        return None
    return Distances(
        clock="arrival" if 2 * counts.arrivals > counts.received else "publication",
        median_ms=found.quantile(0.5),
        p99_ms=found.quantile(0.99),
        longest_ms=found.longest_ms,
        counts=found.by_step(),
    )


def _rivals(counts: Counts, where: _Where) -> list[RivalReport]:
    return [
        RivalReport(
            letter=rule.letter,
            title=rule.title,
            acted=rival.acted,
            too_often=rival.too_often.count,
            more_in_a_race=rival.more_in_a_race,
            wrongly_skipped=rival.wrongly_skipped.count,
            overwrote=rival.overwrote,
            unreadable=rival.unreadable,
            too_often_examples=where.all(rival.too_often),
            wrongly_skipped_examples=where.all(rival.wrongly_skipped),
        )
        for rule, rival in zip(RULES, counts.rivals, strict=True)
    ]


def _iso(ms: int) -> str | None:
    return _moment(ms) if ms else None


def _moment(ms: int) -> str:
    moment = datetime.fromtimestamp(ms / 1000, UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
