"""Tells the stories of events: the only reader of both records and claims, and pure.

explain, status, console, run, send and check show what it tells. A chain of messages is a copy of
the one that stood for it: its root. The roots of a key are one event, unless the key can occur
again and they occurred at different times.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from once.model import words
from once.model.claims import Claim
from once.model.keys import IdempotencyKey
from once.model.outcomes import Outcome
from once.model.pace import Breaker
from once.model.records import Record
from once.model.story import Chain, Chains, Story
from once.model.verdict import explain_requests, judge

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
    chains: dict[str, Chain] = {}
    for record in sorted(records, key=lambda record: record.recorded_at_ms):
        chain = chains.setdefault(record.message_id, Chain(record.message_id))
        chain.records.append(record)
    claim_of = {str(claim.key): claim for claim in claims}
    homes: dict[str, dict[str, list[Chain]]] = {key: {} for key in claim_of}
    for chain in chains.values():
        home = homes.setdefault(str(chain.end.key or chain.id), {})  # without a key each is alone
        home.setdefault(_find_root(chain.id, chains), []).append(chain)
    stories = []
    for name, by_root in homes.items():
        claim = claim_of.get(name)
        if claim:
            by_root.setdefault(claim.message_id, [])
        for roots in _split(by_root, claim, chains):
            carried = [chain for root in roots for chain in by_root[root]]
            carried.sort(key=lambda chain: (chain.records[0].recorded_at_ms, chain.id not in roots))
            held = claim if claim and claim.message_id in roots else None
            keys = (record.key for chain in carried for record in chain.records if record.key)
            key = held.key if held else next(keys, None)
            own = [chains[root] for root in roots if root in chains]
            story = Story(key, held, carried, own)
            story.verdict = judge(story, chains, now_ms, breaker)
            story.meaning = explain_requests(story)
            stories.append(story)
    for chain in chains.values():
        _explain_copy(chain, chains)
    return sorted(stories, key=lambda story: (story.occurred_ms, story.first_recorded_ms))


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
    keys = [
        IdempotencyKey.parse(record.idempotency_key)
        for root in ends
        for record in chains[root].records
        if record.idempotency_key
    ]
    is_single = any(key is not None and key.occurrence_ms is None for key in keys)
    claimed_ms = claim.event_time if claim else 0
    times = {root: ends[root].occurred_at_ms or 0 if root in ends else claimed_ms for root in roots}
    apart: list[list[str]] = []
    for root in sorted(roots, key=lambda root: (times[root], root)):
        if apart and (is_single or times[root] == times[apart[-1][0]]):
            apart[-1].append(root)
        else:
            apart.append([root])
    return apart


def _explain_copy(chain: Chain, chains: Chains) -> None:
    """Says why a chain was not acted on by itself, with the one that it met."""
    end = chain.end
    met = chains.get(end.met or "")
    earlier = met.end if met else None
    chain.cause = _find_cause(end, earlier)
    parts = [CAUSES[chain.cause] if chain.cause else end.why]
    if chain.cause == "SECOND_INTEGRATION" and earlier:
        parts = [f"a second integration, {end.source}, sent it as well as {earlier.source}"]
    if earlier and end.outcome is Outcome.DUPLICATE and end.is_copy:
        state = "waited" if end.reason == "WAITS_ALREADY" else "was settled"
        if earlier.outcome is Outcome.PROCESSED and end.reason != "WAITS_ALREADY":
            state = "was acted on"
        apart_ms = end.recorded_at_ms - earlier.recorded_at_ms
        # A copy can be judged, and logged, before the execution that acted is logged.
        when = (
            f"{words.format_duration(apart_ms)} after" if apart_ms >= 100 else "at the same time as"
        )
        when = "while" if end.reason == "WAITS_ALREADY" else when
        parts.append(f"decided {when} message {earlier.message_id} {state}")
    chain.text = "; ".join(filter(None, parts))


def _find_cause(record: Record, earlier: Record | None) -> str | None:
    if record.reason == "HELD":
        return "IN_PROGRESS"
    if record.outcome is Outcome.STALE:
        return "OLDER"
    if not record.is_copy:
        return None
    if record.met == record.message_id:
        return "SAME_MESSAGE"
    if earlier is None:
        return "COPY"
    envelopes = [one.envelope_id for one in (record, earlier) if one.envelope_id is not None]
    if len(envelopes) == 2 and len({*envelopes}) == 1:
        return "SAME_ENVELOPE"
    if record.source and earlier.source not in (None, record.source):
        return "SECOND_INTEGRATION"
    has_same_id = record.event_id is not None and record.event_id == earlier.event_id
    if has_same_id or record.reason == "SAME_EVENT_ID":
        return "REPUBLISHED"
    if record.occurred_at_ms != earlier.occurred_at_ms:
        return "WITHIN_WINDOW"
    return "REPUBLISHED" if len(envelopes) == 2 else "COPY"
