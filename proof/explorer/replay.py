"""Walks at random through the explored world, and leads the emulator the same way, task by
task: its executions must come to the same tasks, rows, calls, outcomes and reports."""

import json
import uuid
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from random import Random
from threading import Thread
from typing import Any

from proof.asl.errors import matches
from proof.asl.readings import Readings
from proof.definition.asl import definition
from proof.explorer.clock import NOW_MS
from proof.explorer.moves import Move
from proof.explorer.outcomes import Record, Report
from proof.explorer.scenario import Fault
from proof.explorer.scenarios import (
    CLOSE_STATES,
    COPIES,
    IDS,
    NEWEST,
    OCCURRENCES,
    SAME_ID,
    SAME_TIME,
    STATES,
    THREE_IN_A_WINDOW,
    THREE_STATES,
    TWO_SUBJECTS,
    UNORDERED_STATES,
    WINDOW,
)
from proof.explorer.state import State, place_of
from proof.explorer.tasks import THROTTLED, TIMEOUT, machine_of
from proof.explorer.world import World
from proof.scenarios.emulator_machine import EmulatorMachine
from proof.scenarios.stage import Order, Task

# What the emulator can be led into while its clocks stand still. Time passes between executions
# only, so there are no zombies, no late writes and no deadlines.
_KINDS = frozenset(Fault) - {
    Fault.ZOMBIE,
    Fault.LATE,
    Fault.ASKED_TO_WAIT,
    Fault.OVERFLOW,
    Fault.PACING,
    Fault.UNREAD,
}
_FAULTS = 4
_ROOTS = (
    COPIES,
    WINDOW,
    OCCURRENCES,
    IDS,
    SAME_ID,
    NEWEST,
    STATES,
    SAME_TIME,
    CLOSE_STATES,
    UNORDERED_STATES,
    THREE_IN_A_WINDOW,
    THREE_STATES,
    replace(TWO_SUBJECTS, side_by_side=False, batch_size=1),
)
SCENARIOS = [
    replace(
        root,
        kinds=_KINDS,
        faults=_FAULTS,
        deliveries=3,
        substitutions={**root.substitutions, "MaxTries": "20"},
    )
    for root in _ROOTS
]
_MOST_MOVES = 60
_CHANCE_OF_ANYTHING = 0.4
_PATIENCE_SECONDS = 60

_EVENT: Mapping[str, Any] = definition()["States"]["SettleEvents"]["ItemProcessor"]["States"]
_OF_THE_CLOCK = {"claimed_at", "lease_until", "done_at", "expires_at", "failed_at"}
# Both say it in words of their own.
_NOT_COMPARED = {*_OF_THE_CLOCK, "cause"}
_KILLED = Order(error="Killed", cause="this execution has died")


class DisagreementError(AssertionError):
    """The emulator did not do what the explorer says; it tells the way there."""


@dataclass(frozen=True)
class Call:
    """The fault of one call: it is not made, or its response is replaced."""

    fails: str | None = None
    hears: str | None = None


@dataclass
class _Led:
    """An execution that waits before every task of an event for word of how that goes."""

    arrived: SimpleQueue[str | dict[str, Any]] = field(default_factory=SimpleQueue)
    said: SimpleQueue[list[Call]] = field(default_factory=SimpleQueue)
    calls: deque[Call] = field(default_factory=deque)
    now: Call = Call()
    dead: bool = False
    at: str | dict[str, Any] = ""
    tries: int = 0
    records: tuple[Record, ...] = ()
    thread: Thread | None = None


