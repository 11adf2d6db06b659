"""`once status`: how requests flow, what waits until when, what is stuck, and what helps.

`read_status` reads the facts; `find` is the one generator of what needs attention.
"""

import json
import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

import click
from botocore.exceptions import ClientError
from pydantic import Field
from rich.markup import escape

from once.cli_options import ATTENTION, Operation, on_stack
from once.model import words
from once.model.base import Model
from once.model.outcomes import Outcome
from once.model.pace import FOR_THE_BREAKER, Breaker, State
from once.model.reasons import REASONS
from once.screen import Row, Whole
from once.stack import log
from once.stack.dead_letters import QUEUE
from once.stack.facade import Depth, Stack, read_clock_ms
from once.stack.stories import CANARY_FAMILY
from once.stack.waiting import (
    OF_DESTINATION,
    Waits,
    group_by_reason,
    is_failure,
    read_waiting,
)

_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_SHORT_MS = 2 * _MINUTE_MS  # a 429 that ends by then is the limit at work
_TAKEN_MS = 10 * _MINUTE_MS
_AGAIN_MS = 5 * _MINUTE_MS  # a message that still fails has come back within four
_LONGEST_ERROR = 300
_FEW_FAMILIES = 2  # if more fail at the same time, they are counted and not named


class Severity(StrEnum):
    """The topic on which an alarm would tell it."""

    PAGE = "page"
    TICKET = "ticket"


class Kind(NamedTuple):
    severity: Severity
    remedy: str
    page: str


_PAGE, _TICKET = Severity.PAGE, Severity.TICKET
KINDS = {
    "PAUSED": Kind(_TICKET, "ask the operator, then resume", "destination-down"),
    "PIPE_STOPPED": Kind(_PAGE, "start it; if it stops again, read its log", "events-waiting"),
    "MACHINE_INACTIVE": Kind(_PAGE, "deploy again", "outcomes-unrecorded"),
    "NOTHING_RECORDED": Kind(_PAGE, "find out what fails, immediately", "outcomes-unrecorded"),
    "ENRICHMENT_FAILS": Kind(
        _TICKET, "repair it and deploy; messages stay in the queue", "the-enrichment-fails"
    ),
    "EXECUTIONS_FAIL": Kind(
        _TICKET, "repair what the error names; messages come back", "the-table-or-a-queue-fails"
    ),
    "TABLE_UNREADABLE": Kind(
        _PAGE, "repair the table: its permissions or its KMS key", "the-table-or-a-queue-fails"
    ),
    "DESTINATION_DOWN": Kind(
        _TICKET, "repair it; events wait and come back by themselves", "destination-down"
    ),
    "RATE_LIMITED": Kind(
        _TICKET,
        "wait; if it recurs, lower MaxActionsPerMinute",
        "the-destination-limits-requests",
    ),
    "REQUESTS_FAIL": Kind(_TICKET, "repair what the cause names", "the-destination-fails"),
    "EVENTS_PARKED": Kind(_TICKET, "remove the cause, then replay or drop them", "events-parked"),
    "EVENTS_AGEING": Kind(
        _TICKET, "end what they wait for; after 10 days they are parked", "waiting-long"
    ),
    "WAIT_UNKNOWN": Kind(_TICKET, "see if events are recorded", "outcomes-unrecorded"),
}


class Finding(Model):
    """Something that needs attention."""

    code: str = Field(description="Why, in one word of a list that may grow.")
    severity: Severity
    sentence: str
    remedy: str
    commands: list[str] = Field(description="Commands that show more or help, to be pasted.")
    page: str
    count: int | None = None
    since_ms: int | None = None


class Arrived(Model):
    """Settled events of one source and family in the last day."""

    source: str
    family: str
    outcomes: dict[Outcome, int]
    last_ms: int


class Alarm(Model):
    name: str
    since_ms: int
    description: str


class PipeFailure(Model):
    """Executions of the pipe that failed, as its log says. Their messages come back."""

    is_enrichment: bool = Field(description="False if the state machine failed.")
    executions: int
    last_ms: int
    error: str = Field(description="Of the last one.")


