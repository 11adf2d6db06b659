"""Measures the two functions: the enrichment's time per event, what the data action adds to a
request, their imports, and the enrichment's package.

Run: python -m bench.speed. Writes bench/results/speed.json; ends with 1 if a bound does not hold.
It counts processor time, since other programs may run meanwhile.
"""

import compileall
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from once_data_action import genesys, webhook
from once_data_action import handler as action
from once_data_action.outbound import Outbound, Response
from once_data_action.request import Budget
from once_data_action.secret import Secret
from once_data_action.settings import Settings
from once_enrichment import handler as enrichment

from bench import sources
from bench.events import START_MS, Centre, text
from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer

EVENTS = 2_000
CALLS = 300
DESTINATION_MS = 20
SNAPSHOT_KILOBYTES = (5, 20, 60)
IMPORTS = 15
ONE_MODEL = "from pydantic import BaseModel\nclass Event(BaseModel):\n    id: str"
MOST = {
    "an event's 99th percentile, ms": 10.0,
    "the enrichment's import, times pydantic's": 2.0,
    "the data action's import, times boto3's": 1.5,
    "ms added to a request": 5.0,
    "bytes of the enrichment's package": 4.0 * 1024 * 1024,
}


def bodies(count: int) -> Iterator[str]:
    """Yields events of all usual kinds, no event twice."""
    centre = Centre(1)
    steps = ("customer.start", "acd.start", "acd.end", "user.start", "user.end", "customer.end")
    for number in range(count):
        at_ms, who = START_MS + number * 37, centre.id()
        match number % 10:
            case 0:
                yield text(centre.presence(who, "AVAILABLE", at_ms))
            case 1:
                yield text(centre.snapshot(who, centre.id(), at_ms))
            case 2:
                yield text(centre.membership(who, joined=True, published_ms=at_ms))
            case _:
                yield text(centre.conversation(steps[number % len(steps)], at_ms))


def snapshot(kilobytes: int, number: int) -> str:
    """Returns a snapshot of this size: a conversation of many participants."""
    centre = Centre(number)
    event = centre.snapshot(centre.id(), centre.id(), START_MS)
    participants = event["detail"]["eventBody"]["participants"]
    while len(text(event)) < kilobytes * 1_000:
        participants.append({**participants[1], "id": centre.id()})
    return text(event)


def enriching_ms(body: str) -> float:
    attributes = {"SentTimestamp": str(START_MS), "ApproximateReceiveCount": "1"}
    record = {"messageId": "m", "body": body, "attributes": attributes, "messageAttributes": {}}
    began = time.thread_time()
    enrichment.handler([record], None)
    return (time.thread_time() - began) * 1_000


def measure_enrichment() -> dict[str, Any]:
    for body in bodies(200):
        enriching_ms(body)
    taken = [enriching_ms(body) for body in bodies(EVENTS)]
    return {
        "events": EVENTS,
        "medianMs": round(statistics.median(taken), 2),
        "p99Ms": round(statistics.quantiles(taken, n=100)[98], 2),
        "snapshotsMs": {
            f"{size} KB": round(min(enriching_ms(snapshot(size, n)) for n in range(20)), 2)
            for size in SNAPSHOT_KILOBYTES
        },
    }


class _Stored:
    """Secrets Manager's response, without its network."""

    def __init__(self, **values: str) -> None:
        self._text = json.dumps(values)

    def get_secret_value(self, **_: str) -> dict[str, str]:
        return {"SecretString": self._text}


class _Table:
    """A table without a breaker's row."""

    def get_item(self, **_: Any) -> dict[str, Any]:
        return {}


class _Counting(Outbound):
    """Counts what goes out: request line, headers and body."""

    sent_bytes = 0

    def post(self, url: str, headers: Any, body: bytes, budget: Budget) -> Response:
        lines = sum(len(name) + len(value) + 4 for name, value in headers.items())
        self.sent_bytes += len(url) + len("POST  HTTP/1.1\r\n\r\n") + lines + len(body)
        return super().post(url, headers, body, budget)


