"""Runs a destination that is limited, down, hanging, failing for some events, answering 429, or out
of reach by a fault of ours. All other events act once, none becomes a dead letter, and the
destination gets few requests meanwhile.

Run: python -m bench.overload [SCENARIO ...]. All together they write bench/results/overload.json.
Every wait and fault is a tenth of production's, as with Timing=fast. The destination counts.
"""

import argparse
import json
import sys
import threading
import time
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench import recorded
from bench.events import START_MS, Centre, text
from once.genesys.server import GenesysServer, Received
from once.local.stack import LocalStack
from once.records import OutcomeLog
from once.run.local import local_stack

MINUTE_MS = 60_000
LEAST_UTILISATION = 0.9
# An open breaker probes every 2 s; each request takes at most half a second to arrive.
LEAST_APART_MS = 1_500
MOST_RESUME_SECONDS = 6.0  # a minute for an outage of up to ten, in production
MOST_LATE_SECONDS = 12.0  # two minutes in production, after a fault that opens no breaker
MAX_TRIES = 4
# Lambda refuses to run our function, as if the account's concurrency were used up.
THROTTLED = "throttled"
RETRY_AFTER = 4  # seconds
# How long after a 429, or after the breaker opened, running batches may still send requests.
_UNDER_WAY_MS, _UNDER_WAY_OPEN_MS = 2_000, 6_000
_LOOK_SECONDS = 0.25
_WARM_UP = 40
_PATIENCE_SECONDS = 480

_TRICKLE_SECONDS = 0.5  # events are given up only while others are answered

Fault = int | str | dict[str, int]


@dataclass(frozen=True)
class Scenario:
    """Events at a constant rate, every fifth of them twice, and what is wrong where they go."""

    events: int
    per_second: float
    limit: int = 0  # calls a minute
    fault: Fault = ""  # what every call meets meanwhile
    from_seconds: float = 20
    fault_seconds: float = 0
    poison_every: int = 0  # each so many fails whenever it is called for

    def poison(self, number: int) -> bool:
        return bool(self.poison_every) and number % self.poison_every == 1


SCENARIOS = {
    "limit": Scenario(600, 60, limit=360),
    "outage": Scenario(600, 10, fault=503, fault_seconds=24),
    "hang": Scenario(780, 13, fault="timeout", fault_seconds=24),
    "hang at 50/s": Scenario(2_000, 50, fault="timeout", fault_seconds=24),
    "poison": Scenario(600, 10, poison_every=20),
    "limit and poison": Scenario(200, 60, limit=360, poison_every=20),
    "429": Scenario(400, 10, fault={"status": 429, "retryAfter": RETRY_AFTER}, fault_seconds=16),
    "not authorised": Scenario(400, 10, fault=401, fault_seconds=24),
    "Lambda throttled": Scenario(400, 10, fault=THROTTLED, fault_seconds=24),
}
DOWN = (503, "timeout")
_CENTRE = Centre(1)


def conversation(number: int) -> str:
    return str(uuid.UUID(int=(number + 1) % 2**128))


def event(number: int) -> str:
    """A customer.end of one of many conversations; sent again, it has another envelope."""
    own = {"participantId": conversation(number + 1), "sessionId": conversation(number + 2)}
    at_ms, one = START_MS + number, conversation(number)
    return text(_CENTRE.conversation("customer.end", at_ms, one, **own))


class Sender:
    """Sends as evenly as the clock allows, and where some are to be given up, others after that."""

    def __init__(self, stack: LocalStack, scenario: Scenario) -> None:
        self.sent_ms: dict[str, int] = {}
        self.wanted = threading.Event()
        self._sqs, self._queue = stack.client("sqs"), stack.outputs["EventQueueUrl"]
        self._scenario = scenario
        self._thread = threading.Thread(target=self._send, daemon=True)

    def start(self) -> None:
        self.wanted.set()
        self._thread.start()

    def done(self) -> bool:
        return len(self.sent_ms) >= self._scenario.events

    def stop(self) -> None:
        self.wanted.clear()
        self._thread.join()

    def _send(self) -> None:
        started, number = time.monotonic(), 0
        while number < self._scenario.events:
            due = int((time.monotonic() - started) * self._scenario.per_second)
            for one in range(number, min(due + 1, self._scenario.events)):
                self._send_one(one, twice=one % 5 == 0)
                number = one + 1
            time.sleep(0.02)
        while self._scenario.poison_every and self.wanted.wait(0):
            time.sleep(_TRICKLE_SECONDS)
            self._send_one(number + number % self._scenario.poison_every, twice=False)
            number += self._scenario.poison_every

    def _send_one(self, number: int, *, twice: bool) -> None:
        for _ in range(1 + twice):
            self._sqs.send_message(QueueUrl=self._queue, MessageBody=event(number))
        self.sent_ms[conversation(number)] = time.time_ns() // 1_000_000


