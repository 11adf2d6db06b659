"""What only a stack that runs can answer: events go through it, and come back when we said."""

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from once.errors import OnceError
from once.lines import Line, bus_entry, read_lines
from once.operate import check, log
from once.operate.canaries import Canaries
from once.outcomes import Outcome
from once.project import EXAMPLE
from once.prove.messages import (
    LATE_MS,
    POLL_SECONDS,
    PipeStopped,
    end_of,
    patience_seconds,
    records_since,
    send,
    settle,
    silence_seconds,
)
from once.prove.question import Question, UnansweredError
from once.prove.site import Site
from once.prove.throwaway import SOURCE_PREFIX, Deployed
from once.records import OutcomeRecord, settled

Json = Any
_FAILS_MS = 4_000
_EVENTS, _COPIES = 40, 3


def questions(stack: Deployed) -> Iterator[Question]:
    yield Question(
        name="deployed: once check",
        guards="every edge of a stack works: rule, queue, pipe, enrichment, state machine, action",
        ask=partial(_check, stack),
        expected={"fails": []},
    )
    yield Question(
        name="deployed: the example story through the bus",
        guards="bus and rule hand on what is sent, and each event becomes what it should",
        ask=partial(_story, stack),
        expected={"otherwise": []},
    )
    yield Question(
        name="deployed: copies at once, and failures",
        guards="of many copies at once one acts, and what fails acts later",
        ask=partial(_copies, stack),
        expected={"acts": _EVENTS, "not settled": 0},
    )
    yield Question(
        name="deployed: a missing table",
        guards="the error that a missing table gives has the name that we know it by",
        ask=partial(_missing_table, stack),
        expected={"status": "FAILED", "error": "DynamoDB.ResourceNotFoundException"},
    )
    yield Question(
        name="deployed: a return time that we set",
        guards="ChangeMessageVisibility wins over the time for which the pipe took the message",
        ask=partial(_return_time, stack),
        expected={"comes back": "when we said"},
    )


def _check(stack: Deployed, site: Site, broken: bool) -> Json:
    with PipeStopped(stack, site, wanted=broken):
        try:
            hidden = check.visibility_seconds(stack)
            check.refuse_where_it_would_harm(stack)
            edges = check.of(stack, check.look_at(stack), hidden, site.step).edges
        except OnceError as refusal:
            return {"refused": str(refusal)}
    return {"fails": [f"{edge.edge}: {edge.said}" for edge in edges if edge.works is False]}


def _story(stack: Deployed, site: Site, broken: bool) -> Json:
    """One line after the other, as it is written what must become of them; broken, by a source
    that the rule does not know."""
    lines = read_lines(EXAMPLE)
    expected = json.loads(EXAMPLE.with_suffix(".expected.json").read_text("utf-8"))
    if broken:
        sent_ms = log.now_ms()
        _send_by_bus(stack, lines[0], "somebody.else")
        time.sleep(silence_seconds(site))
        return {"otherwise": [] if records_since(stack, sent_ms) else "nothing arrives"}
    otherwise = []
    for line, wanted in zip(lines, expected, strict=True):
        site.step(f"the example story, line {line.number} of {len(lines)}")
        sent_ms = log.now_ms()
        envelope = _send_by_bus(stack, line, SOURCE_PREFIX)
        if envelope is None:
            end = end_of(stack, sent_ms, message_id=send(stack, line.text))
        else:
            end = end_of(stack, sent_ms, envelope_id=envelope)
        became = end.outcome if end else "nothing"
        if became != wanted["outcome"]:
            otherwise.append(f"line {line.number} is {became}, expected {wanted['outcome']}")
    return {"otherwise": otherwise}


def _send_by_bus(stack: Deployed, line: Line, prefix: str) -> str | None:
    """The id of its envelope; None if no bus can carry it."""
    if not line.is_json():
        return None
    event = json.loads(line.text)
    if "source" in event:
        event["source"] = event["source"].replace("aws.partner", prefix)
    entry = bus_entry(json.dumps(event))
    if entry is None or not entry["Source"].startswith(prefix):
        return None
    answer = stack.client("events").put_events(Entries=[{**entry, "EventBusName": stack.name}])
    return str(answer["Entries"][0]["EventId"])


def _missing_table(stack: Deployed, site: Site, broken: bool) -> Json:
    """Broken, the table is there."""
    role = site.role(reads=True)
    table = stack.outputs["ClaimTableName"] if broken else f"{site.run}-missing"
    state = {
        "Type": "Task",
        "QueryLanguage": "JSONata",
        "Resource": "arn:aws:states:::dynamodb:getItem",
        "Arguments": {"TableName": table, "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}},
        "End": True,
    }
    answer = site.client("stepfunctions").test_state(
        definition=json.dumps(state), roleArn=role, input="{}"
    )
    return {name: answer[name] for name in ("status", "error") if name in answer}


def _return_time(stack: Deployed, site: Site, broken: bool) -> Json:
    """Broken, nobody sets the time: pacing cannot be asked."""
    function = stack.outputs["PacingFunctionName"]
    functions = stack.client("lambda")
    if broken:
        functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        first, second = _handed_back_once(stack, site)
    finally:
        if broken:
            functions.delete_function_concurrency(FunctionName=function)
    waited_ms = second.recorded_at_ms - first.recorded_at_ms
    hidden_ms = check.visibility_seconds(stack) * 1_000
    if first.returns_at_ms is not None:
        late_ms = second.recorded_at_ms - first.returns_at_ms
        if -1_000 <= late_ms <= LATE_MS and waited_ms < hidden_ms - 2_000:
            return {"comes back": "when we said"}
    after = "after the queue's own time" if waited_ms >= hidden_ms - 2_000 else "sooner"
    return {"comes back": after}


def _handed_back_once(stack: Deployed, site: Site) -> tuple[OutcomeRecord, OutcomeRecord]:
    canary = Canaries.hatch(fails_for_ms=_FAILS_MS).failing
    sent_ms = log.now_ms()
    message_id = send(stack, canary.body)
    site.step("waiting until what was handed back comes again")
    seconds = patience_seconds(stack)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        story = records_since(stack, sent_ms).get(message_id, ())
        if len(story) >= 2:
            return story[0], story[1]
        time.sleep(POLL_SECONDS)
    raise UnansweredError(f"it did not come again within {seconds:g} s")


def _copies(stack: Deployed, site: Site, broken: bool) -> Json:
    """Many events at once, each three times, some of which fail at first. Broken, each copy is an
    event of its own."""
    canaries = []
    for number in range(_EVENTS):
        hatched = Canaries.hatch(fails_for_ms=_FAILS_MS)
        canaries.append(hatched.good if number % 4 else hatched.failing)
    bodies = [
        (Canaries.hatch(fails_for_ms=0).good if broken and copy else canary).copy()
        for copy in range(_COPIES)
        for canary in canaries
    ]
    sent_ms = log.now_ms()
    ids = [send(stack, body) for body in bodies]
    records = settle(stack, site, sent_ms, ids)
    ends = [settled(message_id, records) for message_id in ids]
    acts = sum(end is not None and end.outcome is Outcome.PROCESSED for end in ends)
    return {"acts": acts, "not settled": ends.count(None)}