class Conductor:
    """Decides each call of the local stack, before and after it, and is the destination."""

    def __init__(self) -> None:
        self.runs: dict[str, _Led] = {}
        self.keys: list[str] = []

    def before(self, task: Task) -> Order:
        led = self.runs[task.run]
        if led.dead:
            return _KILLED
        if task.state not in _EVENT:
            if task.state == "RecordOutcomes":
                led.records = _records(task.arguments)
            return Order(error=TIMEOUT.error) if task.state == "ReturnEvents" else Order()
        if not led.calls:
            led.arrived.put(task.state)
            led.calls.extend(led.said.get())
            if led.dead:
                return _KILLED
        led.now = led.calls.popleft()
        return Order(error=led.now.fails)

    def after(self, task: Task, _failed: tuple[str, str] | None) -> Order:
        led = self.runs[task.run]
        if led.dead:
            return _KILLED
        return Order(error=led.now.hears) if task.state in _EVENT else Order()

    def invoke(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The data action; pacing is never reached."""
        self.keys.append(payload["idempotencyKey"])
        return {"version": "2", "result": "ACTED", "requests": 1}


def world_of(seed: int) -> World:
    scenario = SCENARIOS[seed % len(SCENARIOS)]
    return World(machine_of(definition(scenario.filled_in()), scenario), scenario)


def replay(world: World, seed: int, machine: EmulatorMachine) -> int:
    """One walk, led through the emulator; answers how many moves it had."""
    conductor = Conductor()
    with machine.playing(conductor):
        leader = _Leader(world, conductor, machine)
        try:
            return leader.lead(Random(seed))  # noqa: S311 - to be repeated, not to be secret
        finally:
            leader.end()


class _Leader:
    def __init__(self, world: World, conductor: Conductor, machine: EmulatorMachine) -> None:
        self._world = world
        self._scenario = world.scenario
        self._conductor = conductor
        self._machine = machine
        self._clock_ms = NOW_MS
        self._names: dict[int, str] = {}
        self._parked = 0
        self._way: list[str] = []

    def lead(self, chance: Random) -> int:
        state = self._world.start()
        while len(self._way) < _MOST_MOVES:
            moves = [move for move in self._world.moves(state) if self._can_be_led(state, move)]
            if not moves:
                break
            ordinary = [move for move in moves if move.fault is None]
            anything = not ordinary or chance.random() < _CHANCE_OF_ANYTHING
            move = chance.choice(moves if anything else ordinary)
            self._way.append(f"{move.who} {move.what} {move.said} {move.names}")
            assert isinstance(move.then, State), f"the explorer breaks a promise: {self._way}"
            self._make(state, move)
            self._hold_rows(_rows_said(move.then, self._names))
            state = move.then
        self._hold("parked messages", self._parked, len(self._machine.parked()))
        return len(self._way)

    def end(self) -> None:
        for led in self._conductor.runs.values():
            self._kill(led)

    def _can_be_led(self, state: State, move: Move) -> bool:
        if move.who == "clock":
            return not state.runs
        if not isinstance(move.who, int) or not _once_more(move.said):
            return True
        led = self._of(move.who)
        return led.tries < _attempts(move.what, _error(move)) - 1

    def _make(self, state: State, move: Move) -> None:
        if move.who == "clock":
            self._clock_ms += self._scenario.tick_seconds * 1000
        elif move.what == "dies":
            assert isinstance(move.who, int)
            self._kill(self._of(move.who))
        elif move.what == "delivers":
            first = move.said.split(" → ")[1]
            self._deliver(state, move)
            self._step(move.names[0], first.split(" ")[0], move)
        else:
            assert isinstance(move.who, int), f"nobody can lead {move}"
            self._step(move.who, move.what, move)

    def _deliver(self, state: State, move: Move) -> None:
        plan = self._scenario
        sent = tuple(
            (state.queue[place_of(identifier)].sent, identifier)
            for identifier in move.said.split(" to run0")[0].split(" and ")
        )
        batch = json.loads(json.dumps(plan.batch(sent)))
        name = f"at-{self._clock_ms}-{uuid.uuid4().hex}"
        led = self._conductor.runs[name] = _Led()
        self._names[move.names[0]] = name

        def run() -> None:
            led.arrived.put(self._machine.execute(name, batch))

        led.thread = Thread(target=run, daemon=True)
        led.thread.start()
        led.at = led.arrived.get(timeout=_PATIENCE_SECONDS)

    def _step(self, run: int, task: str, move: Move) -> None:
        led = self._of(run)
        self._hold("task", task, led.at)
        acts = len(self._conductor.keys)
        led.said.put(self._calls(led, task, move))
        led.at = led.arrived.get(timeout=_PATIENCE_SECONDS)
        led.tries = led.tries + 1 if _once_more(move.said) else 0
        key = move.said.partition("acts with key ")[2].split(",")[0]
        self._hold("calls", [key] if key else [], self._conductor.keys[acts:])
        self._parked += " parks it" in f" {move.said}"
        if move.report:
            assert led.thread
            led.thread.join()
            self._hold("report", move.report, _report(led))
        else:
            self._hold("where it goes on", True, isinstance(led.at, str))

    def _calls(self, led: _Led, task: str, move: Move) -> list[Call]:
        if move.fault is None:
            return [Call()]
        error = _error(move)
        # The explorer counts the one retry of a call, and takes all others as one.
        more = 0 if error == "Transient" else _attempts(task, error) - 1 - led.tries
        again = [Call(fails=error)] * more
        if "does not act" in move.said or move.fault is Fault.ERROR:
            return [Call(fails=error), *again]
        return [Call(hears=error)] if _once_more(move.said) else [Call(hears=error), *again]

    def _kill(self, led: _Led) -> None:
        led.dead = True
        led.said.put([])
        if led.thread:
            led.thread.join()

    def _of(self, run: int) -> _Led:
        return self._conductor.runs[self._names[run]]

    def _hold_rows(self, said: dict[str, dict[str, Any]]) -> None:
        """Compares the rows, as far as the explorer follows them."""
        rows = {_key(row): row for row in self._machine.rows()}
        seen = {
            key: {name: row.get(name) for name in said.get(key, row)} for key, row in rows.items()
        }
        self._hold("rows", said, seen)

    def _hold(self, what: str, said: Any, seen: Any) -> None:
        if said != seen:
            way = "\n".join(self._way)
            raise DisagreementError(
                f"{self._scenario.name}: {what}\nexplorer: {said}\nemulator: {seen}\n{way}"
            )


def _once_more(said: str) -> bool:
    return said.endswith("tries again")


def _error(move: Move) -> str:
    """Returns the error that the machine gets instead of a response."""
    if move.fault is Fault.ERROR and "Park" not in _task(move):
        return THROTTLED.error
    for error in ("Rejected", "Uncertain", "Transient", "Failed"):
        if move.said.split(";")[0].endswith(error):
            return error
    return TIMEOUT.error


def _task(move: Move) -> str:
    """Names the task of a move; an execution that gets a batch takes its first step with it."""
    return move.said.split(" → ")[1] if move.what == "delivers" else move.what


def _attempts(task: str, error: str) -> int:
    for rule in _EVENT[task].get("Retry", []):
        if matches(rule["ErrorEquals"], error, Readings()):
            return 1 + int(rule["MaxAttempts"])
    return 1


def _records(arguments: Mapping[str, Any]) -> tuple[Record, ...]:
    lines = [json.loads(event["Message"]) for event in arguments["LogEvents"]]
    return tuple(
        sorted(
            Record(line["messageId"], line["outcome"], line["reason"])
            for line in lines
            if "messageId" in line
        )
    )


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['pk']['S']} {row['sk']['S']}"


def _report(led: _Led) -> Report:
    assert isinstance(led.at, dict), f"the execution goes on to {led.at}"
    handed_back = sorted(
        failure["itemIdentifier"] for failure in led.at["output"]["batchItemFailures"]
    )
    return Report(tuple(handed_back), led.records)


def _rows_said(state: State, names: Mapping[int, str]) -> dict[str, dict[str, Any]]:
    """Returns the explorer's rows, with the real names of their owners."""
    rows = {}
    for held in state.rows:
        row = json.loads(held.text)
        name = names.get(held.owner, "nobody")
        row["owner"] = {"S": row["owner"]["S"].replace("run0", name)}
        rows[_key(row)] = {word: row[word] for word in row if word not in _NOT_COMPARED}
    return rows
