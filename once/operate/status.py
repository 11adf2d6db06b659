"""`once status`: how calls flow, what waits until when, what is stuck, and what helps."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import typer
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.operate import log, pace, waiting
from once.operate import phrases as words
from once.operate.command import ATTENTION, Operation, command
from once.operate.model import Model
from once.operate.pace import Breaker, Limit, State
from once.operate.queues import Depth, depth
from once.operate.stack import Stack
from once.operate.waiting import Failing, Waits
from once.run.report import Outcome

QUEUES = {
    "queue": "EventQueueUrl",
    "parked": "ParkingQueueUrl",
    "dead letters": "EventDeadLettersUrl",
    "dead letters of the rule": "RuleDeadLettersUrl",
}
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_RECENT_MS = 900_000
_OLD_SECONDS = 1800
_NAMESPACE = "GenesysOnce"
_METRICS = {Outcome.RETRY: "HANDED_BACK"}


class Queue(Depth):
    name: str
    oldest_seconds: int | None = Field(
        description="Of those received less than three times, which is all that SQS tells; so null "
        "for dead ends, which looking receives, and where CloudWatch has no number."
    )


class Finding(Model):
    """Something that somebody has to do, and what."""

    what: str
    helps: str


class Status(Model):
    queues: list[Queue]
    last_arrival_ms: int | None = Field(
        description="Null where nothing arrived for a day; on an embedded stack, for an hour."
    )
    outcomes: dict[Outcome, int] = Field(
        description="Of the last hour, by message; RETRY counts deliveries that were handed back."
    )
    waiting: list[Waits] = Field(description="What was handed back and has not come back yet.")
    failing: list[Failing] = Field(description="Of these, the kinds of event whose calls fail.")
    pipe: str
    pipe_reason: str | None
    machine: str
    embedded: bool
    only_observes: bool = Field(description="Whether nobody is called.")
    breaker: Breaker
    limit: Limit | None
    alarms: list[str]
    findings: list[Finding]


# What a person can do about what waits; the rest passes by itself.
_HELPS = {
    "SETUP_FAULT": "put the secret or the mapping right; the queue brings the events again",
    "PACING_FAILED": "docs/runbook.md#pacing-failing",
    "ROUND_FAILED": "docs/runbook.md#machine-failing",
}


def register(app: typer.Typer) -> None:
    command(app, "status", "once status --json")(status)


def status(at: Operation) -> None:
    """Say how calls flow, what waits until when, what is stuck, and which command helps."""
    now_ms = log.now_ms()
    found = of(at.stack, now_ms)
    at.answer(found, _view(found, now_ms))
    if found.findings:
        raise typer.Exit(ATTENTION)


def of(stack: Stack, now_ms: int) -> Status:
    queues = _queues(stack, now_ms)
    waits = waiting.read(stack, now_ms)
    counted = _in_log(stack, now_ms) if stack.embedded else _in_metrics(stack, now_ms)
    pipe = stack.client("pipes").describe_pipe(Name=stack.outputs["PipeName"])
    machine = stack.client("stepfunctions").describe_state_machine(
        stateMachineArn=stack.outputs["StateMachineArn"]
    )
    alarms = stack.client("cloudwatch").describe_alarms(
        AlarmNamePrefix=f"{stack.name}-", StateValue="ALARM"
    )["MetricAlarms"]
    found = Status(
        queues=queues,
        last_arrival_ms=counted.last_arrival_ms,
        outcomes=counted.outcomes,
        waiting=waiting.by_reason(waits),
        failing=waiting.failing(waits),
        pipe=pipe["CurrentState"],
        pipe_reason=pipe.get("StateReason") or None,
        machine=machine["status"],
        embedded=stack.embedded,
        only_observes=stack.only_observes,
        breaker=pace.breaker(stack, now_ms),
        limit=pace.limit(stack, queues[0].total),
        alarms=sorted(alarm["AlarmName"].removeprefix(f"{stack.name}-") for alarm in alarms),
        findings=[],
    )
    found.findings = list(_findings(found, now_ms))
    return found


def _queues(stack: Stack, now_ms: int) -> list[Queue]:
    name = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    metric = ("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": name}, "Maximum")
    newest = _metrics(stack, {"age": metric}, now_ms - _RECENT_MS, now_ms, 60)["age"][:1]
    queues = []
    for name, output in QUEUES.items():
        now = depth(stack, output)
        known = newest and now.total and output == "EventQueueUrl"
        oldest = round(newest[0][1]) if known else None
        queues.append(Queue(name=name, oldest_seconds=oldest, **now.model_dump()))
    return queues


@dataclass
class _Counted:
    outcomes: dict[Outcome, int]
    last_arrival_ms: int | None


def _in_metrics(stack: Stack, now_ms: int) -> _Counted:
    metrics = {
        outcome.lower(): (_NAMESPACE, _METRICS.get(outcome, outcome.value), {"Stack": stack.name})
        for outcome in Outcome
    }
    wanted = {name: (*metric, "Sum") for name, metric in metrics.items()}
    found = _metrics(stack, wanted, now_ms - _HOUR_MS, now_ms, 60)
    name = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    sent = ("AWS/SQS", "NumberOfMessagesSent", {"QueueName": name}, "Sum")
    arrivals = _metrics(stack, {"sent": sent}, now_ms - _DAY_MS, now_ms, 60)["sent"]
    return _Counted(
        {outcome: round(sum(v for _, v in found[outcome.lower()])) for outcome in Outcome},
        max((at_ms for at_ms, value in arrivals if value), default=None),
    )


def _in_log(stack: Stack, now_ms: int) -> _Counted:
    """The embedded AWS makes no metrics of what is logged, so we count it here."""
    group = stack.outputs["OutcomeLogGroupName"]
    counted: Counter[Outcome] = Counter(dict.fromkeys(Outcome, 0))
    newest_ms = None
    for at_ms, line in log.insights(stack, group, now_ms - _HOUR_MS, "RECEIVED"):
        metrics = json.loads(line)
        if "RECEIVED" not in metrics:
            continue
        newest_ms = at_ms
        for outcome in Outcome:
            value = metrics.get(_METRICS.get(outcome, outcome.value), 0)
            counted[outcome] += sum(value) if isinstance(value, list) else value
    return _Counted(dict(counted), newest_ms)


def _metrics(
    stack: Stack,
    wanted: dict[str, tuple[str, str, dict[str, str], str]],
    since_ms: int,
    until_ms: int,
    period: int,
) -> dict[str, list[tuple[int, float]]]:
    """The values of each metric with their time, the newest first."""
    queries: list[dict[str, Any]] = [
        {
            "Id": name,
            "MetricStat": {
                "Metric": {
                    "Namespace": namespace,
                    "MetricName": metric,
                    "Dimensions": [{"Name": n, "Value": v} for n, v in dimensions.items()],
                },
                "Period": period,
                "Stat": statistic,
            },
        }
        for name, (namespace, metric, dimensions, statistic) in wanted.items()
    ]
    answer = stack.client("cloudwatch").get_metric_data(
        MetricDataQueries=queries,
        StartTime=datetime.fromtimestamp(since_ms / 1000, UTC),
        EndTime=datetime.fromtimestamp(until_ms / 1000, UTC),
        ScanBy="TimestampDescending",
    )
    return {
        result["Id"]: [
            (round(at.timestamp() * 1000), value)
            for at, value in zip(result["Timestamps"], result["Values"], strict=True)
        ]
        for result in answer["MetricDataResults"]
    }


def _findings(found: Status, now_ms: int) -> Iterator[Finding]:
    queue, parked, dead, undelivered = found.queues
    acted = found.outcomes[Outcome.PROCESSED]
    if found.breaker.held is not None:
        yield Finding(what=_sentence(found.breaker.text(now_ms)), helps="once resume")
    if found.pipe != "RUNNING":
        why = f": {found.pipe_reason}" if found.pipe_reason else ""
        yield Finding(what=f"The pipe is {found.pipe}{why}", helps="once resume")
    if found.machine != "ACTIVE":
        yield Finding(what=f"The state machine is {found.machine}", helps="deploy again")
    if parked.total:
        what = (
            f"Parked, since unreadable, refused for good or given up: {words.events(parked.total)}"
        )
        yield Finding(what=what, helps="once parked list, then replay or drop")
    if dead.total:
        what = f"Their batch failed each time: {words.events(dead.total)}"
        yield Finding(what=what, helps="once dead-letters list, then once dead-letters replay")
    if undelivered.total:
        what = f"Not delivered by the rule: {words.events(undelivered.total)}"
        yield Finding(what=what, helps="once dead-letters list --from rule, then replay")
    if found.breaker.state is not State.CLOSED and found.breaker.held is None:
        yield Finding(
            what=_sentence(found.breaker.text(now_ms)),
            helps="look at the destination; events wait and spend no try. "
            "While it is repaired: once hold",
        )
    elif found.breaker.held is None:
        for kind in found.failing:
            others = (
                "others act"
                if acted
                else "nothing else was answered in the last hour, so it may be an outage"
            )
            yield Finding(
                what=f"{kind.text()}; {others}", helps=f"once explain {kind.example.split('/')[2]}"
            )
    for waits in found.waiting:
        if waits.reason in _HELPS:
            yield Finding(
                what=_sentence(f"{words.reason(waits.reason)}: {words.events(waits.events)}")
                + " handed back",
                helps=_HELPS[waits.reason],
            )
    if (queue.oldest_seconds or 0) > _OLD_SECONDS and found.limit is None:
        yield Finding(
            what=f"The oldest event waits for {words.age((queue.oldest_seconds or 0) * 1000)}",
            helps="docs/runbook.md#events-waiting",
        )
    for alarm in found.alarms:
        yield Finding(what=f"Alarm {alarm}", helps=f"docs/runbook.md#{alarm}")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _view(found: Status, now_ms: int) -> Iterator[RenderableType]:
    flow = escape(_sentence(found.breaker.text(now_ms)))
    yield flow if found.breaker.state is State.CLOSED else f"[yellow]{flow}[/]"
    if found.limit:
        yield _sentence(found.limit.text)
    if found.only_observes:
        yield words.OBSERVED
    table = Table("", "visible", "worked on, or wait", "delayed", "oldest", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for queue in found.queues:
        oldest = "" if queue.oldest_seconds is None else words.age(queue.oldest_seconds * 1000)
        numbers = [f"{n:,}" for n in (queue.visible, queue.in_flight, queue.delayed)]
        table.add_row(queue.name, *numbers, oldest)
    yield table
    counts = ", ".join(
        f"{count:,} {outcome}"
        for outcome, count in found.outcomes.items()
        if count and outcome is not Outcome.RETRY
    )
    yield f"last hour: {counts or 'nothing settled'}"
    for waits in found.waiting:
        yield f"waits: {escape(waits.text())}"
    for kind in found.failing:
        yield f"fails: {escape(kind.text())}"
    if found.last_arrival_ms is None:
        yield f"no event arrived in the last {'hour' if found.embedded else 'day'}"
    else:
        yield f"the last event arrived {words.age(now_ms - found.last_arrival_ms)} ago"
    yield f"pipe {found.pipe}, state machine {found.machine}"
    if not found.findings:
        yield "[green]Nothing is stuck.[/]"
    for finding in found.findings:
        yield f"[red]![/] {escape(finding.what)} → [bold]{escape(finding.helps)}[/]"
