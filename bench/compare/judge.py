"""Judges each stream from outside: by the destination's acts, and the events that a queue keeps."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from bench.compare.streams import Happening, Stream
from bench.compare.world import Acted, Result

LOST, TWICE, SKIPPED, OLD = "lost", "twice", "skipped", "oldOverNew"
TOLD_APART = "twiceToldApart"  # under another Idempotency-Key, so the destination cannot know


def judge(stream: Stream, result: Result) -> Counter[str]:
    """Counts happenings; but acts, where one is acted on twice or too late."""
    counts = Counter[str]()
    acts: dict[Happening, list[Acted]] = defaultdict(list)
    for act in result.acts:
        acts[act.happening].append(act)
    for happening in stream.happenings:
        own = acts[happening]
        counts[TWICE] += max(0, len(own) - 1)
        counts[TOLD_APART] += max(0, len({act.key for act in own}) - 1)
        if not own and happening.name not in result.kept and not _is_overtaken(happening, acts):
            # A fault was met and the event is gone; else it was taken for a copy, or for older.
            counts[LOST if happening.fault else SKIPPED] += 1
    counts[OLD] = _old_over_new(result.acts)
    return +counts


def _is_overtaken(happening: Happening, acted: dict[Happening, list[Acted]]) -> bool:
    """Returns true if only the newest state counts, and a newer state was acted on."""
    return happening.latest_by is not None and any(
        other.latest_by == happening.latest_by and other.at_ms > happening.at_ms
        for other, acts in acted.items()
        if acts
    )


def _old_over_new(acts: Sequence[Acted]) -> int:
    newest: dict[str, int] = {}
    count = 0
    for act in acts:
        latest_by, at_ms = act.happening.latest_by, act.happening.at_ms
        if latest_by is not None:
            count += at_ms < newest.get(latest_by, 0)
            newest[latest_by] = max(at_ms, newest.get(latest_by, 0))
    return count
