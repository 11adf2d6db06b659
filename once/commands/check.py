"""`once check`: looks at the path to the queue, sends canaries, and says what works."""

import json
import re
import shlex
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import click
from botocore.exceptions import ClientError
from once_enrichment.handler import CANARY
from rich.markup import escape

from once.cli_options import ATTENTION, YES, Operation, on_stack
from once.errors import OnceError
from once.model import words
from once.model.findings import is_throttled, read_concurrency
from once.model.reasons import REASONS, Outcome
from once.model.rule import Event, Rows
from once.model.status import State
from once.project import EXAMPLE
from once.stack.checks import Canary, Check, Checked, Trial, check_source, make_canary, make_copy
from once.stack.facade import Stack, read_clock_ms

_PATIENCE_SECONDS = 240
# At low traffic a message may take 20 s to its first request. What a canary asks for lasts longer.
_FAILS_MS = 45_000
_REJECTED_MS = 60_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Step = Callable[[str], None]


@on_stack("once check --yes", answers=Checked)
@click.option("--look", is_flag=True, help="Send nothing: look at rule, event source and pipe.")
@click.option(
    "--story", is_flag=True, help="Send the example story too, under ids of its own, as canaries."
)
@YES
def command(operation: Operation, look: bool, story: bool, yes: bool) -> None:
    """Check the path of events to the queue, and send canaries from there.

    Canaries take the real path, and the data action answers them: no destination sees them.
    """
    stack = operation.stack
    seen = Checked(run=None, checks=[*check_source(stack), _check_pipe(stack)])
    if look:
        operation.answer(seen, [*_view(seen.checks), _verdict(seen)])
        operation.exit(ATTENTION if seen.has_failed else 0)
    # Canaries take minutes, and where they would do harm this is the whole answer.
    if not operation.as_json:
        operation.answer(seen, _view(seen.checks))
    _refuse_if_stopped(stack, seen)
    who = "No destination sees them."
    if stack.parameters.get("ActionTarget") == "eventbridge":
        who = "The target bus gets those that are acted on, with the source genesys-once.check."
    operation.confirm(f"Send canaries? {who} It takes some minutes.", yes)
    with operation.errors.status("") as status:
        checked = run_checks(stack, seen, story, lambda text: status.update(f"{text} …"))
    if operation.as_json:
        operation.answer(checked, [])
    else:
        operation.say([*_view(checked.checks[len(seen.checks) :]), _verdict(checked)])
    operation.exit(ATTENTION if checked.has_failed else 0)


