"""`once status`: how calls flow, what waits until when, what is stuck, and what helps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from once.answers import answers
from once.operate import arrivals, log, pace, waiting
from once.operate import phrases as words
from once.operate.arrivals import Arrivals
from once.operate.command import ATTENTION, Operation, command
from once.operate.model import Answer, Model
from once.operate.pace import Breaker, Limit, State
from once.operate.queues import Depth, depth
from once.operate.stack import Stack
from once.operate.story import tell
from once.operate.waiting import Failing, Waits, named
from once.outcomes import SETTLED, Outcome
from once.records import OutcomeRecord
from once.screen import Row

QUEUES = {
    "queue": "EventQueueUrl",
    "parked": "ParkingQueueUrl",
    "dead letters": "EventDeadLettersUrl",
    "dead letters of the rule": "RuleDeadLettersUrl",
}
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_MINUTE_MS = 60_000
_LONG_SECONDS = 86_400  # as the alarm events-waiting-long has it
_NAMESPACE = "GenesysOnce"
# More than these that fail at once are one fault of the destination, not one of each.
_FEW_KINDS = 2


class Queue(Depth):
    """One queue of the stack."""

    name: str
    oldest_seconds: int | None = Field(
        description="Since when the oldest of what waits for its next try is on the queue; null "
        "for dead ends, where nothing waits, and where CloudWatch has no number. SQS itself tells "
        "no age of what was received three times."
    )


class Finding(Model):
    """Something that somebody has to do, and what."""

    what: str
    helps: str


class Again(Model):
    """Events for which the destination was asked more than once."""

    events: int = Field(description="How many.")
    example: str = Field(description="The key of one of them.")


class Status(Answer):
    """How calls flow, what waits, what is stuck and what helps."""

    queues: list[Queue]
    last_arrival_ms: int | None = Field(
        description="Null where nothing arrived for a day; on an embedded stack, for an hour, and "
        "there it is when the newest message was first recorded."
    )
    arrivals: list[Arrivals] = Field(
        description="By source and family, what was settled in the last 14 days, on an embedded "
        "stack in the last hour, and what waits."
    )
    outcomes: dict[Outcome, int] = Field(
        description="Deliveries that settled a message in the last hour, on an embedded stack "
        "messages; what waits is in `waiting`."
    )
    complete: bool = Field(
        description="False where the log holds more than one search answers: then at least so many "
        "events wait and fail."
    )
    hidden: int = Field(
        description="Messages of the queue that wait for their return time; copies wait, too."
    )
    waiting: list[Waits] = Field(description="What was handed back and is not settled.")
    failing: list[Failing] = Field(description="Of these, the kinds of event whose calls fail.")
    asked_again: Again | None = Field(
        description="Events whose destination was called more than once in the last hour and may "
        "have acted each time; null where there is none, and on AWS, where that is not read."
    )
    pipe: str
    pipe_reason: str | None
    machine: str
    embedded: bool
    only_observes: bool = Field(description="Whether nobody is called.")
    breaker: Breaker
    limit: Limit | None
    alarms: list[str]
    findings: list[Finding]


_RUNBOOK = "docs/runbook.md#"
# What a person can do about what waits; the rest passes by itself.
_HELPS = {
    "SETUP_FAULT": f"{_RUNBOOK}setup-fault; put right, the queue brings the events again",
    "THROTTLED": f"{_RUNBOOK}calls-are-throttled",
    "PACING_FAILED": f"{_RUNBOOK}pacing-unanswered",
    "ROUND_FAILED": f"{_RUNBOOK}machine-failing",
    "CLAIM_UNANSWERED": f"{_RUNBOOK}mostly-handed-back",
    "CLAIM_UNREADABLE": f"{_RUNBOOK}mostly-handed-back",
    "ORDER_UNKNOWN": f"{_RUNBOOK}mostly-handed-back",
    "PARKING_FAILED": f"{_RUNBOOK}mostly-handed-back",
    "OVERFLOW_FAILED": f"{_RUNBOOK}mostly-handed-back",
    "OVERFLOW_NOT_CONFIGURED": f"{_RUNBOOK}mostly-handed-back",
    "BATCH_TOO_LARGE": f"{_RUNBOOK}mostly-handed-back",
}


def register(app: typer.Typer) -> None:
    command(app, "status", "once status --json")(status)


@answers(Status)
def status(
    at: Operation,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show each kind of event with its last arrival.")
    ] = False,
) -> None:
    """Say how calls flow, what waits until when, what is stuck, and which command helps."""
    now_ms = log.now_ms()
    found = of(at.stack, now_ms)
    at.answer(found, _view(found, now_ms, verbose))
    if found.findings:
        raise typer.Exit(ATTENTION)


def of(stack: Stack, now_ms: int) -> Status:
    queues = [
        Queue(name=name, oldest_seconds=None, **depth(stack, output).model_dump())
        for name, output in QUEUES.items()
    ]
    breaker = pace.breaker(stack, now_ms)
    queued = queues[0].total
    if stack.embedded:
        # It makes no metrics of what is logged or sent, and counts nothing: one search for both.
        since_ms = now_ms - _HOUR_MS
        hour = log.search(stack, '"messageId"', since_ms)
        known = hour if len(hour) < log.MOST else None
        waits, complete = waiting.read(stack, now_ms, queued, known)
        complete = complete and known is not None
        counted, came = _in_records(hour, waits, since_ms), arrivals.of_records(hour, waits)
    else:
        hour = []
        waits, complete = waiting.read(stack, now_ms, queued)
        queues[0].oldest_seconds = _oldest_seconds(stack, waits, now_ms)
        counted, came = _in_metrics(stack, now_ms), arrivals.read(stack, now_ms, waits)
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
        arrivals=came,
        outcomes=counted.outcomes,
        complete=complete,
        hidden=sum(waiting.returns_at_ms(one) > now_ms for one in waits),
        waiting=waiting.by_reason(waits, breaker),
        failing=waiting.failing(waits, hour),
        asked_again=_asked_again(hour, now_ms),
        pipe=pipe["CurrentState"],
        pipe_reason=pipe.get("StateReason") or None,
        machine=machine["status"],
        embedded=stack.embedded,
        only_observes=stack.only_observes,
        breaker=breaker,
        limit=pace.limit(stack, queues[0].total),
        alarms=sorted(alarm["AlarmName"].removeprefix(f"{stack.name}-") for alarm in alarms),
        findings=[],
    )
    found.findings = list(_findings(found, now_ms))
    return found


def _oldest_seconds(stack: Stack, waits: Sequence[OutcomeRecord], now_ms: int) -> int | None:
    """A batch counts the age of the oldest that it hands back, and each record is of a batch. That
    may be another's, settled by now: none waits for longer than since it happened."""
    if not waits:
        return None
    since_ms = _minute_ms(min(one.recorded_at_ms for one in waits))
    metric = (_NAMESPACE, "SECONDS_WAITING", {"Stack": stack.name}, "Maximum")
    counted = dict(_metrics(stack, {"waiting": metric}, since_ms, now_ms, 60)["waiting"])
    ages = (
        min(
            counted[minute_ms] + (now_ms - one.recorded_at_ms) / 1000,
            (now_ms - (one.occurred_at_ms or 0)) / 1000,
        )
        for one in waits
        if (minute_ms := _minute_ms(one.recorded_at_ms)) in counted
    )
    return round(max(ages, default=0)) or None


