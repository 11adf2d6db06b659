"""The world around one state machine: queue, pipe, table, functions, destination, clock, as data.

Nothing here runs by itself. `dues` says who may go on, `options` how that may end, `go` lets it
happen. A walk draws both from a seed, a search takes all of them. All values in a World are
immutable, so `fork` copies a few dictionaries.
"""

import heapq
import json
from collections import Counter, deque
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from once_data_action.action import Memory, Unanswered

from proof.asl.errors import Failure
from proof.asl.machine import Call, Machine
from proof.asl.position import Ended, Execution, Position
from proof.asl.services import REFUSED, function_error, function_result, result
from proof.sim.deployed import ENGINE
from proof.sim.events import DAY_MS, Event, Message, element, unwrapped
from proof.sim.function import (
    FUNCTION_MS,
    REQUEST_MS,
    TOO_LATE,
    Function,
    Invocation,
    Raised,
    Returned,
    Sending,
    Step,
)
from proof.sim.promises import BrokenError, Promises, copies
from proof.sim.table import Key, RefusedError, Row, key_of, written

TIMEOUT = Failure("States.Timeout")
THROTTLED = Failure("DynamoDB.AmazonDynamoDBException", "Throttled")
NO_QUEUE = Failure("SQS.SdkClientException")
DENIED = Failure("SQS.KmsAccessDeniedException")
RESET = Failure("Lambda.SdkClientException", "Connection reset")
KILLED = Failure("Sandbox.Timedout", '{"errorMessage":"Task timed out after 13.00 seconds"}')
EXITED = Failure("Runtime.ExitError", '{"errorMessage":"Runtime exited"}')
_FUNCTION_FAILURES = {
    "times out": TIMEOUT,
    "throttled": Failure("Lambda.TooManyRequestsException", "{}"),
    "broken code": Failure("Runtime.ImportModuleError", '{"errorMessage":"No module"}'),
}
_TAKES_MS = {"silent": REQUEST_MS, "200 unheard": REQUEST_MS, "200 slow": REQUEST_MS - 2_000}

NATURAL = ""  # the kind of an outcome that is no fault
_ARN = "arn:aws:states:us-east-1:123456789012:express:once:{0}:{0}"


class Due(NamedTuple):
    """Something that may go on from then."""

    at_ms: int
    kind: str
    id: str


class Option(NamedTuple):
    """A way in which something may end, and which fault that takes."""

    outcome: str
    fault: str = NATURAL


def _options(usual: str, *faults: tuple[str, str]) -> list[Option]:
    return [Option(usual), *(Option(outcome, fault) for fault, outcome in faults)]


_DIES = ("crash", "dies")
_KILLED = ("function", "killed")
_FAILS = (("error", "error"), ("down", "down"), _DIES)
_LOST = ("lost", "lost")
# What may come of each thing, and which fault that takes.
_OPTIONS = {
    "receive": _options("delivered", ("twice", "twice"), ("crash", "enrichment dies")),
    "delete": _options("deleted", ("undeleted", "not deleted")),
    "wait": _options("wakes", _DIES),
    "invoke": _options("begins", ("function", "throttled"), ("unseen", "goes on unseen"), _DIES),
    "getItem": _options("ok", *_FAILS),
    "putItem": _options("ok", _LOST, *_FAILS, ("late", "late")),
    "updateItem": _options("ok", _LOST, *_FAILS, ("late", "late")),
    "sendMessage": _options("ok", _LOST, *_FAILS),
    "putLogEvents": _options("ok", _LOST, *_FAILS),
    "read": _options("ok", ("table", "unanswered"), _KILLED),
    "write": _options("ok", ("table", "unanswered"), _KILLED, ("table", "done unanswered")),
    "return": _options("ends", ("unseen", "answer lost"), _KILLED),
    "request": _options(
        "200",
        *(("destination", outcome) for outcome in ("500", "429", "401", "silent")),
        ("unheard", "200 unheard"),
        ("slow", "200 slow"),
        _KILLED,
    ),
}


