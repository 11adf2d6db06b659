"""`once explain`: what was decided about a conversation, user, queue or message, and why."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from once_enrichment.normalise import normalise
from pydantic import Field
from rich.markup import escape

from once.cli_options import Operation, Output, on_stack
from once.errors import OnceError
from once.lines import find_sources, read_records
from once.model import words
from once.model.base import Model
from once.model.claims import Claim
from once.model.keys import Subject
from once.model.outcomes import SIGN, Outcome
from once.model.records import Record
from once.model.story import Chain, Story, summarise
from once.project import ROUTES, read_routes
from once.screen import Row
from once.stack.facade import Stack, read_clock_ms
from once.stack.stories import MOST_SUBJECTS, Found, find, find_problems

_SHOWN = 200
_INDENT = " " * 6
_COLOURS = {Outcome.PROCESSED: "green", Outcome.PARKED: "red", Outcome.RETRY: "yellow"}


class ToldChain(Model):
    """The messages that carried an event from one put-back or replay to the next."""

    message_id: str
    cause: str | None = Field(description="Why it is a copy, in one word of a list that may grow.")
    text: str
    deliveries: list[Record]


class ToldEvent(Model):
    """One event, and what became of it."""

    key: str | None
    text: str
    outcome: Outcome | None
    verdict: str
    meaning: str = Field(description="What more than one request means; else empty.")
    occurred_at_ms: int
    claim: Claim | None
    idempotency_keys: list[str]
    requests: int
    may_have_acted: int
    chains: list[ToldChain]

    @classmethod
    def of(cls, story: Story) -> "ToldEvent":
        return cls(
            key=str(story.key) if story.key else None,
            text=story.text,
            outcome=story.outcome,
            verdict=story.verdict,
            meaning=story.meaning,
            occurred_at_ms=story.occurred_ms,
            claim=story.claim,
            idempotency_keys=story.idempotency_keys,
            requests=story.requests,
            may_have_acted=story.may_have_acted,
            chains=[
                ToldChain(
                    message_id=chain.id,
                    cause=chain.cause,
                    text=chain.text,
                    deliveries=chain.records,
                )
                for chain in story.chains
            ],
        )


class ToldSubject(Model):
    pk: str
    summary: str
    events: list[ToldEvent]


class Identity(Model):
    """Shows what the enrichment makes of an event in a file."""

    place: str
    key: str
    family: str
    order: str
    window_ms: int
    occurred_at_ms: int
    idempotency_key: str
    facts: str | None = Field(description="The hash of the fields that count, if they do.")
    route: str | None = Field(description="Name and action of its route; null for a broken one.")
    ignored: str | None = Field(description="Why its route ignores it.")
    problem: str | None = Field(description="Why it holds no event.")
    note: str | None


class Explanation(Model):
    """The events of what was asked for."""

    id: str
    since_ms: int
    is_complete: bool = Field(description="False if the log holds more than one search returns.")
    subjects: list[ToldSubject] = Field(default=[])
    identities: list[Identity] = Field(default=[], description="Of --event only.")


@on_stack("once explain 3f0c7e1a-5d2b-4c1e-9a77-0b6d9f0e2c11", answers=Explanation)
@click.argument("thing", metavar="[ID]", default="")
@click.option(
    "--event",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Show key, facts and route of the events in a file; no stack is asked. - is stdin.",
)
@click.option("--since", metavar="TIME", default="14d", show_default=True, help="Look so far back.")
@click.option("--problems", is_flag=True, help="Show parked, waiting and doubtful events alone.")
@click.option("--verbose", is_flag=True, help="Show keys, executions and whole ids.")
def command(
    operation: Operation, thing: str, file: Path | None, since: str, problems: bool, verbose: bool
) -> None:
    """Show what was decided about an event, and why.

    ID is a conversation, user, Genesys queue, message, key, subject or Idempotency-Key.
    """
    if file is not None:
        identities = list(identify(file))
        answer = Explanation(id=str(file), since_ms=0, is_complete=True, identities=identities)
        Output.answer(operation, answer, _view_identities(identities))
        return
    since_ms = words.parse_since(since, read_clock_ms())
    if not thing.strip("/ ") and not problems:
        raise click.UsageError(
            "Which one? Give the id of a conversation, user, queue or message. All that are "
            "parked, or perhaps acted on: once explain --problems"
        )
    stack = operation.stack
    if thing:
        found = find(stack, thing, since_ms)
        if not found.subjects:
            raise OnceError(_say_unknown(stack, found))
    else:
        found = find_problems(stack, since_ms)
    if problems:
        kept = [
            (pk, [s for s in stories if (s.is_problem if thing else s.is_unclear)])
            for pk, stories in found.subjects
        ]
        found.subjects = [(pk, stories) for pk, stories in kept if stories or thing]
    answer = Explanation(
        id=thing,
        since_ms=since_ms,
        is_complete=found.is_complete,
        subjects=[
            ToldSubject(pk=pk, summary=summarise(stories), events=[*map(ToldEvent.of, stories)])
            for pk, stories in found.subjects
        ],
    )
    view = _view(stack, found, verbose) if thing else _view_problems(found, verbose)
    operation.answer(answer, view)


def identify(file: Path) -> Iterator[Identity]:
    """Yields what the enrichment makes of each event in a file, with the routes of this clone."""
    routes = read_routes() if ROUTES.is_file() else None
    for source in find_sources([file]):
        for event in read_records(source):
            element = normalise(event.record, routes)
            policy, route = element["policy"], element.get("route")
            yield Identity(
                place=f"{source.name}:{event.place.line}",
                key=f"{element['key']['pk']}/{element['key']['sk']}",
                family=element["family"],
                order=policy["order"],
                window_ms=policy["windowMs"],
                occurred_at_ms=element["occurredAtMs"],
                idempotency_key=element["idempotencyKey"],
                facts=element.get("facts"),
                route=f"{route['name']}: {route['action']}" if route else None,
                ignored=route.get("ignored") if route else None,
                problem=element.get("detail"),
                note=element.get("note"),
            )
        if source.trouble:
            raise OnceError(f"{source.path} {source.trouble}.")


def _view_identities(identities: Sequence[Identity]) -> Iterator[str]:
    for identity in identities:
        occurred = words.format_time(identity.occurred_at_ms)
        yield Row.of(f"[dim]{escape(identity.place)}[/] ", f"[bold]{escape(identity.key)}[/]")
        if identity.problem:
            yield Row.of(_INDENT, f"[red]no event:[/] {escape(identity.problem)}")
            continue
        window = f", window {identity.window_ms} ms" if identity.window_ms else ""
        yield f"{_INDENT}{identity.family}, order {identity.order}{window}, occurred {occurred}"
        yield f"{_INDENT}Idempotency-Key {identity.idempotency_key}"
        if identity.facts:
            yield Row.of(f"{_INDENT}facts ", escape(identity.facts))
        ignored = f" ({identity.ignored})" if identity.ignored else ""
        yield Row.of(
            f"{_INDENT}route ", escape(f"{identity.route or 'no file of routes'}{ignored}")
        )
        if identity.note:
            yield Row.of(f"{_INDENT}[yellow]note:[/] ", escape(identity.note))
    if not identities:
        yield "There is no event in it."


def _say_unknown(stack: Stack, found: Found) -> str:
    """Says that nothing is known of a thing, and why that may be so."""
    since = words.format_second(found.since_ms)
    lines = [f"Nothing is known of {found.thing}: neither a claim nor a record since {since} UTC."]
    if waiting := stack.read_depth("EventQueueUrl").total:
        pipe, why = stack.read_pipe()
        queued = f"the {words.count(waiting, 'message')} in the event queue"
        lines.append(f"Is it among {queued}? See: once status")
        if pipe != "RUNNING":
            lines.append(f"The pipe is {pipe}: {why or 'AWS gives no reason'} → once resume")
    return "\n".join([*lines, "If it is older, look further back with --since 30d."])


def _view(stack: Stack, found: Found, verbose: bool) -> Iterator[str]:
    for pk, stories in found.subjects:
        yield ""
        yield _title(pk)
        yield f"[dim]{escape(summarise(stories))}[/]"
        if len(stories) > _SHOWN:
            yield f"[dim]the last {_SHOWN} of {len(stories)} events; --json has all[/]"
        days = groupby(stories[-_SHOWN:], lambda story: words.format_time(story.occurred_ms)[:10])
        for day, together in days:
            yield f"[dim]occurred on {day} (UTC)[/]"
            for story in together:
                yield from view_story(story, verbose)
    if not verbose:
        yield "[dim]Keys, executions and whole ids: --verbose[/]"
    else:
        yield f"[dim]Executions: {stack.outputs.get('StateMachineConsole', '')}[/]"
    if waiting := stack.read_depth("EventQueueUrl").total:
        yield f"[dim]Messages in the event queue: {waiting:,}[/]"
    if stack.only_observes:
        yield words.OBSERVED
    if not found.is_complete:
        yield "[yellow]The log holds more than one search returns: use a later --since.[/]"


def _view_problems(found: Found, verbose: bool) -> Iterator[str]:
    """Shows a line for each event; verbose, with the keys of its requests."""
    for pk, stories in found.subjects:
        yield _title(pk)
        for story in stories:
            line = next(view_story(story, verbose=False))
            yield Row.of(f"{words.format_time(story.occurred_ms)[:10]} ", line)
            if verbose and story.meaning:
                yield Row.of(_INDENT, escape(_describe_requests(story)))
    if not found.subjects:
        yield "No event is parked, or perhaps acted on."
    if not found.is_complete:
        yield f"[yellow]There may be more: these are of the newest {MOST_SUBJECTS} subjects.[/]"
    yield "[dim]Their deliveries: once explain ID. Events that wait: once status[/]"


def _title(pk: str) -> str:
    subject = Subject.parse(pk)
    known = subject.organisation != "-"
    tail = f" [dim]of organisation {escape(subject.organisation)}[/]" if known else ""
    return Row.of(f"[bold]{escape(subject.kind)}[/] ", f"[bold]{escape(subject.id)}[/]{tail}")


def view_story(story: Story, verbose: bool) -> Iterator[str]:
    """Shows an event in a line, and below it one for each delivery."""

    def row(head: str, text: str) -> Row:
        return Row.of(head, text if verbose else words.shorten_ids(text))

    sign, colour = SIGN[story.outcome] if story.outcome else " ", "dim"
    if story.outcome:
        colour = _COLOURS.get(story.outcome, "dim")
    if story.claim and story.claim.dropped_at_ms is not None:
        sign, colour = "-", "dim"
    verdict = escape(story.verdict)
    if story.is_in_doubt:
        colour, verdict = "yellow", f"[yellow]{verdict}[/]"
    occurred = words.format_time(story.occurred_ms)
    text = f"[bold]{escape(story.text)}[/] — {verdict}"
    yield row(f"{occurred[11:]} [{colour}]{sign}[/]  ", text)
    lines = (
        (ms, f"{chain.id} {text}")
        for chain in story.chains
        for ms, text in view_deliveries(chain, verbose)
    )
    for ms, text in sorted(lines):
        time = words.format_time(ms)
        when = time[11:] if time[:10] == occurred[:10] else time[:19]
        yield row(f"{_INDENT}[dim]{when}[/] ", escape(text))
    if story.meaning:
        yield row(_INDENT, escape(_describe_requests(story)))
    if story.note:
        yield row(_INDENT, f"[yellow]note:[/] {escape(story.note)}")
    if verbose:
        facts = [f"key {story.key}"] if story.key else []
        facts += [f"Idempotency-Key {key}" for key in story.idempotency_keys]
        facts += [f"execution {story.lead.run.partition('#')[0]}"] if story.lead else []
        yield from (f"{_INDENT}[dim]{escape(fact)}[/]" for fact in facts)


def view_deliveries(chain: Chain, verbose: bool) -> Iterator[tuple[int, str]]:
    """Yields a line for each delivery, with its time; equal ones that were put back share one."""
    groups: dict[Any, list[Record]] = {}
    for record in chain.records:
        is_alike = record.outcome is Outcome.RETRY and not verbose
        place = (record.reason, record.status) if is_alike else id(record)
        groups.setdefault(place, []).append(record)
    for records in groups.values():
        first, last = records[0], records[-1]
        if last is chain.end and last.is_settled:
            yield last.recorded_at_ms, _describe_end(chain)
            continue
        text = str(last.outcome) if last.is_settled else "put back"
        if len(records) > 1:
            until = words.format_second(last.recorded_at_ms)
            text += f" {words.count_times(len(records))} until {until}"
        text += _describe_sent(records) + (f": {last.why}" if last.why else "")
        if last is chain.records[-1] and last.outcome is Outcome.RETRY:
            text += f"; comes back at {words.format_clock(last.due_at_ms)}"
        yield first.recorded_at_ms, text


def _describe_end(chain: Chain) -> str:
    """Describes the delivery that settled a chain, with the message that it met."""
    end = chain.end
    text = f"{end.outcome}{_describe_sent([end])}"
    if end.outcome is Outcome.PROCESSED and end.status:
        text += f" answered {end.status}"
    if end.duration_ms is not None:
        text += f" after {end.duration_ms} ms"
    if end.idempotency_key and end.reason == "ACTED":
        text += f", Idempotency-Key {end.idempotency_key}"
    text += f": {chain.text}" if chain.text else ""
    is_named = end.met in (None, chain.id) or str(end.met) in text
    return text if is_named else f"{text} ← {end.met}"


def _describe_sent(records: Sequence[Record]) -> str:
    number = sum(record.sent_requests for record in records)
    if not number:
        return ""
    is_known = all(record.has_known_requests for record in records)
    counted = words.count(number, "request")
    last = ", the last" if number > 1 else ""
    return f", {counted}{last}" if is_known else f", at most {counted}{last}"


def _describe_requests(story: Story) -> str:
    keys = story.idempotency_keys
    under = f" under {len(keys)} Idempotency-Keys" if keys else ""
    if len(keys) == 1:
        under = f" under Idempotency-Key {keys[0]}"
    return f"{story.count_requests()} were sent{under}: {story.meaning}"