def _minute_ms(at_ms: int) -> int:
    return at_ms - at_ms % _MINUTE_MS


@dataclass
class _Counted:
    outcomes: dict[Outcome, int]
    last_arrival_ms: int | None


def _in_metrics(stack: Stack, now_ms: int) -> _Counted:
    wanted = {
        outcome.lower(): (_NAMESPACE, outcome.value, {"Stack": stack.name}, "Sum")
        for outcome in Outcome
        if outcome in SETTLED
    }
    found = _metrics(stack, wanted, now_ms - _HOUR_MS, now_ms, 60)
    name = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    sent = ("AWS/SQS", "NumberOfMessagesSent", {"QueueName": name}, "Sum")
    arrivals = _metrics(stack, {"sent": sent}, now_ms - _DAY_MS, now_ms, 60)["sent"]
    return _Counted(
        {
            outcome: round(sum(value for _, value in found[outcome.lower()]))
            for outcome in Outcome
            if outcome in SETTLED
        },
        max((at_ms for at_ms, value in arrivals if value), default=None),
    )


def _in_records(
    hour: Sequence[OutcomeRecord], waits: Sequence[OutcomeRecord], since_ms: int
) -> _Counted:
    ends: dict[str, Outcome] = {}
    first_ms: dict[str, int] = {}
    for record in hour:
        first_ms.setdefault(record.message_id, record.recorded_at_ms)
        if record.outcome in SETTLED:
            ends.setdefault(record.message_id, record.outcome)
    counted = Counter(ends.values())
    for old in waits:
        first_ms.setdefault(old.message_id, old.recorded_at_ms)
    return _Counted(
        {outcome: counted[outcome] for outcome in Outcome if outcome in SETTLED},
        max((at_ms for at_ms in first_ms.values() if at_ms >= since_ms), default=None),
    )


