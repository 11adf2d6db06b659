"""Ten times more events than the destination takes: all act once, none dies, the limit holds.

Run: python -m bench.overload [--events 3000] [--limit 360] [--down SECONDS]. Writes its part of
bench/results/overload.json: the run through, or the one with the destination down in the middle.
The destination counts, not we.
"""

import argparse
import json
import sys
import threading
import time
import uuid
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from bench import recorded
from once.embedded.stack import EmbeddedStack
from once.genesys.server import GenesysServer
from once.outcomes import OutcomeLog
from once.run.command import destination_parameters

MINUTE_MS = 60_000
OVERLOAD = 10
LEAST_UTILISATION = 0.9
MOST_PROBES = 8  # "at most a handful", as its pauses double
# Those that find out that it is down, and those in flight meanwhile, are over after so long.
FOUND_OUT_MS = 10_000
_LOOK_SECONDS = 0.5


def event(number: int) -> str:
    """A customer.end of one of many conversations; every fifth is sent twice."""
    conversation = str(uuid.UUID(int=number + 1))
    at_ms = 1_760_000_000_000 + number
    return json.dumps(
        {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": "v2.detail.events.conversation.{id}.customer.end",
            "source": "aws.partner/genesys.com/cloud/00000000-0000-0000-0000-00000000000a/load",
            "time": "2025-10-09T08:53:20Z",
            "detail": {
                "topicName": f"v2.detail.events.conversation.{conversation}.customer.end",
                "version": "2",
                "eventBody": {
                    "eventTime": at_ms,
                    "conversationId": conversation,
                    "participantId": str(uuid.UUID(int=number + 2)),
                    "sessionId": str(uuid.UUID(int=number + 3)),
                    "disconnectType": "ENDPOINT",
                    "mediaType": "VOICE",
                },
                "metadata": {"CorrelationId": str(uuid.uuid4())},
                "timestamp": "2025-10-09T08:53:20.000Z",
            },
        }
    )


def send(stack: EmbeddedStack, events: int, per_second: float) -> None:
    """Sends as evenly as the clock allows, copies included."""
    sqs = stack.client("sqs")
    queue = stack.outputs["EventQueueUrl"]
    bodies = [event(number) for number in range(events)]
    bodies = [
        body for number, body in enumerate(bodies) for _ in range(2 if number % 5 == 0 else 1)
    ]
    started = time.monotonic()
    for first in range(0, len(bodies), 10):
        time.sleep(max(0.0, started + first / per_second - time.monotonic()))
        batch = bodies[first : first + 10]
        sqs.send_message_batch(
            QueueUrl=queue,
            Entries=[{"Id": str(i), "MessageBody": body} for i, body in enumerate(batch)],
        )


def most_in_a_minute(calls_ms: Sequence[int]) -> int:
    return max(
        (bisect_left(calls_ms, start + MINUTE_MS) - i for i, start in enumerate(calls_ms)),
        default=0,
    )


