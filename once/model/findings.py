"""Decides what needs attention in the facts of a stack, and what helps."""

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from once.model import words
from once.model.reasons import FOR_THE_BREAKER, OF_DESTINATION, REASONS, Outcome
from once.model.status import UNKNOWN, Finding, Severity, State, Status, Waits

OPERATOR_POLICY = "docs/examples/operator-policy.json"
_HOUR_MS = 3_600_000
_SHORT_MS = 120_000  # a 429 that ends by then is the limit at work
_LONGEST_ERROR = 600  # the end of a refusal says which policy refused
_FEW_FAMILIES = 2  # if more fail at the same time, they are counted and not named


class Kind(NamedTuple):
    remedy: str
    page: str
    severity: Severity = Severity.TICKET


_PAGE = Severity.PAGE
_LOSSES = ("#rule-loses-events", "#outcomes-unrecorded")
_PAGING = ("rule-loses-events", "outcomes-unrecorded", "events-waiting", "destination-down")
KINDS = {
    "PAUSED": Kind("ask the operator, then resume", "destination-down"),
    "PIPE_STOPPED": Kind("start it; if it stops again, read its log", "events-waiting", _PAGE),
    "MACHINE_INACTIVE": Kind("deploy again", "outcomes-unrecorded", _PAGE),
    "NOTHING_RECORDED": Kind("find out what fails, immediately", "outcomes-unrecorded", _PAGE),
    "ENRICHMENT_FAILS": Kind(
        "repair it and deploy; messages stay in the queue", "the-enrichment-fails"
    ),
    "EXECUTIONS_FAIL": Kind(
        "repair what the error names; messages come back", "the-table-or-a-queue-fails"
    ),
    "TABLE_UNREADABLE": Kind(
        "repair the claim table: its permissions or its KMS key",
        "the-table-or-a-queue-fails",
        _PAGE,
    ),
    "DESTINATION_DOWN": Kind(
        "repair it; events wait and come back by themselves", "destination-down"
    ),
    "RATE_LIMITED": Kind(REASONS["RATE_LIMITED"].remedy, "the-destination-limits-requests"),
    "REQUESTS_FAIL": Kind("repair what the cause names", "the-destination-fails"),
    "EVENTS_PARKED": Kind("remove the cause, then replay or drop them", "events-parked"),
    "EVENTS_AGEING": Kind("end what they wait for; after 10 days they are parked", "waiting-long"),
    "WAIT_UNKNOWN": Kind("see if events are recorded", "outcomes-unrecorded"),
}


