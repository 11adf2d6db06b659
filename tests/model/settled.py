"""The deployed definition on a settled stream: each event is done before the next comes."""

import json
from random import Random
from typing import Any

from once.model.reasons import Outcome
from once.model.rule import Event, Rows, Verdict
from proof.asl.errors import Failure
from proof.asl.machine import Call
from proof.asl.position import Ended, Execution
from proof.asl.services import REFUSED, result
from proof.definition.asl import SUBSTITUTIONS
from proof.sim.table import Key, RefusedError, Row, key_of, written
from tests.statemachine import playing

Json = dict[str, Any]
Sent = tuple[Json, int]
"""An element, and when its execution runs."""

START_MS = 1_777_875_660_000
CLAIM_DAYS = int(SUBSTITUTIONS["ClaimDays"])
_ARN = "arn:aws:states:us-east-1:123456789012:express:once:{0}:{0}"
_DAY_MS = 86_400_000


class Settled:
    """Its tables answer well, and so does the destination, unless it rejects."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}
        self.rejects = False
        self._runs = 0

    def settle(self, element: Json, now_ms: int) -> Verdict:
        """Returns what the machine records about the event."""
        self._runs += 1
        machine = playing.machine()
        execution = Execution(_ARN.format(f"run{self._runs}"), [element], now_ms)
        position = machine.start(execution, now_ms)
        record: Json = {}
        while not isinstance(position, Ended):
            if position.top.wakes_ms is not None:
                now_ms = max(now_ms, position.top.wakes_ms)
                position = machine.resume(position, now_ms)
                continue
            call = machine.call(position, now_ms)
            if isinstance(call, Call) and "LogEvents" in call.arguments:
                record = json.loads(call.arguments["LogEvents"][0]["Message"])
            answer = self._answer(call) if isinstance(call, Call) else call
            step = machine.fail if isinstance(answer, Failure) else machine.answer
            position = step(position, answer, now_ms)
        assert position.failure is None, position.failure
        because = record.get("because")
        met = because.rpartition("#")[2] if because else None
        return Verdict(Outcome(record["outcome"]), record["reason"], met)

    def _answer(self, call: Call) -> Any:
        operation = call.resource.removeprefix("arn:aws:states:::")
        if operation == "lambda:invoke":
            rejected = playing.raised("Parked", reason="REJECTED", cause="HTTP 422", requests=1)
            return rejected if self.rejects else playing.ACTED
        if operation == "sqs:sendMessage":
            return {"MessageId": "sent"}
        if not operation.startswith("dynamodb:"):
            return {}
        place = key_of(call.arguments)
        row = self.rows.get(place)
        if operation == "dynamodb:getItem":
            return result({"Item": row} if row else {})
        verb = operation.removeprefix("dynamodb:").removesuffix("Item")
        try:
            after = written(verb, call.arguments, row)
        except RefusedError:
            return REFUSED
        assert after is not None
        self.rows[place] = after
        old = call.arguments.get("ReturnValues") == "ALL_OLD"
        return result({"Attributes": row} if old and row else {})


def random_stream(seed: int) -> list[Sent]:
    """Copies, occurrences, unwanted and late events of a few states of one subject."""
    random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    window_ms = random.choice((0, 500, 1_500, 60_000))
    orders = ("none", "latest", "changes", "changes", "changes") if not window_ms else ("latest",)
    order = random.choice(orders)
    now_ms, at_ms = START_MS, START_MS - 10_000
    stream: list[Sent] = []
    for number in range(random.randrange(2, 13)):
        now_ms += random.choice((0, 1, 400, 2_000, 3_600_000))
        if order == "none" and random.random() < 0.1:
            # Around the very second in which a claim runs out.
            now_ms += CLAIM_DAYS * _DAY_MS + random.choice((-1_000, 0, 1_000))
        now_ms += 200_000  # each turn is over
        if stream and random.random() < 0.2:
            again, _ = random.choice(stream[-3:])
            stream.append((again, now_ms))  # the queue delivers a settled message again
            continue
        bound_ms = 500 if order == "changes" else window_ms
        steps = (0, 1, bound_ms - 1, bound_ms, bound_ms + 1, 2 * bound_ms + 1, 5_000)
        at_ms += random.choice((-2, -1, 0, 1, 1)) * random.choice(steps)
        stream.append((_element(random, number, at_ms, window_ms, order), now_ms))
    return stream


def _element(random: Random, number: int, at_ms: int, window_ms: int, order: str) -> Json:
    state, slot = random.choice("ab"), random.choice("xy")
    policy: Json = {"windowMs": window_ms, "order": order}
    if order != "none":
        policy["latest"] = f"latest/users.presence/{slot}"
    # The time is part of the key if nothing is windowed; the slot of a state is.
    exact = f"/{slot}" if order == "changes" else "" if window_ms else f"/{at_ms}"
    if order == "changes" and random.random() < 0.15:
        policy["order"], exact = "every", f"/{slot}/{at_ms}"
    ignored = random.random() < 0.1
    route = {"name": "all", "action": "none", **({"ignored": "ROUTE_IS_NONE"} if ignored else {})}
    expires_ms = random.choice((9_000, 11_000, 3_600_000)) if random.random() < 0.1 else 10**12
    return playing.element(
        firstMessageId=f"m{number}",
        waitsSinceMs=10**14,  # no event gives up
        occurredAtMs=at_ms,
        key={"pk": "org/user/1", "sk": f"v2/users.presence/{state}{exact}"},
        policy=policy,
        facts=f"facts {state}",
        route=route,
        expiresAtMs=at_ms + expires_ms,
        trace={"eventId": random.choice("123")} if random.random() < 0.3 else {},
    )


def find_differences(stream: list[Sent]) -> list[str]:
    """Lists where the rule in memory and the machine disagree about a stream."""
    machine, rows = Settled(), Rows(CLAIM_DAYS)
    differences = []
    for number, (element, now_ms) in enumerate(stream):
        theirs = machine.settle(element, now_ms)
        ours = rows.settle(Event.of(element), now_ms)
        if ours != theirs:
            differences.append(f"message {number}: the machine says {theirs}, the rule {ours}")
    return differences
