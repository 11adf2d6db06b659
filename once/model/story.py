"""The story of an event: which records and which claim are one event, and how it ended. Pure.

All messages that carry an event from one put-back or replay to the next are one chain, under the id
of the first. A chain is a copy of the one that stood for it: its root. The roots of a key are one
event, unless the key can occur again and they occurred at different times.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from once_data_action.errors import ENDED

from once.model import words
from once.model.reasons import REASONS, Acted, Outcome
from once.model.records import Claim, ClaimStatus, Key, Record


@dataclass
class Chain:
    """The messages that carry an event, and a record for each delivery that wrote one."""

    id: str
    records: list[Record] = field(default_factory=list)
    cause: str | None = None
    """Why it was not acted on by itself: a name in CAUSES of verdict.py."""
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
            if record.outcome is Outcome.PROCESSED and record.first_message_id in own
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
        self.has_unrecorded = self._has_unrecorded()

    def _has_unrecorded(self) -> bool:
        """Returns true if an owner of its claim ended without a record: it may have sent requests.

        A record explains one such end if it says that the claim was kept.
        """
        reasons = {code for code, reason in REASONS.items() if reason.acted is not Acted.NO}
        ended = [record for record in self.records if (record.cause or "").startswith(ENDED)]
        kept = [record for record in self.records if record.lease_until_ms or record.unconfirmed]
        failed = [
            record
            for record in self.records
            if record.reason in reasons - {"ACTED"} and record not in ended
        ]
        has_failed = any(record.failed_at_ms for record in self.records)
        deaths = self.claim.deaths if self.claim else 0
        return len(ended) + deaths > len(kept) or (has_failed and not failed)

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
            is_open = claim.status is not ClaimStatus.DONE or claim.outcome is Outcome.PARKED
        is_later = newest.recorded_at_ms > act.recorded_at_ms
        again = newest.outcome in (Outcome.RETRY, Outcome.PARKED)
        return newest if is_open and is_later and again else act

    @property
    def text(self) -> str:
        if self.key is None:
            return "an event"
        states = (record.plain_state for record in self.records if record.plain_state)
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
        return sum(record.first_message_id in own for record in self.sent)

    @property
    def is_in_doubt(self) -> bool:
        """True if more may have been acted on than what is known to have been."""
        is_repeated = self.may_have_acted > max(1, len(self.acts)) or self.has_unrecorded
        return self.outcome is Outcome.PROCESSED and is_repeated

    @property
    def is_unclear(self) -> bool:
        has_more = self.may_have_acted > len(self.acts) or self.has_unrecorded
        return self.outcome is Outcome.PARKED or has_more

    def count_requests(self) -> str:
        if self.has_unrecorded:
            return "an unknown number of requests"
        text = words.count(self.requests, "request")
        return text if self.requests_are_known else f"at most {text}"


Chains = Mapping[str, Chain]
"""By the id of the first message."""


def read_chains(records: Iterable[Record]) -> dict[str, Chain]:
    chains: dict[str, Chain] = {}
    for record in sorted(records, key=lambda record: record.recorded_at_ms):
        chain = chains.setdefault(record.first_message_id, Chain(record.first_message_id))
        chain.records.append(record)
    return chains


def collect(chains: Chains, claims: Iterable[Claim]) -> list[Story]:
    """Collects the chains and the claim of each event, in the order in which they occurred."""
    claim_of = {str(claim.key): claim for claim in claims}
    homes: dict[str, dict[str, list[Chain]]] = {key: {} for key in claim_of}
    for chain in chains.values():
        home = homes.setdefault(str(chain.end.key or chain.id), {})  # without a key each is alone
        home.setdefault(_find_root(chain.id, chains), []).append(chain)
    stories = []
    for name, by_root in homes.items():
        claim = claim_of.get(name)
        if claim:
            by_root.setdefault(claim.first_message_id, [])
        for roots in _split(by_root, claim, chains):
            carried = [chain for root in roots for chain in by_root[root]]
            carried.sort(key=lambda chain: (chain.records[0].recorded_at_ms, chain.id not in roots))
            held = claim if claim and claim.first_message_id in roots else None
            keys = (record.key for chain in carried for record in chain.records if record.key)
            key = held.key if held else next(keys, None)
            own = [chains[root] for root in roots if root in chains]
            stories.append(Story(key, held, carried, own))
    return sorted(stories, key=lambda story: (story.occurred_ms, story.first_recorded_ms))


def _find_root(chain_id: str, chains: Chains) -> str:
    """Finds the chain that stood for this one: it was acted on, or would have been."""
    seen = set()
    while chain_id not in seen and chain_id in chains:
        seen.add(chain_id)
        end = chains[chain_id].end
        if (end.is_copy or end.reason == "HELD") and end.met and end.met not in seen:
            chain_id = end.met
    return chain_id


def _split(roots: Iterable[str], claim: Claim | None, chains: Chains) -> list[list[str]]:
    """Splits the roots of one key into events. A key that cannot occur again is one event, however
    often it was parked or replayed; its Idempotency-Key has no occurrence."""
    ends = {root: chains[root].end for root in roots if root in chains}
    keys = [record.idempotency_key for root in ends for record in chains[root].records]
    is_single = any(key and "." not in key for key in keys)
    claimed_ms = claim.event_time if claim else 0
    times = {root: ends[root].occurred_at_ms or 0 if root in ends else claimed_ms for root in roots}
    apart: list[list[str]] = []
    for root in sorted(roots, key=lambda root: (times[root], root)):
        if apart and (is_single or times[root] == times[apart[-1][0]]):
            apart[-1].append(root)
        else:
            apart.append([root])
    return apart
