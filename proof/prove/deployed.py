"""Asks a running stack: do events pass through it, and return at the time that we set?"""

import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from once.errors import OnceError
from once.lines import Line, parse, read_lines
from once.operate import check, log
from once.operate.canaries import Canaries, send_canary
from once.outcomes import Outcome
from once.project import EXAMPLE
from once.records import OutcomeRecord, settled
from once.sending import bus_entry
from proof.prove.messages import (
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
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import SOURCE_PREFIX, Deployed

Json = Any
_FAILS_MS = 4_000
_EVENTS, _COPIES = 40, 3


def questions(stack: Deployed) -> Iterator[Question]:
    yield Question(
        name="deployed: once check",
        guards="every part of a stack works: rule, queue, pipe, enrichment, state machine, action",
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
        name="deployed: a deleted table",
        guards="DynamoDB keeps a backup of a deleted table that had point-in-time recovery",
        ask=_deleted_table,
        expected={"backups": 1},
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
            hidden = check.read_visibility_seconds(stack)
            check.refuse_if_harmful(stack)
            checks = check.run_checks(stack, check.look_at(stack), hidden, site.step).checks
        except OnceError as refusal:
            return {"refused": str(refusal)}
    return {"fails": [f"{one.name}: {one.said}" for one in checks if one.works is False]}


def _story(stack: Deployed, site: Site, broken: bool) -> Json:
    """One line after the other, as it is written what must become of them; broken, by a source
    that the rule does not know."""
    lines = read_lines(EXAMPLE)
    expected = json.loads(EXAMPLE.with_suffix(".expected.json").read_text("utf-8"))
    if broken:
        sent_ms = log.now_ms()
        _send_by_bus(stack, lines[0], "another.source")
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
    event = parse(line.text)
    if not isinstance(event, dict):
        return None
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


def _deleted_table(site: Site, broken: bool) -> Json:
    """Broken, the table had no point-in-time recovery. The backup costs nothing and ends by itself:
    PointInTimeRecovery_Howitworks.html, "Delete a table with PITR enabled"."""
    dynamodb, name = site.client("dynamodb"), f"{site.run}-{'plain' if broken else 'kept'}"
    site.ledger.creating("table", name)
    dynamodb.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.get_waiter("table_exists").wait(TableName=name)
    dynamodb.update_continuous_backups(
        TableName=name,
        PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": not broken},
    )
    dynamodb.delete_table(TableName=name)
    dynamodb.get_waiter("table_not_exists").wait(TableName=name)
    if site.place.is_local:
        raise UnansweredError("the emulator makes no backup of a deleted table")
    found = dynamodb.list_backups(TableName=name, BackupType="SYSTEM")["BackupSummaries"]
    return {"backups": len(found)}


def _return_time(stack: Deployed, site: Site, broken: bool) -> Json:
    """Broken, no time is set: pacing cannot be invoked."""
    function = stack.outputs["PacingFunctionName"]
    functions = stack.client("lambda")
    if broken:
        functions.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=0)
    try:
        first, second = _returned_once(stack, site)
    finally:
        if broken:
            functions.delete_function_concurrency(FunctionName=function)
    waited_ms = second.recorded_at_ms - first.recorded_at_ms
    hidden_ms = check.read_visibility_seconds(stack) * 1_000
    if first.returns_at_ms is not None:
        late_ms = second.recorded_at_ms - first.returns_at_ms
        if -1_000 <= late_ms <= LATE_MS and waited_ms < hidden_ms - 2_000:
            return {"comes back": "when we said"}
    after = "after the queue's own time" if waited_ms >= hidden_ms - 2_000 else "sooner"
    return {"comes back": after}


def _returned_once(stack: Deployed, site: Site) -> tuple[OutcomeRecord, OutcomeRecord]:
    canary = Canaries.create(fails_for_ms=_FAILS_MS).failing
    sent_ms = log.now_ms()
    message_id = send_canary(stack, canary.body)
    site.step("waiting until the returned message comes back")
    seconds = patience_seconds(stack)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        story = records_since(stack, sent_ms).get(message_id, ())
        if len(story) >= 2:
            return story[0], story[1]
        time.sleep(POLL_SECONDS)
    raise UnansweredError(f"it did not come again within {seconds:g} s")


def _copies(stack: Deployed, site: Site, broken: bool) -> Json:
    """Sends many events, each three times, some of which fail at first. If broken, each copy is an
    event of its own."""
    canaries = []
    for number in range(_EVENTS):
        created = Canaries.create(fails_for_ms=_FAILS_MS)
        canaries.append(created.good if number % 4 else created.failing)
    bodies = [
        (Canaries.create(fails_for_ms=0).good if broken and copy else canary).copy()
        for copy in range(_COPIES)
        for canary in canaries
    ]
    sent_ms = log.now_ms()
    ids = [send_canary(stack, body) for body in bodies]
    records = settle(stack, site, sent_ms, ids)
    ends = [settled(message_id, records) for message_id in ids]
    acts = sum(end is not None and end.outcome is Outcome.PROCESSED for end in ends)
    return {"acts": acts, "not settled": ends.count(None)}
