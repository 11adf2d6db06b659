"""`once explain`: all that was decided about a conversation, user, queue or message, and why."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated

import typer
from once_enrichment.keys import opaque
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import NotFoundError
from once.keys import IdempotencyKey, Key, Owner, Subject
from once.operate import canaries, log
from once.operate import phrases as words
from once.operate.claims import read_subject
from once.operate.command import Operation, command
from once.operate.model import Answer, Model
from once.operate.pace import read_breaker
from once.operate.queues import read_depth
from once.operate.stack import Stack
from once.operate.status import read_status
from once.operate.story import Event, Message, summarise, tell
from once.operate.typed import complete_id, is_short_id, parse_since
from once.operate.verdict import say_return
from once.outcomes import SETTLED, SIGN, Outcome
from once.reasons import REASONS, Acted
from once.records import OutcomeRecord
from once.screen import Row

DEFAULT_SINCE = "14d"
_SUBJECT_KINDS = ("conversation", "user", "queue")
_ORGANISATION = re.compile(r"aws\.partner/genesys\.com[^/]*/[^/]+/([^/]+)/")
# With these findings, no event on the queue is known yet.
_STOPPED = ("PIPE_STOPPED", "MACHINE_INACTIVE", "NOTHING_RECORDED")
_DAY_MS = 86_400_000
_SHOWN = 200
_SUBJECTS = 50  # that --problems lists without an id; so many fit into one search
_LINKED = 20  # executions that one search of the machine's log is asked for
_COLOURS = {Outcome.PROCESSED: "green", Outcome.PARKED: "red", Outcome.RETRY: "yellow"}
_INDENT = " " * 6


class SubjectStory(Model):
    """The events of one subject, in time order."""

    pk: str | None = Field(description="Null for messages that hold no event.")
    summary: str
    events: list[Event]


class Explanation(Answer):
    """The decisions about one thing, with their reasons."""

    id: str
    since_ms: int = Field(description="How far back it was searched, epoch milliseconds.")
    subjects: list[SubjectStory]
    executions: dict[str, str] = Field(description="Links to executions, by their ids.")
    only_observes: bool = Field(description="Nothing is sent, as the stack is now.")
    waiting: int = Field(description="Messages on the queue, of this and of others.")
    complete: bool = Field(description="False if the log held more than one search returns.")


@command("once explain 74e1a5fd-6d34-55a6-844d-5f3f3b0c54bc")
@answers(Explanation)
def explain(
    at: Operation,
    thing: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A conversation, user, Genesys queue or message, a key, or an Idempotency-Key; "
            "of an id the first 8 digits are enough. With --problems it may be left out.",
            show_default=False,
        ),
    ] = "",
    since: Annotated[
        str,
        typer.Option(metavar="TIME", help="How far back: 90m, 2h, 14d, or 2026-05-04T08:00 (UTC)."),
    ] = DEFAULT_SINCE,
    family: Annotated[
        str | None, typer.Option(help="Only families that begin with this text.")
    ] = None,
    problems: Annotated[
        bool,
        typer.Option(
            "--problems",
            help="Only events that are parked, not settled, or perhaps acted on more than once. "
            "Without an id: all that are parked or perhaps acted on.",
        ),
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show each delivery, also equal ones.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show whole ids, keys (for once forget), executions.")
    ] = False,
) -> None:
    """Show what was decided about a conversation, user, Genesys queue or message, and why."""
    since_ms, is_named = parse_since(since, log.now_ms()), bool(thing.strip("/ "))
    if not is_named and not problems:
        raise NotFoundError(
            "Which one? Give the id of a conversation, user, queue or message. All that are "
            "parked, or perhaps acted on: once explain --problems"
        )
    if is_named:
        found = read_explanation(at.stack, thing, since_ms)
        if not found.subjects:
            raise NotFoundError(say_unknown(at, found))
    else:
        found = read_problems(at.stack, since_ms)
    for one in found.subjects:
        one.events = [
            event
            for event in one.events
            if (family is None or (event.family or "").startswith(family))
            and (not problems or (event.is_problem if is_named else event.is_unclear))
        ]
        one.summary = summarise(one.events)
    if not is_named:
        found.subjects = [one for one in found.subjects if one.events]
    if verbose or at.as_json:
        found.executions = find_links(at.stack, found)
    view = _view(found, every, verbose) if is_named else _view_problems(found, verbose)
    at.answer(found, view)


def say_unknown(at: Operation, found: Explanation) -> str:
    """Says that nothing is known of it, and why that may be so."""
    since = words.format_second(found.since_ms)
    said = [f"Nothing is known of {found.id}: neither a claim nor a record since {since} UTC."]
    if found.waiting:
        findings = read_status(at.stack, log.now_ms(), at.options).findings
        stopped = [one for one in findings if one.code in _STOPPED]
        queued = f"among the {words.count_events(found.waiting)} on the queue"
        said.append(f"It may be {queued}." if stopped else f"Is it {queued} (once status)?")
        for one in stopped:
            said += [f"{one.sentence} → {one.remedy}", *(f"  {typed}" for typed in one.commands)]
    return "\n".join([*said, "If it is older, look further back with --since 30d."])


def read_explanation(stack: Stack, thing: str, since_ms: int) -> Explanation:
    found = _read_as_written(stack, thing, since_ms)
    if not found.subjects and opaque(thing) != thing:
        # The key of an event of one's own hides an id that may be about a person.
        found = _read_as_written(stack, opaque(thing), since_ms)
        found.id = thing
    if not found.subjects and is_short_id(thing):
        records = log.search(stack, log.any_of(thing), since_ms=since_ms).records
        whole = complete_id(thing, {one for record in records for one in _ids(record)})
        found = _read_as_written(stack, whole, since_ms) if whole else found
    return found


def _read_as_written(stack: Stack, thing: str, since_ms: int) -> Explanation:
    key = Key.parse(thing)
    text = str(key.subject) if key else thing
    sent = IdempotencyKey.parse(text)
    found = log.search(stack, log.any_of(text), since_ms=since_ms)
    records = [record for record in found.records if text in _ids(record)]
    complete = found.complete
    if not records and sent:
        found = log.search(stack, '"requests": ?[1-9]', "RETRY|PARKED", since_ms=since_ms)
        records = [one for one in found.records if _has_key(one.key, sent)]
        complete = found.complete
    stories: list[tuple[str | None, list[Event]]] = []
    for subject in _find_subjects(stack, text, records):
        own, is_whole = records, subject.id == text or str(subject) == text
        if not is_whole:
            found = log.search(stack, log.any_of(str(subject)), since_ms=since_ms)
            own, complete = found.records, complete and found.complete
        claims, _ = read_subject(stack, subject)
        of_subject = [record for record in own if record.pk == str(subject)]
        events = tell(of_subject, claims, log.now_ms(), say_wait(stack, of_subject))
        if not is_whole and sent:
            events = [
                event
                for event in events
                if str(sent) in event.idempotency_keys
                or (not event.idempotency_keys and _has_key(event.parsed_key, sent))
            ]
        elif not is_whole:
            published = {record.message_id for record in records if record.event_id == text}
            events = _keep_with_what_they_met(events, {text, *published})
        if events:
            stories.append((str(subject), events))
    if unkeyed := tell((record for record in records if record.pk is None), [], log.now_ms()):
        stories.append((None, unkeyed))
    return _explanation(stack, thing, since_ms, stories, complete)


def read_problems(stack: Stack, since_ms: int) -> Explanation:
    """Reads the newest subjects with an event that was parked, or that a request without a clear
    response may have acted on. Canaries do not count."""
    found = log.search(stack, "RETRY|PARKED", since_ms=since_ms)
    pks: dict[str, None] = {}
    for record in reversed(found.records):
        reason = REASONS.get(record.reason or "")
        is_unclear = reason is None or reason.acted is Acted.MAYBE
        is_problem = record.outcome is Outcome.PARKED or (record.sent_requests and is_unclear)
        if record.pk and record.family != canaries.FAMILY and is_problem:
            pks[record.pk] = None
    newest = list(pks)[:_SUBJECTS]
    own = log.search(stack, log.any_of(*newest), since_ms=since_ms).records if newest else []
    stories: list[tuple[str | None, list[Event]]] = []
    for pk in newest:
        of_subject = [record for record in own if record.pk == pk]
        claims, _ = read_subject(stack, Subject.parse(pk))
        stories.append((pk, tell(of_subject, claims, log.now_ms(), say_wait(stack, of_subject))))
    complete = found.complete and len(pks) == len(newest) and len(own) < log.MOST
    return _explanation(stack, "", since_ms, stories, complete)


def _explanation(
    stack: Stack,
    thing: str,
    since_ms: int,
    stories: Iterable[tuple[str | None, list[Event]]],
    complete: bool,
) -> Explanation:
    return Explanation(
        id=thing,
        since_ms=since_ms,
        subjects=[
            SubjectStory(pk=pk, summary=summarise(events), events=events) for pk, events in stories
        ],
        executions={},
        only_observes=stack.only_observes,
        waiting=read_depth(stack, "EventQueueUrl").total,
        complete=complete,
    )


def say_wait(stack: Stack, records: list[OutcomeRecord]) -> str:
    """Says why events wait for the breaker now; empty if none does."""
    now_ms = log.now_ms()
    if any(one.reason == "BREAKER_OPEN" and one.due_at_ms > now_ms for one in records):
        return read_breaker(stack, now_ms).say_wait(now_ms)
    return ""


def _ids(record: OutcomeRecord) -> set[str]:
    """Returns what a record is about; a search finds text anywhere in it."""
    named = (
        record.pk,
        Subject.parse(record.pk).id if record.pk else None,
        record.message_id,
        record.earlier,
        record.envelope_id,
        record.event_id,
        record.idempotency_key,
    )
    return set(filter(None, named))


def _has_key(key: Key | None, sent: IdempotencyKey) -> bool:
    """The Idempotency-Key of a request is recorded only if it succeeded, and it may be all that
    the destination's own log has."""
    return key is not None and key.idempotency_key.digest == sent.digest


