"""Says what became of one occurrence of an event, and what its requests mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from once.keys import IdempotencyKey, Key
from once.operate import phrases as words
from once.operate.claims import Claim, Status
from once.outcomes import Outcome
from once.reasons import REASONS, Acted
from once.records import OutcomeRecord

_LATE_MS = 86_400_000
_SILENT_MS = 3_600_000  # after its return time it is taken within minutes, if the pipe runs


@dataclass(frozen=True)
class Occurrence:
    """All that is known of one occurrence."""

    finals: Sequence[OutcomeRecord]
    """The record that settled each message that stood for itself, or its newest one."""
    own: Sequence[OutcomeRecord]
    """All records of these messages."""
    requested: Sequence[OutcomeRecord]
    """Those that sent requests, of copies as well, oldest first."""
    claim: Claim | None
    """None if the row is another occurrence's by now, or is gone."""
    met: OutcomeRecord | None
    """The record that made it stale or unchanged, if the log still has it."""
    breaker: str = ""
    """Why events wait for the breaker now, if that is known."""

    @cached_property
    def acts(self) -> Sequence[OutcomeRecord]:
        """The records of what acted, in order; if only later deliveries are known, the first."""
        processed = sorted(
            (record for record in self.own if record.outcome is Outcome.PROCESSED),
            key=lambda record: record.recorded_at_ms,
        )
        return [one for one in processed if one.reason != "SETTLED_BEFORE"] or processed[:1]

    @cached_property
    def lead(self) -> OutcomeRecord | None:
        """The record that says how it ended, or stands."""
        newest = max(self.finals, key=lambda final: final.recorded_at_ms, default=None)
        if not self.acts or newest is None:
            return newest
        act = self.acts[-1]
        # Forgotten on purpose, or without its completion write, it was taken up again. Without the
        # row, a later request says so: a copy of what is settled sends none.
        is_open = bool(newest.requests)
        if self.claim is not None:
            parked = self.claim.outcome == Outcome.PARKED
            is_open = self.claim.status is not Status.DONE or parked
        is_later = newest.recorded_at_ms > act.recorded_at_ms
        again = newest.outcome in (Outcome.RETRY, Outcome.PARKED)
        return newest if is_open and is_later and again else act

    @property
    def outcome(self) -> Outcome | None:
        if self.lead is not None:
            return self.lead.outcome
        known = self.claim.outcome if self.claim else None
        return Outcome(known) if known else None

    @property
    def requests(self) -> int:
        return sum(record.sent_requests for record in self.requested)

    @property
    def has_known_requests(self) -> bool:
        return all(record.has_known_requests for record in self.requested)

    @property
    def may_have_acted(self) -> int:
        """Requests that were acted on, or may have been. The response to the last of a delivery
        is known, and it may say that nothing was done."""
        codes = (record.reason for record in self.requested)
        known = [REASONS[code] for code in codes if code in REASONS]
        return self.requests - sum(one.acted is Acted.REJECTED for one in known)

    @property
    def forgotten_at_ms(self) -> int | None:
        """The time at which `once forget` opened its claim, however it ended since."""
        claim = self.claim
        return -claim.occurrence if claim is not None and claim.occurrence < 0 else None

    def find_keys(self, key: Key | None) -> list[str]:
        """Finds the Idempotency-Keys that requests carried: recorded if acted on, else the one
        that a request would carry now."""
        keys = [one.idempotency_key for one in self.requested if one.idempotency_key]
        if key is not None and self.requested and not self.requested[-1].idempotency_key:
            windowed = any(record.window_ms is not None for record in self.own)
            if self.claim is not None and (windowed or self.claim.occurrence < 0):
                now = IdempotencyKey(key.idempotency_key.digest, abs(self.claim.occurrence))
                keys.append(str(now))
            elif not windowed:
                keys.append(str(key.idempotency_key))
        return list(dict.fromkeys(keys))


def say_verdict(one: Occurrence, now_ms: int) -> str:
    """Says what became of it."""
    claim, lead = one.claim, one.lead
    if claim is not None and claim.status is Status.IN_PROGRESS:
        if not claim.is_held(now_ms):
            return "its owner died; the next delivery takes it over"
        return f"in progress; if the owner died, it is free in {claim.free_in_seconds(now_ms)} s"
    at_ms = one.forgotten_at_ms
    is_recorded_since = lead is not None and lead.recorded_at_ms > (at_ms or 0)
    if at_ms and claim and claim.status is Status.FAILED and not is_recorded_since:
        before = f"{_say_acts(one)}; " if one.acts else ""
        return f"{before}{_say_forgotten(at_ms)}: its next copy is acted on"
    before = f"{_say_acts(one)}, and then " if one.acts else ""
    match one.outcome:
        case Outcome.PROCESSED:
            return _say_processed(one)
        case Outcome.IGNORED:
            return before + _say_ignored(one)
        case Outcome.PARKED:
            return before + _say_parked(lead, claim)
        case Outcome.RETRY:
            return before + _say_waiting(one, now_ms)
    return _say_skipped(one)


