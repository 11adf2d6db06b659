"""Reads what a stack's outcome log says: the stack has judged already, each message once."""

from once_enrichment.times import maybe_ms

from once.audit.facts import Recorded
from once.audit.shown import Shown
from once.audit.tally import Example, Tally, find_kind
from once.lines import Place
from once.outcomes import Outcome
from once.records import OutcomeRecord


class Log:
    """The last record of each message that settled it, or returned it to the queue."""

    def __init__(self) -> None:
        self._records: dict[str, tuple[Place, str, OutcomeRecord]] = {}

    def add(self, recorded: Recorded, shown: Shown) -> None:
        place, record = recorded
        before = self._records.get(record.message_id)
        if before is None or before[-1].outcome == Outcome.RETRY:
            source = shown.source(record.source) if record.source else "(none)"
            self._records[record.message_id] = place, source, record

    def count_into(self, tally: Tally) -> None:
        """Counts each message once; batches may end in another order than they began."""
        for place, source, record in self._records.values():
            tally.is_log = True
            family = record.family or "(unreadable)"
            tally.count(record.outcome, family, source, _at_ms(record))
            tally.noted += bool(record.recorded_at_ms)
            if record.outcome == Outcome.PROCESSED:
                tally.add_to_acted(_at_ms(record))
            if record.window_ms:
                tally.add_window(family, record.window_ms)
            if record.outcome == Outcome.IGNORED:
                tally.ignored[record.reason or "IGNORED"] += 1
            if record.reason == "UNCHANGED":
                tally.unchanged += 1
            elif record.outcome == Outcome.DUPLICATE:
                self._count_copy(place, record, tally)

    def _count_copy(self, place: Place, copy: OutcomeRecord, tally: Tally) -> None:
        _, _, first = self._records.get(copy.earlier or "", (None, None, None))
        if first is None:
            tally.add_to_copies("unknown", None, Example(place))
            return
        kind = find_kind(copy.envelope_id, first.envelope_id, copy.source == first.source)
        tally.add_to_copies(kind, abs(_at_ms(copy) - _at_ms(first)), Example(place))


def _at_ms(record: OutcomeRecord) -> int:
    return record.recorded_at_ms or maybe_ms(record.occurred_at_ms) or 0