def measure_requests(name: str) -> dict[str, float]:
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    delay = [{"match": {"endpoint": e}, "then": {"delayMs": DESTINATION_MS}}
             for e in ("execute", "webhook")]  # fmt: skip
    with GenesysServer(script=delay) as server:
        http = _Counting(now_ms)
        target: action.Target
        if name == "webhook":
            stored = cast(Any, _Stored(signingSecret=SIGNING_SECRET))
            secret = Secret("arn", webhook.FIELDS, stored, now_ms)
            target = webhook.Webhook(server.webhook_url, secret, http, now_ms)
        else:
            stored = cast(Any, _Stored(clientId=CLIENT_ID, clientSecret=CLIENT_SECRET))
            secret = Secret("arn", genesys.FIELDS, stored, now_ms)
            tokens = genesys.Tokens(server.url, secret, http, now_ms)
            target = genesys.Genesys(server.url, tokens, http)
        drive = action.Driver(Settings("webhook", claim_table="t"), target, _Table(), now_ms)
        payloads = [payload(number, body) for number, body in enumerate(bodies(CALLS + 1))]
        drive(payloads[0], 13_000)
        http.sent_bytes, began = 0, time.process_time()
        taken = [_timed(lambda: drive(each, 13_000)) for each in payloads[1:]]  # noqa: B023
        processor_ms = (time.process_time() - began) * 1_000 / CALLS
        own = [entry.duration_ms for entry in server.log[-CALLS:]]
    added = [whole - destination for whole, destination in zip(taken, own, strict=True)]
    return {
        "calls": CALLS,
        "addedMedianMs": round(statistics.median(added), 2),
        "processorMs": round(processor_ms, 2),  # the mock's included
        "sentBytes": round(http.sent_bytes / CALLS),
    }


def payload(number: int, body: str) -> dict[str, Any]:
    attributes = {"SentTimestamp": str(START_MS), "ApproximateReceiveCount": "1"}
    record = {"messageId": f"m{number}", "body": body, "attributes": attributes}
    (event,) = enrichment.handler([record], None)
    event["route"] = event["route"] | {"action": "custom_-_1"}
    key = event["idempotencyKey"]
    return {"version": "3", "event": event, "idempotencyKey": key, "owner": f"bench#{number}",
            "tries": 0, "failedAtMs": 0, "deaths": 0, "retry": 0}  # fmt: skip


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000


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


def package_bytes(package: Path) -> int:
    """Installs the function's requirements as `sam build` would, and zips the folder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "package"
        shutil.copytree(package, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        requirements = ["--target", str(folder), "-r", str(package / "requirements.txt")]
        subprocess.run(  # noqa: S603 - pip, with our own requirements
            [sys.executable, "-m", "pip", "install", "--quiet", *requirements], check=True
        )
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(folder))
        return len(zipped.getvalue())


def main() -> int:
    packages = [Path(module.__file__ or "").parents[1] for module in (enrichment, action)]
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "enrichment": measure_enrichment()
        | {
            "importRatio": import_ratio(packages[0], ONE_MODEL, "import once_enrichment.handler"),
            "packageBytes": package_bytes(packages[0]),
        },
        "dataAction": {target: measure_requests(target) for target in ("genesys", "webhook")}
        | {"importRatio": import_ratio(packages[1], "import boto3",
                                       "import once_data_action.handler")},
    }  # fmt: skip
    print(json.dumps(result, indent=2))
    own, theirs = result["enrichment"], result["dataAction"]
    measured = (own["p99Ms"], own["importRatio"], theirs["importRatio"],
                theirs["genesys"]["addedMedianMs"], own["packageBytes"])  # fmt: skip
    broken = [name for (name, most), has in zip(MOST.items(), measured, strict=True) if has > most]
    print(*(f"A bound does not hold: {name}" for name in broken), sep="\n", file=sys.stderr)
    if not broken:
        sources.write("speed", result)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
