"""The story of an event: its claim and its records, joined by once/model/tell.py.

All messages that carry an event from one put-back or replay to the next are one chain, under the id
of the first. Views show a story; what they need to know of it is computed here, and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from once.model import words
from once.model.claims import Claim, Status
from once.model.keys import Key
from once.model.outcomes import Outcome
from once.model.reasons import REASONS, Acted
from once.model.records import Record


@dataclass
class Chain:
    """The messages that carry an event from one put-back or replay to the next, under the id of
    the first, and a record for each delivery that wrote one."""

    id: str
    records: list[Record] = field(default_factory=list)
    cause: str | None = None
    """Why it was not acted on by itself: a name in CAUSES."""
    text: str = ""

    @property
    def end(self) -> Record:
        """The record that says how the chain ended, or stands."""
        own = [record for record in self.records if record.met != self.id or not record.is_copy]
        newest = (own or self.records)[-1]
        if newest.outcome is Outcome.RETRY:
            acts = [record for record in own if record.outcome is Outcome.PROCESSED]
            return acts[-1] if acts else newest
        return newest


@dataclass
class Story:
    """One event, and every chain that carried it."""

    key: Key | None
    claim: Claim | None
    """None if the row is another occurrence's by now, or is gone."""
    chains: list[Chain]
    own: list[Chain]
    """Those that stood for themselves; the others are copies of these."""
    verdict: str = ""
    meaning: str = ""
    """The meaning of more than one request."""

    def __post_init__(self) -> None:
        self.ends = [chain.end for chain in self.own]
        records = [record for chain in self.chains for record in chain.records]
        self.records = sorted(records, key=lambda record: record.recorded_at_ms)
        self.sent = [record for record in self.records if record.sent_requests]
        own = {chain.id for chain in self.own}
        acts = [
            record
            for record in self.records
            if record.outcome is Outcome.PROCESSED and record.message_id in own
        ]
        # If the log has only later deliveries of what acted, the first of them stands for it.
        self.acts = [record for record in acts if not record.is_copy] or acts[:1]
        self.lead = self._find_lead()
        known = self.lead or self.claim
        self.outcome = known.outcome if known else None
        self.requests = sum(record.sent_requests for record in self.sent)
        # The response to the last request of a delivery is known, and it may say: not done.
        reasons = [REASONS[record.reason] for record in self.sent if record.reason in REASONS]
        rejected = [reason for reason in reasons if reason.acted is Acted.REJECTED]
        self.may_have_acted = self.requests - len(rejected)
        self.requests_are_known = all(record.has_known_requests for record in self.sent)

    def _find_lead(self) -> Record | None:
        """Finds the record that says how the event ended, or stands."""
        newest = max(self.ends, key=lambda record: record.recorded_at_ms, default=None)
        if not self.acts or newest is None:
            return newest
        act, claim = self.acts[-1], self.claim
        # Forgotten on purpose, or without its completion write, it was taken up again. Without the
        # row a later request says so: a copy of a settled event sends none.
        is_open = bool(newest.requests)
        if claim is not None:
            is_open = claim.status is not Status.DONE or claim.outcome is Outcome.PARKED
        is_later = newest.recorded_at_ms > act.recorded_at_ms
        again = newest.outcome in (Outcome.RETRY, Outcome.PARKED)
        return newest if is_open and is_later and again else act

    @property
    def text(self) -> str:
        if self.key is None:
            return "an event"
        states = (record.state for record in self.records if record.state)
        return words.describe_event(self.key.family, next(states, None))

    @property
    def first_recorded_ms(self) -> int:
        return min((record.recorded_at_ms for record in self.records), default=0)

    @property
    def occurred_ms(self) -> int:
        """Returns the time of the event, else that of its first record."""
        known = (record.occurred_at_ms for record in (*self.ends, *self.records))
        claimed = self.claim.event_time if self.claim else 0
        return next(filter(None, known), claimed) or self.first_recorded_ms

    @property
    def forgotten_ms(self) -> int:
        """Returns the time at which `once forget` opened its claim; 0 if it never did."""
        return max(0, -self.claim.occurrence) if self.claim else 0

    @property
    def idempotency_keys(self) -> list[str]:
        """The Idempotency-Keys that its requests carried, oldest first."""
        keys = (record.idempotency_key for record in self.sent)
        return list(dict.fromkeys(filter(None, keys)))

    @property
    def names(self) -> set[str]:
        """All that a person may call it by, beside its subject."""
        names = {str(self.key), *(chain.id for chain in self.chains)}
        for record in self.records:
            ids = (record.event_id, record.envelope_id, record.returned_as, record.idempotency_key)
            names |= {name for name in ids if name}
        return names

    @property
    def note(self) -> str | None:
        return next((record.note for record in self.records if record.note), None)

    @property
    def deliveries(self) -> int:
        """Counts the deliveries of its own chains that sent a request."""
        own = {chain.id for chain in self.own}
        return sum(record.message_id in own for record in self.sent)

    @property
    def is_in_doubt(self) -> bool:
        """True if more may have been acted on than what is known to have been."""
        return self.outcome is Outcome.PROCESSED and self.may_have_acted > max(1, len(self.acts))

    @property
    def is_unclear(self) -> bool:
        return self.outcome is Outcome.PARKED or self.may_have_acted > len(self.acts)

    @property
    def is_problem(self) -> bool:
        is_open = self.outcome in (None, Outcome.RETRY, Outcome.PARKED)
        return is_open or self.is_in_doubt or self.note is not None

    def count_requests(self) -> str:
        text = words.count(self.requests, "request")
        return text if self.requests_are_known else f"at most {text}"


Chains = Mapping[str, Chain]
"""By the id of the first message."""
