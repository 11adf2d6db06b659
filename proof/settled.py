"""The state machine on a settled stream: one message a batch, each done before the next comes.

Knows tasks by the service they call, never by the name of a state.
"""

import json
from functools import cache
from random import Random
from typing import Any

from once.outcomes import Outcome
from once.verdict import Event, Rows, Verdict
from proof.asl.errors import Failure
from proof.asl.jsonata import Library
from proof.asl.machine import Call, Machine
from proof.asl.position import Execution, Position
from proof.asl.readings import Readings
from proof.asl.services import REFUSED, function_result, result
from proof.definition.asl import SUBSTITUTIONS, definition
from proof.explorer.table import RefusedError, Row, changed, key_of

START_MS = 1_777_875_660_000
CLAIM_DAYS = int(SUBSTITUTIONS["ClaimDays"])
_RUNS = "arn:aws:states:us-east-1:123456789012:express:dedupe"
_ACTED = {"version": "2", "result": "ACTED", "status": 200, "requests": 1, "durationMs": 1}
_DAY_MS = 86_400_000

Json = dict[str, Any]
Sent = tuple[Json, int]
"""An element, and when its execution runs."""


@cache
def _machine() -> Machine:
    return Machine(definition(), Library(), Readings())


class Settled:
    """The definition with a claim table, where every call is answered well."""

    def __init__(self) -> None:
        self._machine = _machine()
        self._rows: dict[tuple[str, str], Row] = {}
        self._runs = 0

    def settle(self, element: Json, now_ms: int) -> Verdict:
        """Returns what the machine records about the one message of a batch."""
        (record,) = self.run([element], now_ms)
        because = record.get("because")
        return Verdict(
            Outcome(record["outcome"]),
            record["reason"],
            because.rpartition("#")[2] if because else None,
        )

    def run(self, batch: list[Json], now_ms: int) -> list[Json]:
        """Plays one execution, and returns its records."""
        self._runs += 1
        execution = Execution(f"{_RUNS}:run{self._runs}:run{self._runs}", batch, now_ms)
        at = self._machine.start(execution, now_ms)
        records: list[Json] = []
        while isinstance(at, Position):
            place = next(iter(at.places()))
            wakes_ms = at.scope(place).wakes_ms
            if wakes_ms is not None:
                now_ms = max(now_ms, wakes_ms)
                at = self._machine.resume(at, now_ms, place)
                continue
            call = self._machine.call(at, now_ms, place)
            if isinstance(call, Call) and "LogEvents" in call.arguments:
                lines = [json.loads(event["Message"]) for event in call.arguments["LogEvents"]]
                records = [line for line in lines if "messageId" in line]
            answer = call if isinstance(call, Failure) else self._answer(call)
            step = self._machine.fail if isinstance(answer, Failure) else self._machine.answer
            at = step(at, answer, now_ms, place)
        assert at.failure is None, at.failure
        return records

    def _answer(self, call: Call) -> Json | Failure:
        operation = call.resource.removeprefix("arn:aws:states:::")
        if operation == "lambda:invoke":
            return function_result(_ACTED)
        if not operation.startswith("dynamodb:"):
            return {}
        place = key_of(call.arguments)
        row = self._rows.get(place)
        if operation == "dynamodb:getItem":
            return result({"Item": row} if row else {})
        try:
            self._rows[place] = changed(operation, call.arguments, row)
        except RefusedError:
            return REFUSED
        if call.arguments.get("ReturnValues") == "ALL_OLD":
            return result({"Attributes": row} if row else {})
        return result({"Attributes": self._rows[place]})


def random_stream(seed: int) -> list[Sent]:
    """Copies, occurrences, late events and claims that run out, of a few keys of one subject."""
    random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    window_ms = random.choice((0, 500, 1_500, 60_000))
    orders = ("none", "latest", "changes", "changes") if window_ms == 0 else ("latest",)
    order = random.choice(orders)
    now_ms, at_ms = START_MS, START_MS - 10_000
    found: list[Sent] = []
    for number in range(random.randrange(2, 13)):
        now_ms += random.choice((0, 1, 400, 2_000, 3_600_000))
        if random.random() < 0.1:
            # Around the very second in which a claim runs out.
            now_ms += CLAIM_DAYS * _DAY_MS + random.choice((-1_000, 0, 1_000))
        if found and random.random() < 0.2:
            again, _ = random.choice(found[-3:])
            # The queue delivers a settled message again.
            found.append((again | {"sentAtMs": now_ms}, now_ms))
            continue
        bound_ms = 500 if order == "changes" else window_ms
        steps = (0, 1, bound_ms - 1, bound_ms, bound_ms + 1, 2 * bound_ms + 1, 5_000)
        at_ms += random.choice((-2, -1, 0, 1, 1)) * random.choice(steps)
        element = _element(random, number, at_ms, window_ms, order) | {"sentAtMs": now_ms}
        found.append((element, now_ms))
    return found


def _element(random: Random, number: int, at_ms: int, window_ms: int, order: str) -> Json:
    state = random.choice("ab")
    policy: Json = {"windowMs": window_ms, "order": order}
    slot = random.choice("xy")
    if order != "none":
        policy["latest"] = f"latest/users.presence/{slot}"
    # The time is part of the key if nothing is windowed; the slot of a state is.
    exact = f"/{slot}" if order == "changes" else "" if window_ms else f"/{at_ms}"
    trace = {"eventId": random.choice("123")} if random.random() < 0.4 else {}
    return _routed(random, at_ms) | {
        "messageId": f"m{number}",
        "kind": "event",
        "subjectKey": "org/user/1",
        "version": "1",
        "family": "users.presence",
        "topic": "v2.users.1.presence",
        "subject": {"type": "user", "id": "1"},
        "occurredAtMs": at_ms,
        "ids": {},
        "key": {"pk": "org/user/1", "sk": f"v1/users.presence/{state}{exact}"},
        "idempotencyKey": f"key-{state}{exact}",
        "policy": policy,
        "body": {},
        "trace": trace,
        # What a message brings along besides.
        "receiptHandle": f"receipt-{number}",
        "receives": 1,
    }


def _routed(random: Random, at_ms: int) -> Json:
    """Draws what a route adds to an element: mostly nothing, or that it is unwanted or expires."""
    if random.random() < 0.8:
        return {}
    if random.random() < 0.5:
        return {"route": {"name": "all", "action": "none", "ignored": "ROUTE_IS_NONE"}}
    return {"expiresAtMs": at_ms + random.choice((9_000, 11_000, 3_600_000))}


def differences(stream: list[Sent]) -> list[str]:
    """Lists where the rule in memory and the machine disagree about a stream."""
    machine, rows = Settled(), Rows(CLAIM_DAYS)
    found = []
    for number, (element, now_ms) in enumerate(stream):
        said = machine.settle(element, now_ms)
        if said.reason == "OBSERVED":
            said = said._replace(reason="ACTED")
        ours = rows.settle(Event.of(element), now_ms)
        if ours != said:
            found.append(f"message {number}: the machine says {said}, the rule {ours}")
    return found