class Status(Model):
    """The breaker, what waits, what is stuck and what helps."""

    queue: Depth
    parked: int
    breaker: Breaker
    table_error: str = Field(description="Why the breaker's row cannot be read; or empty.")
    limit: int = Field(description="Requests per minute; 0 is no limit.")
    waiting: list[Waits]
    last_failure: str = Field(description="What the newest failed request of these met; or empty.")
    is_complete: bool = Field(description="False if the log holds more than one search returns.")
    arrived: list[Arrived]
    taken: int = Field(description="Messages that were taken in the last ten minutes.")
    recorded_ms: int | None = Field(description="The newest record of this time; null if none.")
    pipe: str
    pipe_reason: str
    pipe_failures: list[PipeFailure] = Field(description="Of the last five minutes, by stage.")
    machine: str
    only_observes: bool
    alarms: list[Alarm]
    table: str = Field(description="The claim table.")
    function: str = Field(description="The function that sends the requests.")
    logs: dict[str, str] = Field(description="Log groups by the output that names them.")
    findings: list[Finding] = Field(default=[])


@on_stack("once status", answers=Status)
@click.option("--verbose", is_flag=True, help="Show each family.")
def command(operation: Operation, verbose: bool) -> None:
    """Show the breaker, what waits until when, what is stuck and how to fix it."""
    now_ms = read_clock_ms()
    status = read_status(operation.stack, now_ms)
    for finding in status.findings:
        finding.commands = [
            f"{typed}{operation.options}" if typed.startswith("once ") else typed
            for typed in finding.commands
        ]
    operation.answer(status, _view(status, now_ms, verbose))
    if status.findings:
        operation.exit(ATTENTION)


def read_status(stack: Stack, now_ms: int) -> Status:
    """Reads the facts, and finds in them what needs attention."""
    outputs = stack.outputs
    pipe, pipe_reason = stack.read_pipe()
    machine = stack.client("stepfunctions").describe_state_machine(
        stateMachineArn=outputs["StateMachineArn"]
    )
    breaker, table_error = Breaker(), ""
    try:
        breaker = stack.read_breaker(now_ms)
    except ClientError as error:
        table_error = str(error)
    queue = stack.read_depth("EventQueueUrl")
    waiting = read_waiting(stack, breaker, queue.delayed or min(queue.total, 1), now_ms)
    recent = log.search(stack, '"messageId"', since_ms=now_ms - _TAKEN_MS, most=1)
    names = [name for name in outputs if name.endswith("LogGroupName")]
    status = Status(
        queue=queue,
        parked=stack.read_depth(QUEUE).total,
        breaker=breaker,
        table_error=table_error,
        limit=int(outputs.get("MaxActionsPerMinute") or 0),
        waiting=group_by_reason(waiting, breaker, now_ms),
        last_failure=waiting.failure.why if waiting.failure else "",
        is_complete=waiting.is_complete,
        arrived=_read_arrived(stack, now_ms),
        taken=_read_taken(stack, now_ms),
        recorded_ms=recent.records[-1].recorded_at_ms if recent.records else None,
        pipe=pipe,
        pipe_reason=pipe_reason,
        pipe_failures=_read_pipe_failures(stack, now_ms),
        machine=machine["status"],
        only_observes=stack.only_observes,
        alarms=_read_alarms(stack),
        table=outputs["ClaimTableName"],
        function=outputs["DataActionFunctionName"],
        logs={name: outputs[name] for name in names},
    )
    status.findings = list(find(status, now_ms))
    return status


def _read_arrived(stack: Stack, now_ms: int) -> list[Arrived]:
    query = (
        f'filter ispresent(family) and family != "{CANARY_FAMILY}" and outcome != "RETRY"'
        " | stats count(*) as events, max(@timestamp) as last by source, family, outcome"
    )
    arrived: dict[tuple[str, str], Arrived] = {}
    for row in log.query(stack, "OutcomeLogGroupName", query, now_ms - 24 * _HOUR_MS):
        source, family = row.get("source", "unknown"), row["family"]
        new = Arrived(source=source, family=family, outcomes={}, last_ms=0)
        events = arrived.setdefault((source, family), new)
        events.outcomes[Outcome(row["outcome"])] = int(row["events"])
        events.last_ms = max(events.last_ms, log.read_epoch_ms(row["last"]))
    return sorted(arrived.values(), key=lambda events: (events.source, -events.last_ms))


def _read_taken(stack: Stack, now_ms: int) -> int:
    name = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    points = stack.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SQS",
        MetricName="NumberOfMessagesReceived",
        Dimensions=[{"Name": "QueueName", "Value": name}],
        StartTime=datetime.fromtimestamp((now_ms - _TAKEN_MS) / 1000, UTC),
        EndTime=datetime.fromtimestamp(now_ms / 1000, UTC),
        Period=600,
        Statistics=["Sum"],
    )["Datapoints"]
    return round(sum(float(point["Sum"]) for point in points))


