"""`once check`: looks at the path to the queue, sends canaries, and says what works."""

import json
import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Annotated

import typer
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import event_source, log, pace
from once.operate import phrases as words
from once.operate.canaries import Canaries, Canary, send_canary
from once.operate.checks import Check, Checked
from once.operate.command import ATTENTION, Operation, Yes, command
from once.operate.queues import Reading
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.reasons import REASONS
from once.records import OutcomeLog, OutcomeRecord, Records, settled
from once.waiter import Waiter

_POLL_SECONDS = 2.0
# What a good run needs beside the time that a message stays hidden.
_PATIENCE_SECONDS = 120
_RETURN_SECONDS = 120
_GRACE_SECONDS = 5
_PARKING_SECONDS = 15
_NOT_TRIED = "not tried: the first was not settled"
_UNRECORDED = "docs/runbook.md#outcomes-unrecorded"


@command("once check --yes")
@answers(Checked)
def check(
    at: Operation,
    yes: Yes = False,
    look: Annotated[
        bool,
        typer.Option("--look", help="Check only the path to the queue: rule and source."),
    ] = False,
) -> None:
    """Check the path of events to the queue, and send canaries from there."""
    seen = look_at(at.stack)
    if look:
        at.answer(seen, [*_view(seen.checks), _verdict(seen)])
        return _end(seen)
    # At once: canaries take minutes, and where they would do harm this is the whole answer.
    if not at.as_json:
        at.answer(seen, _view(seen.checks))
    try:
        refuse_if_harmful(at.stack)
    except OnceError as error:
        if not at.as_json:
            raise
        refused = Check(name="canaries", works=False, said=str(error))
        at.answer(Checked(run=None, checks=[*seen.checks, refused]), [])
        raise typer.Exit(error.exit_code) from None
    hidden = read_visibility_seconds(at.stack)
    seen_by = "No destination sees them."
    if _is_on_bus(at.stack):
        seen_by = "The target bus gets two, with the source genesys-once.check."
    at.confirm(
        f"Send four canaries and a copy? {seen_by} It takes at least "
        f"{words.format_age((hidden + 30) * 1000)}, because one is returned to the queue on "
        "purpose.",
        yes,
    )
    with at.errors.status("") as status:
        result = run_checks(at.stack, seen, hidden, lambda what: status.update(f"{what} …"))
    if at.as_json:
        at.answer(result, [])
    else:
        at.say([*_view(result.checks[len(seen.checks) :]), _verdict(result)])
    return _end(result)


def _end(result: Checked) -> None:
    if any(one.works is False for one in result.checks):
        raise typer.Exit(ATTENTION)


def look_at(stack: Stack) -> Checked:
    """Looks at the path to the queue: only Genesys Cloud can send by it, so it is not tried."""
    return Checked(run=None, checks=[*event_source.check_source(stack), *check_limit(stack)])


def check_limit(stack: Stack) -> Iterator[Check]:
    """Warns of a destination that nothing protects from a backlog."""
    parameters = stack.parameters
    is_limited = stack.outputs["MaxActionsPerMinute"] != "0"
    is_narrow = parameters.get("MaxConcurrentActions", "0") != "0"
    if parameters.get("ActionTarget", "none") != "none" and not is_limited and not is_narrow:
        said = (
            "none: a backlog can cause 5,000 requests at the same time, if Lambda's concurrency "
            "allows. Set MaxActionsPerMinute if that is too much"
        )
        yield Check(name="limit of requests", works=None, said=said)