class Run(NamedTuple):
    """An execution, from its message's receive to the message's deletion."""

    name: str
    message: str
    event: str
    skew_ms: int
    given: Mapping[str, Any]  # the element of its event
    position: Position | None = None
    call: Call | None = None
    invocation: str = ""
    faulted: bool = False
    down: str = ""  # the state whose service does not respond to this execution
    asked_ms: int = 0  # by its clock: when it made the call


class Answered(NamedTuple):
    """A call of an execution, and its answer, by the execution's clock."""

    asked_ms: int
    answered_ms: int
    call: Call | None
    answer: Any


class Tape(NamedTuple):
    began_ms: int
    given: Any
    answers: list[Answered]


class Late(NamedTuple):
    """A write that was given up, and lands later."""

    run: str
    event: str
    verb: str
    request: Mapping[str, Any]


@dataclass
class World:
    machine: Machine
    function: Function
    events: Mapping[str, Event]
    promises: Promises
    visibility_ms: int = 240_000
    receives: int = 1_000
    pollers: int = 1_000
    # What follows is drawn by a walk; a search takes no time and has no weather.
    latency_ms: Callable[[str], int] = lambda _: 0
    skew_ms: Callable[[], int] = lambda: 0
    # The outcome that a request has at that time, whatever its event: an outage.
    weather: Callable[[int], str] = lambda _: ""
    denied: Callable[[int, str], bool] = lambda _now, _queue: False
    is_broken: Callable[[int], bool] = lambda _: False  # a function without its code was deployed
    elements: Callable[[Event, Message], dict[str, Any]] = element
    # What people do, by name; an agenda calls them at their time.
    deeds: dict[str, Callable[["World"], Any]] = field(default_factory=dict)

    now_ms: int = 0
    rows: dict[Key, Row] = field(default_factory=dict)
    queue: dict[str, Message] = field(default_factory=dict)
    dead_letters: dict[str, Message] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    invocations: dict[str, Invocation] = field(default_factory=dict)
    late: dict[str, Late] = field(default_factory=dict)
    due: dict[tuple[str, str], int] = field(default_factory=dict)
    ready: deque[str] = field(default_factory=deque)
    repaired: frozenset[str] = frozenset()
    born: int = 0
    faults: int = 0
    happened: Counter[str] = field(default_factory=Counter)  # faults by kind and outcome
    told: list[str] | None = None  # the story, where somebody wants to read it
    tapes: dict[str, Tape] | None = None  # what each execution asked and heard
    environments: tuple[Memory, ...] = ()  # what idle environments of the function remember
    _heap: list[Due] = field(default_factory=list)

    def fork(self) -> "World":
        return replace(self, **copies(self), promises=self.promises.fork())

    def fingerprint(self) -> int:
        runs = tuple((*r[:4], r[7:], repr(r.call), repr(r.position)) for r in self.runs.values())
        calls = tuple((n, repr(i.heard), i.sending) for n, i in self.invocations.items())
        rows = json.dumps(sorted(self.rows.items()), sort_keys=True)
        return hash(
            (
                self.now_ms,
                rows,
                runs,
                calls,
                tuple(self.queue.values()),
                tuple(self.dead_letters.values()),
                repr(self.late),
                tuple(sorted(self.due.items())),
                self.faults,
                repr(self.environments),
                self.promises.fingerprint(),
            )
        )

    def _new(self, kind: str) -> str:
        self.born += 1
        return f"{kind}{self.born}"

    def say(self, *words: object) -> None:
        if self.told is not None:
            shown = (_short(word) if isinstance(word, dict) else str(word) for word in words)
            self.told.append(f"{self.now_ms % DAY_MS / 1000:10.3f} {' '.join(shown)}")

    # Who may go on, and how.

    def dues(self) -> list[Due]:
        return [Due(at_ms, kind, name) for (kind, name), at_ms in self.due.items()]

    def next_due(self) -> Due | None:
        """Returns the earliest due."""
        while self._heap and self.due.get((self._heap[0].kind, self._heap[0].id)) != (
            self._heap[0].at_ms
        ):
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def schedule(self, kind: str, name: str, at_ms: int) -> None:
        self.due[kind, name] = at_ms
        heapq.heappush(self._heap, Due(at_ms, kind, name))

    def options(self, due: Due) -> list[Option]:
        """Returns what may come of a due; the first option is no fault."""
        if due.kind == "message":
            return _OPTIONS["receive"]
        if due.kind == "run":
            return self._options_of_run(self.runs[due.id])
        if due.kind == "function":
            return self._options_of_function(self.invocations[due.id])
        return [Option("happens")]

    def _options_of_run(self, run: Run) -> list[Option]:
        if run.position is None:
            return _OPTIONS["delete"]
        if run.invocation:
            return [Option("times out")]
        if run.call is None:
            return _OPTIONS["wait"]
        if run.down == run.call.state:
            return [Option("error")]
        operation, request = run.call.resource.rpartition(":")[2], run.call.arguments
        if operation == "invoke" and self.is_broken(self.now_ms):
            return [Option("broken code")]
        queue = request.get("QueueUrl", "").rpartition("/")[2]
        if queue and self.denied(self.now_ms, queue):
            return [Option("denied")]
        return _OPTIONS[operation]

    def _options_of_function(self, invocation: Invocation) -> list[Option]:
        event = self.events[invocation.event]
        if invocation.sending:
            return [Option(invocation.sending)]
        if self.now_ms >= invocation.ends_ms:
            return [Option("killed")]
        step, _ = self.function.reached(invocation)
        if isinstance(step, Returned | Raised):
            return _OPTIONS["return"]
        if isinstance(step, Step):
            return _OPTIONS["read" if step.verb == "read" else "write"]
        if event.temper == "crashes":
            return [Option("killed")]
        own = {"fails": "500", "rejected": "422", "uncertain": "uncertain"}
        tempered = "" if event.name in self.repaired else own.get(event.temper, "")
        forced = self.weather(self.now_ms) or tempered
        return [Option(forced), Option("killed", "function")] if forced else _OPTIONS["request"]

    # What happens.

    def go(self, due: Due, option: Option) -> None:
        self.now_ms = max(self.now_ms, due.at_ms)
        self.due.pop((due.kind, due.id), None)
        if option.fault:
            self.faults += 1
            met: Any = {"message": self.queue, "run": self.runs, "function": self.invocations}
            self.promises.faulted(met[due.kind][due.id].event)
            self.happened[f"{option.fault}: {option.outcome}"] += 1
        match due.kind:
            case "message":
                self._receive(due.id, option.outcome)
            case "again":
                if due.id in self.queue:
                    self._begin(self.queue[due.id])
            case "late":
                late = self.late.pop(due.id)
                self.say(late.run, "a late write lands")
                self._write(late.run, late.event, late.verb, late.request, late=True)
            case "deed":
                self.deeds[due.id](self)
            case "request":
                self.promises.request_ends(due.id)
            case "run":
                self._go_run(self.runs[due.id], option)
            case "function":
                self._go_function(self.invocations[due.id], option)

    # The queue and the pipe.

    def send(self, event: str, body: str, delay_ms: int = 0, sender: str = "") -> Message:
        name = self._new("m")
        visible_ms = self.now_ms + delay_ms + self.latency_ms("queue")
        message = Message(name, event, body, self.now_ms, visible_ms, 0, sender)
        self.queue[name] = message
        self.schedule("message", name, message.visible_ms)
        self.promises.sent(self, message)
        return message

    def _receive(self, name: str, outcome: str) -> None:
        message = self.queue[name]
        if message.receives >= self.receives:
            del self.queue[name]
            self.dead_letters[name] = message
            self.promises.died(message)
            self.say(name, message.event, "goes to the dead-letter queue by its receives")
            return
        if len(self.runs) >= self.pollers:
            self.ready.append(name)
            return
        message = message._replace(
            receives=message.receives + 1, visible_ms=self.now_ms + self.visibility_ms
        )
        self.queue[name] = message
        self.schedule("message", name, message.visible_ms)
        if outcome == "enrichment dies":
            self.say(name, message.event, "the enrichment dies")
            return
        if outcome == "twice":
            self.schedule("again", name, self.now_ms + self.latency_ms("again"))
        self._begin(message)

    def _poll(self) -> None:
        """Receives messages that waited for a poller."""
        while self.ready and len(self.runs) < self.pollers:
            name = self.ready.popleft()
            if name in self.queue:
                self.schedule("message", name, self.now_ms)
                return

    def _begin(self, message: Message) -> None:
        name, skew_ms = self._new("r"), self.skew_ms()
        given = self.elements(self.events[message.event], message)
        clock_ms = self.now_ms + skew_ms
        self.say(name, "begins with", message.id, message.event, f"receive {message.receives}")
        run = Run(name, message.id, message.event, skew_ms, given)
        self.promises.begun(run)
        if self.tapes is not None:
            self.tapes[name] = Tape(clock_ms, [given], [])
        execution = Execution(_ARN.format(name), [given], clock_ms)
        self._stand(run, self.machine.start(execution, clock_ms))

    def _over(self, run: Run, *, deletes: bool) -> None:
        """The pipe lets go of an execution; its message is deleted, or visible later."""
        del self.runs[run.name]
        self.due.pop(("run", run.name), None)
        self.promises.over(self, run)
        if deletes and run.message in self.queue:
            message = self.queue.pop(run.message)
            self.due.pop(("message", run.message), None)
            self.promises.deleted(run, message)
        self._poll()

    # The machine.

    def _stand(self, run: Run, at: Position | Ended) -> None:
        """An execution has come to a task, a wait or its end."""
        clock_ms = self.now_ms + run.skew_ms
        call: Call | Failure | None = None
        while isinstance(at, Position) and at.top.wakes_ms is None:
            call = self.machine.call(at, clock_ms)
            if isinstance(call, Call):
                break
            at = self.machine.fail(at, call, clock_ms)
        if ENGINE.failures:
            raise BrokenError("executions end", f"{run.name}: {ENGINE.failures.pop()}")
        if isinstance(at, Ended):
            self.promises.ended(run, at)
            if at.failure:
                self.say(run.name, "FAILS", at.failure.error, at.failure.cause[:300])
                self.runs[run.name] = run
                self._over(run, deletes=False)
                return
            run = run._replace(position=None, call=None, invocation="")
            at_ms = self.now_ms + self.latency_ms("delete")
        elif at.top.wakes_ms is not None:
            run = run._replace(position=at, call=None, invocation="")
            at_ms = at.top.wakes_ms - run.skew_ms
        else:
            assert isinstance(call, Call)
            self.promises.entered(self, run, call)
            run = run._replace(position=at, call=call, invocation="", asked_ms=clock_ms)
            at_ms = self.now_ms + self.latency_ms("aws")
        self.runs[run.name] = run
        self.schedule("run", run.name, max(self.now_ms, at_ms))

    def _go_run(self, run: Run, option: Option) -> None:
        outcome = option.outcome
        if option.fault:
            run = self.runs[run.name] = run._replace(faulted=True)
        if outcome in ("deleted", "not deleted"):
            return self._over(run, deletes=outcome == "deleted")
        position, clock_ms = run.position, self.now_ms + run.skew_ms
        assert position is not None
        if outcome == "dies":
            self.say(run.name, "DIES", "at", position.top.state)
            self._release_function(run)
            return self._over(run, deletes=False)
        if outcome == "wakes":
            return self._stand(run, self.machine.resume(position, clock_ms))
        call = run.call
        assert call is not None
        if outcome in ("begins", "goes on unseen"):
            return self._invoke(run, call, unseen=outcome == "goes on unseen")
        if outcome in _FUNCTION_FAILURES:
            self._release_function(run)
            return self._answer(run, _FUNCTION_FAILURES[outcome])
        self.say(run.name, call.state, run.event, "" if outcome == "ok" else outcome.upper())
        operation = call.resource.rpartition(":::")[2]
        if outcome == "denied":
            run = self.runs[run.name] = run._replace(faulted=True)
            return self._answer(run, DENIED)
        if outcome in ("error", "down"):
            if outcome == "down":
                run = run._replace(down=call.state)
            return self._answer(run, NO_QUEUE if "sqs" in operation else THROTTLED)
        if outcome == "late":
            name = self._new("w")
            self.late[name] = Late(run.name, run.event, _verb(operation), call.arguments)
            self.schedule("late", name, self.now_ms + self.latency_ms("late"))
            return self._answer(run, TIMEOUT)
        answer = self._performed(run, operation, call)
        if outcome == "lost":
            answer = NO_QUEUE if "sqs" in operation else TIMEOUT
        return self._answer(run, answer)

    def _answer(self, run: Run, answer: Any) -> None:
        """A task has its answer."""
        position, clock_ms = run.position, self.now_ms + run.skew_ms
        assert position is not None
        if self.tapes is not None:
            self.tapes[run.name].answers.append(Answered(run.asked_ms, clock_ms, run.call, answer))
        step = self.machine.fail if isinstance(answer, Failure) else self.machine.answer
        self._stand(run, step(position, answer, clock_ms))

    def _performed(self, run: Run, operation: str, call: Call) -> Any:
        request = call.arguments
        match operation:
            case "dynamodb:getItem":
                row = self.rows.get(key_of(request))
                return result({"Item": row} if row else {})
            case "dynamodb:putItem" | "dynamodb:updateItem":
                return self._write(run.name, run.event, _verb(operation), request)
            case "sqs:sendMessage":
                return result({"MessageId": self._sent_by(run, request)})
        for log_event in request["LogEvents"]:
            self.promises.recorded(self, run, json.loads(log_event["Message"]))
        return {}

    def _sent_by(self, run: Run, request: Mapping[str, Any]) -> str:
        body = request["MessageBody"]
        if request["QueueUrl"].endswith("/dead-letters"):
            name = self._new("d")
            parked = Message(name, run.event, body, self.now_ms, self.now_ms, 0, run.name)
            self.dead_letters[name] = parked
            self.say(run.name, "parks", run.event, "as", name, unwrapped(body)[0].get("reason"))
            self.promises.parked(self, run, parked)
            return name
        self.promises.put_back(self, run, request)
        sent = self.send(run.event, body, 1000 * request["DelaySeconds"], run.name)
        delay = request["DelaySeconds"]
        self.say(run.name, "puts back", run.event, "as", sent.id, f"for {delay} s")
        return sent.id

    def _write(
        self, run: str, event: str, verb: str, request: Mapping[str, Any], *, late: bool = False
    ) -> Any:
        key = key_of(request)
        old = self.rows.get(key)
        try:
            new = written(verb, request, old)
        except RefusedError:
            self.say(run, "is refused", old or {})
            return REFUSED
        assert new is not None
        self.promises.wrote(self, run, event, key, old, new, late)
        self.rows[key] = new
        returns = request.get("ReturnValues") == "ALL_OLD" and old
        return result({"Attributes": old} if returns else {})

    # The function.

    def _invoke(self, run: Run, call: Call, *, unseen: bool) -> None:
        name = self._new("f")
        skew_ms, begun_ms = self.skew_ms(), self.now_ms + self.latency_ms("cold")
        invocation = Invocation(
            name=name,
            run="" if unseen else run.name,
            owner=call.arguments["Payload"].get("owner", run.name),
            by=run.name,
            event=run.event,
            payload=call.arguments["Payload"],
            skew_ms=skew_ms,
            began_ms=begun_ms,
            ends_ms=begun_ms + FUNCTION_MS,
            memory=self.environments[-1] if self.environments else Memory(),
        )
        self.environments = self.environments[:-1]
        self.invocations[name] = invocation
        self.schedule("function", name, begun_ms)
        if unseen:
            self.say(run.name, call.state, run.event, "the function goes on unseen as", name)
            self._answer(run, RESET)
            return
        self.runs[run.name] = run._replace(invocation=name)
        self.schedule("run", run.name, self.now_ms + 1000 * call.timeout_seconds)

    def _release_function(self, run: Run) -> None:
        if run.invocation in self.invocations:
            invocation = self.invocations[run.invocation]
            self.invocations[run.invocation] = invocation._replace(run="")

    def _go_function(self, invocation: Invocation, option: Option) -> None:
        outcome, name = option.outcome, invocation.name
        run = self.runs.get(invocation.run)
        if run and option.fault:
            run = self.runs[run.name] = run._replace(faulted=True)
        if invocation.sending:
            self.promises.request_ends(name)
            status, sent_ms = invocation.sending, invocation.sent_ms
            if self.now_ms >= invocation.ends_ms:
                return self._kill(invocation._replace(sending=""), KILLED)
            invocation = invocation._replace(sending="")
            return self._hear(invocation, self.function.replied(status, sent_ms))
        step, memory = self.function.reached(invocation)
        if outcome == "killed":
            if isinstance(step, Sending):  # it has sent the request, and dies
                self._begin_request(invocation, "200 killed")
            return self._kill(invocation, KILLED if self.now_ms >= invocation.ends_ms else EXITED)
        if isinstance(step, Returned | Raised):
            del self.invocations[name]
            self.environments += (memory,)
            self.say(name, step)
            if outcome == "answer lost":
                invocation = invocation._replace(run="")
            self.promises.function_ended(invocation, step)
            if run is None:
                return None
            if outcome == "answer lost":
                return self._answer(run, RESET)
            if isinstance(step, Raised):
                return self._answer(run, function_error(step.error, step.message))
            return self._answer(run, function_result(step.value))
        if isinstance(step, Sending):
            if self.now_ms + invocation.skew_ms >= step.until_ms:
                return self._hear(invocation, copy(TOO_LATE))
            took_ms = self._begin_request(invocation, outcome)
            sent_ms = self.now_ms + invocation.skew_ms
            self.invocations[name] = invocation._replace(sending=outcome, sent_ms=sent_ms)
            return self.schedule(
                "function", name, min(self.now_ms + took_ms, max(invocation.ends_ms, self.now_ms))
            )
        self._table_step(invocation, step, outcome)
        return None

    def _table_step(self, invocation: Invocation, step: Step, outcome: str) -> None:
        if step.verb == "sleep":
            return self._hear(invocation, None, after_ms=step.sleep_ms)
        if outcome == "unanswered":
            self.promises.unread_ms = self.now_ms
            return self._hear(invocation, Unanswered())
        if step.verb == "read":
            row = self.rows.get(key_of(step.request))
            return self._hear(invocation, {"Item": row} if row else {})
        key = key_of(step.request)
        answer: Any = None
        try:
            row = written(step.verb, step.request, self.rows.get(key))
            answer = {"Attributes": row} if row else {}
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
            self.say(invocation.name, step.verb, *key, row or "deleted")
        except RefusedError:
            self.say(invocation.name, step.verb, *key, "refused")
        if outcome == "done unanswered":
            answer = Unanswered()
        return self._hear(invocation, answer)

    def _hear(self, invocation: Invocation, answer: Any, after_ms: int = 0) -> None:
        at_ms = self.now_ms + after_ms
        heard = (*invocation.heard, (answer, at_ms + invocation.skew_ms))
        self.invocations[invocation.name] = invocation._replace(heard=heard)
        due_ms = at_ms + self.latency_ms("function")
        self.schedule("function", invocation.name, min(due_ms, max(invocation.ends_ms, at_ms)))

    def _kill(self, invocation: Invocation, failure: Failure) -> None:
        self.say(invocation.name, "is killed")
        self.invocations.pop(invocation.name, None)
        run = self.runs.get(invocation.run)
        self.promises.function_ended(invocation, None)
        if run is not None:
            self._answer(run, failure)

    # The destination.

    def _begin_request(self, invocation: Invocation, outcome: str) -> int:
        """Returns how long the request takes. A killed function's request goes on without it."""
        self.say(invocation.name, "SENDS", invocation.event, "for", invocation.owner, outcome)
        self.promises.request_begins(self, invocation)
        took_ms = _TAKES_MS.get(outcome) or self.latency_ms("request")
        if outcome == "200 killed":
            self.promises.acts(invocation, heard=False)
            self.schedule("request", invocation.name, self.now_ms + took_ms)
        elif outcome.startswith("200"):
            self.promises.acts(invocation, heard="unheard" not in outcome)
        return took_ms


def _verb(operation: str) -> str:
    return operation.removeprefix("dynamodb:").removesuffix("Item")


def _short(row: Mapping[str, Any]) -> str:
    """Writes a row without its key and what never matters."""
    hidden = ("pk", "sk", "expires_at", "family", "topic", "claimed_at", "lease_until", "cause")
    shown = {n: next(iter(v.values())) for n, v in row.items() if n not in hidden}
    return " ".join(f"{n}={v if not isinstance(v, list) else len(v)}" for n, v in shown.items())
