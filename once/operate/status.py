"""`once status`: what waits, what became of the last hour, what is stuck and what mends it."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import typer
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.operate import gate, log
from once.operate import phrases as words
from once.operate.command import ATTENTION, Operation, command
from once.operate.gate import Destination, Limit
from once.operate.model import Model
from once.operate.queues import Depth, depth
from once.operate.stack import Stack
from once.run.report import Outcome

QUEUES = {
    "queue": "EventQueueUrl",
    "parked": "ParkingQueueUrl",
    "dead letters": "EventDeadLettersUrl",
    "dead letters of the rule": "RuleDeadLettersUrl",
}
_HOUR_MS = 3_600_000
_RECENT_MS = 900_000
_OLD_SECONDS = 1800
_NAMESPACE = "GenesysOnce"


class Queue(Depth):
    name: str
    oldest_seconds: int | None = Field(
        description="Of those received less than three times, which is all that SQS tells; so null "
        "for dead ends, which looking receives, and where CloudWatch has no number."
    )


class Finding(Model):
    """Something that somebody has to do, and what."""

    what: str
    mend: str


class Status(Model):
    queues: list[Queue]
    outcomes: dict[Outcome, int] = Field(description="Of the last hour.")
    handed_back: dict[str, int] = Field(description="By reason, in the last 15 minutes.")
    pipe: str
    pipe_reason: str | None
    machine: str
    only_observes: bool = Field(description="Whether nobody is called.")
    limit: Limit | None
    destination: Destination | None
    alarms: list[str]
    findings: list[Finding]


def register(app: typer.Typer) -> None:
    command(app, "status", "once status --json")(status)


def status(at: Operation) -> None:
    """Say what waits, what became of the last hour, what is stuck and which command mends it."""
    now_ms = log.now_ms()
    found = of(at.stack, now_ms)
    at.answer(found, _view(found, now_ms))
    if found.findings:
        raise typer.Exit(ATTENTION)


def of(stack: Stack, now_ms: int) -> Status:
    queues = _queues(stack, now_ms)
    waiting = queues[0].total
    pipe = stack.client("pipes").describe_pipe(Name=stack.outputs["PipeName"])
    machine = stack.client("stepfunctions").describe_state_machine(
        stateMachineArn=stack.outputs["StateMachineArn"]
    )
    alarms = stack.client("cloudwatch").describe_alarms(
        AlarmNamePrefix=f"{stack.name}-", StateValue="ALARM"
    )["MetricAlarms"]
    found = Status(
        queues=queues,
        outcomes=_in_log(stack, now_ms) if stack.embedded else _in_metrics(stack, now_ms),
        handed_back=_handed_back(stack, now_ms),
        pipe=pipe["CurrentState"],
        pipe_reason=pipe.get("StateReason") or None,
        machine=machine["status"],
        only_observes=stack.only_observes,
        limit=gate.limit(stack, waiting),
        destination=gate.destination(stack, now_ms),
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
        oldest = round(newest[0]) if known else None
        queues.append(Queue(name=name, oldest_seconds=oldest, **now.model_dump()))
    return queues


def _in_metrics(stack: Stack, now_ms: int) -> dict[Outcome, int]:
    metrics = {
        outcome.lower(): (_NAMESPACE, outcome.value, {"Stack": stack.name}, "Sum")
        for outcome in Outcome
    }
    found = _metrics(stack, metrics, now_ms - _HOUR_MS, now_ms, 60)
    return {outcome: round(sum(found[outcome.lower()])) for outcome in Outcome}


def _in_log(stack: Stack, now_ms: int) -> dict[Outcome, int]:
    """The embedded AWS makes no metrics of what is logged, so we count it here."""
    group = stack.outputs["OutcomeLogGroupName"]
    counted: Counter[Outcome] = Counter(dict.fromkeys(Outcome, 0))
    for _, line in log.insights(stack, group, now_ms - _HOUR_MS, "_aws"):
        metrics = json.loads(line)
        if "Family" in metrics:
            counted.update({outcome: metrics.get(outcome.value, 0) for outcome in Outcome})
    return dict(counted)


def _metrics(
    stack: Stack,
    wanted: dict[str, tuple[str, str, dict[str, str], str]],
    since_ms: int,
    until_ms: int,
    period: int,
) -> dict[str, list[float]]:
    """The values of each metric, the newest first."""
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
    return {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}


def _handed_back(stack: Stack, now_ms: int) -> dict[str, int]:
    messages: dict[str, set[str]] = {}
    for record in log.recent(stack, '{ $.outcome = "RETRY" }', now_ms - _RECENT_MS):
        if record.outcome is Outcome.RETRY and record.reason:
            messages.setdefault(record.reason, set()).add(record.message_id)
    return {reason: len(ids) for reason, ids in sorted(messages.items())}


def _findings(found: Status, now_ms: int) -> Iterator[Finding]:
    queue, parked, dead, undelivered = found.queues
    if found.pipe != "RUNNING":
        why = f": {found.pipe_reason}" if found.pipe_reason else ""
        yield Finding(what=f"The pipe is {found.pipe}{why}", mend="once resume")
    if found.machine != "ACTIVE":
        yield Finding(what=f"The state machine is {found.machine}", mend="deploy again")
    if parked.total:
        what = f"Parked, since unreadable or refused for good: {words.events(parked.total)}"
        yield Finding(what=what, mend="once parked list, then replay or drop")
    if dead.total:
        what = f"Tried too often: {words.events(dead.total)}"
        yield Finding(what=what, mend="once dead-letters list, then once dead-letters replay")
    if undelivered.total:
        what = f"Not delivered by the rule: {words.events(undelivered.total)}"
        yield Finding(what=what, mend="once dead-letters list --from rule, then replay")
    if found.destination and found.destination.next_probe_at_ms is not None:
        yield Finding(
            what=found.destination.text(now_ms).capitalize(),
            mend="nothing here: events wait and lose no try; look at the destination",
        )
    if "SETUP_FAULT" in found.handed_back:
        yield Finding(
            what=f"{words.reason('SETUP_FAULT').capitalize()}: "
            f"{words.events(found.handed_back['SETUP_FAULT'])} handed back",
            mend="put the secret or the mapping right; the queue brings the events again",
        )
    if (queue.oldest_seconds or 0) > _OLD_SECONDS and found.limit is None:
        yield Finding(
            what=f"The oldest event waits for {words.age((queue.oldest_seconds or 0) * 1000)}",
            mend="docs/runbook.md#events-waiting",
        )
    for alarm in found.alarms:
        yield Finding(what=f"Alarm {alarm}", mend=f"docs/runbook.md#{alarm}")


def _view(found: Status, now_ms: int) -> Iterator[RenderableType]:
    table = Table("", "waiting", "being worked on", "delayed", "oldest", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for queue in found.queues:
        oldest = "" if queue.oldest_seconds is None else words.age(queue.oldest_seconds * 1000)
        numbers = [f"{n:,}" for n in (queue.visible, queue.in_flight, queue.delayed)]
        table.add_row(queue.name, *numbers, oldest)
    yield table
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in found.outcomes.items() if count)
    yield f"last hour: {counts or 'nothing'}"
    if found.handed_back:
        reasons = "; ".join(
            f"{count:,} {reason} ({words.reason(reason)})"
            for reason, count in found.handed_back.items()
        )
        yield f"handed back in the last 15 minutes: {reasons}"
    yield f"pipe {found.pipe}, state machine {found.machine}"
    if found.only_observes:
        yield words.OBSERVED
    if found.limit:
        yield found.limit.text
    if found.destination:
        yield found.destination.text(now_ms)
    if not found.findings:
        yield "[green]Nothing is stuck.[/]"
    for finding in found.findings:
        yield f"[red]![/] {escape(finding.what)} → [bold]{escape(finding.mend)}[/]"
