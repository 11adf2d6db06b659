"""The possible results of one task: the responses of AWS and the destination, and what they leave.

A task is known by what it is: a write to the claims, a look at them, a call of the data action or
of pacing, a message to the parking queue.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from proof.asl.errors import Failure
from proof.asl.expressions import Expressions
from proof.asl.jsonata import Library
from proof.asl.machine import Call, Machine
from proof.asl.position import TOP, Ended, Execution, Path, Position, decoded, encoded
from proof.asl.services import REFUSED, function_error, function_result, result
from proof.definition.asl import SUBSTITUTIONS
from proof.explorer import pacing
from proof.explorer.clock import NOW_MS, unranked
from proof.explorer.outcomes import (
    Act,
    Answered,
    Called,
    Effect,
    Failed,
    Launched,
    Outcome,
    Parking,
    Record,
    Refusal,
    Report,
    Standing,
    Then,
    Written,
)
from proof.explorer.pacing import BREAKER, PACE, Pacing
from proof.explorer.relevance import Relevance
from proof.explorer.scenario import ORGANISATION, USER, Fault, Scenario
from proof.explorer.table import Key, RefusedError, Row, changed

TIMEOUT = Failure("States.Timeout")
# As AWS names the throttle of an on-demand table.
THROTTLED = Failure("DynamoDB.AmazonDynamoDBException")
NO_FUNCTION_FREE = Failure("Lambda.TooManyRequestsException")

PUT, UPDATE = "dynamodb:putItem", "dynamodb:updateItem"
NOWHERE = Standing("", ())
PLACE = ("pk", "sk")
# Of one subject the destination asks for longer than anybody waits at once, of all others for less.
_SECONDS_ASKED = {f"{ORGANISATION}/{USER}": 40_000}
_SECONDS_ASKED_OF_OTHERS = 30
_NO_FUNCTION = "does not act: no function is free"

# What expressions came to, for every machine that has the same ones.
EXPRESSIONS = Expressions(Library())


class Again:
    """The task is tried once more, uncounted: once more is never worse than giving up, and once
    less is the failure that comes anyway."""


AGAIN = Again()


@dataclass(frozen=True)
class Said:
    """A conversation with pacing has come one step further."""

    what: Any


Heard = dict[str, Any] | Failure | Again | Said
Reply = tuple[Outcome, Heard]

_NAME = re.compile(r"\brun(\d+)\b")
_ANOTHER = re.compile(r"\brun([1-9]\d*)\b")


def machine_of(
    definition: dict[str, Any], scenario: Scenario, expressions: Expressions = EXPRESSIONS
) -> Machine:
    return Machine(definition, expressions, one_by_one=not scenario.side_by_side, timeless=True)


class Tasks:
    """Everything depends on where the execution stands and on one row, so it is worked out once."""

    def __init__(self, machine: Machine, scenario: Scenario) -> None:
        self._machine = machine
        filled_in = scenario.filled_in()
        self._kinds = scenario.kinds
        self._paced = scenario.paced is not None
        self._own_action = filled_in["OwnAction"] == "true"
        self._data_action = filled_in["DataActionFunction"]
        used_up = scenario.paced is not None and scenario.paced.used_up
        self._mute = scenario.paced is not None and scenario.paced.mute
        self.pacing = Pacing(int(filled_in["MaxActionsPerMinute"]), used_up=used_up)
        self._relevance = Relevance(machine.definition, paced=self._paced)
        self._known: dict[tuple[str, Path, str, int, int], tuple[Outcome, ...]] = {}
        self._calls: dict[tuple[str, Path, int], Call | Failure] = {}
        self._thens: dict[tuple[str, Path, str, int], list[Then]] = {}
        self._landed: dict[tuple[str, str, int, bool], Written | None] = {}
        self._about: dict[str, tuple[tuple[Path, str, Key | None], ...]] = {}

    def begin(self, batch: list[dict[str, Any]], skew_ms: int) -> list[Then]:
        """Returns the positions of a new execution before its first step, or its end."""
        clock_ms = NOW_MS + skew_ms
        execution = Execution("arn:aws:states:us-east-1:123456789012:express:once:run0", batch)
        return self._settle(self._machine.start(execution, clock_ms), clock_ms)

    def about(self, text: str) -> tuple[tuple[Path, str, Key | None], ...]:
        """Returns for each place the next task's name and the key of its row."""
        if text not in self._about:
            position, said = _decoded(text)
            self._about[text] = tuple(
                (place, position.scope(place).state, self._key(text, said, place))
                for place in position.places()
            )
        return self._about[text]

    def _call(self, text: str, place: Path, clock_ms: int) -> Call | Failure:
        at = (text, place, clock_ms)
        if at not in self._calls:
            self._calls[at] = self._machine.call(_decoded(text)[0], clock_ms, place)
        return self._calls[at]

    def _key(self, text: str, said: list[Any], place: Path) -> Key | None:
        call = self._call(text, place, NOW_MS)
        if isinstance(call, Failure):
            return None
        if call.resource.endswith("lambda:invoke"):
            if self._is_data_action(call):
                return BREAKER if self._notes_itself else None
            return self.pacing.reached(call.arguments["Payload"], said).key
        return _key(call.arguments)

    @property
    def _notes_itself(self) -> bool:
        return self._paced and not self._own_action

    def _is_data_action(self, call: Call) -> bool:
        return bool(call.arguments["FunctionName"] == self._data_action)

    def outcomes(
        self, text: str, place: Path, row: str, owner: int, skew_ms: int
    ) -> tuple[Outcome, ...]:
        """All that may happen next to this execution, the good case first. The row's owner goes by
        the name that the execution has for it."""
        at = (text, place, row, owner, skew_ms)
        if at not in self._known:
            named = row.replace("run0", f"run{owner}")
            self._known[at] = tuple(self._work_out(text, place, named, NOW_MS + skew_ms))
        return self._known[at]

    def land(self, request: str, by_put: bool, row: str, owner: int) -> Written | None:
        """The row after a late write, or None when its condition does not hold any more."""
        at = (request, row, owner, by_put)
        if at not in self._landed:
            named = row.replace("run0", f"run{owner}")
            self._landed[at] = self._write(by_put, json.loads(request), named)
        return self._landed[at]

    def _work_out(self, text: str, place: Path, row: str, clock_ms: int) -> Iterator[Outcome]:
        position, said = _decoded(text)
        call = self._call(text, place, clock_ms)
        if isinstance(call, Failure):
            for then in self._after(position, said, place, call, clock_ms):
                yield Outcome("cannot begin", then)
            return
        for what, heard in self._replies(position, said, place, call, row):
            # Nobody could pay for these (moves.paid): they are not worked out.
            if what.fault and what.fault not in self._kinds:
                continue
            # Whichever row it is about, what is heard of it is mostly the same.
            at = (text, place, repr(heard), clock_ms)
            if at not in self._thens:
                self._thens[at] = self._after(position, said, place, heard, clock_ms)
            for then in self._thens[at]:
                yield what._replace(then=then)

    def _replies(
        self, position: Position, said: list[Any], place: Path, call: Call, row: str
    ) -> Iterable[Reply]:
        match _service(call):
            case "dynamodb:getItem":
                return self._read(row, _key(call.arguments) == BREAKER)
            case "dynamodb:putItem" | "dynamodb:updateItem" as operation:
                return self._change(position, place, operation == PUT, call.arguments, row)
            case "lambda:invoke" if self._is_data_action(call):
                return self._act(position, said, place, call.arguments["Payload"], row)
            case "lambda:invoke":
                return self._pace(call.arguments["Payload"], said, row)
            case "sqs:sendMessage":
                return self._park(call.arguments["MessageBody"])
        raise NotImplementedError(f"the explorer does not know the task {call.resource}")

    def _read(self, row: str, of_breaker: bool) -> Iterator[Reply]:
        yield _good(f"finds {_named(row)}"), result({"Item": json.loads(row)} if row else {})
        yield _bad("fails", Fault.UNREAD if of_breaker else Fault.ERROR), THROTTLED

    def _change(
        self, position: Position, place: Path, by_put: bool, request: Any, row: str
    ) -> Iterator[Reply]:
        unheard: list[tuple[str, Heard]] = [("hears no answer", TIMEOUT)]
        if self._machine.retries(position, TIMEOUT.error, place):
            unheard.append(("hears no answer and tries again", AGAIN))
        new = self._write(by_put, request, row)
        if new and new.key[1].startswith("latest/"):
            new = new._replace(asker=position.variables(place)["event"]["messageId"])
        if new is None:
            refusal = _refusal(by_put, request, row)
            yield _good(f"is refused by {_named(row)}", *([refusal] if refusal else [])), REFUSED
        else:
            said = f"makes it {_named(new.text.replace('run0', f'run{new.owner}'))}"
            replaced = {"Attributes": json.loads(row)} if row and "ReturnValues" in request else {}
            yield _good(said, new), result(replaced)
            for heard, then in unheard:
                yield _bad(f"{said}, {heard}", Fault.ANSWER_LOST, new), then
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
        text = self._timed(json.dumps(kept))
        names = _NAME.findall(text)
        owner = int(names[0]) if names else -1
        return Written(_key_of(request), text.replace(f"run{owner}", "run0"), owner, by_put)

    def _act(
        self, position: Position, said: list[Any], place: Path, request: Any, row: str
    ) -> Iterator[Reply]:
        """Yields the ways of a request. If its end is noted, it takes two moves."""
        message_id, key = request["event"]["messageId"], request["idempotencyKey"]
        if request["deadlineMs"] <= NOW_MS:
            late = "Failed" if request["retry"] else "TooLate"
            yield _good(f"is too late and does not act: {late}"), _raised(late, request["retry"])
            return
        begun: list[Effect] = [Called(message_id, *_pace_of(position.variables(place)))]
        if self._notes_itself and not said:
            yield _good("calls", *begun), Said({"since": NOW_MS})
            yield _bad(_NO_FUNCTION, Fault.ASKED_TO_WAIT), NO_FUNCTION_FREE
            return
        started_ms, begun = (said[0]["since"], []) if said else (NOW_MS, begun)
        act = f"acts with key {key}"
        acted, unheard = (Act(message_id, key, answered) for answered in (True, False))
        failing = (
            "Transient" if request["requestsAllowed"] > 1 and not request["retry"] else "Failed"
        )

        def noted(kind: str, seconds: float | None = None) -> list[Effect]:
            note = (
                pacing.noted(row, kind, request, started_ms, seconds)
                if self._notes_itself
                else None
            )
            return [note] if note else []

        answer = function_result({"version": "2", "result": "ACTED", "requests": 1})
        well: list[Effect] = [Answered(), *noted("answered")]
        yield _good(act, *begun, acted, *well), answer
        lost = f"{act}, but the answer is lost: {failing}"
        yield _bad(lost, Fault.ACTION, *begun, unheard, *noted("failed")), _raised(failing)
        died = f"{act}, but the function dies"
        yield _bad(died, self._unnoted, *begun, unheard), TIMEOUT
        maybe = f"{act}, but the answer is Uncertain"
        yield _bad(maybe, Fault.ACTION, *begun, unheard, *well), _raised("Uncertain")
        silent = f"does not act: {failing}"
        yield _bad(silent, Fault.ACTION, *begun, *noted("failed")), _raised(failing)
        rejected = "does not act: Rejected"
        yield _bad(rejected, Fault.ACTION, *begun, *well), _raised("Rejected")
        yield _bad("does not act: Uncertain", Fault.ACTION, *begun, *well), _raised("Uncertain")
        subject = request["event"]["key"]["pk"]
        seconds = _SECONDS_ASKED.get(subject, _SECONDS_ASKED_OF_OTHERS)
        limited, waits = noted("limited", seconds), "does not act: RateLimited"
        yield (
            _bad(waits, Fault.ASKED_TO_WAIT, *begun, *limited),
            _raised("RateLimited", retryAfterSeconds=seconds),
        )
        if not said:
            yield _bad(_NO_FUNCTION, Fault.ASKED_TO_WAIT), NO_FUNCTION_FREE
        if self._notes_itself:
            yield _bad(f"{act}, which is not noted", Fault.PACING, *begun, acted), answer
            yield _bad(f"{silent}, which is not noted", Fault.PACING, *begun), _raised(failing)

    @property
    def _unnoted(self) -> Fault:
        """A function that dies has noted nothing."""
        return Fault.PACING if self._paced else Fault.ACTION

    def _pace(self, request: Any, said: list[Any], row: str) -> Iterator[Reply]:
        reached = self.pacing.reached(request, said)
        if reached.step is None:
            # By now it is too late for what it was about to do.
            answer = function_error(reached.error, "") if reached.error else None
            yield _good("has nothing more to do"), answer or function_result(reached.answer)
            return
        name = type(reached.step).__name__
        taken = self.pacing.take(reached.step, row)
        effects: list[Effect] = [taken.effect] if taken.effect else []
        yield _good(f"{name} hears {json.dumps(taken.said)}", *effects), Said(taken.said)
        yield _bad(f"{name} is not done", Fault.PACING), Said(pacing.UNANSWERED)
        if effects:
            yield _bad(f"{name} hears nothing", Fault.PACING, *effects), Said(pacing.UNANSWERED)
            yield _bad(f"{name} is its last, it dies", Fault.PACING, *effects), TIMEOUT
        yield _bad("it dies", Fault.PACING), TIMEOUT

    def _park(self, body: Any) -> Iterator[Reply]:
        parked = Parking(body["element"]["messageId"], body["reason"])
        yield _good("parks it", parked), result({"MessageId": "parked"})
        yield _bad("parks it, hears no answer", Fault.ANSWER_LOST, parked), TIMEOUT
        yield _bad("fails", Fault.ERROR), TIMEOUT

    def _after(
        self, position: Position, said: list[Any], place: Path, heard: Heard, clock_ms: int
    ) -> list[Then]:
        if isinstance(heard, Again):
            return [self._standing(position, said)]
        if isinstance(heard, Said):
            return self._settle(position, clock_ms, said=[*said, heard.what])
        return self._settle(self._hears(position, place, heard, clock_ms), clock_ms)

    def _hears(
        self, position: Position, place: Path, heard: dict[str, Any] | Failure, clock_ms: int
    ) -> Position | Ended:
        if not isinstance(heard, Failure):
            return self._machine.answer(position, heard, clock_ms, place)
        if heard.error == "Transient":
            # The one retry that counts: a second call is another one at the destination.
            return self._machine.fail(position, heard, clock_ms, place)
        while self._machine.retries(position, heard.error, place):
            again = self._machine.fail(position, heard, clock_ms, place)
            assert isinstance(again, Position)
            position = again
        return self._machine.fail(position, heard, clock_ms, place)

    def _settle(
        self,
        position: Position | Ended,
        clock_ms: int,
        logged: tuple[Record, ...] = (),
        said: list[Any] | None = None,
    ) -> list[Then]:
        """Goes on to the next step that matters."""
        if isinstance(position, Ended):
            if position.failure:
                return [Failed(f"{position.failure.error} {position.failure.cause}".rstrip())]
            failures = position.output["batchItemFailures"]
            handed_back = sorted(failure["itemIdentifier"] for failure in failures)
            return [Report(tuple(handed_back), logged)]
        if position.places() != [TOP]:
            return [self._standing(position, said or [])]
        call = self._machine.call(position, clock_ms)
        if isinstance(call, Failure):
            return self._settle(self._hears(position, TOP, call, clock_ms), clock_ms, logged)
        aside = self._aside(call, said or [])
        if aside is None:
            return [self._standing(position, said or [])]
        if _service(call) == "aws-sdk:cloudwatchlogs:putLogEvents":
            logged = _logged(call.arguments)
        ways: list[Position | Ended] = []
        for answer in aside:
            way = self._hears(position, TOP, answer, clock_ms)
            if way not in ways:
                ways.append(way)
        found: dict[Then, None] = {}
        for way in ways:
            found |= dict.fromkeys(self._settle(way, clock_ms, logged))
        return list(found)

    def _aside(self, call: Call, said: list[Any]) -> list[dict[str, Any] | Failure] | None:
        """Returns the responses of a task on which nothing here depends, else None."""
        match _service(call):
            case "aws-sdk:cloudwatchlogs:putLogEvents":
                return [{}, Failure("CloudWatchLogs.SdkClientException")]
            case "dynamodb:getItem" if not self._paced and _key(call.arguments) == BREAKER:
                return [result({})]
            case "lambda:invoke" if not self._is_data_action(call):
                if not self._paced:
                    return [function_result({"returns": []}), TIMEOUT]
                if self._mute:
                    return [TIMEOUT]
                reached = self.pacing.reached(call.arguments["Payload"], said)
                if reached.error:
                    return [function_error(reached.error, "")]
                if reached.step is None:
                    return [function_result(reached.answer)]
        return None

    def _standing(self, position: Position, said: list[Any]) -> Standing:
        value = {"at": encoded(self._relevance.forget(position)), "said": said}
        return Standing(*_renumbered(self._timed(json.dumps(value, sort_keys=True))))

    def _timed(self, text: str) -> str:
        return text if self._paced else unranked(text)


