"""Ten times more events than the destination takes: all act once, none dies, the limit holds.

Run: python -m bench.overload [--events 3000] [--limit 360] [--down SECONDS]
Writes bench/results/overload.json, or overload-down.json. The destination counts, not we.
"""

import argparse
import json
import sys
import threading
import time
import uuid
from bisect import bisect_left
from collections import Counter
from pathlib import Path
from typing import Any

from once.embedded.stack import EmbeddedStack
from once.genesys import GenesysServer

RESULTS = Path(__file__).parent / "results"
MINUTE_MS = 60_000
OVERLOAD = 10
COPIES = 0.2
LEAST_UTILISATION = 0.9


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


def most_in_a_minute(calls_ms: list[int]) -> int:
    return max(
        (bisect_left(calls_ms, start + MINUTE_MS) - i for i, start in enumerate(calls_ms)),
        default=0,
    )


def depth(stack: EmbeddedStack, output: str) -> int:
    attributes = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=["All"]
    )["Attributes"]
    return sum(int(n) for name, n in attributes.items() if name.startswith("ApproximateNumber"))


def measure(events: int, limit: int, down_seconds: float) -> dict[str, Any]:
    per_second = limit / 60 * OVERLOAD
    with GenesysServer() as destination:

        def parameters(aws: Any) -> dict[str, str]:
            secret = {"clientId": destination.client_id, "clientSecret": destination.client_secret}
            return {
                "ActionTarget": "genesys",
                "GenesysHost": destination.url,
                "DestinationSecretArn": aws.client("secretsmanager").create_secret(
                    Name="overload", SecretString=json.dumps(secret)
                )["ARN"],
                "MaxActionsPerMinute": str(limit),
            }

        with EmbeddedStack.start(parameters, step=lambda what: print(what, flush=True)) as stack:
            down_from = events / per_second * OVERLOAD / 3 if down_seconds else 0
            sender = threading.Thread(target=send, args=(stack, events, per_second))
            started = time.monotonic()
            sender.start()
            fault, fault_ms = None, (0, 0)
            while True:
                time.sleep(0.5)
                elapsed = time.monotonic() - started
                acted = sum(record.effects for record in destination.keys.values())
                if down_seconds and fault is None and elapsed >= down_from:
                    fault = {"match": {}, "then": 503}
                    destination.script.add(fault)
                    now = time.time_ns() // 1_000_000
                    fault_ms = (now, now + int(down_seconds * 1000))
                if fault is not None and time.time_ns() // 1_000_000 > fault_ms[1]:
                    destination.script.rules.clear()
                if acted >= events:
                    break
                if elapsed > events / limit * 60 * 3 + 4 * down_seconds + 120:
                    print("gave up waiting", file=sys.stderr)
                    break
                print(f"\r{elapsed:6.0f} s  {acted} of {events} acted", end="", flush=True)
            sender.join()
            while depth(stack, "EventQueueUrl"):
                time.sleep(1)
            dead = depth(stack, "EventDeadLettersUrl")
            parked = depth(stack, "ParkingQueueUrl")
        calls = sorted(entry.at_ms for entry in destination.received("execute"))
        effects = Counter(record.effects for record in destination.keys.values())
        acts = Counter(record.acts for record in destination.keys.values())
    seconds = (calls[-1] - calls[0]) / 1000
    while_down = [at for at in calls if fault_ms[0] + 5_000 <= at < fault_ms[1]]
    working_seconds = seconds - down_seconds
    return {
        "events": events,
        "copies_sent": events // 5,
        "limit_per_minute": limit,
        "arrivals_per_second": per_second,
        "acted_once": acts[1],
        "acted_twice": sum(count for times, count in acts.items() if times > 1),
        "lost": events - effects[1],
        "dead_letters": dead,
        "parked": parked,
        "calls": len(calls),
        "most_calls_in_any_minute": most_in_a_minute(calls),
        "seconds": round(seconds, 1),
        "utilisation": round(events / working_seconds * 60 / limit, 3),
        "down_seconds": down_seconds,
        "calls_while_down": len(while_down),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--limit", type=int, default=360, help="calls a minute")
    parser.add_argument("--down", type=float, default=0, help="seconds of a destination that fails")
    chosen = parser.parse_args()
    result = measure(chosen.events, chosen.limit, chosen.down)
    name = "overload-down" if chosen.down else "overload"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    print("\n" + json.dumps(result, indent=2))
    good = (
        result["lost"] == result["acted_twice"] == result["dead_letters"] == result["parked"] == 0
        and result["most_calls_in_any_minute"] <= chosen.limit
        and (chosen.down or result["utilisation"] >= LEAST_UTILISATION)
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
