"""`once check`: looks at the way in, sends canaries through, and says whether every edge works."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

import typer
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import integration, log, pace, way_in
from once.operate import phrases as words
from once.operate.bulk import work_through
from once.operate.canaries import Canaries, Canary
from once.operate.command import ATTENTION, Operation, Yes, command
from once.operate.edge import Edge
from once.operate.model import Answer
from once.operate.queues import Reading
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeRecord, Records, settled
from once.screen import screen

_POLL_SECONDS = 2.0
_PARKING = "ParkingQueueUrl"
# What a good run needs beside the time that a message stays hidden.
_PATIENCE_SECONDS = 120
_RETURN_SECONDS = 120
_GRACE_SECONDS = 5
_UNRECORDED = "docs/runbook.md#outcomes-unrecorded"


class Check(Answer):
    """What was seen of the way in, and what became of the canaries."""

    run: str | None = Field(
        description="Tells the canaries of this check from others; null where none were sent."
    )
    edges: list[Edge]


def register(app: typer.Typer) -> None:
    command(app, "check", "once check --yes")(check)


@answers(Check)
def check(
    at: Operation,
    yes: Yes = False,
    look: Annotated[
        bool,
        typer.Option("--look", help="Only at how events get to the queue: rule, source, Genesys."),
    ] = False,
) -> None:
    """Look at how events get to the queue, send canaries on from there, and say what works."""
    seen = look_at(at.stack)
    if look:
        at.answer(seen, [*_lines(seen.edges), _verdict(seen)])
        return _end(seen)
    # At once: canaries take minutes, and where they would do harm this is the whole answer.
    if not at.as_json:
        at.answer(seen, _lines(seen.edges))
    try:
        refuse_where_it_would_harm(at.stack)
    except OnceError:
        if at.as_json:
            at.answer(seen, [])
        raise
    hidden = visibility_seconds(at.stack)
    at.confirm(
        "Send four canaries and a copy? No destination sees them. It takes about "
        f"{words.age((hidden + 30) * 1000)}, since one of them is handed back on purpose.",
        yes,
    )
    with at.errors.status("") as status:
        result = of(at.stack, seen, hidden, lambda what: status.update(f"{what} …"))
    if at.as_json:
        at.answer(result, [])
    else:
        at.say([*_lines(result.edges[len(seen.edges) :]), _verdict(result)])
    return _end(result)


def _end(result: Check) -> None:
    if any(edge.works is False for edge in result.edges):
        raise typer.Exit(ATTENTION)


def look_at(stack: Stack) -> Check:
    """The way in, which only Genesys Cloud can send by, so nothing of it is tried."""
    return Check(run=None, edges=[*way_in.edges(stack), *integration.edges(stack, os.environ)])


def of(stack: Stack, seen: Check, hidden_seconds: int, step: Callable[[str], None]) -> Check:
    """What was seen of the way in, and what becomes of canaries."""
    canaries = Canaries.hatch(fails_for_ms=hidden_seconds * 900)
    try:
        records = _fly(stack, canaries, hidden_seconds, step)
    finally:  # also where somebody does not wait for the end
        parked = _clear_parked(stack, canaries)
    return Check(run=canaries.run, edges=[*seen.edges, *_edges(canaries, records, parked)])


def _fly(
    stack: Stack, canaries: Canaries, hidden_seconds: int, step: Callable[[str], None]
) -> Records:
    """Sends them, and answers what is recorded of them in the end."""
    started_ms = log.now_ms()
    for canary in canaries.all():
        _send(stack, canary, canary.body)
    step("waiting for the first outcomes")
    good, failing = canaries.good, canaries.failing
    first = [canaries.good, canaries.refused, canaries.broken]
    _wait(
        stack, started_ms, canaries, _PATIENCE_SECONDS, lambda records: _all_settled(first, records)
    )
    _send(stack, good, good.copy())
    _wait(
        stack,
        started_ms,
        canaries,
        _PATIENCE_SECONDS,
        lambda records: _all_settled([good], records),
    )
    step(f"waiting up to {hidden_seconds} s for the one that was handed back")
    patience = hidden_seconds + _RETURN_SECONDS
    _wait(stack, started_ms, canaries, patience, lambda records: _all_settled([failing], records))
    # Had the pipe handed back more than it was records to, that would come now.
    time.sleep(_GRACE_SECONDS)
    return _wait(stack, started_ms, canaries, 0, lambda _: True)


def refuse_where_it_would_harm(stack: Stack) -> None:
    if stack.parameters.get("ActionFunctionArn"):
        raise OnceError(
            "This stack calls a function of your own (ActionFunctionArn), which would take the "
            "canaries for events, so none are sent.\nDeploy without it to check the rest."
        )
    breaker = pace.breaker(stack, log.now_ms())
    if breaker.state is not pace.State.CLOSED:
        said = breaker.text(log.now_ms())
        raise OnceError(
            f"{said[:1].upper()}{said[1:]}: canaries would wait too.\nCheck again when calls flow."
        )
    pipe = stack.client("pipes").describe_pipe(Name=stack.outputs["PipeName"])
    if pipe["CurrentState"] != "RUNNING":
        raise OnceError(f"The pipe is {pipe['CurrentState']}. Start it first: once resume")


def visibility_seconds(stack: Stack) -> int:
    found = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["VisibilityTimeout"]
    )
    return int(found["Attributes"]["VisibilityTimeout"])


def _send(stack: Stack, canary: Canary, body: str) -> None:
    answer = stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventQueueUrl"], MessageBody=body
    )
    canary.message_ids.append(answer["MessageId"])


def _wait(
    stack: Stack,
    started_ms: int,
    canaries: Canaries,
    seconds: float,
    enough: Callable[[Records], bool],
) -> Records:
    """The records of the canaries so far, when there are enough or the time is over."""
    until = time.monotonic() + seconds
    while True:
        records: dict[str, list[OutcomeRecord]] = {}
        broken = canaries.broken.message_ids[0]
        pattern = f'{{ $.pk = "*{canaries.run}*" || $.messageId = "{broken}" }}'
        for record in log.recent(stack, pattern, started_ms - 60_000):
            records.setdefault(record.message_id, []).append(record)
        if enough(records) or time.monotonic() > until:
            return records
        time.sleep(_POLL_SECONDS)


def _all_settled(canaries: Sequence[Canary], records: Records) -> bool:
    return all(settled(m, records) is not None for c in canaries for m in c.message_ids)


def _clear_parked(stack: Stack, canaries: Canaries) -> int:
    """Takes our own out of the parking queue, and nothing else."""
    with Reading(stack, _PARKING) as reading:
        ours = {
            letter.message_id
            for letters in reading.batches()
            for letter in letters
            if canaries.run in letter.body
        }
    done = work_through(stack, _PARKING, ours, lambda _: None, 100, screen(quiet=True))
    return done.done


def _edges(canaries: Canaries, records: Records, parked: int) -> Iterator[Edge]:
    def ends(canary: Canary, number: int, outcome: Outcome, reason: str) -> tuple[bool, str]:
        record = settled(canary.message_ids[number], records)
        if record is None:
            return False, f"no outcome was recorded in time: {_UNRECORDED}"
        said = f"{record.outcome}, {record.reason}"
        return (record.outcome, record.reason) == (outcome, reason), said

    works, said = ends(canaries.good, 0, Outcome.PROCESSED, "OBSERVED")
    yield Edge(edge="queue, pipe, enrichment, state machine, action", works=works, said=said)
    works, said = ends(canaries.good, 1, Outcome.DUPLICATE, "SAME_KEY")
    yield Edge(edge="a copy meets its claim", works=works, said=said)
    broken, said = ends(canaries.broken, 0, Outcome.PARKED, "NOT_JSON")
    yield Edge(edge="what is no event is parked", works=broken, said=said)
    refused, said = ends(canaries.refused, 0, Outcome.PARKED, "REJECTED")
    yield Edge(edge="what is refused for good is parked", works=refused, said=said)
    said = f"{parked} of 2 found there, and taken out again"
    yield Edge(edge="parking queue", works=parked == 2, said=said)
    yield from _hand_back(canaries, records)


def _hand_back(canaries: Canaries, records: Records) -> Iterator[Edge]:
    """The batch report as the pipe reads it: this one comes again, and only this one."""
    story = records.get(canaries.failing.message_ids[0], ())
    failed = any(record.reason == "CALL_FAILED" for record in story)
    acted = any(record.outcome is Outcome.PROCESSED for record in story)
    said = "; ".join(f"{record.outcome}, {record.reason}" for record in story) or "no outcome"
    yield Edge(edge="an action that fails is tried again later", works=failed and acted, said=said)
    again = [
        canary.name
        for canary in (canaries.good, canaries.refused, canaries.broken)
        if len(records.get(canary.message_ids[0], ())) > 1
    ]
    works: bool | None = False
    if not failed:
        works, said = None, "not tried: nothing was handed back; check again in a quiet hour"
    elif not acted:
        said = "what was handed back did not come again"
    elif again:
        said = f"more came again than was handed back: {', '.join(again)}"
    else:
        works, said = True, "what was handed back came again, and nothing else did"
    yield Edge(edge="batchItemFailures", works=works, said=said)


def _lines(edges: Iterable[Edge]) -> Iterator[str]:
    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[dim]·[/]"}
    for edge in edges:
        yield f"{marks[edge.works]} {escape(edge.edge)} [dim]{escape(edge.said)}[/]"


def _verdict(result: Check) -> str:
    if all(edge.works is not False for edge in result.edges):
        looked = "Nothing that can be looked at is wrong." if result.run is None else ""
        return f"[green]{looked or 'Every edge that could be tried works.'}[/]"
    more = f" More: once explain {result.run}-good" if result.run else ""
    return f"[red]Something does not work.[/]{more}"