def _service(call: Call) -> str:
    return call.resource.removeprefix(f"arn:{SUBSTITUTIONS['Partition']}:states:::")


def _raised(name: str, requests: int = 1, **facts: int) -> Failure:
    """Fails as our data action does, but without a sentence."""
    known = {"once": "1", "requests": requests, "endedMs": NOW_MS, **facts}
    return function_error(name, json.dumps(known, separators=(",", ":")))


def _pace_of(variables: dict[str, Any]) -> tuple[bool, str]:
    """Returns true if the batch probes, and until when the batch was to wait."""
    pace, read = variables["pace"], variables["breaker"]
    if "probe" in pace:
        return True, ""
    return False, str(max(read.get("openUntil", 0), read.get("notBefore", 0)))


def _good(said: str, *effects: Effect) -> Outcome:
    return Outcome(said, NOWHERE, effects)


def _bad(said: str, fault: Fault, *effects: Effect) -> Outcome:
    return Outcome(said, NOWHERE, effects, fault)


def _renumbered(text: str) -> tuple[str, tuple[int, ...]]:
    """The text with all others that it names counted from 1, and what it called them before."""
    met: list[int] = []

    def counted(found: re.Match[str]) -> str:
        name = int(found[1])
        if name not in met:
            met.append(name)
        return f"run{met.index(name) + 1}"

    return _ANOTHER.sub(counted, text), tuple(met)