def _find_subjects(stack: Stack, text: str, records: Iterable[OutcomeRecord]) -> list[Subject]:
    if known := sorted({record.pk for record in records if record.pk}):
        return [Subject.parse(pk) for pk in known]
    if text.count("/") >= 2:
        return [Subject.parse(text)]
    # The log has forgotten it; the claims may not have.
    group, since_ms = stack.outputs["OutcomeLogGroupName"], log.now_ms() - _DAY_MS
    recent = log.filter_lines(stack, group, since_ms, '{ $.pk = "*" }', most=100)
    pks = [json.loads(line.text).get("pk") for line in recent]
    organisations = {"-", *_ORGANISATION.findall(stack.outputs["EventBusName"] + "/")}
    organisations |= {Subject.parse(pk).organisation for pk in pks if pk}
    return [Subject(o, kind, text) for o in sorted(organisations) for kind in _SUBJECT_KINDS]


def _keep_with_what_they_met(events: list[Event], wanted: set[str]) -> list[Event]:
    """Keeps the events of these messages, and those because of which they were skipped."""
    own = [
        event
        for event in events
        if any(wanted & {one.message_id, one.final.envelope_id} for one in event.messages)
    ]
    met = {m.because_of for event in own for m in event.messages if m.because_of}
    return [e for e in events if e in own or any(m.message_id in met for m in e.messages)]