def run_checks(stack: Stack, seen: Checked, with_story: bool, step: Step) -> Checked:
    """Sends canaries, and adds their ends to what was seen."""
    run = str(uuid.uuid4())
    good = make_canary(run, "good")
    enrichment = invoke_enrichment(stack, good)
    if not enrichment.works:
        return Checked(run=None, checks=[*seen.checks, enrichment])
    pace = 10 if stack.is_local else 1
    copy = make_copy(good, "copy")
    broken = Canary("broken", f"not an event, on purpose: canary {run} of once check")
    trial = Trial(stack)
    story: list[Check] = []
    try:
        # The others follow the first: on a stack that settles nothing they would be parked after
        # this check has ended.
        step("waiting for the first outcome")
        trial.send(good)
        is_settled = trial.wait([good], _PATIENCE_SECONDS)
        now_ms = read_clock_ms()
        rejected_until_ms = now_ms + _REJECTED_MS // pace
        rejected = make_canary(run, "rejected", refuseUntilMs=rejected_until_ms)
        failing = make_canary(run, "failing", failUntilMs=now_ms + _FAILS_MS // pace)
        if is_settled:
            trial.send(failing, rejected, broken, copy)
            step("waiting for a copy, a rejected and an unreadable event")
            trial.wait([copy, rejected, broken], _PATIENCE_SECONDS)
            step("replaying the event that was parked")
            time.sleep(max(0, rejected_until_ms - read_clock_ms()) / 1000)
            if trial.replay(rejected):
                trial.wait_for_replay(rejected, _PATIENCE_SECONDS)
            step("waiting for the event that was put back")
            trial.wait([failing], _PATIENCE_SECONDS)
            if with_story:
                step("sending the example story")
                story.append(_send_story(trial, run))
    finally:  # also if it is interrupted; sooner than an alarm tells it
        parked = trial.clear_parked()
        trial.clear_rows()
    path = "queue, pipe, enrichment, state machine, action"
    replay = "a rejected event is parked, and a replay acts on it"
    retry = "a failed event waits, and is tried again"
    removed = f"{words.count(parked, 'message')} taken out of the dead-letter queue"
    checks = [
        enrichment,
        _judge(trial, path, good, "PROCESSED"),
        _judge(trial, "a copy meets its claim", copy, "DUPLICATE SAME_KEY"),
        _judge(trial, "an unreadable message is parked", broken, "PARKED UNREADABLE"),
        _judge(trial, replay, rejected, "PARKED REJECTED", "PROCESSED"),
        _judge(trial, retry, failing, "RETRY CALL_FAILED", "PROCESSED"),
        *story,
        Check.of("cleaned up", None, removed),
    ]
    return Checked(run=run, checks=[*seen.checks, *checks])


def invoke_enrichment(stack: Stack, canary: Canary) -> Check:
    """Invokes the enrichment as the pipe does: while it fails, no outcome of any event is recorded,
    so no canary would tell."""
    record = {
        "messageId": canary.name,
        "body": canary.body,
        "attributes": {"SentTimestamp": "0"},
        "messageAttributes": {CANARY: {"stringValue": "true", "dataType": "String"}},
    }
    function = stack.outputs["EnrichmentFunctionName"]
    try:
        answer = stack.client("lambda").invoke(FunctionName=function, Payload=json.dumps([record]))
    except ClientError as refusal:
        if not is_throttled(str(refusal)):
            raise
        reason = REASONS["THROTTLED"]
        detail = f"Lambda does not run it; {reason.remedy}: docs/runbook.md#{reason.page}. "
        return Check.of("enrichment", False, f"{detail}See: {read_concurrency(function)}")
    returned = json.loads(answer["Payload"].read())
    detail = ""
    if "FunctionError" in answer:
        error = ": ".join(filter(None, map(returned.get, ("errorType", "errorMessage"))))
        tail = shlex.join(["aws", "logs", "tail", stack.outputs["EnrichmentLogGroupName"]])
        detail = f"it fails, {error}; events wait on the queue. Its log: {tail} --since 1h"
    elif not returned:
        stop = shlex.join(["aws", "pipes", "stop-pipe", "--name", stack.outputs["PipeName"]])
        lost = "it returns nothing, so the pipe deletes events, and they are lost"
        detail = f"{lost}. Stop it: {stop}"
    return Check.of("enrichment", not detail, detail or "it reads an event")


def _check_pipe(stack: Stack) -> Check:
    state, reason = stack.read_pipe()
    if state == "RUNNING":
        return Check.of("pipe", True, state)
    return Check.of("pipe", False, ": ".join(filter(None, (state, reason))) + ". See: once status")


def _refuse_if_stopped(stack: Stack, seen: Checked) -> None:
    now_ms = read_clock_ms()
    breaker = stack.read_breaker(now_ms)
    if breaker.state is not State.CLOSED:
        text = words.capitalise(breaker.text(now_ms))
        raise OnceError(f"{text}: canaries would wait too.\nCheck again when requests are sent.")
    if seen.checks[-1].works is False:
        raise OnceError("The pipe does not run. Start it first: once resume")


def _judge(trial: Trial, name: str, canary: Canary, *expected: str) -> Check:
    """Compares the outcomes of a canary, in their order, with what is promised."""
    if not canary.message_id:
        return Check.of(name, None, "not tried: the first was not settled")
    records = trial.records_of(canary)
    if not records:
        page = "docs/runbook.md#outcomes-unrecorded"
        return Check.of(name, False, f"no outcome was recorded in time: {page}")
    left, ends = deque(expected), [f"{record.outcome} {record.reason}" for record in records]
    for end in ends:
        if left and end.startswith(left[0]):
            left.popleft()
    why = ""
    if left:
        why = f"; expected {left[0]}: {records[-1].why}"
        reason = REASONS.get(records[-1].reason or "")
        if reason and reason.remedy:
            why += f". {words.capitalise(reason.remedy)}: docs/runbook.md#{reason.page}"
    counted = ((end, len([*same])) for end, same in groupby(ends))
    shown = [end if times == 1 else f"{end} {words.count_times(times)}" for end, times in counted]
    return Check.of(name, not left, "; ".join(shown) + why)


def _send_story(trial: Trial, run: str) -> Check:
    """Sends the example story, each event when the one before it of its subject is settled, and
    compares the outcomes with those of the claim rule."""
    chains: dict[str, deque[Canary]] = defaultdict(deque)
    promised: dict[str, str] = {}
    rows, now_ms = Rows(), read_clock_ms()
    for number, line in enumerate(EXAMPLE.read_text("utf-8").splitlines(), 1):
        text = _UUID.sub(lambda match: str(uuid.uuid5(uuid.UUID(run), match[0])), line)
        canary = Canary(f"line {number}", text)
        event = Event.of({**canary.element, "firstMessageId": canary.name})
        verdict = rows.settle(event, now_ms)
        promised[canary.name] = _summarise(verdict.outcome, verdict.reason)
        chains[event.key[0]].append(canary)
    wrong, total = [], 0
    while rest := [chain for chain in chains.values() if chain]:
        together = [chain.popleft() for chain in rest]
        trial.send(*together)
        trial.wait(together, _PATIENCE_SECONDS)
        for canary in together:
            total += 1
            records = [record for record in trial.records_of(canary) if record.is_settled]
            outcome = _summarise(records[0].outcome, records[0].reason) if records else "no outcome"
            if outcome != promised[canary.name]:
                wrong.append(f"{canary.name} is {outcome}, promised {promised[canary.name]}")
        if wrong:
            break
    detail = "; ".join(wrong) or f"{words.count(total, 'event')} ended as promised"
    return Check.of("the example story", not wrong, detail)


def _summarise(outcome: Outcome, reason: str | None) -> str:
    return str(outcome) if outcome is Outcome.PROCESSED else f"{outcome} {reason}"


def _view(checks: Iterable[Check]) -> Iterator[str]:
    marks = {True: "[green]✓[/]", False: "[red]✗[/]", None: "[dim]·[/]"}
    for check in checks:
        yield f"{marks[check.works]} {escape(check.name)} [dim]{escape(check.detail)}[/]"


def _verdict(checked: Checked) -> str:
    if not checked.has_failed:
        looked = "Nothing that can be looked at is wrong." if checked.run is None else ""
        return f"[green]{looked or 'Every check that could run passed.'}[/]"
    more = f" More: once explain {checked.run}-good" if checked.run else ""
    return f"[red]Something does not work.[/]{more}"
