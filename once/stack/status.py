"""Reads the facts of a stack for `once status` and the console.

Nobody can look at delayed messages, so the records tell which events wait: each was put back and is
not settled. While requests are paused or the breaker is open, an event that comes back writes no
record unless its reason has changed: its last record may be days old.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from once_data_action.errors import ENDED

from once.model.findings import find
from once.model.reasons import FOR_THE_BREAKER, OF_DESTINATION, SETTLED, Outcome
from once.model.records import GRACE_MS, LONGEST_DELAY_MS, Record
from once.model.status import (
    UNKNOWN,
    Alarm,
    Arrived,
    Breaker,
    Depth,
    PipeFailure,
    State,
    Status,
    Waits,
)
from once.stack import log
from once.stack.dead_letters import QUEUE
from once.stack.facade import Stack, lacks_permission
from once.stack.stories import CANARY_FAMILY

_Part = TypeVar("_Part")
_DAY_MS = 86_400_000
_LOOKS_BACK_MS = (3_600_000, _DAY_MS, 11 * _DAY_MS)
_SETTLED = f'"outcome": ?"({"|".join(sorted(SETTLED))})"'
_TAKEN_MS = 600_000
_AGAIN_MS = 300_000  # a message that still fails has come back within four minutes


def read_status(stack: Stack, now_ms: int) -> Status:
    """Reads the facts, and finds in them what needs attention."""
    outputs, refused = stack.outputs, list[str]()

    def read(otherwise: _Part, part: Callable[..., _Part], *args: Any) -> _Part:
        """Reads a part; if these credentials may not read it, the others are shown all the same."""
        try:
            return part(*args)
        except ClientError as error:
            if not lacks_permission(error):
                raise
            refused.append(error.operation_name)
            return otherwise

    pipe, pipe_reason = read((UNKNOWN, ""), stack.read_pipe)
    breaker, table_error = Breaker(), ""
    try:
        breaker = read(breaker, stack.read_breaker, now_ms)
    except ClientError as error:
        table_error = str(error)
    empty = Depth(visible=0, in_flight=0, delayed=0)
    queue = read(empty, stack.read_depth, "EventQueueUrl")
    queued = queue.delayed or min(queue.total, 1)
    waiting = read(Waiting([], True), _read_waiting, stack, breaker, queued, now_ms)
    failure = waiting.failure
    parked = read(empty, stack.read_depth, QUEUE).total
    names = [name for name in outputs if name.endswith("LogGroupName")]
    status = Status(
        queue=queue,
        parked=parked,
        breaker=breaker,
        table_error=table_error,
        limit=int(outputs.get("MaxActionsPerMinute") or 0),
        waiting=_group_by_reason(waiting, breaker, now_ms),
        last_failure=failure.why if failure else "",
        is_answer_lost=bool(failure and failure.requests and failure.status is None),
        last_parked=read("", _read_parked, stack, now_ms) if parked else "",
        is_complete=waiting.is_complete,
        arrived=read([], _read_arrived, stack, now_ms),
        taken=read(0, _read_taken, stack, now_ms),
        recorded_ms=read(None, _read_recorded_ms, stack, now_ms),
        pipe=pipe,
        pipe_reason=pipe_reason,
        pipe_failures=read([], _read_pipe_failures, stack, now_ms),
        machine=read(UNKNOWN, _read_machine, stack),
        only_observes=stack.only_observes,
        alarms=read([], _read_alarms, stack),
        table=outputs["ClaimTableName"],
        function=outputs["DataActionFunctionName"],
        enrichment=outputs["EnrichmentFunctionName"],
        logs={name: outputs[name] for name in names},
    )
    status.refused = sorted({*refused})
    status.findings = list(find(status, now_ms))
    return status


def _read_machine(stack: Stack) -> str:
    arn = stack.outputs["StateMachineArn"]
    states = stack.client("stepfunctions")
    return str(states.describe_state_machine(stateMachineArn=arn)["status"])


def _read_recorded_ms(stack: Stack, now_ms: int) -> int | None:
    recent = log.search(stack, '"firstMessageId"', since_ms=now_ms - _TAKEN_MS, most=1)
    return recent.records[-1].recorded_at_ms if recent.records else None


def _read_parked(stack: Stack, now_ms: int) -> str:
    parked = log.search(stack, f'"{Outcome.PARKED}"', since_ms=now_ms - 14 * _DAY_MS, most=50)
    for record in reversed(parked.records):
        if record.outcome is Outcome.PARKED and record.family != CANARY_FAMILY:
            return f"{record.reason}: {record.why}"
    return ""


def _read_arrived(stack: Stack, now_ms: int) -> list[Arrived]:
    query = (
        f'filter ispresent(family) and family != "{CANARY_FAMILY}" and outcome != "RETRY"'
        " | stats count(*) as events, max(@timestamp) as last by source, family, outcome"
    )
    arrived: dict[tuple[str, str], Arrived] = {}
    for row in log.query(stack, "OutcomeLogGroupName", query, now_ms - _DAY_MS):
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
            description=alarm.get("AlarmDescription", "").partition(" Run: ")[0],
        )
        for alarm in found["MetricAlarms"]
    ]


@dataclass(frozen=True)
class Waiting:
    """The newest record of each event that waits."""

    records: list[Record]
    is_complete: bool
    """False if more can wait than one search of the log returns; then the newest are known."""
    failure: Record | None = None
    """The newest failed request. Its event may have met another reason since."""


def _read_waiting(stack: Stack, breaker: Breaker, queued: int, now_ms: int) -> Waiting:
    """Reads what waits, with `queued` messages on the queue; looks back further until records of
    so many events are found, or of no more."""
    waiting = Waiting([], True)
    for ago_ms in _LOOKS_BACK_MS if queued else ():
        before = len(waiting.records)
        waiting = _read_since(stack, breaker, now_ms - ago_ms, now_ms)
        is_all = len(waiting.records) >= queued or 0 < len(waiting.records) == before
        if is_all or not waiting.is_complete:
            break
    return waiting


def _read_since(stack: Stack, breaker: Breaker, since_ms: int, now_ms: int) -> Waiting:
    put_back = log.search(stack, f'"{Outcome.RETRY}"', since_ms=since_ms)
    waits = [record for record in put_back.records if record.outcome is Outcome.RETRY]
    newest = {record.first_message_id: record for record in waits}
    if not newest:
        return Waiting([], put_back.is_complete)
    pattern = _SETTLED if len(newest) > log.MOST_IDS else log.any_of(*newest)
    oldest_ms = min(record.recorded_at_ms for record in newest.values())
    ends = log.search(stack, pattern, since_ms=oldest_ms)
    for end in ends.records:
        put_back_last = newest.get(end.first_message_id)
        is_later = put_back_last and end.recorded_at_ms >= put_back_last.recorded_at_ms
        if end.is_settled and is_later:
            del newest[end.first_message_id]
    is_open = breaker.state is not State.CLOSED
    waits = [
        record
        for record in newest.values()
        if is_open or record.due_at_ms + LONGEST_DELAY_MS + GRACE_MS > now_ms
    ]
    since_ms = breaker.since_ms or now_ms  # failures of an earlier outage are another story
    failures = [
        record
        for record in put_back.records
        if record.reason in OF_DESTINATION and record.recorded_at_ms >= since_ms
    ]
    failures = list(filter(_has_met_the_cause, failures)) or failures
    is_complete = put_back.is_complete and ends.is_complete
    return Waiting(waits, is_complete, failures[-1] if failures else None)


def _group_by_reason(waiting: Waiting, breaker: Breaker, now_ms: int) -> list[Waits]:
    """Groups what waits, the largest group first."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in waiting.records:
        groups[record.reason or "RETRY"].append(record)
    made = []
    for code, records in groups.items():
        newest = max(records, key=lambda record: record.recorded_at_ms)
        witness = max(records, key=lambda one: (_has_met_the_cause(one), one.recorded_at_ms))
        oldest = min(records, key=_read_since_ms)
        is_paced = code in FOR_THE_BREAKER
        last_due_ms = max(record.due_at_ms for record in records)
        if last_due_ms < now_ms:  # it came back since, and wrote no record
            last_due_ms = now_ms + LONGEST_DELAY_MS
        made.append(
            Waits(
                reason=code,
                sentence=breaker.explain_wait(code, now_ms) if is_paced else witness.why,
                families=sorted({record.family for record in records if record.family}),
                events=len(records),
                since_ms=_read_since_ms(oldest),
                newest_ms=newest.recorded_at_ms,
                last_due_ms=last_due_ms,
                example=oldest.key.subject.id if oldest.key else oldest.first_message_id,
            )
        )
    return sorted(made, key=lambda waits: (-waits.events, waits.reason))


def _has_met_the_cause(record: Record) -> bool:
    """Returns false if the event only waits with others, or if an earlier delivery failed. A
    refused connection is no request."""
    is_earlier = (record.cause or "").startswith(ENDED)
    return bool(record.requests) or (record.reason == "CALL_FAILED" and not is_earlier)


def _read_since_ms(record: Record) -> int:
    return record.waits_since_ms or record.recorded_at_ms