def find_links(stack: Stack, found: Explanation) -> dict[str, str]:
    """Links to executions in the Step Functions console, by the last segment of their ids.

    A claim keeps no more of an id; only the machine's log has the whole, at LogLevel ALL.
    """
    events = [event for one in found.subjects for event in one.events]
    runs = {Owner.parse(event.owner).execution for event in events if event.owner}
    runs |= {record.run for event in events for record in event.records if record.run}
    if stack.is_local or not runs or stack.parameters.get("LogLevel", "ALL") != "ALL":
        return {}
    pattern = "|".join(sorted(runs)[-_LINKED:])
    group, since_ms = stack.outputs["ExecutionLogGroupName"], found.since_ms
    links = {}
    for line in log.search_lines(stack, group, "ExecutionStarted", pattern, since_ms=since_ms):
        arn = json.loads(line.text)["execution_arn"]
        links[arn.rpartition(":")[2]] = (
            f"https://{stack.region}.console.aws.amazon.com/states/home?region={stack.region}"
            f"#/express-executions/details/{arn}?startDate={line.at_ms}"
        )
    return links


def _view(found: Explanation, every: bool, verbose: bool) -> Iterator[str]:
    for one in found.subjects:
        yield from _view_subject(one, found.executions, every, verbose)
    if not verbose:
        yield "[dim]Keys, executions and whole ids: --verbose[/]"
    if found.waiting:
        yield f"[dim]Messages on the queue in all: {found.waiting:,}[/]"
    if found.only_observes:
        yield words.OBSERVED
    if not found.complete:
        yield "[yellow]The log holds more than one search returns: use a later --since.[/]"