@dataclass(frozen=True)
class Look:
    """How many messages were there at a moment."""

    at_ms: int
    waiting: int  # visible or delayed
    in_work: int

    @classmethod
    def at(cls, stack: EmbeddedStack, output: str) -> "Look":
        told = stack.client("sqs").get_queue_attributes(
            QueueUrl=stack.outputs[output], AttributeNames=["All"]
        )["Attributes"]
        visible, delayed, in_work = (
            int(told[f"ApproximateNumberOfMessages{what}"])
            for what in ("", "Delayed", "NotVisible")
        )
        return cls(time.time_ns() // 1_000_000, visible + delayed, in_work)


def waiting_spans(looks: Sequence[Look], down_ms: tuple[int, int]) -> list[tuple[int, int]]:
    """From look to look, where at both something waited and the destination was not out."""
    return [
        (first.at_ms, second.at_ms)
        for first, second in pairwise(looks)
        if first.waiting
        and second.waiting
        and not (first.at_ms < down_ms[1] and second.at_ms > down_ms[0])
    ]


def utilisation(calls_ms: Sequence[int], spans: Sequence[tuple[int, int]], limit: int) -> float:
    """Calls made while something waited, as a share of those allowed."""
    calls = sum(bisect_left(calls_ms, end) - bisect_left(calls_ms, begin) for begin, end in spans)
    return calls * MINUTE_MS / limit / sum(end - begin for begin, end in spans)


def measure(events: int, limit: int, down_seconds: float) -> dict[str, Any]:
    per_second = limit / 60 * OVERLOAD
    looks: list[Look] = []
    fault_ms = (0, 0)
    with GenesysServer() as destination:

        def parameters(aws: Any) -> dict[str, str]:
            return {
                **destination_parameters(aws, destination),
                "MaxActionsPerMinute": str(limit),
            }

        with EmbeddedStack.start(parameters, step=lambda what: print(what, flush=True)) as stack:
            sender = threading.Thread(target=send, args=(stack, events, per_second))
            started = time.monotonic()
            sender.start()
            acted = 0
            while acted < events or sender.is_alive() or looks[-1].waiting + looks[-1].in_work:
                time.sleep(_LOOK_SECONDS)
                looks.append(Look.at(stack, "EventQueueUrl"))
                elapsed, now_ms = time.monotonic() - started, looks[-1].at_ms
                acted = sum(record.effects for record in destination.keys.values())
                if down_seconds and not fault_ms[0] and acted >= events / 3:
                    destination.script.add({"match": {}, "then": 503})
                    fault_ms = (now_ms, now_ms + int(down_seconds * 1000))
                elif fault_ms[0] and now_ms > fault_ms[1]:
                    destination.script.rules.clear()
                if elapsed > events / limit * 60 * 3 + 2 * down_seconds + 120:
                    print("gave up waiting", file=sys.stderr)
                    break
                if len(looks) % 20 == 0:
                    print(f"{elapsed:6.0f} s  {acted} of {events} acted", flush=True)
            sender.join()
            outcomes = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"])
            deferred = sum(record.deferred_to is not None for record in outcomes.new())
            dead, parked = (
                sum((look.waiting, look.in_work))
                for look in (
                    Look.at(stack, f"{name}Url") for name in ("EventDeadLetters", "ParkingQueue")
                )
            )
        calls = sorted(entry.at_ms for entry in destination.received("execute"))
        good = sorted(entry.at_ms for entry in destination.received("execute") if entry.acted)
        records = list(destination.keys.values())
    acts = Counter(record.acts for record in records)
    found_ms = fault_ms[0] + FOUND_OUT_MS
    resumed_ms = next((at for at in good if at > fault_ms[1]), fault_ms[1]) if fault_ms[0] else 0
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "events": events,
        "copies": events // 5,
        "limitPerMinute": limit,
        "arrivalsPerSecond": per_second,
        "actedOnce": acts[1],
        "actedTwice": sum(count for times, count in acts.items() if times > 1),
        "lost": events - sum(record.effects for record in records),
        "deadLetters": dead,
        "parked": parked,
        "deferrals": deferred,
        "calls": len(calls),
        "mostCallsInAnyMinute": most_in_a_minute(calls),
        "seconds": round((calls[-1] - calls[0]) / 1000, 1),
        "utilisation": round(
            utilisation(calls, waiting_spans(looks, (fault_ms[0], resumed_ms)), limit), 3
        ),
        "downSeconds": down_seconds,
        "callsUntilFoundDown": sum(fault_ms[0] <= at < found_ms for at in calls),
        "probesWhileDown": sum(found_ms <= at < fault_ms[1] for at in calls),
        "secondsUntilResumed": round((resumed_ms - fault_ms[1]) / 1000, 1),
    }


def holds(result: dict[str, Any]) -> bool:
    return (
        result["lost"] == result["actedTwice"] == result["deadLetters"] == result["parked"] == 0
        and result["mostCallsInAnyMinute"] <= result["limitPerMinute"]
        and result["utilisation"] >= LEAST_UTILISATION
        and result["probesWhileDown"] <= MOST_PROBES
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--limit", type=int, default=360, help="calls a minute")
    parser.add_argument("--down", type=float, default=0, help="seconds of a destination that fails")
    chosen = parser.parse_args()
    result = measure(chosen.events, chosen.limit, chosen.down)
    try:
        known = recorded.read("overload")
    except FileNotFoundError:
        known = {}
    recorded.write("overload", {**known, "down" if chosen.down else "through": result})
    print(json.dumps(result, indent=2))
    return 0 if holds(result) else 1


if __name__ == "__main__":
    sys.exit(main())