def _read_pipe_failures(stack: Stack, now_ms: int) -> list[PipeFailure]:
    """Reads the pipe's log, whose level is ERROR: a failed execution has a line for each step."""
    failures: dict[bool, PipeFailure] = {}
    executions: dict[bool, set[str]] = defaultdict(set)
    lines = log.search_lines(stack, "PipeLogGroupName", since_ms=now_ms - _AGAIN_MS)
    for logged_ms, text in lines:
        line = json.loads(text)
        step, error = line.get("messageType", ""), line.get("error") or {}
        if not step.startswith(("Enrichment", "Target")):
            continue  # of the execution as a whole
        is_enrichment = step.startswith("Enrichment")
        executions[is_enrichment].add(line.get("executionId", ""))
        parts = filter(None, map(_read_error, (error.get("message"), error.get("details"))))
        failures[is_enrichment] = PipeFailure(
            is_enrichment=is_enrichment,
            executions=len(executions[is_enrichment]),
            last_ms=logged_ms,
            error=": ".join(parts) or step,
        )
    return [*failures.values()]


def _read_error(text: object) -> str:
    """Returns a text; of an error as Lambda writes it, class and message."""
    with suppress(ValueError):
        error = json.loads(str(text))
        if isinstance(error, dict) and "errorMessage" in error:
            return f"{error.get('errorType', 'an error')}: {error['errorMessage']}"
    return str(text or "")


def _read_alarms(stack: Stack) -> list[Alarm]:
    prefix = f"{stack.name}-"
    found = stack.client("cloudwatch").describe_alarms(AlarmNamePrefix=prefix, StateValue="ALARM")
    return [
        Alarm(
            name=alarm["AlarmName"].removeprefix(prefix),
            since_ms=round(alarm["StateUpdatedTimestamp"].timestamp() * 1000),
            description=alarm.get("AlarmDescription", "").partition(" See ")[0],
        )
        for alarm in found["MetricAlarms"]
    ]


