"""What can become of one task: the answers AWS and the destination may give, and what stays."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from proof.explorer.clock import NOW_MS
from proof.explorer.expressions import UndefinedResultError
from proof.explorer.gate import PK as GATE_PK
from proof.explorer.gate import REFUSED, Gate
from proof.explorer.machine import Ended, Failure, Frame, Machine, Position
from proof.explorer.outcomes import (
    Act,
    Deferral,
    Effect,
    Failed,
    Launched,
    Outcome,
    Parking,
    Refusal,
    Report,
    Standing,
    Then,
    Written,
)
from proof.explorer.relevance import Relevance
from proof.explorer.scenario import Fault
from proof.explorer.table import RefusedError, Row, changed

TIMEOUT = Failure("States.Timeout")
THROTTLED = Failure("DynamoDB.ThrottlingException")
WAIT_ANSWERS = (
    Failure("RateLimited", '{"retryAfterSeconds":5}'),
    Failure("RateLimited", '{"retryAfterSeconds":3600}'),
    Failure("Lambda.TooManyRequestsException"),
)

PUT, UPDATE = "dynamodb:putItem", "dynamodb:updateItem"
BACKLOG = {
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
}
NOWHERE = Standing("", ())


class Again:
    """The task is tried once more."""


AGAIN = Again()
Answered = tuple[Outcome, dict[str, Any] | Failure | Again]
Logged = tuple[tuple[str, str], ...]

_NAME = re.compile(r"\brun(\d+)\b")


class Tasks:
    """Everything depends on where the execution stands and on one row, so it is worked out once."""

    def __init__(self, machine: Machine, kinds: frozenset[Fault]) -> None:
        self._kinds = kinds
        self._machine = machine
        self._relevance = Relevance(machine.definition)
        self._gate = Gate(troubled=Fault.GATE in kinds)
        self._known: dict[tuple[str, str, int, int], tuple[Outcome, ...]] = {}
        self._landed: dict[tuple[str, str, int, bool], Written | None] = {}
        self._about: dict[str, tuple[str, tuple[str, str] | None]] = {}

    def begin(self, batch: list[dict[str, Any]], skew_ms: int) -> list[tuple[str, Standing]]:
        """Where a new execution may stand before its first step on the claims."""
        clock_ms = NOW_MS + skew_ms
        begun = self._settle(self._machine.start("run0", batch, clock_ms), clock_ms)
        return [(told, then) for told, then in begun if isinstance(then, Standing)]

    def about(self, text: str) -> tuple[str, tuple[str, str] | None]:
        """The next task's name, and the key of the row it is about."""
        if text not in self._about:
            position = _decoded(text)
            request = self._machine.arguments(position, NOW_MS)
            self._about[text] = (position.state, _key(request))
        return self._about[text]

    def outcomes(self, text: str, row: str, owner: int, skew_ms: int) -> tuple[Outcome, ...]:
        """All that may happen next to this execution, the good case first. The row's owner goes by
        the name that the execution has for it."""
        at = (text, row, owner, skew_ms)
        if at not in self._known:
            named = row.replace("run0", f"run{owner}")
            self._known[at] = tuple(self._work_out(_decoded(text), named, NOW_MS + skew_ms))
        return self._known[at]

    def land(self, request: str, by_put: bool, row: str, owner: int) -> Written | None:
        """The row after a late write, or None when its condition does not hold any more."""
        at = (request, row, owner, by_put)
        if at not in self._landed:
            named = row.replace("run0", f"run{owner}")
            self._landed[at] = self._write(by_put, json.loads(request), named)
        return self._landed[at]

    def _work_out(self, position: Position, row: str, clock_ms: int) -> Iterator[Outcome]:
        try:
            answers = list(self._answers(position, row, clock_ms))
        except UndefinedResultError as error:
            yield Outcome("cannot begin", Failed(str(error)))
            return
        for what, answer in answers:
            for weather, then in self._after(position, answer, clock_ms):
                yield what._replace(then=then, weather=weather)

    def _answers(self, position: Position, row: str, clock_ms: int) -> Iterable[Answered]:
        request = self._machine.arguments(position, clock_ms)
        resource = self._resource(position)
        match resource:
            case "dynamodb:getItem":
                return self._read(row)
            case "dynamodb:putItem" | "dynamodb:updateItem":
                return self._change(position, resource == PUT, request, row)
            case "lambda:invoke":
                return self._act(position, request["Payload"])
            case "sqs:sendMessage":
                return self._park(request["MessageBody"])
            case "aws-sdk:sqs:sendMessageBatch":
                return self._defer(request["Entries"])
        raise NotImplementedError(f"the explorer does not know the task {resource}")

    def _read(self, row: str) -> Iterator[Answered]:
        yield _good(f"finds {_told(row)}"), {"Item": json.loads(row)} if row else {}
        yield _bad("fails", Fault.ERROR), THROTTLED

    def _change(
        self, position: Position, by_put: bool, request: Any, row: str
    ) -> Iterator[Answered]:
        unheard: list[tuple[str, Failure | Again]] = [("hears no answer", TIMEOUT)]
        if self._machine.retries(position, TIMEOUT.error):
            unheard.append(("hears no answer and tries again", AGAIN))
        new = self._write(by_put, request, row)
        if new is None:
            yield _good(f"is refused by {_told(row)}", _refusal(by_put, request, row)), REFUSED
        else:
            told = f"makes it {_told(new.text.replace('run0', f'run{new.owner}'))}"
            replaced = {"Attributes": json.loads(row)} if row and "ReturnValues" in request else {}
            yield _good(told, new), replaced
            for heard, then in unheard:
                yield _bad(f"{told}, {heard}", Fault.ANSWER_LOST, new), then
        yield _bad("fails", Fault.ERROR), THROTTLED
        body, met = _renumbered(json.dumps(request, sort_keys=True))
        launched = Launched(by_put, _key_of(request), body, met)
        for heard, then in unheard:
            yield _bad(f"is still under way, {heard}", Fault.LATE, launched), then

    def _write(self, by_put: bool, request: Any, row: str) -> Written | None:
        old: Row | None = json.loads(row) if row else None
        try:
            item = changed(PUT if by_put else UPDATE, request, old)
        except RefusedError:
            return None
        kept = {name: item[name] for name in sorted(item) if self._relevance.keeps(name)}
        text = json.dumps(kept)
        names = _NAME.findall(text)
        owner = int(names[0]) if names else -1
        return Written(_key_of(request), text.replace(f"run{owner}", "run0"), owner, by_put)

    def _act(self, position: Position, payload: Any) -> Iterator[Answered]:
        message_id, key = payload["event"]["messageId"], payload["idempotencyKey"]
        if payload["deadlineMs"] <= NOW_MS:
            yield _good("is too late and does not act"), Failure("TooLate")
            return
        told = f"acts with key {key}"
        answered = {"StatusCode": 200, "Payload": {"result": "ACTED"}}
        yield _good(told, Act(message_id, key, answered=True)), answered
        unheard = Act(message_id, key, answered=False)
        yield _bad(f"{told}, but the answer is lost", Fault.ACTION, unheard), TIMEOUT
        if self._machine.retries(position, "Transient"):
            again = f"{told}, but the answer is lost; once more"
            yield _bad(again, Fault.ACTION, unheard), AGAIN
        maybe = f"{told}, but the answer is Uncertain"
        yield _bad(maybe, Fault.ACTION, unheard), Failure("Uncertain")
        yield _bad("does not act: no answer", Fault.ACTION), TIMEOUT
        yield _bad("does not act: Rejected", Fault.ACTION), Failure("Rejected")
        yield _bad("does not act: Uncertain", Fault.ACTION), Failure("Uncertain")
        for failure in WAIT_ANSWERS:
            told = f"does not act: {failure.error} {failure.cause}".rstrip()
            yield _bad(told, Fault.ASKED_TO_WAIT), failure

    def _park(self, body: Any) -> Iterator[Answered]:
        parked = Parking(body["element"]["messageId"], body["reason"])
        yield _good("parks it", parked), {"MessageId": "parked"}
        yield _bad("parks it, hears no answer", Fault.ANSWER_LOST, parked), TIMEOUT
        yield _bad("fails", Fault.ERROR), TIMEOUT

    def _defer(self, entries: Any) -> Iterator[Answered]:
        """Without deferrals left the call fails, which hands back what it was to defer."""
        message_ids = tuple(json.loads(entry["MessageBody"])["messageId"] for entry in entries)
        sent = [{"Id": entry["Id"], "MessageId": "fresh"} for entry in entries]
        yield _good("fails"), TIMEOUT
        for count in range(1, len(sent) + 1):
            told = "sends fresh messages for " + " and ".join(message_ids[:count])
            deferral = Deferral(message_ids[:count])
            yield _bad(told, Fault.DEFER, deferral), {"Successful": sent[:count], "Failed": []}
            yield _bad(f"{told}, hears no answer", Fault.DEFER, deferral), TIMEOUT

    def _after(
        self, position: Position, answer: dict[str, Any] | Failure | Again, clock_ms: int
    ) -> list[tuple[str, Then]]:
        if isinstance(answer, Again):
            return [("", self._standing(position))]
        try:
            return self._settle(self._hears(position, answer, clock_ms), clock_ms)
        except UndefinedResultError as error:
            return [("", Failed(str(error)))]

    def _hears(
        self, position: Position, answer: dict[str, Any] | Failure, clock_ms: int
    ) -> Position | Ended:
        if isinstance(answer, Failure):
            return self._machine.fail(position, answer, clock_ms)
        return self._machine.answer(position, answer, clock_ms)

    def _settle(
        self, position: Position | Ended, clock_ms: int, logged: Logged = ()
    ) -> list[tuple[str, Then]]:
        """Goes on to the next step that matters to the claims, and says what weather led there."""
        if isinstance(position, Ended):
            if isinstance(position.output, Failure):
                return [("", Failed(position.output.error))]
            failures = position.output["batchItemFailures"]
            handed_back = sorted(failure["itemIdentifier"] for failure in failures)
            return [("", Report(tuple(handed_back), logged))]
        found: dict[Then, str] = {}
        for weather, answer in self._aside(position, clock_ms):
            if isinstance(answer, Again):
                found.setdefault(self._standing(position), weather)
                continue
            if "cloudwatchlogs" in self._resource(position):
                logged = _logged(self._machine.arguments(position, clock_ms))
            heard = self._hears(position, answer, clock_ms)
            for later, then in self._settle(heard, clock_ms, logged):
                found.setdefault(then, weather + later)
        return [(told, then) for then, told in found.items()]

    def _aside(self, position: Position, clock_ms: int) -> Iterable[tuple[str, Any]]:
        """What may answer a task that has nothing to do with claims; `AGAIN` if it is not one."""
        resource = self._resource(position)
        match resource:
            case "aws-sdk:cloudwatchlogs:putLogEvents":
                return [("", {}), (" (unlogged)", Failure("States.TaskFailed"))]
            case "aws-sdk:sqs:getQueueAttributes":
                return [("", {"Attributes": BACKLOG})]
            case "aws-sdk:sqs:sendMessageBatch" if Fault.DEFER not in self._kinds:
                return [("", TIMEOUT)]
        request = self._machine.arguments(position, clock_ms)
        if request.get("Key", {}).get("pk") == {"S": GATE_PK}:
            return self._gate.answers(resource, request)
        return [("", AGAIN)]

    def _resource(self, position: Position) -> str:
        resource: str = self._machine.task(position)["Resource"]
        return resource.removeprefix("arn:aws:states:::")

    def _standing(self, position: Position) -> Standing:
        return Standing(*_renumbered(_encoded(self._relevance.forget(position))))