@lru_cache(1_024)
def _decoded(text: str) -> tuple[Position, list[Any]]:
    value = json.loads(text)
    return decoded(value["at"]), value["said"]


def _key(request: Any) -> Key | None:
    return _key_of(request) if "Key" in request or "Item" in request else None


def _key_of(request: Any) -> Key:
    key = request.get("Key") or request["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def _refusal(by_put: bool, request: Any, row: str) -> Refusal | None:
    """Returns the refusal of a write, else None: only an owner may change its claim."""
    item = json.loads(row or "{}")
    if by_put:
        own = (
            item.get("status") == {"S": "IN_PROGRESS"} and item["owner"] == request["Item"]["owner"]
        )
        return Refusal(_key_of(request), own)
    return None if "status" in item else Refusal(_key_of(request), False)


def _logged(request: Any) -> tuple[Record, ...]:
    lines = [json.loads(event["Message"]) for event in request["LogEvents"]]
    return tuple(
        sorted(
            Record(line["messageId"], line["outcome"], line["reason"])
            for line in lines
            if "messageId" in line
        )
    )


def _named(row: str) -> str:
    if not row:
        return "no row"
    item = json.loads(row)
    if item["pk"]["S"] == PACE:
        said = {name: next(iter(value.values())) for name, value in sorted(item.items())}
        said["failed"] = len(said.get("failed", []))
        return f"the breaker: {', '.join(f'{n} {v}' for n, v in said.items() if n not in PLACE)}"
    if "status" not in item:
        return f"the latest time {item['event_time']['N']}"
    outcome = f"/{item['outcome']['S']}" if "outcome" in item else ""
    return f"{item['status']['S']}{outcome} of {item['owner']['S']}"
