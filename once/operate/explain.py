"""`once explain`: all that was decided about a conversation, user, queue or message, and why."""

import re
from collections.abc import Iterator
from typing import Annotated

import typer
from enrichment.keys import opaque
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import claims, executions, log
from once.operate import phrases as words
from once.operate.asked import sentence
from once.operate.causes import message_of
from once.operate.command import Operation, command
from once.operate.deliveries import ended, lines
from once.operate.model import Answer, Model
from once.operate.queues import depth
from once.operate.stack import Stack
from once.operate.story import Event, Message, first_seen, sent_without_window, tell
from once.outcomes import Outcome
from once.records import OutcomeRecord
from once.screen import Row

_SUBJECT_TYPES = ("conversation", "user", "queue")
_ORGANISATION = re.compile(r"aws\.partner/genesys\.com[^/]*/[^/]+/([^/]+)/")
_IDEMPOTENCY_KEY = re.compile(r"[0-9a-f]{64}(\.[0-9]+)?")
_DAY_MS = 86_400_000
_SHOWN = 200
_MARKS = {
    Outcome.PROCESSED: "[green]✓[/]",
    Outcome.DUPLICATE: "[dim]=[/]",
    Outcome.STALE: "[dim]<[/]",
    Outcome.PARKED: "[red]![/]",
    Outcome.RETRY: "[yellow]…[/]",
}
_INDENT = " " * 16


class Subject(Model):
    """What happened to one subject, in time order."""

    pk: str | None = Field(description="Null for messages that hold no event.")
    events: list[Event]


class Explanation(Answer):
    """What was decided about one thing, and why."""

    id: str
    days: int
    subjects: list[Subject]
    executions: dict[str, str] = Field(description="Links to the executions named in the events.")
    only_observes: bool = Field(description="Whether the stack calls nobody, as it is now.")
    waiting: int = Field(description="Messages on the queue, of this and of others.")
    complete: bool = Field(description="False where the log held more than one search can answer.")


def register(app: typer.Typer) -> None:
    command(app, "explain", "once explain 74e1a5fd-6d34-55a6-844d-5f3f3b0c54bc")(explain)


@answers(Explanation)
def explain(
    at: Operation,
    thing: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="A conversation, user, queue or message, a whole key, or an Idempotency-Key.",
        ),
    ],
    days: Annotated[int, typer.Option(min=1, help="How far back to search the outcome log.")] = 14,
    unfolded: Annotated[
        bool, typer.Option("--all", help="Show each delivery, equal ones too.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show whole ids, keys (for once forget), executions.")
    ] = False,
) -> None:
    """Tell what was decided about a conversation, user, queue or message, and because of what."""
    if not thing.strip("/ "):
        raise OnceError("Which one? Give the id of a conversation, user, queue or message.")
    explanation = of(at.stack, thing, days)
    if not explanation.subjects:
        waiting = explanation.waiting
        queued = f"Is it among the {words.events(waiting)} on the queue (once status)? Else l"
        raise OnceError(
            f"Nothing is known of {thing}: neither a claim nor a record of the last {days} days.\n"
            f"{queued if waiting else 'L'}ook further back with --days."
        )
    at.answer(explanation, _view(explanation, unfolded, verbose))


def of(stack: Stack, thing: str, days: int) -> Explanation:
    explanation = _as_written(stack, thing, days)
    if not explanation.subjects and opaque(thing) != thing:
        # The key of an event of somebody's own hides what may be about a person.
        explanation = _as_written(stack, opaque(thing), days)
    return explanation


def _as_written(stack: Stack, thing: str, days: int) -> Explanation:
    now_ms = log.now_ms()
    since_ms = now_ms - days * _DAY_MS
    text = "/".join(thing.split("/")[:3])
    found = log.search(stack, text, since_ms)
    complete = len(found) < log.MOST
    found = [record for record in found if _is_about(record, text)]
    if not found and _IDEMPOTENCY_KEY.fullmatch(text):
        found, complete = _called_under(stack, text, since_ms)
    subjects = []
    for pk in _subjects(stack, text, found):
        records = found
        if not pk.endswith(text):
            records = log.search(stack, pk, since_ms)
            complete = complete and len(records) < log.MOST
        rows, _ = claims.of_subject(stack, pk)
        events = tell((r for r in records if r.pk == pk), rows, now_ms)
        if _IDEMPOTENCY_KEY.fullmatch(text) and not pk.endswith(text):
            events = [event for event in events if _was_called_under(event, text)]
        elif not pk.endswith(text):
            published = {r.message_id for r in found if r.event_id == text}
            events = _with_what_they_met(events, {text, *published})
        if events:
            subjects.append(Subject(pk=pk, events=events))
    homeless = tell((record for record in found if record.pk is None), [], now_ms)
    if homeless:
        subjects.append(Subject(pk=None, events=homeless))
    runs = {e.execution for s in subjects for e in s.events if e.execution}
    runs |= {m.execution for s in subjects for e in s.events for m in e.messages if m.execution}
    return Explanation(
        id=thing,
        days=days,
        subjects=subjects,
        executions=executions.links(stack, runs, since_ms),
        only_observes=stack.only_observes,
        waiting=depth(stack, "EventQueueUrl").total,
        complete=complete,
    )


def _is_about(record: OutcomeRecord, text: str) -> bool:
    """The search finds text anywhere; this one finds ids."""
    return text in {
        record.pk,
        (record.pk or "").rpartition("/")[2],
        record.message_id,
        record.copy_of,
        record.envelope_id,
        record.event_id,
        record.idempotency_key,
        message_of(record.because),
    }


