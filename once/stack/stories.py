"""Finds the stories of a thing that a person names: an id, a key, a subject, an Idempotency-Key."""

import re
from dataclasses import dataclass, field

from once_enrichment.keys import opaque

from once.errors import OnceError
from once.model.reasons import FOR_THE_BREAKER, REASONS, Acted, Outcome
from once.model.records import Key, Record, Subject
from once.model.story import Story
from once.model.verdict import tell
from once.stack import log
from once.stack.facade import Stack, read_clock_ms

CANARY_FAMILY = "once.check"
_KINDS = ("conversation", "user", "queue")
_ORGANISATION = re.compile(r"aws\.partner/genesys\.com[^/]*/[^/]+/([^/]+)/")
_SHORT_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]*")
_DAY_MS = 86_400_000


@dataclass
class Result:
    """The result of a search: the stories of the subjects that a name stands for."""

    thing: str
    since_ms: int
    subjects: list[tuple[str, list[Story]]] = field(default_factory=list)
    """By pk."""
    is_complete: bool = True
    has_unrecorded: bool = False
    """True if executions failed: they left no record of the requests that they may have sent."""


def find(stack: Stack, thing: str, since_ms: int) -> Result:
    """Finds the events of a subject, or of a message, event id, key or Idempotency-Key."""
    key = Key.parse(thing)
    # The key of an event of one's own hides an id that may be about a person.
    names = {str(key)} if key else {thing, opaque(thing)}
    asked = [str(key.subject)] if key else sorted(names)
    searched = log.search(stack, log.any_of(*asked), since_ms=since_ms)
    records = [record for record in searched.records if names & _read_names(record)]
    if not records and _SHORT_ID.fullmatch(thing):
        known = {name for record in searched.records for name in _read_names(record)}
        longer = sorted(name for name in known if name.startswith(thing))
        if len(longer) > 1:
            raise OnceError(f"{len(longer)} ids begin with {thing}: {', '.join(longer[:5])}")
        if longer:
            names = {*longer}
            records = [record for record in searched.records if names & _read_names(record)]
    result = Result(thing, since_ms, is_complete=searched.is_complete)
    for subject in _find_subjects(stack, names, records):
        is_whole = bool({subject.id, str(subject)} & names)
        own = records
        if not is_whole:
            searched = log.search(stack, log.any_of(str(subject)), since_ms=since_ms)
            own = searched.records
            result.is_complete = result.is_complete and searched.is_complete
        stories = _tell(stack, str(subject), own)
        if not is_whole:
            chosen = [story for story in stories if story.names & names]
            met = {chain.end.met for story in chosen for chain in story.chains} - {None}
            stories = [
                story
                for story in stories
                if story in chosen or any(chain.id in met for chain in story.chains)
            ]
        if stories:
            result.subjects.append((str(subject), stories))
    return result


def find_problems(stack: Stack, since_ms: int) -> Result:
    """Finds the newest subjects with an event that was parked, or that a request without a clear
    response may have acted on."""
    searched = log.search(stack, "RETRY|PARKED", since_ms=since_ms)
    pks: dict[str, None] = {}
    for record in reversed(searched.records):
        reason = REASONS.get(record.reason or "")
        is_unclear = record.sent_requests and (reason is None or reason.acted is Acted.MAYBE)
        is_problem = record.outcome is Outcome.PARKED or is_unclear
        if record.pk and record.family != CANARY_FAMILY and is_problem:
            pks[record.pk] = None
    newest = list(pks)[: log.MOST_IDS]
    own = log.search(stack, log.any_of(*newest), since_ms=since_ms).records if newest else []
    is_complete = searched.is_complete and len(pks) == len(newest) and len(own) < log.MOST
    failed = log.search_lines(
        stack, "PipeLogGroupName", "TargetStageFailed", since_ms=since_ms, most=1
    )
    days = int(stack.parameters.get("ClaimDays", "30"))
    kept_ms = read_clock_ms() - days * _DAY_MS
    subjects = [
        (pk, [s for s in _tell(stack, pk, own) if s.is_unclear and not _is_removed(s, kept_ms)])
        for pk in newest
    ]
    known = [(pk, stories) for pk, stories in subjects if stories]
    return Result("", since_ms, known, is_complete and not failed, bool(failed))


def _is_removed(story: Story, kept_ms: int) -> bool:
    """Returns true for the unreadable canary of a check, which has deleted its claim."""
    is_unreadable = story.key is not None and story.key.subject.kind == "message"
    return is_unreadable and story.claim is None and story.first_recorded_ms > kept_ms


def _tell(stack: Stack, pk: str, records: list[Record]) -> list[Story]:
    """Tells the stories of one subject; events that wait for the breaker with its state of now."""
    now_ms = read_clock_ms()
    own = [record for record in records if record.pk == pk]
    claims, _ = stack.read_claims(Subject.parse(pk))
    waits = any(record.reason in FOR_THE_BREAKER for record in own)
    return tell(own, claims, now_ms, stack.read_breaker(now_ms) if waits else None)


def _read_names(record: Record) -> set[str]:
    """Returns all that a record is about; a search finds text anywhere in it."""
    subject = Subject.parse(record.pk).id if record.pk else None
    ids = (
        record.first_message_id,
        record.met,
        record.envelope_id,
        record.event_id,
        record.returned_as,
    )
    names = (record.pk, subject, str(record.key), record.idempotency_key, *ids)
    return {name for name in names if name}


def _find_subjects(stack: Stack, names: set[str], records: list[Record]) -> list[Subject]:
    if known := sorted({record.pk for record in records if record.pk}):
        return [Subject.parse(pk) for pk in known]
    if whole := [name for name in names if name.count("/") >= 2]:
        return [Subject(*name.split("/", 3)[:3]) for name in whole]
    # The log has forgotten it; the claims may not have.
    recent = log.search(stack, '"pk"', since_ms=read_clock_ms() - _DAY_MS).records
    organisations = {"-", *_ORGANISATION.findall(stack.outputs["EventBusName"] + "/")}
    organisations |= {Subject.parse(record.pk).organisation for record in recent if record.pk}
    return [
        Subject(organisation, kind, name)
        for organisation in sorted(organisations)
        for kind in _KINDS
        for name in sorted(names)
    ]
