"""A row of the table: one event with all its messages, as `once explain` would say it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from enrichment.keys import opaque

from once.operate import phrases as words
from once.operate.model import Model
from once.operate.story import Event, Message
from once.outcomes import Outcome

_MARKS = {
    Outcome.PROCESSED: "✓",
    Outcome.DUPLICATE: "=",
    Outcome.STALE: "<",
    Outcome.PARKED: "!",
    Outcome.RETRY: "…",
}
SIGNS = ", ".join(
    f"{_MARKS[outcome]} {said}"
    for outcome, said in {
        Outcome.PROCESSED: "acted",
        Outcome.DUPLICATE: "skipped as a copy",
        Outcome.STALE: "skipped as out of date",
        Outcome.PARKED: "parked",
        Outcome.RETRY: "waits",
    }.items()
)
_SOUGHT = "what acted in its place is being looked for"
SHOWN = 500
Place = tuple[int, str]  # in the table: newest first, and of a millisecond by id


class Row(Model):
    id: str
    at_ms: int
    happened_ms: int | None
    key: str | None
    subject_type: str
    subject: str
    family: str
    text: str
    outcome: Outcome | None
    why: str
    copies: str
    reasons: list[str]
    outcomes: list[Outcome]
    ids: list[str]
    marks: str
    messages: int
    calls: int

    @property
    def place(self) -> Place:
        return -self.at_ms, self.id

    def known_now(self, paused: str) -> "Row":
        """While it waits for calls to flow: why they do not, as it is known now.

        Filled in where it is shown: it changes without a record, and for all that wait at once, so
        telling each of them again would mean thousands in an outage.
        """
        general = words.reason("BREAKER_OPEN")
        if not paused or self.outcome is not Outcome.RETRY or general not in self.why:
            return self
        return self.model_copy(update={"why": self.why.replace(general, paused)})

    @property
    def home(self) -> str:
        """What is said together with it: its subject, or its message alone."""
        return "/".join(self.key.split("/")[:3]) if self.key else self.id


class Filter(Model):
    outcome: str = ""
    reason: str = ""
    family: str = ""
    id: str = ""

    @classmethod
    def of(cls, given: Mapping[str, str]) -> "Filter":
        return cls.model_validate({k: given.get(k, "").strip() for k in cls.model_fields})

    def takes(self, row: Row) -> bool:
        return (
            (not self.outcome or self.outcome in row.outcomes)
            and (not self.reason or self.reason in row.reasons)
            and (not self.family or self.family == row.family)
            and (
                not self.id or any(self.id in one for one in row.ids) or opaque(self.id) in row.ids
            )
        )

    def finds(self, row: Row) -> bool:
        """Whether `id` is in what the row says, too: the words of the event, or its family."""
        said = f"{row.text} {row.family}".lower()
        return self.takes(row) or self.id.lower() in said

    @property
    def chosen(self) -> dict[str, Any]:
        return {name: value for name, value in self.model_dump().items() if value}


def row(event: Event, is_unclear: bool = False) -> Row:
    """Of one event that `tell` told; of one that is unclear more is being read."""
    _, kind, subject, *rest = (event.key or "///").split("/")
    messages = event.messages
    outcomes = [event.outcome] if event.outcome else []
    outcomes += [message.outcome for message in messages]
    deliveries = [one for message in messages for one in message.deliveries]
    return Row(
        id=messages[0].message_id if messages else event.key or "",
        at_ms=max((one.at_ms for one in deliveries), default=event.done_at_ms or 0),
        happened_ms=event.occurred_at_ms,
        key=event.key,
        subject_type=kind,
        subject=subject,
        family=rest[1] if len(rest) > 1 else "",
        text=event.text,
        outcome=event.outcome,
        why=_SOUGHT if is_unclear and event.outcome is None else event.verdict,
        copies=copies(event),
        reasons=sorted({one.reason for one in deliveries if one.reason}),
        outcomes=sorted(set(outcomes)),
        ids=_ids(event),
        marks="".join(_MARKS[message.outcome] for message in messages),
        messages=len(messages),
        calls=sum(one.calls for one in deliveries),
    )


def summed(events: Iterable[Event]) -> str:
    """What became of them, in a line."""
    every = list(events)
    ends = Counter(event.outcome for event in every)
    skipped = Counter(one.outcome for event in every for one in event.messages)
    copies = skipped[Outcome.DUPLICATE]
    parts = [
        (ends[Outcome.PROCESSED], "acted"),
        (ends[Outcome.STALE], "skipped as out of date"),
        (ends[Outcome.PARKED], "parked"),
        (ends[Outcome.RETRY] + ends[None], "not settled yet"),
        (copies, "copy skipped" if copies == 1 else "copies skipped"),
    ]
    said = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{words.events(len(every))}: {said}" if said else words.events(len(every))


def copies(event: Event) -> str:
    """Of the messages that did not act by themselves: how many, and why."""
    reasons: dict[str, int] = {}
    for message in event.messages:
        if message.outcome is Outcome.DUPLICATE:
            reasons[_phrase(message)] = reasons.get(_phrase(message), 0) + 1
    counted = (f"{n} skipped: {why}" if n > 1 else f"skipped: {why}" for why, n in reasons.items())
    return " · ".join(counted)


def _phrase(message: Message) -> str:
    """What kind of copy it is; when and where it was decided would tell each from each."""
    return message.text.partition("; ")[0]


def _ids(event: Event) -> list[str]:
    found: Iterable[str | None] = [event.key, *(event.key or "").split("/")[2:3]]
    of_messages = ((one.message_id, one.envelope_id) for one in event.messages)
    return list(dict.fromkeys(i for i in [*found, *(j for ids in of_messages for j in ids)] if i))