def find(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds what needs attention: first what stops everything, then what some events wait for."""
    yield from _find_stops(status, now_ms)
    if not status.breaker.pause:
        yield from _find_failures(status, now_ms)
    yield from _find_waits(status, now_ms)
    if status.parked:
        text = f"Parked: {words.count(status.parked, 'event')}"
        yield _make("EVENTS_PARKED", text, "once parked list", count=status.parked)
    for alarm in status.alarms:
        kind = Kind(_TICKET, alarm.description, alarm.name)
        yield _make("ALARM", f"Alarm {alarm.name}", since_ms=alarm.since_ms, kind=kind)


def _find_stops(status: Status, now_ms: int) -> Iterator[Finding]:
    if status.table_error:
        describe = f"aws dynamodb describe-table --table-name {shlex.quote(status.table)}"
        text = f"The claim table cannot be read: {status.table_error}"
        yield _make("TABLE_UNREADABLE", text, describe)
    if pause := status.breaker.pause:
        text = words.capitalise(status.breaker.text(now_ms))
        yield _make("PAUSED", text, "once resume", since_ms=pause.since_ms)
    if status.pipe != "RUNNING":
        reason = status.pipe_reason or "AWS gives no reason, so an operator may have stopped it"
        text = f"The pipe is {status.pipe}: {reason}"
        if status.queue.total:
            text += f"; {words.count(status.queue.total, 'message')} in the queue"
        yield _make("PIPE_STOPPED", text, "once resume", *_tail(status, "PipeLogGroupName"))
    if status.machine != "ACTIVE":
        yield _make(
            "MACHINE_INACTIVE", f"The state machine is {status.machine}", "once check --look"
        )
    yield from _find_failed_executions(status)
    # While the breaker is open, events that come back write no record.
    is_closed = status.breaker.state is State.CLOSED
    if status.pipe_failures:
        return  # they say why
    # Messages in flight are about to be recorded.
    has_taken = status.taken > status.queue.in_flight
    if has_taken and status.recorded_ms is None and is_closed:
        taken = f"Messages were taken from the queue {words.count_times(status.taken)}"
        text = f"{taken} in ten minutes, and no outcome was recorded"
        logs = _tail(status, "EnrichmentLogGroupName")
        yield _make("NOTHING_RECORDED", text, "once check", *logs, count=status.taken)


def _find_failed_executions(status: Status) -> Iterator[Finding]:
    if not status.queue.in_flight + status.queue.visible:
        return  # every message that failed has come back and is done
    for failure in status.pipe_failures:
        clock = words.format_clock(failure.last_ms)
        number = words.count_times(failure.executions)
        error = _shorten(failure.error)
        what = f"failed {number} in five minutes, last at {clock} UTC: {error}"
        if status.recorded_ms and status.recorded_ms > failure.last_ms:
            what += "; other events were recorded since"
        if failure.is_enrichment:
            code, text, logs = "ENRICHMENT_FAILS", "The enrichment", "EnrichmentLogGroupName"
        else:
            code, text, logs = "EXECUTIONS_FAIL", "The state machine", "ExecutionLogGroupName"
        finding = _make(
            code,
            f"{text} {what}",
            *(["once check"] if failure.is_enrichment else []),
            *_tail(status, logs),
            count=failure.executions,
        )
        if status.recorded_ms is None:
            finding.severity = _PAGE
        yield finding


def _shorten(text: str) -> str:
    text = text.rstrip(".")
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]} …"


def _find_waits(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds the reasons for waiting that somebody has to repair."""
    for waits in status.waiting:
        is_told = waits.reason in ("CALL_FAILED", "RATE_LIMITED", *FOR_THE_BREAKER)
        if is_told or not is_failure(waits.reason):
            continue
        reason = REASONS.get(waits.reason)
        remedy, page = (reason.remedy, reason.page) if reason else ("see its cause", "waiting-long")
        finding = _make(
            waits.reason,
            f"{_count(status, waits.events)} put back, last at "
            f"{words.format_clock(waits.newest_ms)} UTC: {waits.sentence}",
            _explain(waits),
            *_tail(status, reason.log if reason else ""),
            count=waits.events,
            kind=Kind(_TICKET, remedy, page),
        )
        if waits.reason == "THROTTLED":
            name = shlex.quote(status.function)
            finding.commands.append(f"aws lambda get-function-concurrency --function-name {name}")
        if waits.reason == "SETUP_FAULT" and status.breaker.since_ms:
            finding.since_ms = status.breaker.since_ms
            since = words.format_second(finding.since_ms)
            finding.sentence += f"; no request has succeeded since {since} UTC"
            _page_after_an_hour(finding, now_ms)
        yield finding
    if status.queue.delayed and not status.waiting and status.breaker.state is State.CLOSED:
        text = f"{words.count(status.queue.delayed, 'event')} wait, and no record says why"
        yield _make("WAIT_UNKNOWN", text, "once check", count=status.queue.delayed)
    oldest = min(status.waiting, key=lambda waits: waits.since_ms, default=None)
    if oldest and now_ms - oldest.since_ms > 24 * _HOUR_MS:
        text = f"The oldest event has waited for {words.format_age(now_ms - oldest.since_ms)}"
        yield _make("EVENTS_AGEING", text, _explain(oldest), since_ms=oldest.since_ms)


def _find_failures(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds that no request succeeds, from the first failure on, or that those of some families
    fail while others succeed. The newest record of a request has the cause."""
    breaker, since_ms = status.breaker, status.breaker.since_ms
    failing = [waits for waits in status.waiting if waits.reason in OF_DESTINATION]
    newest = max(failing, key=lambda waits: waits.newest_ms, default=None)
    if not breaker.is_healthy:
        is_limited = breaker.why == "429" or (newest and newest.reason == "RATE_LIMITED")
        if is_limited and since_ms and now_ms - since_ms < _SHORT_MS:
            return
        if failing and all(waits.reason == "SETUP_FAULT" for waits in failing):
            return  # the destination is not the cause, and its finding is that of the wait
        code = "RATE_LIMITED" if is_limited else "DESTINATION_DOWN"
        text = _describe_outage(status)
        example = newest or next(iter(status.waiting), None)
        events = sum(w.events for w in status.waiting if w in failing or w.reason == "BREAKER_OPEN")
        commands = [_explain(example)] if example else _tail(status, "DataActionLogGroupName")
        yield _page_after_an_hour(
            _make(code, text, *commands, count=events or None, since_ms=since_ms), now_ms
        )
        return
    for waits in failing:
        if waits.reason != "CALL_FAILED":
            continue
        what = " and ".join(waits.families) or "unknown families"
        if len(waits.families) > _FEW_FAMILIES:
            what = f"{len(waits.families)} families"
        has_acted = any(Outcome.PROCESSED in arrived.outcomes for arrived in status.arrived)
        tail = "; requests for others succeed" if has_acted else "; it may be an outage"
        yield _make(
            "REQUESTS_FAIL",
            f"Requests for {_count(status, waits.events)} of {what} fail: {waits.sentence}{tail}",
            _explain(waits),
            count=waits.events,
            since_ms=waits.since_ms,
        )


def _describe_outage(status: Status) -> str:
    breaker, since_ms = status.breaker, status.breaker.since_ms
    text = "No request succeeds"
    if since_ms:
        text = f"No request has succeeded since {words.format_second(since_ms)} UTC"
    if status.last_failure:
        text += f": {status.last_failure}"
    if breaker.until_ms:
        text += f"; the next request is at {words.format_clock(breaker.until_ms)} UTC"
    elif breaker.state is not State.CLOSED:
        text += "; the next event probes"
    return text


def _page_after_an_hour(finding: Finding, now_ms: int) -> Finding:
    if finding.since_ms and now_ms - finding.since_ms > _HOUR_MS:
        finding.severity = _PAGE
    return finding


def _make(
    code: str,
    sentence: str,
    *commands: str,
    count: int | None = None,
    since_ms: int | None = None,
    kind: Kind | None = None,
) -> Finding:
    severity, remedy, page = kind or KINDS[code]
    return Finding(
        code=code,
        severity=severity,
        sentence=sentence,
        remedy=remedy,
        commands=list(commands),
        page=f"docs/runbook.md#{page}",
        count=count,
        since_ms=since_ms,
    )


def _explain(waits: Waits) -> str:
    return f"once explain {shlex.quote(waits.example)}"  # an id is whatever its sender wrote


def _tail(status: Status, output: str) -> list[str]:
    """Returns the command that reads the log group of this output, if the stack has it."""
    group = status.logs.get(output)
    return [f"aws logs tail {shlex.quote(group)} --since 1h"] if group else []


def _count(status: Status, events: int) -> str:
    return ("" if status.is_complete else "at least ") + words.count(events, "event")


def _view(status: Status, now_ms: int, verbose: bool) -> Iterator[Any]:
    flow = escape(words.capitalise(status.breaker.text(now_ms)))
    if status.table_error:
        flow = "Breaker unknown: the claim table cannot be read"
    is_flowing = status.breaker.is_healthy and not status.table_error
    yield flow if is_flowing else f"[yellow]{flow}[/]"
    if status.limit:
        minutes = math.ceil(status.queue.total / status.limit)
        rest = f"{status.queue.total:,} wait, about {words.count(minutes, 'minute')}"
        yield f"Limited to {status.limit:,} per minute, {rest if minutes else 'nothing waits'}"
    if status.only_observes:
        yield words.OBSERVED
    queue = status.queue
    yield (
        f"queue {queue.total:,}: {queue.visible:,} ready, {queue.in_flight:,} in progress, "
        f"{queue.delayed:,} wait; parked {status.parked:,}"
    )
    for waits in status.waiting:
        until = words.format_clock(waits.last_due_ms)
        head = f"waits: {_count(status, waits.events)} until {until} at the latest  "
        yield Row.of(head, escape(words.shorten_ids(f"{waits.reason}: {waits.sentence}")))
    ends: Counter[Outcome] = sum((Counter(a.outcomes) for a in status.arrived), Counter())
    settled = ", ".join(f"{count:,} {outcome}" for outcome, count in ends.most_common())
    yield f"settled in the last day: {settled or 'nothing'}"
    by_source: dict[str, list[Arrived]] = defaultdict(list)
    for arrived in status.arrived:
        by_source[arrived.source].append(arrived)
    for source, families in by_source.items():
        age = words.format_age(now_ms - families[0].last_ms)
        yield escape(f"  last event of {source}: {age} ago")
        for arrived in families if verbose else ():
            age = words.format_age(now_ms - arrived.last_ms)
            yield escape(f"    {arrived.family}: {age} ago")
    yield f"pipe {status.pipe}, state machine {status.machine}"
    if not status.findings:
        is_waiting = status.waiting or status.queue.delayed
        text = "What waits comes back by itself" if is_waiting else "Nothing is stuck"
        yield f"[green]{text}.[/]"
    for finding in status.findings:
        text = escape(words.shorten_ids(finding.sentence))
        yield Row.of("[red]![/] ", f"{text} → {escape(finding.remedy)}")
        yield f"  {finding.page}"
        yield from (Whole(f"  [bold]{escape(typed)}[/]") for typed in finding.commands)
