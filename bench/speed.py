"""Measures the two functions: the enrichment's time per event, what the data action adds to a
request, and their imports.

Run: python -m bench.speed. Writes bench/results/speed.json; ends with 1 if a bound does not hold.
It counts processor time, since other programs may run meanwhile.
"""

import compileall
import json
import os
import statistics
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any, cast

from once_data_action import genesys
from once_data_action import handler as action
from once_data_action.handler import Settings
from once_data_action.outbound import Outbound, Response, Secret
from once_data_action.request import Budget
from once_enrichment import handler as enrichment

from bench import sources
from bench.events import START_MS, Centre, text, usual
from once.genesys.server import CLIENT_ID, CLIENT_SECRET, GenesysServer

EVENTS = 2_000
CALLS = 300
DESTINATION_MS = 20
SNAPSHOT_KILOBYTES = (5, 20, 60)
IMPORTS = 15
ONE_MODEL = "from pydantic import BaseModel\nclass Event(BaseModel):\n    id: str"


def bodies(count: int) -> list[str]:
    return [text(event) for event in islice(usual(Centre(1)), count)]


def snapshot(kilobytes: int, number: int) -> str:
    """Returns a snapshot of this size: a conversation of many participants."""
    centre = Centre(number)
    event = centre.snapshot(centre.id(), centre.id(), START_MS)
    participants = event["detail"]["eventBody"]["participants"]
    while len(text(event)) < kilobytes * 1_000:
        participants.append({**participants[1], "id": centre.id()})
    return text(event)


def enrich(number: int, body: str) -> dict[str, Any]:
    attributes = {"SentTimestamp": str(START_MS), "ApproximateReceiveCount": "1"}
    record = {"messageId": f"m{number}", "body": body, "attributes": attributes}
    (element,) = enrichment.handler([record], None)
    return element


def enriching_ms(body: str) -> float:
    began = time.thread_time()
    enrich(0, body)
    return (time.thread_time() - began) * 1_000


def measure_enrichment() -> dict[str, Any]:
    for body in bodies(200):
        enriching_ms(body)
    taken = [enriching_ms(body) for body in bodies(EVENTS)]
    return {
        "medianMs": round(statistics.median(taken), 2),
        "p99Ms": round(statistics.quantiles(taken, n=100)[98], 2),
        "snapshotsMs": {
            f"{size} KB": round(min(enriching_ms(snapshot(size, n)) for n in range(20)), 2)
            for size in SNAPSHOT_KILOBYTES
        },
    }


class _Aws:
    """Secrets Manager and a table without a breaker's row, without their network."""

    def get_secret_value(self, **_: str) -> dict[str, str]:
        return {"SecretString": json.dumps({"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET})}

    def get_item(self, **_: Any) -> dict[str, Any]:
        return {}


class _Counting(Outbound):
    """Counts what goes out: request line, headers and body."""

    sent_bytes = 0

    def post(self, url: str, headers: Any, body: bytes, budget: Budget) -> Response:
        lines = sum(len(name) + len(value) + 4 for name, value in headers.items())
        self.sent_bytes += len(url) + len("POST  HTTP/1.1\r\n\r\n") + lines + len(body)
        return super().post(url, headers, body, budget)


def measure_requests() -> dict[str, float]:
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    delay = {"match": {"endpoint": "execute"}, "then": {"delayMs": DESTINATION_MS}}
    with GenesysServer(script={"rules": [delay]}) as server:
        aws, http = cast(Any, _Aws()), _Counting(now_ms)
        tokens = genesys.Tokens(
            server.url, Secret("arn", genesys.FIELDS, aws, now_ms), http, now_ms
        )
        target = genesys.Genesys(server.url, tokens, http)
        drive = action.Driver(Settings("genesys", claim_table="t"), target, aws, now_ms)
        payloads = [payload(number, body) for number, body in enumerate(bodies(CALLS + 1))]
        drive(payloads[0], 13_000)
        http.sent_bytes, began = 0, time.process_time()
        taken = []
        for each in payloads[1:]:
            started = time.perf_counter()
            drive(each, 13_000)
            taken.append((time.perf_counter() - started) * 1_000)
        processor_ms = (time.process_time() - began) * 1_000 / CALLS
        own = [entry.duration_ms for entry in server.log[-CALLS:]]
    added = [whole - destination for whole, destination in zip(taken, own, strict=True)]
    return {
        "addedMedianMs": round(statistics.median(added), 2),
        "processorMs": round(processor_ms, 2),  # the mock's included
        "sentBytes": round(http.sent_bytes / CALLS),
    }


def payload(number: int, body: str) -> dict[str, Any]:
    event = enrich(number, body)
    event["route"] = event["route"] | {"action": "custom_-_1"}
    key = event["keyHash"]
    return {"version": "3", "event": event, "idempotencyKey": key, "owner": f"bench#{number}",
            "tries": 0, "failedAtMs": 0, "deaths": 0, "retry": 0}  # fmt: skip


def import_ratio(package: Path, theirs: str, ours: str) -> float:
    """Returns how many times as long as theirs our import takes: both run in turns, in fresh
    interpreters, so that they meet the same noise."""
    compileall.compile_dir(package, quiet=1)

    def milliseconds(statements: str) -> float:
        code = f"import time; b = time.thread_time()\n{statements}\nprint(time.thread_time() - b)"
        run = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": str(package)},
        )
        return float(run.stdout)

    return round(
        statistics.median(1 / (milliseconds(theirs) / milliseconds(ours)) for _ in range(IMPORTS)),
        2,
    )


def main() -> int:
    packages = [Path(module.__file__ or "").parents[1] for module in (enrichment, action)]
    own, theirs = measure_enrichment(), measure_requests()
    own["importRatio"] = import_ratio(packages[0], ONE_MODEL, "import once_enrichment.handler")
    ours = "import once_data_action.handler"
    theirs["importRatio"] = import_ratio(packages[1], "import boto3", ours)
    bounds = {
        "an event's 99th percentile, ms": (own["p99Ms"], 10.0),
        "the enrichment's import, times pydantic's": (own["importRatio"], 2.0),
        "the data action's import, times boto3's": (theirs["importRatio"], 1.5),
        "ms added to a request": (theirs["addedMedianMs"], 5.0),
    }
    result = {"enrichment": own, "dataAction": theirs}
    print(json.dumps(result, indent=2))
    broken = [name for name, (measured, most) in bounds.items() if measured > most]
    print(*(f"A bound does not hold: {name}" for name in broken), sep="\n", file=sys.stderr)
    if not broken:
        sources.write("speed", result)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
