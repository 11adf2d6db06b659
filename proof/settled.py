"""The state machine on a settled stream: one message a batch, each done before the next comes.

Knows tasks by the service they call, never by the name of a state.
"""

import json
from functools import cache
from random import Random
from typing import Any

from once.audit.verdict import Event, Rows, Verdict
from once.outcomes import Outcome
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
_ACTED = {"version": "2", "result": "ACTED", "status": 200, "calls": 1, "durationMs": 1}
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
        """What the machine records about the one message of a batch."""
        self._runs += 1
        records: list[Json] = []
        execution = Execution(f"{_RUNS}:run{self._runs}:run{self._runs}", [element], now_ms)
        at = self._machine.start(execution, now_ms)
        while isinstance(at, Position):
            call = self._machine.call(at, now_ms)
            answer = call if isinstance(call, Failure) else self._answer(call)
            if isinstance(call, Call) and "LogEvents" in call.arguments:
                lines = [json.loads(event["Message"]) for event in call.arguments["LogEvents"]]
                records = [line for line in lines if "messageId" in line]
            if isinstance(answer, Failure):
                at = self._machine.fail(at, answer, now_ms)
            else:
                at = self._machine.answer(at, answer, now_ms)
        assert at.failure is None, at.failure
        (record,) = records
        because = record.get("because")
        return Verdict(
            Outcome(record["outcome"]),
            record["reason"],
            because.rpartition("#")[2] if because else None,
        )

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
        return result({"Attributes": self._rows[place]})


def random_stream(seed: int) -> list[Sent]:
    """Copies, occurrences, late events and claims that run out, of a few keys of one subject."""
    random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    window_ms = random.choice((0, 500, 1_500, 60_000))
    order = random.choice(("none", "latest")) if window_ms == 0 else "latest"
    now_ms, at_ms = START_MS, START_MS - 10_000
    found: list[Sent] = []
    for number in range(random.randrange(2, 13)):
        now_ms += random.choice((0, 1, 400, 2_000, 3_600_000))
        if random.random() < 0.1:
            # Around the very second in which a claim runs out.
            now_ms += CLAIM_DAYS * _DAY_MS + random.choice((-1_000, 0, 1_000))
        if found and random.random() < 0.2:
            again, _ = random.choice(found[-3:])
            # The queue hands a settled message out once more.
            found.append((again | {"sentAtMs": now_ms}, now_ms))
            continue
        steps = (0, 1, window_ms - 1, window_ms, window_ms + 1, 2 * window_ms + 1, 5_000)
        at_ms += random.choice((-2, -1, 0, 1, 1)) * random.choice(steps)
        element = _element(random, number, at_ms, window_ms, order) | {"sentAtMs": now_ms}
        found.append((element, now_ms))
    return found


def _element(random: Random, number: int, at_ms: int, window_ms: int, order: str) -> Json:
    state = random.choice("ab")
    policy: Json = {"windowMs": window_ms, "order": order}
    if order == "latest":
        policy["latest"] = f"latest/users.presence/{random.choice('xy')}"
    # The time is part of the key where nothing is windowed.
    exact = "" if window_ms else f"/{at_ms}"
    trace = {"eventId": random.choice("123")} if random.random() < 0.4 else {}
    return {
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


def differences(stream: list[Sent]) -> list[str]:
    """Where the rule in memory and the machine disagree about a stream."""
    machine, rows = Settled(), Rows({}, {}, CLAIM_DAYS)
    found = []
    for number, (element, now_ms) in enumerate(stream):
        said = machine.settle(element, now_ms)
        if said.reason == "OBSERVED":
            said = said._replace(reason="ACTED")
        ours = rows.settle(Event.of(element), now_ms)
        if ours != said:
            found.append(f"message {number}: the machine says {said}, the rule {ours}")
    return found