def _asked_again(hour: Sequence[OutcomeRecord], now_ms: int) -> Again | None:
    again = [
        event.key
        for event in tell(hour, [], now_ms)
        if event.key and event.asked and event.asked.may_have_acted > 1
    ]
    return Again(events=len(again), example=again[-1]) if again else None


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
        yield Finding(what=what, helps=f"once parked list, {_RUNBOOK}events-parked")
    if dead.total:
        what = f"Their batch failed each time: {words.events(dead.total)}"
        yield Finding(what=what, helps=f"once dead-letters list, {_RUNBOOK}dead-letters")
    if undelivered.total:
        what = f"Not delivered by the rule: {words.events(undelivered.total)}"
        helps = f"once dead-letters list --from rule, {_RUNBOOK}rule-dead-letters"
        yield Finding(what=what, helps=helps)
    yield from _failures(found, now_ms)
    for waits in found.waiting:
        if waits.reason in _HELPS:
            yield Finding(
                what=f"{words.events(waits.events, found.complete)} handed back: {waits.said}",
                helps=f"{named(waits.example)}, {_HELPS[waits.reason]}",
            )
    if (queue.oldest_seconds or 0) > _LONG_SECONDS:
        age = words.age((queue.oldest_seconds or 0) * 1000)
        yield Finding(
            what=f"The oldest that waits is on the queue for {age}; after 10 days it is parked",
            helps=f"{_RUNBOOK}events-waiting-long",
        )
    for silence in arrivals.silences(found.arrivals, now_ms):
        helps = f"once check --look, {_RUNBOOK}events-silent"
        yield Finding(what=f"Stopped? {silence}", helps=helps)
    for alarm in found.alarms:
        yield Finding(what=f"Alarm {alarm}", helps=f"{_RUNBOOK}{alarm}")


def _failures(found: Status, now_ms: int) -> Iterator[Finding]:
    """Calls that fail: of everybody, or of one kind while others act."""
    breaker = found.breaker
    # Where nothing waits any more, its row only waits for the next event to be answered.
    if breaker.held is not None or not (found.queues[0].total or found.failing):
        return
    if breaker.state is not State.CLOSED:
        what = _sentence(breaker.text(now_ms))
        one = _one_that_waits(found)
        if breaker.rate_limited:
            yield Finding(what=what, helps=f"{one}{_RUNBOOK}the-destination-answers-429")
            return
        said = f": {found.failing[0].said}" if found.failing else ""
        yield Finding(
            what=what + said,
            helps=f"{one}{_RUNBOOK}breaker-open; events wait and spend no try. To repair it in "
            "peace: once hold",
        )
        return
    if breaker.failed and not found.failing:
        yield Finding(what=_sentence(breaker.text(now_ms)), helps=f"{_RUNBOOK}data-action-failing")
    kinds = found.failing
    first_tries = all(kind.most_tries < 2 for kind in kinds)
    if breaker.since_ms is not None and first_tries and len(kinds) > _FEW_KINDS:
        events = words.events(sum(kind.events for kind in kinds), found.complete)
        since = f"nobody was answered since {words.moment(breaker.since_ms)[:19]} UTC"
        yield Finding(
            what=f"{events} of {len(kinds)} families fail: {kinds[0].said}; {since}, so it may be "
            "an outage",
            helps=f"{named(kinds[0].example)}, {_RUNBOOK}data-action-failing",
        )
        return
    for kind in kinds:
        yield Finding(
            what=f"{kind.text(found.complete)}; {_others(found, kind)}",
            helps=f"{named(kind.example)}, {_RUNBOOK}data-action-failing",
        )


def _one_that_waits(found: Status) -> str:
    """The command about an event that fails, else about one that waits for the destination."""
    paused = (one for one in found.waiting if one.reason in ("RATE_LIMITED", "BREAKER_OPEN"))
    examples = [*(one.example for one in found.failing), *(one.example for one in paused)]
    example = next(iter(examples), None)
    return f"{named(example)}, " if example else ""