def _good(told: str, effect: Effect = None) -> Outcome:
    return Outcome(told, NOWHERE, effect)


def _bad(told: str, fault: Fault, effect: Effect = None) -> Outcome:
    return Outcome(told, NOWHERE, effect, fault)


def _renumbered(text: str) -> tuple[str, tuple[int, ...]]:
    """The text with all others that it names counted from 1, and what it called them before."""
    met: list[int] = []

    def counted(found: re.Match[str]) -> str:
        name = int(found[1])
        if name == 0:
            return found[0]
        if name not in met:
            met.append(name)
        return f"run{met.index(name) + 1}"

    return _NAME.sub(counted, text), tuple(met)


def _encoded(position: Position) -> str:
    frames = [vars(frame) for frame in position.frames]
    return json.dumps({**vars(position), "frames": frames}, sort_keys=True)


def _decoded(text: str) -> Position:
    fields = json.loads(text)
    return Position(**{**fields, "frames": tuple(Frame(**frame) for frame in fields["frames"])})


def _key(request: Any) -> tuple[str, str] | None:
    return _key_of(request) if "Key" in request or "Item" in request else None


def _key_of(request: Any) -> tuple[str, str]:
    key = request.get("Key") or request["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def _refusal(by_put: bool, request: Any, row: str) -> Refusal | None:
    """What may only be changed by its owner is rightly refused to others, so that is none."""
    item = json.loads(row or "{}")
    if by_put:
        own = (
            item.get("status") == {"S": "IN_PROGRESS"} and item["owner"] == request["Item"]["owner"]
        )
        return Refusal(_key_of(request), own)
    return None if "status" in item else Refusal(_key_of(request), False)


def _logged(request: Any) -> Logged:
    records = [json.loads(event["Message"]) for event in request["LogEvents"]]
    return tuple(
        sorted(
            (record["messageId"], record["outcome"]) for record in records if "outcome" in record
        )
    )


def _told(row: str) -> str:
    if not row:
        return "no row"
    item = json.loads(row)
    if "status" not in item:
        return f"the latest time {item['event_time']['N']}"
    outcome = f"/{item['outcome']['S']}" if "outcome" in item else ""
    return f"{item['status']['S']}{outcome} of {item['owner']['S']}"
