"""Joins claims and outcome records into the events of a subject: pure, so it can be tested.

A message is a copy of the one that stood for it: its root. The roots of one key are one event,
unless the key can occur more than once and they happened further apart than its window.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from pydantic import Field

from once.keys import Key, Owner
from once.operate import phrases as words
from once.operate.claims import Claim
from once.operate.model import Model
from once.operate.verdict import Occurrence, say_meaning, say_verdict
from once.outcomes import SETTLED, Outcome
from once.reasons import REASONS
from once.records import OutcomeRecord, name_unreached


class Cause(StrEnum):
    """Why a message was not acted on by itself."""

    SAME_MESSAGE = "SAME_MESSAGE"
    SAME_ENVELOPE = "SAME_ENVELOPE"
    SECOND_INTEGRATION = "SECOND_INTEGRATION"
    REPUBLISHED = "REPUBLISHED"
    WITHIN_WINDOW = "WITHIN_WINDOW"
    OLDER = "OLDER"
    IN_PROGRESS = "IN_PROGRESS"
    COPY = "COPY"


MEANING = {
    Cause.SAME_MESSAGE: "the queue delivered the same message again",
    Cause.SAME_ENVELOPE: "EventBridge delivered the same event again (same envelope id)",
    Cause.SECOND_INTEGRATION: "a second integration sent it too",
    Cause.REPUBLISHED: "it was published again (new envelope id)",
    Cause.WITHIN_WINDOW: "the same change, sent again within its window",
    Cause.OLDER: "older than the newest state",
    Cause.IN_PROGRESS: "in progress elsewhere: it returns until that is settled",
    Cause.COPY: "a copy; the log does not tell how it came about",
}


class Message(Model):
    """One message and its end."""

    message_id: str
    outcome: Outcome
    reason: str | None
    cause: Cause | None
    because_of: str | None
    text: str
    deliveries: list[OutcomeRecord]

    @property
    def final(self) -> OutcomeRecord:
        return find_final(self.deliveries)


class Event(Model):
    """One event, or what is known of it, with every message that carried it."""

    key: str | None
    family: str | None
    text: str
    occurred_at_ms: int | None
    outcome: Outcome | None
    verdict: str
    owner: str | None = Field(description="The claim's owner: execution, `#`, message.")
    done_at_ms: int | None
    dropped_at_ms: int | None = Field(
        description="When an operator deleted the parked event: once parked drop."
    )
    idempotency_keys: list[str] = Field(description="Those that requests carried, oldest first.")
    acts: int = Field(description="How often it is known to have been acted on.")
    requests: int = Field(description="Requests to the destination, in all.")
    has_known_requests: bool = Field(
        description="False if a function failed itself: at most so many requests were sent."
    )
    may_have_acted: int = Field(description="Requests that were acted on, or may have been.")
    meaning: str = Field(description="What more than one request means; empty for at most one.")
    note: str | None = Field(description="Why its identity or time had to fall back.")
    replay_name: str | None = Field(description="The replay of an archive that sent it.")
    messages: list[Message]

    @property
    def parsed_key(self) -> Key | None:
        return Key.parse(self.key) if self.key else None

    @property
    def is_in_doubt(self) -> bool:
        """More may have been acted on than what is known to have been."""
        return self.outcome is Outcome.PROCESSED and self.may_have_acted > max(1, self.acts)

    @property
    def is_unclear(self) -> bool:
        """It is parked, or a request without a clear response may have acted on it."""
        return self.outcome is Outcome.PARKED or self.may_have_acted > self.acts

    @property
    def is_problem(self) -> bool:
        """It is not settled well: parked, waiting, in doubt, or identified by a fallback."""
        settled = (Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.STALE, Outcome.IGNORED)
        return self.outcome not in settled or self.is_in_doubt or self.note is not None

    @property
    def records(self) -> list[OutcomeRecord]:
        return [one for message in self.messages for one in message.deliveries]

    @property
    def first_recorded_at_ms(self) -> int:
        return min((one.recorded_at_ms for one in self.records), default=0)


Finals = Mapping[str, OutcomeRecord]
"""Maps the id of each message to the record that settled it, or else to its newest one."""


def find_final(history: Sequence[OutcomeRecord]) -> OutcomeRecord:
    """Returns what settled a message, since later deliveries change nothing; else the newest."""
    return next((record for record in history if record.outcome in SETTLED), history[-1])


def tell(
    records: Iterable[OutcomeRecord], claims: Iterable[Claim], now_ms: int, breaker: str = ""
) -> list[Event]:
    """Tells every event, in the order in which they happened; `breaker` says why events wait for
    it now, which their records cannot know."""
    histories: dict[str, list[OutcomeRecord]] = defaultdict(list)
    for record in sorted(name_unreached(records), key=lambda record: record.recorded_at_ms):
        histories[record.message_id].append(record)
    final_of = {message_id: find_final(history) for message_id, history in histories.items()}
    claim_of = {str(claim.key): claim for claim in claims}
    copies: dict[str, dict[str, list[str]]] = {place: {} for place in claim_of}
    for message_id, final in final_of.items():
        # Without a key a message stands for itself alone.
        roots = copies.setdefault(str(final.key) if final.key else message_id, {})
        roots.setdefault(_find_root(message_id, final_of), []).append(message_id)
    events = []
    for place, roots in copies.items():
        claim = claim_of.get(place)
        owned = Owner.parse(claim.owner).message_id if claim else ""
        if claim is not None:
            roots.setdefault(owned, [])
        for together in _split_occurrences(roots, claim, final_of):
            message_ids = sorted(
                (message_id for root in together for message_id in roots[root]),
                key=lambda one: (histories[one][0].recorded_at_ms, one not in together),
            )
            messages = [_tell_message(one, histories[one], final_of) for one in message_ids]
            finals = [final_of[root] for root in together if root in final_of]
            requested = [one for m in messages for one in m.deliveries if one.sent_requests]
            occurrence = Occurrence(
                finals=finals,
                own=[record for root in together for record in histories.get(root, ())],
                requested=sorted(requested, key=lambda one: one.recorded_at_ms),
                claim=claim if owned in together else None,
                met=_find_met(finals, final_of),
                breaker=breaker,
            )
            events.append(_tell_event(occurrence, messages, now_ms))
    return sorted(events, key=lambda one: (one.occurred_at_ms or 0, one.first_recorded_at_ms))


def summarise(events: Sequence[Event]) -> str:
    """Says in a line what became of them."""
    ends = Counter(event.outcome for event in events)
    finals = [message.final for event in events for message in event.messages]
    copies = sum(final.outcome is Outcome.DUPLICATE and _is_copy(final) for final in finals)
    parts = [
        (ends[Outcome.PROCESSED], "acted on"),
        (ends[Outcome.DUPLICATE], "skipped as unchanged"),
        (ends[Outcome.STALE], "skipped as stale"),
        (ends[Outcome.IGNORED], "ignored"),
        (ends[Outcome.PARKED], "parked"),
        (ends[Outcome.RETRY] + ends[None], "not settled"),
        (copies, "copy skipped" if copies == 1 else "copies skipped"),
    ]
    said = ", ".join(f"{count:,} {what}" for count, what in parts if count > 0)
    if not said:
        return "no event"
    # These events are counted above too.
    doubtful = sum(event.is_in_doubt for event in events)
    doubt = f"; {doubtful:,} of {len(events):,} perhaps acted on more than once" if doubtful else ""
    return f"{words.count_events(len(events))}: {said}{doubt}"


def _find_root(message_id: str, final_of: Finals) -> str:
    """Finds the message that stood for this one: it was acted on, or would have been."""
    seen = {message_id}
    while final := final_of.get(message_id):
        parent = None
        if final.reason == "COLLAPSED":
            parent = final.copy_of
        elif _is_copy(final) or final.reason == "HELD":
            parent = final.earlier
        if parent is None or parent in seen:
            break
        seen.add(parent)
        message_id = parent
    return message_id


def _find_met(finals: Iterable[OutcomeRecord], final_of: Finals) -> OutcomeRecord | None:
    """Finds what made an event stale, or the first of the states that it is equal to."""
    skipped = (o for o in finals if o.outcome is Outcome.STALE or o.reason == "UNCHANGED")
    met = next(skipped, None)
    passed: set[str | None] = set()
    while met is not None and (not passed or met.reason == "UNCHANGED"):
        passed.add(met.message_id)
        met = None if met.earlier in passed else final_of.get(met.earlier or "")
    return met


def _is_copy(record: OutcomeRecord) -> bool:
    reason = REASONS.get(record.reason or "")
    return reason.is_copy if reason else record.outcome is Outcome.DUPLICATE


def _split_occurrences(
    roots: Iterable[str], claim: Claim | None, final_of: Finals
) -> list[list[str]]:
    """Splits the roots of one key into what happened apart.

    An exact key happens once, however often it was parked, returned or replayed. A state that
    returns happens again beyond its window, or with order `changes` at another time.
    """
    finals = {root: final_of[root] for root in roots if root in final_of}
    windows = [final.window_ms for final in finals.values() if final.window_ms is not None]
    times = {root: final.occurred_at_ms or 0 for root, final in finals.items()}
    unrecorded = claim.event_time if claim else 0
    apart: list[tuple[int, list[str]]] = []
    for at, root in sorted((times.get(root, unrecorded), root) for root in roots):
        if apart and (not windows or at - apart[-1][0] <= max(windows)):
            apart[-1][1].append(root)
        else:
            apart.append((at, [root]))
    return [together for _, together in apart]


def _tell_event(occurrence: Occurrence, messages: list[Message], now_ms: int) -> Event:
    claim, lead = occurrence.claim, occurrence.lead
    records = [record for message in messages for record in message.deliveries]
    key = claim.key if claim else next((record.key for record in records if record.key), None)
    owner = claim.owner if claim else None
    if owner is None and lead is not None and lead.run:
        owner = str(Owner(lead.run, lead.message_id))
    times = (record.occurred_at_ms for record in (*occurrence.finals, *records))
    return Event(
        key=str(key) if key else None,
        family=key.family if key else None,
        text=words.describe_event(key) if key else "a message that holds no event",
        occurred_at_ms=next(filter(None, times), claim.event_time if claim else None),
        outcome=occurrence.outcome,
        verdict=say_verdict(occurrence, now_ms),
        owner=owner,
        done_at_ms=claim.done_at if claim else None,
        dropped_at_ms=claim.dropped_at_ms if claim else None,
        idempotency_keys=occurrence.find_keys(key),
        acts=len(occurrence.acts),
        requests=occurrence.requests,
        has_known_requests=occurrence.has_known_requests,
        may_have_acted=occurrence.may_have_acted,
        meaning=say_meaning(occurrence),
        note=next((record.note for record in records if record.note), None),
        replay_name=next((record.replay_name for record in records if record.replay_name), None),
        messages=messages,
    )


def _tell_message(message_id: str, history: list[OutcomeRecord], final_of: Finals) -> Message:
    final = final_of[message_id]
    earlier = final_of.get(final.earlier or "")
    cause = _find_cause(final, earlier)
    parts = [MEANING[cause] if cause else final.why]
    if cause is Cause.SECOND_INTEGRATION and earlier is not None:
        parts = [f"a second integration, {final.source}, sent it as well as {earlier.source}"]
    if final.reason == "COLLAPSED":
        parts.append("in the same batch, so it shares the outcome")
    elif earlier is not None and final.outcome is Outcome.DUPLICATE:
        settled = "was acted on" if earlier.outcome is Outcome.PROCESSED else "was settled"
        apart_ms = final.recorded_at_ms - earlier.recorded_at_ms
        when = f"{words.format_duration(apart_ms)} after"
        # A copy can be judged, and logged, before the execution that acted has logged its batch.
        if apart_ms < 100:
            when = "at the same time as"
        parts.append(f"decided {when} message {earlier.message_id} {settled}")
    return Message(
        message_id=message_id,
        outcome=final.outcome,
        reason=final.reason,
        cause=cause,
        because_of=final.earlier,
        text="; ".join(part for part in parts if part),
        deliveries=history,
    )


def _find_cause(record: OutcomeRecord, earlier: OutcomeRecord | None) -> Cause | None:
    """Finds why it was not acted on by itself; `earlier` is of the message that it met."""
    if record.reason == "HELD":
        return Cause.IN_PROGRESS
    if not _is_copy(record):
        return Cause.OLDER if record.outcome is Outcome.STALE else None
    if record.earlier == record.message_id:
        return Cause.SAME_MESSAGE
    if earlier is None:
        return Cause.COPY
    if record.envelope_id is not None and record.envelope_id == earlier.envelope_id:
        return Cause.SAME_ENVELOPE
    if record.source is not None and earlier.source not in (None, record.source):
        return Cause.SECOND_INTEGRATION
    if record.event_id is not None and record.event_id == earlier.event_id:
        return Cause.REPUBLISHED
    if record.reason == "SAME_EVENT_ID":
        return Cause.REPUBLISHED
    if (record.window_ms or earlier.window_ms) and record.occurred_at_ms != earlier.occurred_at_ms:
        return Cause.WITHIN_WINDOW
    both = record.envelope_id is not None and earlier.envelope_id is not None
    return Cause.REPUBLISHED if both else Cause.COPY
