"""Tells the stories of events in sentences: what became of each, what its requests mean for the
destination, and why a copy is one.

`once.model.story` collects the facts of a story; here, and nowhere else, is how people read them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from once.model import words
from once.model.reasons import FOR_THE_BREAKER, MEANING, Outcome
from once.model.records import GRACE_MS, LONGEST_DELAY_MS, Claim, ClaimStatus, Record, windowed
from once.model.status import Breaker, State
from once.model.story import Chain, Chains, Story, collect, read_chains

CAUSES = {
    "SAME_MESSAGE": "the queue delivered the same message again",
    "SAME_ENVELOPE": "EventBridge delivered the same event again (same envelope id)",
    "SECOND_INTEGRATION": "a second integration sent it too",
    "REPUBLISHED": "it was published again (new envelope id)",
    "WITHIN_WINDOW": "the same change, sent again within its window",
    "OLDER": "older than the newest state",
    "IN_PROGRESS": "in progress elsewhere: it waits until that is settled",
    "COPY": "a copy; the log does not tell how it came about",
}


def tell(
    records: Iterable[Record],
    claims: Iterable[Claim],
    now_ms: int,
    breaker: Breaker | None = None,
) -> list[Story]:
    """Tells every event, in the order in which they occurred; `breaker` is that of now, which the
    records of events that wait for it cannot know."""
    chains = read_chains(records)
    stories = collect(chains, claims)
    for story in stories:
        story.verdict = _judge(story, chains, now_ms, breaker)
        story.meaning = _explain_requests(story)
    for chain in chains.values():
        _explain_copy(chain, chains)
    return stories


def summarise(stories: Sequence[Story]) -> str:
    """Says in a line what became of them."""
    ends = Counter(story.outcome for story in stories)
    finals = [chain.end for story in stories for chain in story.chains]
    copies = sum(record.outcome is Outcome.DUPLICATE and record.is_copy for record in finals)
    parts = {
        "acted on": ends[Outcome.PROCESSED],
        "skipped as unchanged": ends[Outcome.DUPLICATE],
        "skipped as stale": ends[Outcome.STALE],
        "ignored": ends[Outcome.IGNORED],
        "parked": ends[Outcome.PARKED],
        "not settled": ends[Outcome.RETRY] + ends[None],
        "copy skipped" if copies == 1 else "copies skipped": copies,
    }
    text = ", ".join(f"{number:,} {what}" for what, number in parts.items() if number)
    doubt = sum(story.is_in_doubt for story in stories)
    tail = f"; {doubt:,} of {len(stories):,} perhaps acted on more than once" if doubt else ""
    return f"{words.count(len(stories), 'event')}: {text}{tail}" if text else "no event"


def _judge(story: Story, chains: Chains, now_ms: int, breaker: Breaker | None) -> str:
    """Says what became of an event; `breaker` is that of now."""
    claim, lead = story.claim, story.lead
    acted_unconfirmed = lead is not None and lead.unconfirmed and story.acts
    # A function that failed without an answer keeps its claim while its event waits.
    is_put_back = lead is not None and claim is not None and lead.run == claim.owner
    if claim and claim.status is ClaimStatus.IN_PROGRESS and not (acted_unconfirmed or is_put_back):
        if not claim.is_held(now_ms):
            return "its owner died; it may have sent a request, and the next delivery takes over"
        return f"in progress; if the owner died, it is free in {claim.free_in_seconds(now_ms)} s"
    acted = "acted on"
    if len(story.acts) > 1:
        acted += f" {words.count_times(len(story.acts))}"
    is_recorded_since = lead is not None and lead.recorded_at_ms > story.forgotten_ms
    if (
        story.forgotten_ms
        and claim
        and claim.status is ClaimStatus.FAILED
        and not is_recorded_since
    ):
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


def _describe_processed(story: Story, acted: str) -> str:
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


def _describe_ignored(story: Story, lead: Record) -> str:
    text = f"ignored: {lead.cause or lead.why}"
    if lead.reason == "EXPIRED":
        text = f'ignored: too old for route "{lead.route}"'
        if lead.occurred_at_ms:
            age_ms = lead.recorded_at_ms - lead.occurred_at_ms
            text += f", {words.format_duration(age_ms)} after it occurred"
    if story.requests:
        text += f"; {story.count_requests()} before, and it may have been acted on"
    return text


def _describe_parked(story: Story) -> str:
    lead, claim, text = story.lead, story.claim, "parked"
    if lead:
        text = f"parked: {lead.why}"
        if lead.tries and lead.reason == "GAVE_UP":
            text += f"; {words.count(lead.tries, 'try')}"
    if not claim or not claim.dropped_at_ms:
        return text
    when = words.format_second(claim.dropped_at_ms)
    return f"dropped by an operator on {when} UTC (once parked drop); was {text}"


def _describe_waiting(story: Story, now_ms: int, breaker: Breaker | None) -> str:
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


def _find_met(story: Story, chains: Chains) -> Record | None:
    """Finds the event that passed a stale event, or the first of the equal states."""
    skipped = (
        end for end in story.ends if end.outcome is Outcome.STALE or end.reason == "UNCHANGED"
    )
    met, passed = next(skipped, None), set[str]()
    while met and (not passed or met.reason == "UNCHANGED"):
        passed.add(met.first_message_id)
        earlier = chains.get(met.met or "")
        met = earlier.end if earlier and met.met not in passed else None
    return met


def _describe_skipped(story: Story, met: Record | None) -> str:
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
        newer = words.describe_event(met.family, met.plain_state)
        time = words.format_time(met.occurred_at_ms)[11:]
        return f"skipped: older than {newer} of {time} (message {met.first_message_id}){every}"
    since = words.format_second(met.occurred_at_ms)
    return f"skipped: unchanged since {since} UTC, as message {met.first_message_id} says{every}"


def _explain_requests(story: Story) -> str:
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


def _explain_copy(chain: Chain, chains: Chains) -> None:
    """Says why a chain was not acted on by itself, with the one that it met."""
    end = chain.end
    met = chains.get(end.met or "")
    earlier = met.end if met else None
    chain.cause = _find_cause(end, earlier)
    chain.text = CAUSES[chain.cause] if chain.cause else end.why
    if chain.cause == "SECOND_INTEGRATION" and earlier:
        chain.text = f"a second integration, {end.source}, sent it as well as {earlier.source}"
    if earlier is None or not end.is_copy or end.outcome is not Outcome.DUPLICATE:
        return
    # A copy can be judged, and logged, before the execution that acted is logged.
    apart_ms = end.recorded_at_ms - earlier.recorded_at_ms
    when, state = "at the same time as", "was settled"
    if apart_ms >= 100:
        when = f"{words.format_duration(apart_ms)} after"
    if earlier.outcome is Outcome.PROCESSED:
        state = "was acted on"
    if end.reason == "WAITS_ALREADY":
        when, state = "while", "waited"
    chain.text += f"; decided {when} message {earlier.first_message_id} {state}"


def _find_cause(record: Record, earlier: Record | None) -> str | None:
    if record.reason == "HELD":
        return "IN_PROGRESS"
    if record.outcome is Outcome.STALE:
        return "OLDER"
    if not record.is_copy:
        return None
    if record.met == record.first_message_id:
        return "SAME_MESSAGE"
    if earlier is None:
        return "COPY"
    if record.envelope_id is not None and record.envelope_id == earlier.envelope_id:
        return "SAME_ENVELOPE"
    if record.source and earlier.source not in (None, record.source):
        return "SECOND_INTEGRATION"
    if record.event_id is not None and record.event_id == earlier.event_id:
        return "REPUBLISHED"
    if record.occurred_at_ms != earlier.occurred_at_ms:
        return "WITHIN_WINDOW"
    return "REPUBLISHED" if record.envelope_id and earlier.envelope_id else "COPY"
