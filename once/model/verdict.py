"""Says in a sentence what became of an event, and what its requests mean for the destination.

`once.model.story` collects the facts of a story; here is how people read them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from once.model import words
from once.model.reasons import FOR_THE_BREAKER, MEANING, Outcome
from once.model.records import GRACE_MS, LONGEST_DELAY_MS, Record, Status, windowed
from once.model.status import Breaker, State

if TYPE_CHECKING:
    from once.model.story import Chain, Story


def judge(
    story: "Story", chains: "Mapping[str, Chain]", now_ms: int, breaker: Breaker | None
) -> str:
    """Says what became of an event; `breaker` is that of now."""
    claim, lead = story.claim, story.lead
    acted_unconfirmed = lead is not None and lead.unconfirmed and story.acts
    # A function that failed without an answer keeps its claim while its event waits.
    is_put_back = lead is not None and claim is not None and lead.run == claim.owner
    if claim and claim.status is Status.IN_PROGRESS and not (acted_unconfirmed or is_put_back):
        if not claim.is_held(now_ms):
            return "its owner died; it may have sent a request, and the next delivery takes over"
        return f"in progress; if the owner died, it is free in {claim.free_in_seconds(now_ms)} s"
    acted = "acted on"
    if len(story.acts) > 1:
        acted += f" {words.count_times(len(story.acts))}"
    is_recorded_since = lead is not None and lead.recorded_at_ms > story.forgotten_ms
    if story.forgotten_ms and claim and claim.status is Status.FAILED and not is_recorded_since:
        opened = f"{_describe_forgotten(story.forgotten_ms)}: its next copy is acted on"
        return f"{acted}; {opened}" if story.acts else opened
    before = f"{acted}, and then " if story.acts else ""
    match story.outcome:
        case Outcome.PROCESSED:
            return _describe_processed(story, acted)
        case Outcome.IGNORED if lead:  # it has no claim
            return _describe_ignored(story, lead)
        case Outcome.PARKED:
            return before + _describe_parked(story)
        case Outcome.RETRY:
            return before + _describe_waiting(story, now_ms, breaker)
    return _describe_skipped(story, _find_met(story, chains))


def _describe_processed(story: "Story", acted: str) -> str:
    lead = story.lead
    if lead is None:
        return acted
    text = "observed" if lead.reason == "OBSERVED" else acted
    if lead.age_ms is not None and lead.age_ms < 86_400_000:  # else an old event was sent again
        text += f", {words.format_duration(lead.age_ms)} after it occurred"
    if len(story.acts) > 1 and story.forgotten_ms:
        text += f"; {_describe_forgotten(story.forgotten_ms)}"
    elif lead.unconfirmed:
        text += "; its completion write failed, so a copy repeats it with the same Idempotency-Key"
    elif lead.why:
        text += f"; {lead.why}"
    if story.is_in_doubt:
        text += f"; {story.count_requests()}, perhaps acted on more than once"
    return text


def _describe_ignored(story: "Story", lead: Record) -> str:
    text = f"ignored: {lead.cause or lead.why}"
    if lead.reason == "EXPIRED":
        text = f'ignored: too old for route "{lead.route}"'
        if lead.occurred_at_ms:
            age_ms = lead.recorded_at_ms - lead.occurred_at_ms
            text += f", {words.format_duration(age_ms)} after it occurred"
    if story.requests:
        text += f"; {story.count_requests()} before, and it may have been acted on"
    return text


def _describe_parked(story: "Story") -> str:
    lead, claim, text = story.lead, story.claim, "parked"
    if lead:
        text = f"parked: {lead.why}"
        if lead.tries and lead.reason == "GAVE_UP":
            text += f"; {words.count(lead.tries, 'try')}"
        if lead.failed_at_ms and lead.reason != "REJECTED":
            text += f"; last request on {words.format_second(lead.failed_at_ms)} UTC"
    if not claim or not claim.dropped_at_ms:
        return text
    when = words.format_second(claim.dropped_at_ms)
    return f"dropped by an operator on {when} UTC (once parked drop); was {text}"


def _describe_waiting(story: "Story", now_ms: int, breaker: Breaker | None) -> str:
    """Says why an event waits, when it comes back, and how often it was tried."""
    lead, claim = story.lead, story.claim
    due_ms = max(lead.due_at_ms if lead else 0, (claim.due_at or 0) if claim else 0)
    why = (lead.why if lead else claim and claim.cause) or "nothing is recorded yet"
    if lead and lead.reason in FOR_THE_BREAKER and breaker:
        why = breaker.explain_wait(lead.reason, now_ms)
        # While nothing may be sent, a short look writes no record: it comes back all the same.
        if breaker.state is not State.CLOSED and due_ms <= now_ms:
            due_ms = now_ms + LONGEST_DELAY_MS
    text = f"waits: {why}"
    if story.deliveries:
        least = "at least " if story.has_unrecorded else ""
        text += f"; tried {least}{words.count_times(story.deliveries)}"
    if lead and lead.tries:
        text += f", {words.count(lead.tries, 'try')} of MaxTries spent"
    if now_ms < due_ms:
        return f"{text}; comes back at {words.format_clock(due_ms)} UTC at the latest"
    if now_ms < due_ms + GRACE_MS:
        return f"{text}; it is due now"
    age = words.format_age(now_ms - due_ms)
    return f"{text}; due {age} ago and not recorded since: see once status, once parked list"


def _find_met(story: "Story", chains: "Mapping[str, Chain]") -> Record | None:
    """Finds the event that passed a stale event, or the first of the equal states."""
    skipped = (
        end for end in story.ends if end.outcome is Outcome.STALE or end.reason == "UNCHANGED"
    )
    met, passed = next(skipped, None), set[str]()
    while met and (not passed or met.reason == "UNCHANGED"):
        passed.add(met.message_id)
        earlier = chains.get(met.met or "")
        met = earlier.end if earlier and met.met not in passed else None
    return met


def _describe_skipped(story: "Story", met: Record | None) -> str:
    """Names the event that a skipped one met, and the setting that would have acted."""
    lead = story.lead
    if lead is None and story.outcome:
        return MEANING[story.outcome]
    is_stale = story.outcome is Outcome.STALE
    if lead is None or not (is_stale or lead.reason == "UNCHANGED"):
        return "skipped as a copy; what was acted on instead is no longer in the log"
    every = '; order = "every" on its route would have acted'
    if story.key and story.key.family in windowed():
        every = ""  # `once routes check` refuses it
    if met is None or met.family is None or met.occurred_at_ms is None:
        return f"skipped: {lead.why}, as message {lead.met} says{every}"
    if is_stale:
        newer = words.describe_event(met.family, met.state)
        time = words.format_time(met.occurred_at_ms)[11:]
        return f"skipped: older than {newer} of {time} (message {met.message_id}){every}"
    since = words.format_second(met.occurred_at_ms)
    return f"skipped: unchanged since {since} UTC, as message {met.message_id} says{every}"


def explain_requests(story: "Story") -> str:
    """Says what more than one request means for the destination."""
    if story.has_unrecorded:
        return "an earlier delivery ended without a record, and may have sent a request"
    if story.requests < 2:
        return ""
    acts = [record for record in story.sent if record.outcome is Outcome.PROCESSED]
    if len({record.idempotency_key for record in acts}) > 1:
        forgotten_ms = story.forgotten_ms
        opened = _describe_forgotten(forgotten_ms) if forgotten_ms else "once forget"
        return f"acted on again on purpose, with another Idempotency-Key: {opened}"
    if len(acts) > 1:
        lost = "its claim had expired"
        if acts[0].unconfirmed:
            lost = "the first completion write failed"
        return f"acted on again, since {lost}; a destination that stores no keys acted twice"
    if story.may_have_acted < 2:
        return "the rejected requests did nothing"
    may = "a destination that stores no keys may have acted on"
    if not acts:
        return f"no request is known to have succeeded; {may} each"
    return f"{may} it {words.count_times(story.may_have_acted)}"


def _describe_forgotten(ms: int) -> str:
    return f"`once forget` opened it on {words.format_second(ms)} UTC"