def run_checks(
    stack: Stack, seen: Checked, hidden_seconds: int, step: Callable[[str], None]
) -> Checked:
    """Sends canaries, and adds their ends to what was seen."""
    canaries = Canaries.create(fails_for_ms=hidden_seconds * 900)
    enrichment = invoke_enrichment(stack, canaries.good)
    if not enrichment.works:
        return Checked(run=None, checks=[*seen.checks, enrichment])
    pattern = f'{{ $.pk = "*{canaries.run}*" || $.reason = "NOT_JSON" }}'
    group = stack.outputs["OutcomeLogGroupName"]
    outcomes = OutcomeLog(stack.client("logs"), group, log.now_ms() - 60_000, pattern)
    waiter = Waiter(outcomes, _POLL_SECONDS)
    try:
        step("waiting for the first outcomes")
        is_settled = _settle_first(stack, canaries, waiter)
    finally:  # also if it is interrupted; sooner than an alarm tells it
        parked = _clear_parked(stack, canaries, waiter)
    if is_settled:
        step(f"waiting up to {hidden_seconds} s for the one that was returned to the queue")
        try:
            _wait_for(waiter, [canaries.failing], hidden_seconds + _RETURN_SECONDS)
        finally:
            _clear_parked(stack, canaries, waiter)  # with few MaxTries it is given up
        time.sleep(_GRACE_SECONDS)  # messages that the pipe returned by mistake would arrive now
        waiter.read()
    checks = _judge(canaries, waiter.records, parked, on_bus=_is_on_bus(stack))
    return Checked(run=canaries.run, checks=[*seen.checks, enrichment, *checks])


def invoke_enrichment(stack: Stack, canary: Canary) -> Check:
    """Invokes the enrichment as the pipe does: while it fails, no outcome of any event is recorded,
    so no canary would tell."""
    sent = {"messageId": canary.name, "body": canary.body, "attributes": {"SentTimestamp": "0"}}
    answer = stack.client("lambda").invoke(
        FunctionName=stack.outputs["EnrichmentFunctionName"], Payload=json.dumps([sent])
    )
    works, said = True, "it reads an event"
    returned = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        parts = (returned.get("errorType", "an unknown class"), returned.get("errorMessage"))
        error = ": ".join(filter(None, parts))
        said = f"it fails, {error}; events wait on the queue"
        log_of = log.tail(stack, log.Part.ENRICHMENT)
        said += f". Its log: {log_of}" if log_of else ""
        works = False
    elif not returned:
        stop = shlex.join(["aws", "pipes", "stop-pipe", "--name", stack.outputs["PipeName"]])
        said = f"it returns nothing, so the pipe deletes events, and they are lost. Stop it: {stop}"
        works = False
    return Check(name="enrichment", works=works, said=said)


def _is_on_bus(stack: Stack) -> bool:
    """Returns true if canaries reach the destination: a bus, whose rules tell their source."""
    return stack.parameters.get("ActionTarget") == "eventbridge"


def _settle_first(stack: Stack, canaries: Canaries, waiter: Waiter) -> bool:
    """Sends all, and waits for all that are not returned to the queue; returns false if the first
    one was not settled.

    The others follow the first one: on a stack that settles nothing they would be parked after
    this check has ended.
    """

    def send(canary: Canary, body: str) -> None:
        canary.message_ids.append(send_canary(stack, body))

    send(canaries.good, canaries.good.body)
    if not _wait_for(waiter, [canaries.good], _PATIENCE_SECONDS):
        return False
    for canary in (canaries.failing, canaries.refused, canaries.broken):
        send(canary, canary.body)
    send(canaries.good, canaries.good.copy())
    _wait_for(waiter, [canaries.good, canaries.refused, canaries.broken], _PATIENCE_SECONDS)
    return True


def _wait_for(waiter: Waiter, canaries: Sequence[Canary], seconds: float) -> bool:
    """Waits until they are settled, or one of them waits for the repair of a function."""
    ids = [message_id for canary in canaries for message_id in canary.message_ids]
    waiter.wait(
        lambda: (
            all(map(waiter.end_of, ids)) or any(_needs_repair(waiter.last_of(one)) for one in ids)
        ),
        seconds,
    )
    return all(map(waiter.end_of, ids))


def refuse_if_harmful(stack: Stack) -> None:
    if stack.parameters.get("ActionFunctionArn"):
        raise OnceError(
            "This stack invokes a function of your own (ActionFunctionArn), which would take "
            "the canaries for events, so none are sent.\nDeploy without it to check the rest."
        )
    breaker = pace.read_breaker(stack, log.now_ms())
    if breaker.state is not pace.State.CLOSED:
        said = words.capitalise(breaker.text(log.now_ms()))
        raise OnceError(f"{said}: canaries would wait too.\nCheck again when requests are sent.")
    pace.refuse_stopped_pipe(stack)


def read_visibility_seconds(stack: Stack) -> int:
    found = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["VisibilityTimeout"]
    )
    return int(found["Attributes"]["VisibilityTimeout"])