def most_in(span_ms: int, calls_ms: Sequence[int]) -> int:
    """Counts the most requests in any span of this length."""
    return max(
        (bisect_left(calls_ms, start + span_ms) - i for i, start in enumerate(calls_ms)),
        default=0,
    )


@dataclass(frozen=True)
class Look:
    """A look at queue and destination at one moment."""

    at_ms: int
    waiting: int
    in_flight: int  # in work, or waiting for its return time
    open: bool = False

    @classmethod
    def at(cls, stack: LocalStack, output: str = "EventQueueUrl") -> "Look":
        asked = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs[output], AttributeNames=["All"]
        )["Attributes"]
        waiting, in_flight = (
            int(asked[f"ApproximateNumberOfMessages{what}"]) for what in ("", "NotVisible")
        )
        row = stack.client("dynamodb").get_item(
            TableName=stack.outputs["ClaimTableName"],
            Key={"pk": {"S": "pace"}, "sk": {"S": "breaker"}},
        )
        opened = "open_until" in row.get("Item", {})
        return cls(time.time_ns() // 1_000_000, waiting, in_flight, opened)

    @property
    def messages(self) -> int:
        return self.waiting + self.in_flight


def calls_between(calls_ms: Sequence[int], begin_ms: int, end_ms: int) -> int:
    """Counts the requests from one time until before the other."""
    return bisect_left(calls_ms, end_ms) - bisect_left(calls_ms, begin_ms)


def waiting_spans(looks: Sequence[Look], least: int) -> list[tuple[int, int]]:
    """From look to look, where at both so many messages were on the queue."""
    return [
        (first.at_ms, second.at_ms)
        for first, second in pairwise(looks)
        if first.messages >= least and second.messages >= least
    ]


def utilisation(calls_ms: Sequence[int], spans: Sequence[tuple[int, int]], limit: int) -> float:
    """Calls made while something waited, as a share of those allowed."""
    calls = sum(calls_between(calls_ms, begin, end) for begin, end in spans)
    return calls * MINUTE_MS / limit / sum(end - begin for begin, end in spans)


def percentile(share: float, values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def warm_up(stack: LocalStack, destination: GenesysServer) -> None:
    """Starts the functions, so that their first start does not count as waiting."""
    sqs, queue = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    for number in range(_WARM_UP):
        sqs.send_message(QueueUrl=queue, MessageBody=event(-2 - number))
    while len({one.facts["conversationId"] for one in destination.received("execute")}) < _WARM_UP:
        time.sleep(_LOOK_SECONDS)


def begin(fault: Fault, stack: LocalStack, destination: GenesysServer) -> None:
    """Every call meets it from now on."""
    if fault == THROTTLED:
        stack.client("lambda").put_function_concurrency(
            FunctionName=stack.outputs["DataActionFunctionName"], ReservedConcurrentExecutions=0
        )
    else:
        destination.script.add({"match": {}, "then": fault})


def end(fault: Fault, stack: LocalStack, destination: GenesysServer) -> None:
    """All is well again."""
    if fault == THROTTLED:
        stack.client("lambda").delete_function_concurrency(
            FunctionName=stack.outputs["DataActionFunctionName"]
        )
    else:
        destination.script.rules.clear()


def measure(scenario: Scenario, show: Callable[[str], None]) -> dict[str, Any]:
    looks: list[Look] = []
    fault_ms, over = (0, 0), False
    poison = [number for number in range(scenario.events) if scenario.poison(number)]
    parameters = {"MaxActionsPerMinute": str(scenario.limit), "MaxTries": str(MAX_TRIES)}
    with local_stack(parameters, step=show) as local:
        stack, destination = local.stack, local.destination
        for number in poison:
            match = {"conversationId": conversation(number)}
            destination.script.add({"match": match, "then": 500})
        warm_up(stack, destination)
        outcomes = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"])
        show(f"warm after {len(list(outcomes.new()))} records")
        sender = Sender(stack, scenario)
        started = time.monotonic()
        sender.start()
        while True:
            time.sleep(_LOOK_SECONDS)
            looks.append(Look.at(stack))
            elapsed, now_ms = time.monotonic() - started, looks[-1].at_ms
            parked = Look.at(stack, "ParkingQueueUrl").messages
            if scenario.fault and not fault_ms[0] and elapsed >= scenario.from_seconds:
                begin(scenario.fault, stack, destination)
                fault_ms = (now_ms, now_ms + int(scenario.fault_seconds * 1000))
            elif fault_ms[0] and not over and now_ms >= fault_ms[1]:
                end(scenario.fault, stack, destination)
                over = True
            if parked >= len(poison):
                sender.wanted.clear()
            if sender.done() and parked >= len(poison) and not looks[-1].messages:
                break
            if elapsed > _PATIENCE_SECONDS:
                print("gave up waiting", file=sys.stderr)
                break
            if len(looks) % 40 == 0:
                show(f"{elapsed:6.0f} s, {looks[-1].messages} on the queue, {parked} parked")
        sender.stop()
        stack.pipe.stop()  # when the batches in flight have ended
        records = list(outcomes.new())
        dead = Look.at(stack, "EventDeadLettersUrl").messages
        parked = Look.at(stack, "ParkingQueueUrl").messages
        every = sorted(destination.received("execute"), key=lambda one: one.at_ms)
        requests = [one for one in every if one.facts["conversationId"] in sender.sent_ms]
    handed_back = Counter(record.reason for record in records if record.outcome == "RETRY")
    return {
        "events": scenario.events,
        "copies": scenario.events // 5,
        "perSecond": scenario.per_second,
        "limitPerMinute": scenario.limit,
        "fault": scenario.fault,
        "faultSeconds": scenario.fault_seconds,
        "poison": len(poison),
        "maxTries": MAX_TRIES,
        "deadLetters": dead,
        "parked": parked,
        "givenUp": len({r.message_id for r in records if r.reason == "GAVE_UP"}),
        "handedBack": dict(sorted(handed_back.items())),
        "mostTries": max(record.tries or 0 for record in records),
        "mostRounds": max(Counter(record.message_id for record in records).values()),
        **_of_the_destination(requests, sender.sent_ms, fault_ms),
        **_of_the_breaker(looks, requests, fault_ms if scenario.fault in DOWN else (0, 0)),
        **_of_the_limit(looks, every, scenario.limit),
    }


def _of_the_destination(
    requests: Sequence[Received], sent_ms: dict[str, int], fault_ms: tuple[int, int]
) -> dict[str, Any]:
    acted = [one for one in requests if one.acted]
    first = {one.facts["conversationId"]: one.at_ms for one in reversed(acted)}
    acts = Counter(one.facts["conversationId"] for one in acted)
    outside = [
        (at_ms - sent_ms[who]) / 1000
        for who, at_ms in first.items()
        if not fault_ms[0] or sent_ms[who] < fault_ms[0] - 5_000 or sent_ms[who] > fault_ms[1]
    ]
    refused_ms = [one.at_ms for one in requests if one.status == 429]
    calls_ms = [one.at_ms for one in requests]
    return {
        "sent": len(sent_ms),
        "calls": len(requests),
        "acted": len(acts),
        "actedTwice": sum(count > 1 for count in acts.values()),
        "secondsToActP50": round(percentile(0.5, outside), 2),
        "secondsToActP99": round(percentile(0.99, outside), 2),
        "seconds": round((requests[-1].at_ms - requests[0].at_ms) / 1000, 1),
        "refused": len(refused_ms),
        "callsInAPause": sum(
            calls_between(calls_ms, at_ms + _UNDER_WAY_MS, at_ms + 1000 * RETRY_AFTER)
            for at_ms in refused_ms
        ),
        "secondsUntilAllActed": round(
            max(at for who, at in first.items() if sent_ms[who] <= fault_ms[1]) / 1000
            - fault_ms[1] / 1000,
            1,
        )
        if fault_ms[0]
        else 0,
    }


def _of_the_breaker(
    looks: Sequence[Look], requests: Sequence[Received], fault_ms: tuple[int, int]
) -> dict[str, Any]:
    opened = next((look.at_ms for look in looks if look.open), None)
    if opened is None or not fault_ms[0]:
        return {"opened": opened is not None}
    while_open = [one.at_ms for one in requests if opened <= one.at_ms < fault_ms[1]]
    steady = [at_ms for at_ms in while_open if at_ms > opened + _UNDER_WAY_OPEN_MS]
    resumed = next(one.at_ms for one in requests if one.acted and one.at_ms >= fault_ms[1])
    failed = [one.at_ms for one in requests if not one.acted]
    return {
        "opened": True,
        "secondsUntilOpen": round((opened - failed[0]) / 1000, 1),
        "callsUntilOpen": sum(at < opened for at in failed),
        "secondsOpen": round((fault_ms[1] - opened) / 1000, 1),
        "callsWhileOpen": len(while_open),
        "mostCallsInAPause": most_in(LEAST_APART_MS, steady),
        "secondsUntilResumed": round((resumed - fault_ms[1]) / 1000, 1),
    }


def _of_the_limit(
    looks: Sequence[Look], requests: Sequence[Received], limit: int
) -> dict[str, Any]:
    if not limit:
        return {}
    calls_ms = [one.at_ms for one in requests]
    return {
        "mostCallsInAnyMinute": most_in(MINUTE_MS, calls_ms),
        # With fewer left than a few slots hold, some slot finds no taker.
        "utilisation": round(utilisation(calls_ms, waiting_spans(looks, limit // 10), limit), 3),
    }


def flaws(result: dict[str, Any]) -> list[str]:
    """Lists the expectations that did not hold."""
    lost = result["sent"] - result["acted"] - result["poison"]
    must = {
        "none is lost": lost == 0,
        "none acts twice": result["actedTwice"] == 0,
        "none is a dead letter": result["deadLetters"] == 0,
        "what always fails is given up, and nothing else": result["parked"]
        == result["givenUp"]
        == result["poison"],
    }
    if result["limitPerMinute"]:
        must["the limit holds"] = result["mostCallsInAnyMinute"] <= result["limitPerMinute"]
        must["the limit is used"] = result["utilisation"] >= LEAST_UTILISATION
    if result["fault"] in DOWN:
        must["the breaker opens"] = result["opened"]
        if result["opened"]:
            must["it is left alone while it is down"] = result["mostCallsInAPause"] <= 1
            must["it is called soon after"] = result["secondsUntilResumed"] <= MOST_RESUME_SECONDS
    elif result["fault"]:
        must["no try is spent"] = result["mostTries"] == 0
        must["it is asked no sooner than it named"] = result["callsInAPause"] == 0
        must["all act soon after"] = result["secondsUntilAllActed"] <= MOST_LATE_SECONDS
    # A 429 closes the way too, until one call has probed.
    if result["fault"] not in DOWN and not result["refused"]:
        must["the breaker stays closed"] = not result["opened"]
    return [what for what, holds in must.items() if not holds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", choices=[*SCENARIOS, []], metavar="SCENARIO")
    chosen = parser.parse_args().scenarios or list(SCENARIOS)
    found, measured = [], {}
    for name in chosen:
        result = measure(SCENARIOS[name], lambda what: print(what, flush=True))
        measured[name] = result
        print(name, json.dumps(result, indent=2))
        found += [f"{name}: not so: {flaw}" for flaw in flaws(result)]
    print(*found, sep="\n")
    if chosen == list(SCENARIOS):
        recorded.write("overload", measured)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