def say_meaning(one: Occurrence) -> str:
    """Says what it means that more than one request was sent; else nothing."""
    if one.requests < 2:
        return ""
    acts = [record for record in one.requested if record.outcome is Outcome.PROCESSED]
    if len({record.idempotency_key for record in acts}) > 1:
        opened = _say_forgotten(one.forgotten_at_ms) if one.forgotten_at_ms else "once forget"
        return f"acted on again on purpose, with another Idempotency-Key: {opened}"
    if len(acts) > 1:
        lost = (
            "the first completion write failed" if acts[0].unconfirmed else "its claim had expired"
        )
        return f"acted on again, since {lost}; a destination that stores no keys acted twice"
    if one.may_have_acted < 2:
        return "the rejected requests did nothing"
    if not acts:
        return (
            "no request is known to have succeeded; a destination that stores no keys may have "
            "acted on each"
        )
    times = words.count_times(one.may_have_acted)
    return f"a destination that stores no keys may have acted on it {times}"


def _say_acts(one: Occurrence) -> str:
    times = len(one.acts)
    return "acted on" if times < 2 else f"acted on {words.count_times(times)}"


def _say_forgotten(at_ms: int) -> str:
    return f"`once forget` opened it on {words.format_second(at_ms)} UTC"


def _say_processed(one: Occurrence) -> str:
    lead = one.lead
    said = "observed" if lead is not None and lead.reason == "OBSERVED" else _say_acts(one)
    # The age of a replay, or of a file of examples, says nothing.
    if lead is not None and lead.age_ms is not None and lead.age_ms <= _LATE_MS:
        said += f", {words.format_duration(lead.age_ms)} after it happened"
    if len(one.acts) > 1 and one.forgotten_at_ms:
        said += f"; {_say_forgotten(one.forgotten_at_ms)}"
    elif lead is not None and lead.unconfirmed:
        said += "; its completion write failed, so a copy repeats it with the same Idempotency-Key"
    elif lead is not None and lead.why:
        said += f"; {lead.why}"
    if one.may_have_acted > max(1, len(one.acts)):
        requests = words.count_requests(one.requests, one.has_known_requests)
        said += f"; {requests}, perhaps acted on more than once"
    return said


def _say_skipped(one: Occurrence) -> str:
    lead, met = one.lead, one.met
    if one.outcome is Outcome.STALE:
        if met is None or met.key is None:
            earlier = lead.earlier if lead else None
            said = f", message {earlier}" if earlier else ""
            return f"skipped: older than the newest state{said}"
        when = words.format_clock(met.occurred_at_ms) if met.occurred_at_ms else "a later time"
        return f"skipped: older than {words.describe_event(met.key)}, which happened at {when}"
    if lead is None or lead.reason != "UNCHANGED":
        return "skipped as a copy; what was acted on instead is no longer in the log"
    if met is None or met.occurred_at_ms is None:
        return f"skipped: {lead.why}"
    since = words.format_second(met.occurred_at_ms)
    return f"skipped: unchanged since {since} UTC, as message {met.message_id} says"


def _say_ignored(one: Occurrence) -> str:
    lead = one.lead
    said = (lead.cause or lead.why) if lead else ""
    if lead is not None and lead.reason == "EXPIRED":
        said = f'too old for route "{lead.route}"'
        if lead.occurred_at_ms:
            age = words.format_duration(lead.recorded_at_ms - lead.occurred_at_ms)
            said += f", {age} after it happened"
    if one.requests:
        requests = words.count_requests(one.requests, one.has_known_requests)
        said += f"; {requests} before, and it may have been acted on"
    return f"ignored: {said}" if said else "ignored"


def _say_parked(lead: OutcomeRecord | None, claim: Claim | None) -> str:
    parked = "parked"
    if lead is not None:
        parked = f"parked: {lead.why}"
        if lead.tries and lead.reason == "GAVE_UP":
            parked += f"; {words.count_tries(lead.tries)}"
        if lead.failed_at_ms and lead.reason != "REJECTED":
            parked += f"; last request on {words.format_second(lead.failed_at_ms)} UTC"
    if claim is None or not claim.dropped_at_ms:
        return parked
    when = words.format_second(claim.dropped_at_ms)
    return f"dropped by an operator on {when} UTC (once parked drop); was {parked}"


def _say_waiting(one: Occurrence, now_ms: int) -> str:
    claim, lead = one.claim, one.lead
    if lead is None:
        # A batch is recorded at its end, and the claim knows of the failure before.
        if claim is None or not claim.cause:
            return "not settled yet"
        at = f" at {words.format_clock(claim.failed_at)[:8]}" if claim.failed_at else ""
        return f"not settled yet: last tried{at}: {claim.cause}"
    tries = f"; {lead.tries} of its tries (MaxTries) are spent" if (lead.tries or 0) > 1 else ""
    if now_ms < lead.due_at_ms:
        why = (lead.reason == "BREAKER_OPEN" and one.breaker) or lead.why
        return f"not settled yet: {why}{tries}; {say_return(lead)}"
    if now_ms < lead.due_at_ms + _SILENT_MS:
        return f"not settled yet: {lead.why}{tries}; it is due now"
    age = words.format_age(now_ms - lead.recorded_at_ms)
    return f"not settled, and not tried for {age}: {lead.why}; see: once dead-letters list"


def say_return(record: OutcomeRecord) -> str:
    if record.returns_at_ms is None:
        return "returns after the queue's own time, some minutes"
    return f"returns at {words.format_clock(record.returns_at_ms)[:8]}"