def _others(found: Status, kind: Failing) -> str:
    """The breaker's row is there from a failure until somebody is answered."""
    since_ms = found.breaker.since_ms
    if since_ms is None:
        if found.outcomes[Outcome.PROCESSED]:
            return "others act"
        return "nothing else acted in the last hour, so it may be an outage"
    # Whoever else was called would be among them, or would have been answered.
    alone = len(found.failing) == 1 and found.breaker.failed <= kind.events
    called = "called" if alone else "answered"
    since = f"nothing else was {called} since {words.moment(since_ms)[:19]} UTC"
    if kind.most_tries < 2:
        if alone and kind.given_up == kind.events:
            return f"{since}, so whether others fail too is not known"
        return f"{since}, so it may be an outage" + (", or these alone" if alone else "")
    # A second try counts only where somebody was answered after the first.
    return f"others were answered before, {since}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _view(found: Status, now_ms: int, verbose: bool = False) -> Iterator[RenderableType]:
    flow = escape(_sentence(found.breaker.text(now_ms)))
    yield flow if found.breaker.state is State.CLOSED else f"[yellow]{flow}[/]"
    if found.limit:
        yield _sentence(found.limit.text)
    if found.only_observes:
        yield words.OBSERVED
    yield _places(found)
    yield from _waits(found, now_ms)
    if found.asked_again is not None:
        again = found.asked_again
        yield Row.of(
            "asked again: ",
            escape(
                f"for {words.events(again.events)} of the last hour the destination was asked more "
                f"than once → {named(again.example)}; all that was asked: once received"
            ),
        )
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in found.outcomes.items() if count)
    # CloudWatch counts a message that is delivered again after its end once more.
    what = "messages" if found.embedded else "deliveries"
    yield f"{what} settled in the last hour: {counts or 'none'}"
    if found.last_arrival_ms is None:
        yield f"no event arrived in the last {'hour' if found.embedded else 'day'}"
    else:
        known = ", as its first record says" if found.embedded else ""
        yield f"the last event arrived {words.age(now_ms - found.last_arrival_ms)} ago{known}"
    if found.arrivals:
        yield "by source, when one was last settled, or happened if it waits:"
    for line in arrivals.lines(found.arrivals, now_ms, verbose):
        yield escape(line)
    yield f"pipe {found.pipe}, state machine {found.machine}"
    if not found.findings:
        yield f"[green]Nothing is stuck.[/]{_why_so_many(found)}"
    for finding in found.findings:
        what = escape(words.short(finding.what))
        yield Row.of("[red]![/] ", f"{what} → [bold]{escape(finding.helps)}[/]")


def _why_so_many(found: Status) -> str:
    """What waits for the limit looks like trouble, and is none."""
    limited = next((one for one in found.waiting if one.reason == "LIMITED"), None)
    if limited is None or found.limit is None:
        return ""
    events = words.events(limited.events, found.complete)
    wait = "waits" if limited.events == 1 else "wait"
    return (
        f" {events} {wait} for the limit (MaxActionsPerMinute={found.limit.per_minute}): "
        f"{found.limit.minutes} if nothing more comes, and nobody need do anything. "
        f"{_RUNBOOK}events-wait-for-the-limit"
    )


def _places(found: Status) -> Table:
    """How much is where. In a dead end whoever looks hides some of it, so only its sum counts."""
    columns = (
        Column(name, justify="right") for name in ("messages", "worked on", "wait", "oldest")
    )
    table = Table("", *columns, box=None)
    queue, *dead_ends = found.queues
    hidden = min(found.hidden, queue.in_flight)
    oldest = "" if queue.oldest_seconds is None else words.age(queue.oldest_seconds * 1000)
    worked_on = f"{queue.in_flight - hidden:,}" if found.complete else ""
    waits = f"{hidden:,}" if found.complete else f"at least {hidden:,}"
    table.add_row(queue.name, f"{queue.total:,}", worked_on, waits, oldest)
    for dead_end in dead_ends:
        table.add_row(dead_end.name, f"{dead_end.total:,}")
    return table


def _waits(found: Status, now_ms: int) -> Iterator[str]:
    """Aligned by hand: a table would break sentences where the terminal ends."""
    rows = [
        (
            words.events(one.events, found.complete),
            f"for {one.awaits}",
            f"next try {one.returns(now_ms)}",
            f"{one.reason}: {one.said}",
        )
        for one in found.waiting
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:3]
    for row in rows:
        aligned = "  ".join(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True))
        yield Row.of(f"waits: {aligned}  ", escape(words.short(row[3])))