def _view_problems(found: Explanation, verbose: bool) -> Iterator[str]:
    """A line for each event, without its deliveries; verbose, with the key of its requests."""
    for one in found.subjects:
        yield _say_title(one)
        for event in one.events:
            (head, text), *_ = _view_event(event, every=False)
            day = words.format_time(_time_of(event))[:10]
            yield Row.of(f"{day} {head}", text if verbose else words.shorten_ids(text))
            if verbose and event.meaning:
                yield Row.of(_INDENT, escape(_say_requests(event)))
    if not found.subjects:
        yield "No event is parked, or perhaps acted on."
    if not found.complete:
        yield f"[yellow]There may be more: these are of the newest {_SUBJECTS} subjects.[/]"
    yield "[dim]Their deliveries: once explain ID. Events that wait: once status[/]"


def _view_subject(
    one: SubjectStory, executions: Mapping[str, str], every: bool, verbose: bool
) -> Iterator[str]:
    yield ""
    yield _say_title(one)
    yield f"[dim]{escape(one.summary)}[/]"
    shown = one.events[-_SHOWN:]
    if len(shown) < len(one.events):
        yield f"[dim]the last {_SHOWN} of {len(one.events)} events; --json has all[/]"
    day = ""
    for event in shown:
        if (today := words.format_time(_time_of(event))[:10]) != day:
            day = today
            yield f"[dim]happened on {day} (UTC)[/]"
        for head, text in _view_event(event, every):
            yield Row.of(head, text if verbose else words.shorten_ids(text))
        if verbose and event.key:
            yield f"{_INDENT}[dim]{escape(event.key)}[/]"
        for key in event.idempotency_keys if verbose else ():
            yield f"{_INDENT}[dim]Idempotency-Key {escape(key)}[/]"
        if verbose and event.owner:
            run = Owner.parse(event.owner).execution
            yield f"{_INDENT}[dim]execution {executions.get(run, run)}[/]"


def _say_title(one: SubjectStory) -> str:
    if one.pk is None:
        return "[bold]messages that hold no event[/]"
    subject = Subject.parse(one.pk)
    of = ""
    if subject.organisation != "-":
        of = f" [dim]of organisation {escape(subject.organisation)}[/]"
    return Row.of(f"[bold]{escape(subject.kind)}[/] ", f"[bold]{escape(subject.id)}[/]{of}")


def _time_of(event: Event) -> int:
    return event.occurred_at_ms or event.first_recorded_at_ms


