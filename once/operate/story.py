"""Joins claims and outcome records into what happened to a subject: pure, so it can be tested."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from once.operate import phrases as words
from once.operate.asked import Asked, asked, called_of, keys_of
from once.operate.causes import MEANING, Cause, cause_of, earlier_of, message_of
from once.operate.claims import Claim, Status
from once.operate.deliveries import Delivery, comes_back
from once.operate.model import Model
from once.outcomes import SETTLED, Outcome
from once.records import OutcomeRecord


class Message(Model):
    """What became of one message."""

    message_id: str
    outcome: Outcome
    reason: str | None
    cause: Cause | None
    because_of: str | None
    text: str
    deliveries: list[Delivery]
    recorded_at_ms: int
    occurred_at_ms: int | None
    envelope_id: str | None
    source: str | None
    execution: str | None


class Event(Model):
    """One logical event, or what is known of it, with every message that told of it."""

    key: str | None
    text: str
    occurred_at_ms: int | None
    outcome: Outcome | None
    verdict: str
    execution: str | None
    done_at_ms: int | None
    dropped_at_ms: int | None = Field(
        description="When a person deleted it from the parking queue: once parked drop."
    )
    idempotency_keys: list[str] = Field(
        description="Under which the destination was called, where it was."
    )
    asked: Asked | None = Field(description="Where the destination was asked more than once.")
    messages: list[Message]

    @property
    def in_doubt(self) -> bool:
        """Whether calls that failed may have acted as well as the one that is known to have."""
        return self.verdict.endswith(_DOUBT)


Histories = Mapping[str, Sequence[OutcomeRecord]]
_Place = tuple[str | None, str | None]
_LATE_MS = 86_400_000
_DOUBT = "and may have acted more than once"
_SILENT_MS = 3_600_000  # after its return time it is taken within minutes, where the pipe runs


def tell(records: Iterable[OutcomeRecord], claims: Iterable[Claim], now_ms: int) -> list[Event]:
    """Every event in the order in which they happened."""
    histories: dict[str, list[OutcomeRecord]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.recorded_at_ms):
        histories[record.message_id].append(record)
    claim_of: dict[_Place, Claim] = {(claim.pk, claim.sk): claim for claim in claims}
    copies: dict[_Place, dict[str, list[str]]] = {place: {} for place in claim_of}
    for message_id in histories:
        final = _final(histories[message_id])
        # Without a key a message stands for itself alone.
        place: _Place = (final.pk, final.sk) if final.sk else ("", message_id)
        roots = copies.setdefault(place, {})
        roots.setdefault(_root(message_id, histories), []).append(message_id)
    events = []
    for place, roots in copies.items():
        claim = claim_of.get(place)
        owner = message_of(claim.owner) if claim else None
        if owner is not None:
            roots.setdefault(owner, [])
        for happening in _happenings(roots, claim, histories):
            own = claim if owner in happening else None
            events.append(_event(happening, roots, own, histories, now_ms))
    return sorted(events, key=lambda event: (event.occurred_at_ms or 0, first_seen(event)))


def _happenings(roots: Iterable[str], claim: Claim | None, histories: Histories) -> list[list[str]]:
    """The messages of one key that stood for themselves, parted into what happened apart.

    An exact key is one happening, however often it was parked, handed back or replayed. Under a
    windowed one only what lies within the window is.
    """
    finals = {root: _final(histories[root]) for root in roots if root in histories}
    window_ms = max((final.window_ms or 0 for final in finals.values()), default=0)
    times = {root: final.occurred_at_ms or 0 for root, final in finals.items()}
    unrecorded = claim.event_time if claim else 0
    apart: list[tuple[int, list[str]]] = []
    for at, root in sorted((times.get(root, unrecorded), root) for root in roots):
        if apart and (not window_ms or at - apart[-1][0] <= window_ms):
            apart[-1][1].append(root)
        else:
            apart.append((at, [root]))
    return [together for _, together in apart]


def _final(history: Sequence[OutcomeRecord]) -> OutcomeRecord:
    """What settled a message; deliveries after that change nothing. Else how it stands."""
    return next((record for record in history if record.outcome in SETTLED), history[-1])


def _root(message_id: str, histories: Histories) -> str:
    """The message that stood for this one: it acted, or would have."""
    seen = {message_id}
    while message_id in histories:
        final = _final(histories[message_id])
        parent = None
        if final.reason == "COLLAPSED":
            parent = final.copy_of
        elif final.outcome is Outcome.DUPLICATE or final.reason in ("SETTLED_BEFORE", "HELD"):
            parent = message_of(final.because)
        if parent is None or parent in seen:
            break
        seen.add(parent)
        message_id = parent
    return message_id


def _event(
    happening: Sequence[str],
    copies: Mapping[str, Sequence[str]],
    claim: Claim | None,
    histories: Histories,
    now_ms: int,
) -> Event:
    ids = sorted(
        (message_id for root in happening for message_id in copies[root]),
        key=lambda message_id: (
            histories[message_id][0].recorded_at_ms,
            message_id not in happening,
        ),
    )
    finals = [_final(histories[root]) for root in happening if root in histories]
    acts = _acts(record for root in happening for record in histories.get(root, ()))
    newest = max(finals, key=lambda final: final.recorded_at_ms, default=None)
    lead = acts[-1] if acts else newest
    if lead is not newest and newest is not None and _opened_again(newest, lead, claim):
        lead = newest
    any_of = lead or next((_final(histories[message_id]) for message_id in ids), None)
    key = claim.key if claim else None
    if key is None and any_of and any_of.sk:
        key = f"{any_of.pk}/{any_of.sk}"
    family = claim.family if claim else any_of.family if any_of else None
    if family is None and key is not None:
        family = key.split("/")[4]
    outcome = lead.outcome if lead else None
    if outcome is None and claim is not None and claim.outcome is not None:
        outcome = Outcome(claim.outcome)
    occurred = next((f.occurred_at_ms for f in finals if f.occurred_at_ms), None)
    called = called_of(record for message_id in ids for record in histories[message_id])
    keys = keys_of(called, _sent_key(key, any_of, claim) if key else None)
    calls = asked(called, keys, claim.forgotten_at_ms if claim else None)
    return Event(
        key=key,
        text=words.event(family or "", key) if key else "a message that holds no event",
        occurred_at_ms=occurred or (claim.event_time if claim else None),
        outcome=outcome,
        verdict=_verdict(lead, acts, calls, outcome, claim, histories, now_ms),
        execution=claim.owner.partition("#")[0] if claim else lead.run if lead else None,
        done_at_ms=claim.done_at if claim else None,
        dropped_at_ms=claim.dropped_at_ms if claim else None,
        idempotency_keys=keys,
        asked=calls,
        messages=[_message(message_id, histories) for message_id in ids],
    )


def _opened_again(newest: OutcomeRecord, act: OutcomeRecord | None, claim: Claim | None) -> bool:
    """Whether it is no longer settled by its act: forgotten on purpose, or its mark was lost."""
    return (
        act is not None
        and newest.recorded_at_ms > act.recorded_at_ms
        and newest.outcome in (Outcome.RETRY, Outcome.PARKED)
        and claim is not None
        and claim.status is not Status.DONE
    )


def _verdict(
    lead: OutcomeRecord | None,
    acts: Sequence[OutcomeRecord],
    calls: Asked | None,
    outcome: Outcome | None,
    claim: Claim | None,
    histories: Histories,
    now_ms: int,
) -> str:
    before = _acted(acts) if acts and outcome is not Outcome.PROCESSED else ""
    then = f"{before}, and then " if before else ""
    if claim is not None and claim.status is Status.IN_PROGRESS:
        if not claim.held(now_ms):
            return "its holder died; the next delivery takes it over"
        seconds = (claim.lease_until - now_ms) // 1000 + 1
        return f"being worked on; should its holder have died, it is free in {seconds} s"
    forgotten_at_ms = claim.forgotten_at_ms if claim else None
    if forgotten_at_ms and claim and claim.forgotten and _is_old(lead, forgotten_at_ms):
        when = words.moment(forgotten_at_ms)[:19]
        acted = f"{_acted(acts)}, then " if acts else ""
        return f"{acted}forgotten on purpose on {when} UTC: its next copy acts again"
    why = Delivery.of(lead).why if lead else ""
    match outcome:
        case Outcome.PROCESSED:
            said = _acted(acts) + _latency(lead)
            times, may_have_acted = (calls.times, calls.may_have_acted) if calls else (0, 0)
            in_doubt = may_have_acted > max(1, len(acts))
            if in_doubt and len(acts) < 2:
                said = "acted" + _latency(lead)
            if lead is not None and lead.unmarked:
                why = "its mark was lost, so a copy may ask again with the same Idempotency-Key"
            if len(acts) > 1 and forgotten_at_ms:
                when = words.moment(forgotten_at_ms)[:19]
                why = f"somebody opened it on purpose on {when} UTC"
            said += f"; {why}" if why else ""
            return said + (f"; asked {words.times(times)}, {_DOUBT}" if in_doubt else "")
        case Outcome.STALE:
            return "skipped, " + _newer(lead, histories)
        case Outcome.PARKED:
            if lead is not None and lead.reason == "GAVE_UP":
                why = _given_up(lead)
            parked = (f"parked: {why}" if why else "parked") + _failing_since(lead)
            if claim is not None and claim.dropped_at_ms:
                when = words.moment(claim.dropped_at_ms)[:19]
                parked = f"dropped by a person on {when} UTC (once parked drop); was {parked}"
            return then + parked
        case Outcome.RETRY:
            return then + _waits(lead, why, claim, now_ms)
    return "skipped; what acted in its place is no longer in the log"


def _acted(acts: Sequence[OutcomeRecord]) -> str:
    return f"acted {words.times(max(1, len(acts)))}"


def _is_old(lead: OutcomeRecord | None, forgotten_at_ms: int) -> bool:
    """Whether nothing is recorded of it since it was forgotten."""
    return lead is None or lead.recorded_at_ms <= forgotten_at_ms


def _acts(records: Iterable[OutcomeRecord]) -> list[OutcomeRecord]:
    """Those that acted, in order; where only later deliveries are known, the first that says so."""
    processed = sorted(
        (record for record in records if record.outcome is Outcome.PROCESSED),
        key=lambda record: record.recorded_at_ms,
    )
    return [one for one in processed if one.reason != "SETTLED_BEFORE"] or processed[:1]


def sent_without_window(key: str) -> str:
    """The Idempotency-Key of an event; a windowed one has its occurrence behind it."""
    organisation, kind, subject, sk = key.split("/", 3)
    return hashlib.sha256(f"{organisation}/{kind}/{subject}\n{sk}".encode()).hexdigest()


def _sent_key(key: str, any_of: OutcomeRecord | None, claim: Claim | None) -> str | None:
    """The Idempotency-Key that the destination is asked under now."""
    sent = sent_without_window(key)
    windowed = any_of is None or bool(any_of.window_ms)
    if claim is not None and (windowed or claim.occurrence < 0):
        return f"{sent}.{abs(claim.occurrence)}"
    return None if windowed else sent


def _failing_since(parked: OutcomeRecord | None) -> str:
    if parked is None or not parked.failed_at_ms or parked.reason == "REJECTED":
        return ""
    return f"; last called on {words.moment(parked.failed_at_ms)[:19]} UTC"


def _given_up(parked: OutcomeRecord) -> str:
    tries = words.tries(parked.tries) if parked.tries else "its last try"
    said = parked.cause or (f"HTTP {parked.status}" if parked.status else "")
    given_up = f"given up after {tries} (MaxTries), while the destination answered others"
    return f"{given_up}: {said}" if said else given_up


def _waits(lead: OutcomeRecord | None, why: str, claim: Claim | None, now_ms: int) -> str:
    """Of what was handed back: why, and when it comes back."""
    if lead is None:
        # A batch is recorded at its end, and the claim knows it before.
        if claim is None or not claim.cause:
            return "not settled yet"
        at = f" at {words.clock(claim.failed_at)[:8]}" if claim.failed_at else ""
        return f"not settled yet: called{at}: {claim.cause}"
    tries = f"; {lead.tries} of its tries (MaxTries) are spent" if (lead.tries or 0) > 1 else ""
    due_ms = Delivery.of(lead).due_ms
    if now_ms < due_ms:
        return f"not settled yet: {why}{tries}; {comes_back(lead.returns_at_ms)}"
    if now_ms < due_ms + _SILENT_MS:
        return f"not settled yet: {why}{tries}; it is due now"
    return (
        f"not settled, and not tried for {words.age(now_ms - lead.recorded_at_ms)}: {why}; "
        "is it dead? once dead-letters list"
    )


def _latency(acted: OutcomeRecord | None) -> str:
    if acted is None or acted.age_ms is None or acted.age_ms > _LATE_MS:
        return ""  # a replay, or a file of examples: how late it is says nothing
    return f", {words.length(acted.age_ms)} after it happened"


def _newer(stale: OutcomeRecord | None, histories: Histories) -> str:
    newer = message_of(stale.because) if stale else None
    if newer is None:
        return "older than the latest that had passed"
    if newer not in histories:
        return f"older than the latest that had passed, message {newer}"
    final = _final(histories[newer])
    what = words.event(final.family or "", f"{final.pk}/{final.sk}")
    when = words.clock(final.occurred_at_ms) if final.occurred_at_ms else "a later time"
    return f"older than {what}, which had happened at {when}"


def _message(message_id: str, histories: Histories) -> Message:
    history = histories[message_id]
    final = _final(history)
    earlier_id = earlier_of(final)
    earlier = _final(histories[earlier_id]) if earlier_id and earlier_id in histories else None
    cause = cause_of(final, earlier)
    return Message(
        message_id=message_id,
        outcome=final.outcome,
        reason=final.reason,
        cause=cause,
        because_of=earlier_id,
        text=_text(final, cause, earlier),
        deliveries=[Delivery.of(record) for record in history],
        recorded_at_ms=final.recorded_at_ms,
        occurred_at_ms=final.occurred_at_ms,
        envelope_id=final.envelope_id,
        source=final.source,
        execution=final.run,
    )


def _text(final: OutcomeRecord, cause: Cause | None, earlier: OutcomeRecord | None) -> str:
    parts = [MEANING[cause] if cause else Delivery.of(final).why]
    if cause is Cause.SECOND_INTEGRATION and earlier is not None:
        parts = [f"a second integration, {final.source}, sent it as well as {earlier.source}"]
    if final.reason == "COLLAPSED":
        parts.append("in the same batch")
    elif earlier is not None and final.outcome is Outcome.DUPLICATE:
        parts.append(_apart(final, earlier))
    return "; ".join(part for part in parts if part)


def _apart(copy: OutcomeRecord, earlier: OutcomeRecord) -> str:
    milliseconds = copy.recorded_at_ms - earlier.recorded_at_ms
    settled = "acted" if earlier.outcome is Outcome.PROCESSED else "was settled"
    # A copy can be judged, and logged, before the execution that acted has logged its batch.
    if milliseconds < 100:
        return f"decided at the same time as message {earlier.message_id} {settled}"
    return f"decided {words.length(milliseconds)} after message {earlier.message_id} {settled}"


def first_seen(event: Event) -> int:
    return min((message.recorded_at_ms for message in event.messages), default=0)
