"""A row of the table: one event with all its messages, as `once explain` would tell it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

from once_enrichment.keys import opaque

from once.operate.model import Model
from once.operate.story import Event
from once.outcomes import SIGN, Outcome

SHOWN = 200
SIGNS = "✓ acted on, = skipped as a copy, < skipped as stale, - ignored, ! parked, … waits"


class Row(Model):
    id: str
    at_ms: int
    occurred_at_ms: int | None
    key: str | None
    subject_kind: str
    subject: str
    family: str
    text: str
    outcome: Outcome | None
    verdict: str
    copies: str
    note: str | None
    reasons: list[str]
    outcomes: list[Outcome]
    ids: list[str]
    marks: str
    messages: int
    requests: int

    @property
    def place(self) -> tuple[int, str]:
        """Orders the table: newest first, and within a millisecond by id."""
        return -self.at_ms, self.id


class Filter(Model):
    """The rows that a page asks for: all that is given must fit."""

    outcome: str = ""
    reason: str = ""
    family: str = ""
    text: str = ""
    minutes: str = ""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        return cls.model_validate({k: given.get(k, "").strip() for k in cls.model_fields})

    def fits(self, row: Row, now_ms: int) -> bool:
        oldest_ms = now_ms - int(self.minutes) * 60_000 if self.minutes.isdecimal() else 0
        return (
            row.at_ms >= oldest_ms
            and (not self.outcome or self.outcome in row.outcomes)
            and (not self.reason or self.reason in row.reasons)
            and (not self.family or self.family == row.family)
            and (not self.text or self._is_in(row))
        )

    def _is_in(self, row: Row) -> bool:
        """Tells whether its text is in an id, or in what the row says."""
        wanted = self.text.lower()
        said = f"{row.text} {row.family} {row.verdict} {row.copies} {row.note or ''}".lower()
        return (
            wanted in said
            or any(self.text in one for one in row.ids)
            or opaque(self.text) in row.ids
        )

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: value for name, value in self.model_dump().items() if value}


def make_row(event: Event) -> Row:
    key = event.parsed_key
    records = event.records
    outcomes = {message.outcome for message in event.messages}
    ids = [event.key, key.subject.id if key else None]
    for message in event.messages:
        ids += [message.message_id, message.final.envelope_id]
    outcome, verdict = event.outcome, event.verdict
    if outcome is None and event.messages:
        # Its original was recorded before the table begins, so only the copies are known.
        waits = Outcome.RETRY in outcomes
        outcome = Outcome.RETRY if waits else Outcome.DUPLICATE
        what = "waits for" if waits else "skipped as a copy of"
        verdict = f"{what} an event that is older than this table; open it"
    return Row(
        id=event.messages[0].message_id if event.messages else event.key or "",
        at_ms=max((one.recorded_at_ms for one in records), default=event.done_at_ms or 0),
        occurred_at_ms=event.occurred_at_ms,
        key=event.key,
        subject_kind=key.subject.kind if key else "",
        subject=key.subject.id if key else "",
        family=event.family or "",
        text=event.text,
        outcome=outcome,
        verdict=verdict,
        copies=_say_copies(event),
        note=event.note,
        reasons=sorted({one.reason for one in records if one.reason}),
        outcomes=sorted(outcomes | ({outcome} if outcome else set())),
        ids=list(dict.fromkeys(one for one in ids if one)),
        marks="".join(SIGN[message.outcome] for message in event.messages),
        messages=len(event.messages),
        requests=event.requests,
    )


def _say_copies(event: Event) -> str:
    """Says of the messages that were copies how many they are, and why."""
    reasons = Counter(
        message.text.partition("; ")[0]  # without time and place of the decision
        for message in event.messages
        if message.outcome is Outcome.DUPLICATE
    )
    counted = (f"{n} skipped: {why}" if n > 1 else f"skipped: {why}" for why, n in reasons.items())
    return " · ".join(counted)