def find(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds what needs attention: first what may lose events, then what stops everything, then what
    some events wait for."""
    alarms = [*_find_alarms(status)]
    losses = [alarm for alarm in alarms if alarm.page.endswith(_LOSSES)]
    yield from losses
    if status.refused:
        requests = ", ".join(status.refused)
        text = f"These credentials lack a permission, so a part is not shown: {requests}"
        yield Finding(
            code="NOT_PERMITTED",
            severity=Severity.TICKET,
            sentence=text,
            remedy="give the operator this policy",
            commands=[],
            page=OPERATOR_POLICY,
        )
    yield from _find_stops(status, now_ms)
    yield from _find_silence(status)
    yield from _find_failed_executions(status, are_over=False)
    if not status.breaker.pause:
        yield from _find_failures(status, now_ms)
    yield from _find_waits(status, now_ms)
    yield from _find_failed_executions(status, are_over=True)
    if status.parked:
        text = f"Parked: {words.count(status.parked, 'event')}"
        if status.last_parked:
            text += f"; the newest for {status.last_parked}"
        yield _make("EVENTS_PARKED", text, "once parked list", count=status.parked)
    yield from (alarm for alarm in alarms if alarm not in losses)


def _find_alarms(status: Status) -> Iterator[Finding]:
    commands = {
        "rule-loses-events": ["once check --look"],
        "outcomes-unrecorded": ["once check", *_tail(status, "PipeLogGroupName")],
        "events-waiting": _tail(status, "PipeLogGroupName"),
        "events-parked": ["once parked list"],
        "parked-ageing": ["once parked list"],
        "events-silent": ["once check --look"],
    }
    for alarm in status.alarms:
        severity = _PAGE if alarm.name in _PAGING else Severity.TICKET
        kind = Kind(alarm.description, alarm.name, severity)
        named = commands.get(alarm.name, [])
        yield _make("ALARM", f"Alarm {alarm.name}", *named, since_ms=alarm.since_ms, kind=kind)


def _find_stops(status: Status, now_ms: int) -> Iterator[Finding]:
    if status.table_error:
        describe = f"aws dynamodb describe-table --table-name {shlex.quote(status.table)}"
        text = f"The claim table cannot be read: {status.table_error}"
        yield _make("TABLE_UNREADABLE", text, describe)
    if pause := status.breaker.pause:
        text = words.capitalise(status.breaker.text(now_ms))
        yield _make("PAUSED", text, "once resume", since_ms=pause.since_ms)
    if status.pipe not in ("RUNNING", UNKNOWN):
        reason = status.pipe_reason or "AWS gives no reason, so an operator may have stopped it"
        text = f"The pipe is {status.pipe}: {reason}"
        if status.queue.total:
            text += f"; {words.count(status.queue.total, 'message')} in the queue"
        yield _make("PIPE_STOPPED", text, "once resume", *_tail(status, "PipeLogGroupName"))
    if status.machine not in ("ACTIVE", UNKNOWN):
        text = f"The state machine is {status.machine}"
        yield _make("MACHINE_INACTIVE", text, "once check --look")


def _find_silence(status: Status) -> Iterator[Finding]:
    """Finds that nothing is recorded while messages go."""
    # Messages in flight are about to be recorded; while the breaker is open, events that come back
    # write no record.
    is_closed = status.breaker.state is State.CLOSED
    is_silent = status.recorded_ms is None and not status.refused and not status.pipe_failures
    if status.taken > status.queue.in_flight and is_silent and is_closed:
        taken = f"Messages were taken from the queue {words.count_times(status.taken)}"
        text = f"{taken} in ten minutes, and no outcome was recorded"
        logs = _tail(status, "EnrichmentLogGroupName")
        yield _make("NOTHING_RECORDED", text, "once check", *logs, count=status.taken)


def _find_failed_executions(status: Status, are_over: bool) -> Iterator[Finding]:
    """Finds executions of the pipe that fail. If other events were recorded since, the cause may be
    repaired."""
    queue, recorded_ms = status.queue, status.recorded_ms or 0
    if not queue.in_flight + queue.visible:
        return  # every message that failed has come back and is done
    for failure in sorted(status.pipe_failures, key=lambda failure: -failure.last_ms):
        if (recorded_ms > failure.last_ms) is not are_over:
            continue
        hope = (
            "Repaired, or for a few events only: others were recorded since. " if are_over else ""
        )
        clock = words.format_clock(failure.last_ms)
        number = words.count_times(failure.executions)
        error = failure.error.rstrip(".")
        if len(error) > _LONGEST_ERROR:
            error = f"{error[:_LONGEST_ERROR]} …"
        what = f"failed {number} in five minutes, last at {clock} UTC: {error}"
        if failure.is_enrichment and is_throttled(failure.error):
            commands = [read_concurrency(status.enrichment)]
            reason = REASONS["THROTTLED"]
            kind = Kind(reason.remedy, reason.page)
            finding = _make(
                "ENRICHMENT_THROTTLED", f"{hope}The enrichment {what}", *commands, kind=kind
            )
        elif failure.is_enrichment:
            logs = ["once check", *_tail(status, "EnrichmentLogGroupName")]
            finding = _make("ENRICHMENT_FAILS", f"{hope}The enrichment {what}", *logs)
        else:
            logs = _tail(status, "PipeLogGroupName")
            finding = _make("EXECUTIONS_FAIL", f"{hope}The state machine {what}", *logs)
        finding.count = failure.executions
        if status.recorded_ms is None and not status.refused:
            finding.severity = _PAGE
        yield finding


def _find_failures(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds that no request succeeds, from the first failure on, or that those of some families
    fail while others succeed. The newest record of a request has the cause."""
    failing = [waits for waits in status.waiting if waits.reason in OF_DESTINATION]
    if not status.breaker.is_healthy:
        yield from _find_outage(status, failing, now_ms)
        return
    for waits in failing:
        if waits.reason != "CALL_FAILED":
            continue
        what = " and ".join(waits.families)
        if len(waits.families) > _FEW_FAMILIES:
            what = f"{len(waits.families)} families"
        has_acted = any(Outcome.PROCESSED in arrived.outcomes for arrived in status.arrived)
        tail = "; requests for others succeed" if has_acted else "; it may be an outage"
        text = f"Requests for {status.count(waits.events)} of {what} fail: {waits.sentence}{tail}"
        since_ms, explain = waits.since_ms, _explain(waits)
        yield _make("REQUESTS_FAIL", text, explain, count=waits.events, since_ms=since_ms)


def _find_outage(status: Status, failing: Sequence[Waits], now_ms: int) -> Iterator[Finding]:
    breaker, since_ms = status.breaker, status.breaker.since_ms
    newest = max(failing, key=lambda waits: waits.newest_ms, default=None)
    is_limited = breaker.why == "429" or (newest and newest.reason == "RATE_LIMITED")
    if is_limited and since_ms and now_ms - since_ms < _SHORT_MS:
        return
    if failing and all(waits.reason == "SETUP_FAULT" for waits in failing):
        return  # the destination is not the cause, and its finding is that of the wait
    text = "No request succeeds"
    if since_ms:
        text = f"No request has succeeded since {words.format_second(since_ms)} UTC"
    if status.last_failure:
        text += f": {status.last_failure}"
    if breaker.until_ms:
        text += f"; the next request is at {words.format_clock(breaker.until_ms)} UTC"
    elif breaker.state is not State.CLOSED:
        text += "; the next event probes"
    commands = ["once resume"] if is_limited else []
    if status.is_answer_lost and not is_limited:
        text += ". Answers were lost, so each probe may act again; once pause stops probes"
        commands = ["once pause"]
    example = newest or next(iter(status.waiting), None)
    events = sum(w.events for w in status.waiting if w in failing or w.reason == "BREAKER_OPEN")
    finding = _make(
        "RATE_LIMITED" if is_limited else "DESTINATION_DOWN",
        text,
        *([_explain(example)] if example else _tail(status, "DataActionLogGroupName")),
        *commands,
        count=events or None,
        since_ms=since_ms,
    )
    yield _page_after_an_hour(finding, now_ms)


def _find_waits(status: Status, now_ms: int) -> Iterator[Finding]:
    """Finds the reasons for waiting that somebody has to repair."""
    for waits in status.waiting:
        reason = REASONS.get(waits.reason)
        is_told = waits.reason in ("CALL_FAILED", "RATE_LIMITED", *FOR_THE_BREAKER)
        if is_told or (reason and not reason.remedy):
            continue
        commands = [_explain(waits), *_tail(status, reason.log if reason else "")]
        if waits.reason == "THROTTLED":
            commands.append(read_concurrency(status.function))
        clock = words.format_clock(waits.newest_ms)
        text = f"{status.count(waits.events)} put back, last at {clock} UTC: {waits.sentence}"
        kind = Kind(reason.remedy, reason.page) if reason else Kind("see its cause", "waiting-long")
        finding = _make(waits.reason, text, *commands, count=waits.events, kind=kind)
        if waits.reason == "SETUP_FAULT" and status.breaker.since_ms:
            finding.since_ms = status.breaker.since_ms
            since = words.format_second(finding.since_ms)
            finding.sentence += f"; no request has succeeded since {since} UTC"
            _page_after_an_hour(finding, now_ms)
        yield finding
    delayed = status.queue.delayed
    is_closed = status.breaker.state is State.CLOSED and not status.refused
    if delayed and not status.waiting and is_closed:
        text = f"{words.count(delayed, 'event')} wait, and no record says why"
        yield _make("WAIT_UNKNOWN", text, "once check", count=delayed)
    oldest = min(status.waiting, key=lambda waits: waits.since_ms, default=None)
    if oldest and now_ms - oldest.since_ms > 24 * _HOUR_MS:
        text = f"The oldest event has waited for {words.format_age(now_ms - oldest.since_ms)}"
        yield _make("EVENTS_AGEING", text, _explain(oldest), since_ms=oldest.since_ms)


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
    kind = kind or KINDS[code]
    return Finding(
        code=code,
        severity=kind.severity,
        sentence=sentence,
        remedy=kind.remedy,
        commands=list(commands),
        page=f"docs/runbook.md#{kind.page}",
        count=count,
        since_ms=since_ms,
    )


def _explain(waits: Waits) -> str:
    return f"once explain {shlex.quote(waits.example)}"  # an id is whatever its sender wrote


def is_throttled(error: str) -> bool:
    """Returns true for an error by which Lambda refuses to run a function."""
    return "TooManyRequests" in error or "Rate Exceeded" in error


def read_concurrency(function: str) -> str:
    """Returns the command that reads the reserved concurrency of a function."""
    return f"aws lambda get-function-concurrency --function-name {shlex.quote(function)}"


def _tail(status: Status, output: str) -> list[str]:
    """Returns the command that reads the log group of this output, if the stack has it."""
    group = status.logs.get(output)
    return [f"aws logs tail {shlex.quote(group)} --since 1h"] if group else []
