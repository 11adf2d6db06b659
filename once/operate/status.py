"""`once status`: how requests flow, what waits until when, what is stuck, and what helps."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from once.answers import answers
from once.operate import log
from once.operate import phrases as words
from once.operate.arrivals import Arrivals, judge, read_hours, view_arrivals
from once.operate.command import ATTENTION, Operation, command
from once.operate.findings import KINDS, THROTTLED, Finding, find
from once.operate.log import Part
from once.operate.model import Answer, Model
from once.operate.pace import Breaker, Limit, State, read_breaker, read_limit
from once.operate.queues import Depth, read_depth
from once.operate.stack import Stack
from once.operate.waiting import (
    Failing,
    Unsettled,
    Waits,
    group_by_reason,
    group_failing,
    read_unsettled,
)
from once.outcomes import SETTLED, Outcome
from once.screen import Row, Whole

QUEUES = {
    "queue": "EventQueueUrl",
    "parked": "ParkingQueueUrl",
    "dead letters": "EventDeadLettersUrl",
    "dead letters of the rule": "RuleDeadLettersUrl",
}
_MINUTE_MS = 60_000
_HOUR_MS = 60 * _MINUTE_MS
_DAY_MS = 24 * _HOUR_MS
_NAMESPACE = "GenesysOnce"


class Queue(Depth):
    """One queue of the stack."""

    name: str
    oldest_seconds: int | None = Field(
        description="The age of the oldest event that waits for its next try; null for dead ends, "
        "and if CloudWatch has no number. SQS itself tells no age of what was received three times."
    )


class Unrecorded(Model):
    """Messages that were taken from the queue while no outcome was recorded."""

    messages: int = Field(description="How often a message was taken; some more than once.")
    since_ms: int
    failing: str | None = Field(description="The part that fails meanwhile.")


class Alarm(Model):
    """An alarm that fires."""

    name: str = Field(description="Without the name of the stack.")
    since_ms: int
    description: str


class Status(Answer):
    """The breaker, what waits, what is stuck and what helps."""

    queues: list[Queue]
    last_arrival_ms: int | None = Field(description="Null if nothing arrived for a day.")
    arrivals: list[Arrivals] = Field(
        description="By source and family, what was settled in the last 14 days, and what waits."
    )
    outcomes: dict[Outcome, int] = Field(
        description="Deliveries that settled a message in the last hour; `waiting` has the rest."
    )
    unrecorded: Unrecorded | None = Field(
        description="Messages taken since the last record; null if there are none."
    )
    complete: bool = Field(
        description="False if the log holds more than one search returns: then at least so many "
        "events wait and fail."
    )
    hidden: int = Field(description="Messages that wait for their return time, copies included.")
    waiting: list[Waits] = Field(description="What was returned to the queue and is not settled.")
    failing: list[Failing] = Field(description="Of these, the families whose requests fail.")
    pipe: str
    pipe_reason: str | None
    pipe_since_ms: int | None = Field(description="When the pipe was last changed.")
    machine: str
    only_observes: bool = Field(description="Nothing is sent.")
    breaker: Breaker
    limit: Limit | None
    alarms: list[Alarm]
    findings: list[Finding]


Series = dict[int, float]
"""The values of a metric by the minute in which they begin, epoch milliseconds."""


@command("once status --json")
@answers(Status)
def status(
    at: Operation,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show each family with its last arrival.")
    ] = False,
) -> None:
    """Show the breaker, what waits until when, what is stuck and how to fix it."""
    now_ms = log.now_ms()
    found = read_status(at.stack, now_ms, at.options)
    at.answer(found, _view(found, now_ms, verbose))
    if found.findings:
        raise typer.Exit(ATTENTION)


def read_status(stack: Stack, now_ms: int, options: str = "") -> Status:
    queues = [
        Queue(name=name, oldest_seconds=None, **read_depth(stack, output).model_dump())
        for name, output in QUEUES.items()
    ]
    breaker = read_breaker(stack, now_ms)
    stack.client("logs")  # boto3 makes no clients in two threads at the same time
    # Each search of the log takes AWS a second or more.
    with ThreadPoolExecutor(1) as pool:
        hours = pool.submit(read_hours, stack, now_ms)
        unsettled = read_unsettled(stack, now_ms, queues[0].total)
    series = _read_series(stack, now_ms)
    queues[0].oldest_seconds = _find_oldest(unsettled, series["waiting"], now_ms)
    pipe = stack.client("pipes").describe_pipe(Name=stack.outputs["PipeName"])
    machine = stack.client("stepfunctions").describe_state_machine(
        stateMachineArn=stack.outputs["StateMachineArn"]
    )
    changed: datetime | None = pipe.get("LastModifiedTime")
    found = Status(
        queues=queues,
        last_arrival_ms=max(
            (at_ms for at_ms, sent in series["sent"].items() if sent), default=None
        ),
        arrivals=judge(hours.result(), unsettled.records),
        outcomes={
            one: round(sum(n for at, n in series[one].items() if at >= now_ms - _HOUR_MS))
            for one in Outcome
            if one in SETTLED
        },
        unrecorded=_find_unrecorded(unsettled, series, now_ms),
        complete=unsettled.complete,
        hidden=sum(one.due_at_ms > now_ms for one in unsettled.records),
        waiting=group_by_reason(unsettled, breaker, now_ms),
        failing=group_failing(unsettled),
        pipe=pipe["CurrentState"],
        pipe_reason=pipe.get("StateReason") or None,
        pipe_since_ms=round(changed.timestamp() * 1000) if changed else None,
        machine=machine["status"],
        only_observes=stack.only_observes,
        breaker=breaker,
        limit=read_limit(stack, queues[0].total),
        alarms=_read_alarms(stack),
        findings=[],
    )
    found.findings = find(found, now_ms, options, _list_aws_commands(stack, options))
    return found


def _list_aws_commands(stack: Stack, options: str) -> dict[str, str]:
    """Lists AWS's commands for findings: what each part wrote, and how many requests Lambda may
    run. The AWS CLI does not reach a local stack."""
    if stack.is_local:
        return {}
    typed = shlex.split(options)
    given = dict(zip(typed[::2], typed[1::2], strict=True))
    profile = ["--profile", given["--profile"]] if "--profile" in given else []
    function = stack.parameters.get("ActionFunctionArn") or stack.outputs["DataActionFunctionName"]
    asked = ["--function-name", function, "--region", stack.region, *profile]
    return {
        **{part: log.tail(stack, part, *profile) for part in Part},
        THROTTLED: shlex.join(["aws", "lambda", "get-function-concurrency", *asked]),
    }


def _read_series(stack: Stack, now_ms: int) -> dict[str, Series]:
    """Reads the metrics of the last day, by the minute."""

    def count(namespace: str, name: str, statistic: str = "Sum", **dimension: str) -> Any:
        dimensions = [{"Name": key, "Value": value} for key, value in dimension.items()]
        metric = {"Namespace": namespace, "MetricName": name, "Dimensions": dimensions}
        return {"Metric": metric, "Period": 60, "Stat": statistic}

    queue, outputs = stack.queue_name("EventQueueUrl"), stack.outputs
    metrics: dict[str, Any] = {
        "sent": count("AWS/SQS", "NumberOfMessagesSent", QueueName=queue),
        "received": count("AWS/SQS", "NumberOfMessagesReceived", QueueName=queue),
        "waiting": count(_NAMESPACE, "SECONDS_WAITING", "Maximum", Stack=stack.name),
        **{one: count(_NAMESPACE, one, Stack=stack.name) for one in Outcome if one in SETTLED},
        # Any other function that fails leaves a record.
        Part.ENRICHMENT: count(
            "AWS/Lambda", "Errors", FunctionName=outputs["EnrichmentFunctionName"]
        ),
        Part.MACHINE: count(
            "AWS/States", "ExecutionsFailed", StateMachineArn=outputs["StateMachineArn"]
        ),
    }
    queries = [
        {"Id": f"m{number}", "MetricStat": metric} for number, metric in enumerate(metrics.values())
    ]
    found: dict[str, Series] = {name: {} for name in metrics}
    pages = stack.client("cloudwatch").get_paginator("get_metric_data")
    for page in pages.paginate(
        MetricDataQueries=queries,
        StartTime=datetime.fromtimestamp((now_ms - _DAY_MS) / 1000, UTC),
        EndTime=datetime.fromtimestamp(now_ms / 1000, UTC),
    ):
        for name, result in zip(metrics, page["MetricDataResults"], strict=True):
            for at, value in zip(result["Timestamps"], result["Values"], strict=True):
                found[name][round(at.timestamp() * 1000)] = value
    return found


def _find_oldest(unsettled: Unsettled, seconds: Series, now_ms: int) -> int | None:
    """Finds the age of the oldest event that waits, in seconds.

    Each batch counts the age of the oldest event that it returns, and each record is of a batch.
    That event may be another's, settled by now: none has waited for longer than since it happened.
    """
    ages = (
        min(
            seconds[minute_ms] + (now_ms - one.recorded_at_ms) / 1000,
            (now_ms - (one.occurred_at_ms or 0)) / 1000,
        )
        for one in unsettled.records
        if (minute_ms := one.recorded_at_ms // _MINUTE_MS * _MINUTE_MS) in seconds
    )
    return round(max(ages, default=0)) or None


def _find_unrecorded(
    unsettled: Unsettled, series: Mapping[str, Series], now_ms: int
) -> Unrecorded | None:
    """Finds what was taken since the last record, in the last hour."""
    recorded = [one.recorded_at_ms for one in unsettled.records]
    recorded += [at_ms for one in SETTLED for at_ms in series[one]]
    recorded += series["waiting"]
    since_ms = max([now_ms - _HOUR_MS, *(at_ms + _MINUTE_MS for at_ms in recorded)])
    taken = {at: count for at, count in series["received"].items() if at >= since_ms and count}
    if not taken:
        return None
    first_ms = min(taken)
    failing = (
        part.value
        for part in (Part.ENRICHMENT, Part.MACHINE)
        if any(at >= first_ms and errors for at, errors in series[part].items())
    )
    return Unrecorded(
        messages=round(sum(taken.values())), since_ms=first_ms, failing=next(failing, None)
    )


def _read_alarms(stack: Stack) -> list[Alarm]:
    found = stack.client("cloudwatch").describe_alarms(
        AlarmNamePrefix=f"{stack.name}-", StateValue="ALARM"
    )["MetricAlarms"]
    alarms = [
        Alarm(
            name=one["AlarmName"].removeprefix(f"{stack.name}-"),
            since_ms=round(one["StateUpdatedTimestamp"].timestamp() * 1000),
            description=one.get("AlarmDescription", "").partition(" See ")[0],
        )
        for one in found
    ]
    return sorted(alarms, key=lambda one: one.name)


def _view(found: Status, now_ms: int, verbose: bool = False) -> Iterator[RenderableType]:
    flow = escape(words.capitalise(found.breaker.text(now_ms)))
    yield flow if found.breaker.state is State.CLOSED else f"[yellow]{flow}[/]"
    if found.limit:
        yield words.capitalise(found.limit.text)
    if found.only_observes:
        yield words.OBSERVED
    yield _view_queues(found)
    yield from _view_waiting(found, now_ms)
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in found.outcomes.items() if count)
    yield f"deliveries settled in the last hour: {counts or 'none'}"
    if found.last_arrival_ms is None:
        yield "no event arrived in the last day"
    else:
        age = words.format_age(now_ms - found.last_arrival_ms)
        yield f"the last event arrived at most {age} ago"  # CloudWatch counts by the minute
    if found.arrivals:
        yield "last event by source (settled; if it waits: occurred or returned):"
    for line in view_arrivals(found.arrivals, now_ms, verbose):
        yield escape(line)
    yield f"pipe {found.pipe}, state machine {found.machine}"
    if not found.findings:
        yield from _view_backlog(found, now_ms)
    for finding in found.findings:
        sentence = escape(words.shorten_ids(finding.sentence))
        yield Row.of("[red]![/] ", f"{sentence} → {escape(finding.remedy)}")
        yield f"  {finding.page}"
        # Each on a line of its own, to be pasted; an example is one event of many, and last.
        commands = sorted(finding.commands, key=_is_example)
        for command_ in commands:
            if _is_example(command_):
                yield "  for example one of these events:"
            yield Whole(f"  [bold]{escape(command_)}[/]")


def _is_example(command_: str) -> bool:
    return command_.startswith("once explain ")


def _view_backlog(found: Status, now_ms: int) -> Iterator[str]:
    """Says that nothing is stuck, and when waiting events return: a backlog looks like trouble."""
    stopped = found.breaker.say_limited(now_ms)
    limited = next((one for one in found.waiting if one.reason == "LIMITED"), None)
    backlog = ""
    if limited is not None and found.limit is not None:
        events = words.count_events(limited.events, found.complete)
        wait = "waits" if limited.events == 1 else "wait"
        backlog = (
            f" {events} {wait} for the limit (MaxActionsPerMinute={found.limit.per_minute}): "
            f"{found.limit.minutes} if nothing more comes. "
            "docs/runbook.md#events-wait-for-the-limit"
        )
    elif found.waiting:
        count = sum(one.events for one in found.waiting)
        last_ms = max(one.last_returns_at_ms for one in found.waiting)
        when = f"by {words.format_clock(last_ms)[:8]} UTC" if last_ms > now_ms else "now"
        returns = "returns by itself" if count == 1 else "return by themselves"
        if stopped:
            returns = "is tried again" if count == 1 else "are tried again"
        backlog = f" {words.count_events(count, found.complete)} {returns}, {when}."
    well = f"[yellow]{stopped}[/]" if stopped else "[green]Nothing is stuck.[/]"
    yield f"{well}{backlog}"
    if stopped:
        yield f"  docs/runbook.md#{KINDS['RATE_LIMITED'].runbook}"
        yield "  If the destination accepts requests earlier: [bold]once resume[/]"


def _view_queues(found: Status) -> Table:
    """Counts messages by queue. Readers of a dead end hide some, so only its sum counts."""
    names = ("messages", "in progress", "wait", "oldest")
    table = Table("", *(Column(name, justify="right") for name in names), box=None)
    queue, *dead_ends = found.queues
    hidden = min(found.hidden, queue.in_flight)
    oldest = "not known yet" if found.waiting else "-"
    if queue.oldest_seconds is not None:
        oldest = words.format_age(queue.oldest_seconds * 1000)
    in_progress = f"{queue.in_flight - hidden:,}" if found.complete else "unknown"
    waits = f"{hidden:,}" if found.complete else f"at least {hidden:,}"
    table.add_row(queue.name, f"{queue.total:,}", in_progress, waits, oldest)
    for dead_end in dead_ends:
        table.add_row(dead_end.name, f"{dead_end.total:,}", "-", "-", "-")
    return table


def _view_waiting(found: Status, now_ms: int) -> Iterator[str]:
    """Aligned by hand: a table would break sentences at the terminal's end."""
    rows: Sequence[tuple[str, str, str, str]] = [
        (
            words.count_events(one.events, found.complete),
            f"for {one.awaits}",
            one.text(now_ms),
            f"{one.reason}: {one.sentence}",
        )
        for one in found.waiting
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:3]
    for row in rows:
        aligned = "  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True))
        yield Row.of(f"waits: {aligned}  ", escape(words.shorten_ids(row[3])))