def _view_event(event: Event, every: bool) -> Iterator[tuple[str, str]]:
    """An event's line, and below it a line for each delivery: its beginning, and what follows."""
    sign, colour = " ", "dim"
    if event.outcome is not None:
        sign, colour = SIGN[event.outcome], _COLOURS.get(event.outcome, "dim")
    if event.dropped_at_ms is not None:
        sign, colour = "-", "dim"
    verdict = escape(event.verdict)
    if event.is_in_doubt:
        colour, verdict = "yellow", f"[yellow]{verdict}[/]"
    at_ms = _time_of(event)
    head = f"{words.format_clock(at_ms)} [{colour}]{sign}[/]  "
    yield head, f"[bold]{escape(event.text)}[/] — {verdict}"
    below = sorted(
        (line_ms, f"{message.message_id} {text}")
        for message in event.messages
        for line_ms, text in view_deliveries(message, every)
    )
    for line_ms, text in below:
        same_day = words.format_time(line_ms)[:10] == words.format_time(at_ms)[:10]
        when = words.format_clock(line_ms) if same_day else words.format_second(line_ms)
        yield f"{_INDENT}[dim]{when}[/] ", escape(text)
    if event.meaning:
        yield _INDENT, escape(_say_requests(event))
    if event.note:
        yield _INDENT, f"[yellow]note:[/] {escape(event.note)}"
    if event.replay_name:
        yield _INDENT, escape(f"replayed from the archive: {event.replay_name}")


def _say_requests(event: Event) -> str:
    said = f"{words.count_requests(event.requests, event.has_known_requests)} were sent"
    if len(event.idempotency_keys) == 1:
        said += f" under Idempotency-Key {event.idempotency_keys[0]}"
    elif event.idempotency_keys:
        said += f" under {len(event.idempotency_keys)} Idempotency-Keys"
    return f"{said}: {event.meaning}"


def view_deliveries(message: Message, every: bool) -> Iterator[tuple[int, str]]:
    """A line for each delivery with its time; equal returns to the queue are one line."""
    newest = message.deliveries[-1]
    for together in _group_deliveries(message.deliveries, every):
        first, last = together[0], together[-1]
        if last is message.final and last.outcome in SETTLED:
            yield last.recorded_at_ms, _say_end(message)
            continue
        said = str(last.outcome) if last.outcome in SETTLED else "returned"
        if len(together) > 1:
            until = words.format_second(last.recorded_at_ms)
            said += f" {words.count_times(len(together))} until {until}"
        said += _say_sent(together)
        if last.why:
            said += f": {last.why}"
        if last is newest and last.outcome is Outcome.RETRY:
            said += f"; {say_return(last)}"
        yield first.recorded_at_ms, said


def _group_deliveries(
    deliveries: Sequence[OutcomeRecord], every: bool
) -> Iterator[list[OutcomeRecord]]:
    """Groups equal returns to the queue, those for the breaker with the failures around them."""

    def kind(record: OutcomeRecord) -> object:
        if every or record.outcome in SETTLED:
            return id(record)
        # A cause may hold a correlation id, which differs each time.
        return record.reason, record.status

    groups = [list(group) for _, group in groupby(deliveries, key=kind)]
    while groups:
        together = groups.pop(0)
        while (
            len(groups) > 1
            and groups[0][0].reason == "BREAKER_OPEN"
            and kind(groups[1][0]) == kind(together[0])
        ):
            together += groups.pop(0) + groups.pop(0)
        yield together


def _say_end(message: Message) -> str:
    """The line of the delivery that settled a message, with the message that it met."""
    final = message.final
    said = f"{final.outcome}{_say_sent([final])}"
    if final.outcome is Outcome.PROCESSED and final.status:
        said += f" answered {final.status}"
    if final.duration_ms is not None:
        said += f" after {final.duration_ms} ms"
    if final.idempotency_key and final.reason == "ACTED":
        said += f", Idempotency-Key {final.idempotency_key}"
    if message.text:
        said += f": {message.text}"
    met = message.because_of
    return f"{said} ← {met}" if met not in (None, message.message_id) and met not in said else said


def _say_sent(deliveries: Iterable[OutcomeRecord]) -> str:
    sent = [one for one in deliveries if one.sent_requests]
    requests = sum(one.sent_requests for one in sent)
    if not requests:
        return ""
    counted = words.count_requests(requests, all(one.has_known_requests for one in sent))
    return f", {counted}" + (", the last" if requests > 1 else "")