def _called_under(stack: Stack, key: str, since_ms: int) -> tuple[list[OutcomeRecord], bool]:
    """Of calls that are not known to have acted no key is recorded, and the destination's own log
    may know nothing else."""
    group = stack.outputs["OutcomeLogGroupName"]
    lines = log.insights(stack, group, since_ms, '"calls": ?[1-9]', "RETRY|PARKED")
    records = (OutcomeRecord.read(line, at_ms) for at_ms, line in lines)
    bare = key.partition(".")[0]
    found = [
        record
        for record in records
        if record is not None and record.sk
        if sent_without_window(f"{record.pk}/{record.sk}") == bare
    ]
    return found, len(lines) < log.MOST


def _was_called_under(event: Event, key: str) -> bool:
    if event.idempotency_keys or event.key is None:
        return key in event.idempotency_keys
    return sent_without_window(event.key) == key.partition(".")[0]


def _subjects(stack: Stack, text: str, found: list[OutcomeRecord]) -> list[str]:
    known = sorted({record.pk for record in found if record.pk})
    if known:
        return known
    if "/" in text:
        return [text]
    # The log has forgotten it; the claims may not have.
    recent = log.recent(stack, '{ $.pk = "*" }', log.now_ms() - _DAY_MS, most=100)
    organisations = {"-", *_ORGANISATION.findall(stack.outputs["EventBusName"] + "/")}
    organisations |= {record.pk.partition("/")[0] for record in recent if record.pk}
    return [f"{o}/{kind}/{text}" for o in sorted(organisations) for kind in _SUBJECT_TYPES]


def _with_what_they_met(events: list[Event], wanted: set[str]) -> list[Event]:
    """The events of these messages, and those because of which they were skipped."""

    def holds(event: Event, ids: set[str]) -> bool:
        return any(ids & _ids(message) for message in event.messages)

    own = [event for event in events if holds(event, wanted)]
    met = {m.because_of for event in own for m in event.messages if m.because_of}
    return [e for e in events if e in own or any(m.message_id in met for m in e.messages)]


def _ids(message: Message) -> set[str | None]:
    return {message.message_id, message.envelope_id}


def _view(explanation: Explanation, unfolded: bool, verbose: bool) -> Iterator[str]:
    for subject in explanation.subjects:
        yield ""
        yield _title(subject)
        day = ""
        shown = subject.events[-_SHOWN:]
        if len(shown) < len(subject.events):
            yield f"[dim]the last {_SHOWN} of {len(subject.events)} events; --json has all[/]"
        for event in shown:
            for at_ms, head, text in _event(event, unfolded):
                if (of := words.moment(at_ms)[:10]) != day:
                    day = of
                    yield f"{head[: len(head) - len(head.lstrip())]}[dim]{day} (UTC)[/]"
                yield Row.of(head, text if verbose else words.short(text))
            if verbose:
                yield from _ids_of(event, explanation.executions)
    if not verbose:
        yield "[dim]Keys, executions and whole ids: --verbose[/]"
    if explanation.waiting:
        yield f"[dim]On the queue in all: {words.events(explanation.waiting)}[/]"
    if explanation.only_observes:
        yield words.OBSERVED
    if not explanation.complete:
        yield "[yellow]The log holds more than one search answers: look at fewer --days.[/]"


def _title(subject: Subject) -> str:
    if subject.pk is None:
        return "[bold]messages that hold no event[/]"
    organisation, kind, name = subject.pk.split("/", 2)
    of = f" [dim]of organisation {escape(organisation)}[/]" if organisation != "-" else ""
    return Row.of(f"[bold]{escape(kind)}[/] ", f"[bold]{escape(name)}[/]{of}")


def _event(event: Event, unfolded: bool) -> Iterator[tuple[int, str, str]]:
    """Its lines in the order of their time, which each has: the beginning, and what follows."""
    mark = _MARKS[event.outcome] if event.outcome else " "
    if event.dropped_at_ms is not None:
        mark = "[dim]-[/]"
    said = escape(event.verdict)
    if event.in_doubt:
        mark, said = "[yellow]✓[/]", f"[yellow]{said}[/]"
    at_ms = event.occurred_at_ms or first_seen(event)
    yield at_ms, f"{words.clock(at_ms)} {mark}  ", f"[bold]{escape(event.text)}[/] — {said}"
    keys = len(event.idempotency_keys) > 1
    below = sorted(
        (line_ms, f"{message.message_id} {text}")
        for message in event.messages
        for line_ms, text in lines(message.deliveries, unfolded, _settled_as(message, keys))
    )
    for line_ms, text in below:
        yield line_ms, f"  {words.clock(line_ms)}  ", escape(text)
    if event.asked is not None:
        last_ms = below[-1][0] if below else at_ms
        yield last_ms, " " * len(f"  {words.clock(last_ms)}  "), escape(sentence(event.asked))


def _ids_of(event: Event, links: dict[str, str]) -> Iterator[str]:
    if event.key:
        yield f"{_INDENT}[dim]{escape(event.key)}[/]"
    for key in event.idempotency_keys:
        yield f"{_INDENT}[dim]Idempotency-Key {escape(key)}[/]"
    if event.execution:
        yield f"{_INDENT}[dim]execution {links.get(event.execution, event.execution)}[/]"


def _settled_as(message: Message, with_key: bool) -> str:
    """How the line of its end reads, with the message because of which it did not act."""
    end = next((d for d in message.deliveries if d.outcome is not Outcome.RETRY), None)
    text = ended(end, message.text, with_key) if end else message.text
    if message.because_of in (None, message.message_id) or message.because_of in text:
        return text
    return f"{text} ← {message.because_of}"
