"""Judges each stream from outside: by what the destination did, and what is left in the queues."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

from bench.compare.streams import Happening, Stream


@dataclass(frozen=True)
class Act:
    """`said_ms` is the time, and `key` the name, that the sender gives the happening."""

    happening: Happening
    said_ms: int | None
    key: str


@dataclass
class Verdict:
    """Numbers of happenings, but for the doubles and the overwrites, which are acts."""

    lost: int = 0
    acted_twice: int = 0
    acted_twice_told_apart: int = 0  # left over where the destination remembers keys
    wrongly_skipped: int = 0
    stale_overwrites: int = 0
    stale_overwrites_compared: int = 0  # left over where the destination compares occurredAtMs

    def __add__(self, other: "Verdict") -> "Verdict":
        mine, theirs = asdict(self), asdict(other)
        return Verdict(**{name: mine[name] + theirs[name] for name in mine})

    def counts(self) -> dict[str, int]:
        """Returns what is not zero."""
        return {name: count for name, count in asdict(self).items() if count}


def judge(
    stream: Stream, acts: Sequence[Act], kept: Collection[str], troubled: Collection[str]
) -> Verdict:
    """`kept` are happenings that a queue still holds, `troubled` those with a failed delivery."""
    own = [act for act in acts if act.happening.stream == stream.name]
    verdict = Verdict()
    by_happening: dict[str, list[Act]] = defaultdict(list)
    for act in own:
        by_happening[act.happening.name].append(act)
    for happening in stream.happenings:
        said = by_happening[happening.name]
        verdict.acted_twice += max(0, len(said) - 1)
        verdict.acted_twice_told_apart += max(0, len({act.key for act in said}) - 1)
        if not said and not _rightly_left(happening, own, kept):
            if happening.fault or happening.name in troubled:
                verdict.lost += 1
            else:
                verdict.wrongly_skipped += 1
    _count_overwrites(own, verdict)
    return verdict


def _rightly_left(happening: Happening, acts: Sequence[Act], kept: Collection[str]) -> bool:
    """Kept for a person or a later try; or overtaken, where only the newest state counts."""
    if happening.name in kept:
        return True
    return happening.latest_by is not None and any(
        act.happening.latest_by == happening.latest_by and act.happening.at_ms > happening.at_ms
        for act in acts
    )


def _count_overwrites(acts: Sequence[Act], verdict: Verdict) -> None:
    newest: dict[str, int] = {}
    newest_said: dict[str, int] = {}
    for act in acts:
        latest_by, at_ms = act.happening.latest_by, act.happening.at_ms
        if latest_by is None:
            continue
        stale = at_ms < newest.get(latest_by, 0)
        said_ms = at_ms if act.said_ms is None else act.said_ms
        verdict.stale_overwrites += stale
        verdict.stale_overwrites_compared += stale and said_ms >= newest_said.get(latest_by, 0)
        newest[latest_by] = max(at_ms, newest.get(latest_by, 0))
        newest_said[latest_by] = max(said_ms, newest_said.get(latest_by, 0))
