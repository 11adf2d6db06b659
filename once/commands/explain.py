"""`once explain`: what was decided about a conversation, user, queue or message, and why."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import click
from once_enrichment.handler import normalise
from pydantic import BeforeValidator, Field
from rich.markup import escape

from once.cli_options import Operation, Output, on_stack
from once.errors import OnceError
from once.lines import find_sources, read_records
from once.model import Model, words
from once.model.reasons import SIGN, Outcome
from once.model.records import Claim, Record, Subject
from once.model.story import Chain, Story
from once.model.verdict import summarise
from once.project import find_routes, read_routes
from once.screen import Row
from once.stack.facade import Stack, read_clock_ms
from once.stack.log import MOST_IDS
from once.stack.stories import Result, find, find_problems

_SHOWN = 200
_INDENT = " " * 6
_COLOURS = {Outcome.PROCESSED: "green", Outcome.PARKED: "red", Outcome.RETRY: "yellow"}


class ToldChain(Model):
    """The messages that carried an event from one put-back or replay to the next."""

    message_id: str = Field(validation_alias="id")
    cause: str | None = Field(description="Why it is a copy, in one word of a list that may grow.")
    text: str
    deliveries: list[Record] = Field(validation_alias="records")


class ToldEvent(Model):
    """One event, and what became of it: a story as JSON."""

    key: Annotated[str | None, BeforeValidator(lambda key: key and str(key))]
    text: str
    outcome: Outcome | None
    verdict: str
    meaning: str = Field(description="What more than one request means; else empty.")
    occurred_at_ms: int = Field(validation_alias="occurred_ms")
    claim: Claim | None
    idempotency_keys: list[str]
    requests: int
    may_have_acted: int
    chains: list[ToldChain]


class ToldSubject(Model):
    pk: str
    summary: str
    events: list[ToldEvent]


class Explanation(Model):
    """The events of what was asked for."""

    id: str
    since_ms: int
    is_complete: bool = Field(description="False if there may be more than is shown.")
    subjects: list[ToldSubject] = Field(default=[])
    elements: list[dict[str, Any]] = Field(default=[], description="Of --event only.")


@on_stack("once explain 3f0c7e1a-5d2b-4c1e-9a77-0b6d9f0e2c11", answers=Explanation)
@click.argument("thing", metavar="[ID]", default="")
@click.option(
    "--event",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Show key, order and route of the events in a file; no stack is asked. - is stdin.",
)
@click.option("--since", metavar="TIME", default="14d", show_default=True, help="Look so far back.")
@click.option("--problems", is_flag=True, help="Show parked and doubtful events alone.")
@click.option("--verbose", is_flag=True, help="Show keys, executions and whole ids.")
def command(
    operation: Operation, thing: str, file: Path | None, since: str, problems: bool, verbose: bool
) -> None:
    """Show what was decided about an event, and why.

    ID is a conversation, user, Genesys queue, message, key, subject or Idempotency-Key.
    """
    if file is not None:
        elements = list(_identify(file))
        answer = Explanation(id=str(file), since_ms=0, is_complete=True, elements=elements)
        has_event = any("broken" not in element for element in elements)
        Output.answer(operation, answer, _view_elements(elements))
        if not (has_event or operation.as_json):
            operation.say([f"There is no event in {file}."])
        operation.exit(0 if has_event else 1)
    since_ms = words.parse_since(since, read_clock_ms())
    if not thing.strip("/ ") and not problems:
        raise click.UsageError(
            "Which one? Give the id of a conversation, user, queue or message. All that are "
            "parked, or perhaps acted on twice: once explain --problems"
        )
    stack = operation.stack
    result = find(stack, thing, since_ms) if thing else find_problems(stack, since_ms)
    if thing and not result.subjects:
        raise OnceError(_explain_absence(stack, result))
    if thing and problems:
        result.subjects = [(pk, [s for s in told if s.is_unclear]) for pk, told in result.subjects]
    subjects = [
        ToldSubject(
            pk=pk,
            summary=summarise(stories),
            events=[ToldEvent.model_validate(story, from_attributes=True) for story in stories],
        )
        for pk, stories in result.subjects
    ]
    answer = Explanation(
        id=thing, since_ms=since_ms, is_complete=result.is_complete, subjects=subjects
    )
    view = _view(stack, result, verbose) if thing else _view_problems(result, verbose)
    operation.answer(answer, view)


def _identify(file: Path) -> Iterator[dict[str, Any]]:
    """Yields what the enrichment makes of each event in a file, but for the event itself."""
    routes = read_routes(find_routes())
    for source in find_sources([file]):
        for event in read_records(source):
            element = normalise(event.record, routes)
            del element["raw"]
            yield {"place": f"{source.name}:{event.place.line}"} | element
        if source.trouble:
            raise OnceError(f"{source.path} {source.trouble}.")


def _view_elements(elements: Sequence[dict[str, Any]]) -> Iterator[str]:
    for element in elements:
        key, policy, route = element["key"], element["policy"], element.get("route", {})
        yield Row.of(
            f"[dim]{escape(element['place'])}[/] ",
            f"[bold]{escape(key['pk'])}/{escape(key['sk'])}[/]",
        )
        facts = {
            "family": element["family"],
            "order": policy["order"],
            "window ms": policy["windowMs"],
            "occurred": words.format_time(element["occurredAtMs"]),
            "hash of the key": element["keyHash"],
            "facts": element.get("facts"),
            "route": f"{route['name']}: {route['action']}" if route else None,
            "ignored": route.get("ignored"),
            "note": element.get("note"),
        }
        if "broken" in element:
            facts = {"problem": element["detail"]}
        for label, value in facts.items():
            if value is not None:
                yield Row.of(f"{_INDENT}[dim]{label}[/] ", escape(str(value)))


def _explain_absence(stack: Stack, result: Result) -> str:
    """Says that nothing is known of a thing, and why that may be so."""
    since = words.format_second(result.since_ms)
    text = f"Nothing is known of {result.thing}: neither a claim nor a record since {since} UTC.\n"
    if waiting := stack.read_depth("EventQueueUrl").total:
        queued = f"the {words.count(waiting, 'message')} in the event queue"
        text += f"Is it among {queued}? See: once status\n"
    return text + "If it is older, look further back with --since 30d."


def _view(stack: Stack, result: Result, verbose: bool) -> Iterator[str]:
    for pk, stories in result.subjects:
        yield ""
        yield _title(pk)
        yield f"[dim]{escape(summarise(stories))}[/]"
        if len(stories) > _SHOWN:
            yield f"[dim]the last {_SHOWN} of {len(stories)} events; --json has all[/]"
        days = groupby(stories[-_SHOWN:], lambda story: words.format_time(story.occurred_ms)[:10])
        for day, together in days:
            yield f"[dim]occurred on {day} (UTC)[/]"
            for story in together:
                yield from _view_story(story, verbose)
    if not verbose:
        yield "[dim]Keys, executions and whole ids: --verbose[/]"
    else:
        yield f"[dim]Executions: {stack.outputs.get('StateMachineConsole', '')}[/]"
    if stack.only_observes:
        yield words.OBSERVED
    if not result.is_complete:
        yield "[yellow]The log holds more than one search returns: use a later --since.[/]"


def _view_problems(result: Result, verbose: bool) -> Iterator[str]:
    """Shows a line for each event; verbose, with the keys of its requests."""
    for pk, stories in result.subjects:
        yield _title(pk)
        for story in stories:
            line = next(_view_story(story, verbose=False))
            yield Row.of(f"{words.format_time(story.occurred_ms)[:10]} ", line)
            if verbose and story.meaning:
                yield Row.of(_INDENT, escape(_describe_requests(story)))
    if result.has_unrecorded:
        yield (
            "[yellow]Executions failed and left no record: they may have sent requests for events "
            "that are not listed. once explain ID says so.[/]"
        )
    elif not result.subjects:
        yield "No event is parked; none may have been acted on twice."
    if not (result.is_complete or result.has_unrecorded):
        yield f"[yellow]There may be more: these are of the newest {MOST_IDS} subjects.[/]"
    yield "[dim]Their deliveries: once explain ID. Events that wait: once status[/]"


def _title(pk: str) -> str:
    subject = Subject.parse(pk)
    known = subject.organisation != "-"
    tail = f" [dim]of organisation {escape(subject.organisation)}[/]" if known else ""
    return Row.of(f"[bold]{escape(subject.kind)}[/] ", f"[bold]{escape(subject.id)}[/]{tail}")


def _view_story(story: Story, verbose: bool) -> Iterator[str]:
    """Shows an event in a line, and below it one for each delivery."""

    def row(head: str, text: str) -> Row:
        return Row.of(head, text if verbose else words.shorten_ids(text))

    sign, colour = " ", "dim"
    if story.claim and story.claim.dropped_at_ms is not None:
        sign = "-"
    elif story.outcome:
        sign, colour = SIGN[story.outcome], _COLOURS.get(story.outcome, "dim")
    verdict = escape(story.verdict)
    if story.is_in_doubt:
        colour, verdict = "yellow", f"[yellow]{verdict}[/]"
    occurred = words.format_time(story.occurred_ms)
    text = f"[bold]{escape(story.text)}[/] — {verdict}"
    yield row(f"{occurred[11:]} [{colour}]{sign}[/]  ", text)
    lines = (
        (ms, f"{chain.id} {text}")
        for chain in story.chains
        for ms, text in _view_deliveries(chain, verbose)
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


def _view_deliveries(chain: Chain, verbose: bool) -> Iterator[tuple[int, str]]:
    """Yields a line for each delivery, with its time; equal ones that were put back share one."""
    groups: dict[object, list[Record]] = {}
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