def _clear_parked(stack: Stack, canaries: Canaries, waiter: Waiter) -> int:
    """Takes our own out of the parking queue, and nothing else, when they have got there."""
    sent = [*canaries.refused.message_ids, *canaries.broken.message_ids]
    waiter.wait(lambda: all(map(waiter.end_of, sent)), _PARKING_SECONDS)
    parked = 0
    with Reading(stack, "ParkingQueueUrl") as reading:
        for one in chain.from_iterable(reading.batches()):
            if canaries.run in one.body:
                reading.delete(one)
                parked += 1
    return parked


def _judge(canaries: Canaries, records: Records, parked: int, *, on_bus: bool) -> Iterator[Check]:
    path = "queue, pipe, enrichment, state machine, action"
    if on_bus:
        path, acted = f"{path}, target bus", "ACTED"
    else:
        acted = "OBSERVED"
    for canary, number, end, name in (
        (canaries.good, 0, f"PROCESSED, {acted}", path),
        (canaries.good, 1, "DUPLICATE, SAME_KEY", "a copy meets its claim"),
        (canaries.broken, 0, "PARKED, NOT_JSON", "a message without an event is parked"),
        (canaries.refused, 0, "PARKED, REJECTED", "a permanently rejected event is parked"),
    ):
        if number < len(canary.message_ids):
            said = _say_end(canary.message_ids[number], records)
            yield Check(name=name, works=said == end, said=said)
        else:
            yield Check(name=name, works=None, said=_NOT_TRIED)
    sent = len(canaries.broken.message_ids) + len(canaries.refused.message_ids)
    said = f"{parked} of {sent} found there, and taken out again"
    yield Check(name="parking queue", works=parked == sent if sent else None, said=said)
    yield from _check_returns(canaries, records)


def _say_end(message_id: str, records: Records) -> str:
    if record := settled(message_id, records):
        return f"{record.outcome}, {record.reason}"
    if waiting := records.get(message_id):
        last = waiting[-1]
        return f"{last.outcome}, {last.reason}: {last.why}"
    return f"no outcome was recorded in time: {_UNRECORDED}"


def _needs_repair(record: OutcomeRecord | None) -> bool:
    """Returns true if an event waits for the repair of a function, whose log says why."""
    known = REASONS.get(record.reason or "") if record else None
    return known is not None and bool(known.log)


def _check_returns(canaries: Canaries, records: Records) -> Iterator[Check]:
    """Checks the batch report as the pipe reads it: this one comes again, and only this one."""
    sent = canaries.failing.message_ids
    story = records.get(sent[0], ()) if sent else ()
    failed = any(record.reason == "CALL_FAILED" for record in story)
    acted = any(record.outcome is Outcome.PROCESSED for record in story)
    said = "; ".join(f"{record.outcome}, {record.reason}" for record in story)
    said = said or ("no outcome" if sent else _NOT_TRIED)
    works = failed and acted if sent else None
    yield Check(name="an action that fails is tried again later", works=works, said=said)
    again = [
        canary.name
        for canary in (canaries.good, canaries.refused, canaries.broken)
        if any(len(records.get(one, ())) > 1 for one in canary.message_ids[:1])
    ]
    works = False
    if not failed:
        works, said = (
            None,
            "not tried: nothing was returned to the queue; check again in a quiet hour",
        )
    elif not acted:
        said = "the message that was returned to the queue did not come again"
    elif again:
        said = f"messages came again that were not returned: {', '.join(again)}"
    else:
        works, said = True, "the message that was returned came again, and no other did"
    yield Check(name="batchItemFailures", works=works, said=said)


def _view(checks: Iterable[Check]) -> Iterator[str]:
    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[dim]·[/]"}
    for one in checks:
        yield f"{marks[one.works]} {escape(one.name)} [dim]{escape(one.said)}[/]"


def _verdict(result: Checked) -> str:
    if all(one.works is not False for one in result.checks):
        looked = "Nothing that can be looked at is wrong." if result.run is None else ""
        return f"[green]{looked or 'Every check that could run passed.'}[/]"
    more = f" More: once explain {result.run}-good" if result.run else ""
    return f"[red]Something does not work.[/]{more}"
