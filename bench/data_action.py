"""Measures the data action without its destination: its import, and what a warm call adds.

Run: python -m bench.data_action. Writes bench/results/data_action.json.
"""

import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from once_data_action import genesys, handler, webhook
from once_data_action.bodies import Bodies
from once_data_action.handler import DataAction
from once_data_action.outbound import Outbound, Reply
from once_data_action.request import Budget
from once_data_action.secret import Secret

from bench import imports, records
from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer

PACKAGE = Path(handler.__file__).parents[1]

CALLS = 300
REQUEST_MS = 8_000
DESTINATION_MS = 20
MOST_IMPORT_RATIO = 1.5
MOST_ADDED_MS = 5.0
LARGE_BODY_BYTES = 1_000_000  # what one SQS message can hold comes from the overflow bucket
LAMBDA_RUNTIME_MB = 20  # what Lambda's own client and interpreter add: assumed

# All that the function loads and makes before its first call, then the largest body there can be.
LOADED = f"""
import json, resource, sys, time
began = time.process_time()
import boto3
from once_data_action import handler
boto3.client("s3", config=handler._AWS)
loaded_ms = (time.process_time() - began) * 1000
text = json.dumps({{str(n): "a value of a usual length" for n in range({LARGE_BODY_BYTES} // 36)}})
json.dumps(json.loads(text)).encode()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(loaded_ms, peak / (1024 if sys.platform == "linux" else 1024 * 1024))
"""
ENVIRONMENT = {
    "ACTION_TARGET": "genesys",
    "GENESYS_HOST": "mypurecloud.com",
    "WEBHOOK_URL": "",
    "DESTINATION_SECRET_ARN": "arn:aws:secretsmanager:us-east-1:111111111111:secret:bench",
    "OVERFLOW_BUCKET": "bench",
    "CLAIM_TABLE": "bench",
    "CALL_SECONDS": "8",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "bench",
    "AWS_SECRET_ACCESS_KEY": "bench",
}


class StoredSecret:
    """Secrets Manager's answer, without its network."""

    def __init__(self, **values: str) -> None:
        self._text = json.dumps(values)

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803, ARG002
        return {"SecretString": self._text}


def measure_import() -> dict[str, float]:
    theirs_ms, ours_ms, ratio = imports.compare(
        PACKAGE, "import boto3", "import once_data_action.handler"
    )
    return {
        "boto3_ms": theirs_ms,
        "data_action_ms": ours_ms,
        "ratio": ratio,
        "at_most": MOST_IMPORT_RATIO,
    }


def measure_memory() -> dict[str, Any]:
    """Measures the memory that the function needs: an invocation mostly waits, so the smallest safe
    size is the cheapest."""
    runs = []
    for _ in range(imports.ROUNDS):
        run = subprocess.run(  # noqa: S603
            [sys.executable, "-c", LOADED],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": str(PACKAGE)},
        )
        runs.append(tuple(map(float, run.stdout.split())))
    loaded_ms, peak_mb = map(statistics.median, zip(*runs, strict=True))
    return {
        "peak_mb": round(peak_mb, 1),
        "with_runtime_mb": round(peak_mb + LAMBDA_RUNTIME_MB),
        "start_processor_ms": round(loaded_ms, 1),
    }


class Counting(Outbound):
    """Counts what goes out: request line, headers and body."""

    sent_bytes = 0

    def post(self, url: str, headers: Mapping[str, str], body: bytes, budget: Budget) -> Reply:
        lines = sum(len(name) + len(value) + 4 for name, value in headers.items())
        Counting.sent_bytes += len(url) + len("POST  HTTP/1.1\r\n\r\n") + lines + len(body)
        return super().post(url, headers, body, budget)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def data_action(target: str, server: GenesysServer) -> DataAction:
    http = Counting(now_ms)
    bodies = Bodies("", lambda: None)  # type: ignore[arg-type, return-value]
    stored: Any
    if target == "webhook":
        stored = StoredSecret(signingSecret=SIGNING_SECRET)
        signing = Secret("arn", webhook.FIELDS, stored, now_ms)
        return DataAction(
            webhook.Webhook(server.webhook_url, signing, bodies, http, now_ms),
            None,
            REQUEST_MS,
            now_ms,
        )
    stored = StoredSecret(clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    tokens = genesys.Tokens(server.url, Secret("arn", genesys.FIELDS, stored, now_ms), http, now_ms)
    target = genesys.Genesys(server.url, tokens, bodies, http)
    return DataAction(target, None, REQUEST_MS, now_ms)


def payload(number: int) -> dict[str, Any]:
    pk, sk = f"org/conversation/c{number}", "v1/conversation.user.end/p/s/1777888800123"
    return {
        "version": "2",
        "requestsAllowed": 2,
        "idempotencyKey": hashlib.sha256(f"{pk}\n{sk}".encode()).hexdigest(),
        "deadlineMs": now_ms() + 20_000,
        "execution": f"bench#{number}",
        "event": {
            "family": "conversation.user.end",
            "topic": f"v2.detail.events.conversation.c{number}.user.end",
            "organizationId": "org",
            "subject": {"type": "conversation", "id": f"c{number}"},
            "state": "end",
            "occurredAt": "2026-05-04T10:00:00.123Z",
            "occurredAtMs": 1_777_888_800_123,
            "ids": {"conversationId": f"c{number}", "participantId": "p", "queueId": "q"},
            "key": {"pk": pk, "sk": sk},
            "route": {"name": "*", "action": "custom_-_1"},
            "body": {f"field{n}": "value of a usual length" for n in range(40)},
        },
    }


def measure_warm_calls(target: str) -> dict[str, float]:
    script = [
        {"match": {"endpoint": endpoint}, "then": {"delayMs": DESTINATION_MS}}
        for endpoint in ("execute", "webhook")
    ]
    with GenesysServer(script=script) as server:
        act = data_action(target, server)
        act(payload(0), 20_000)
        Counting.sent_bytes, began = 0, time.process_time()
        taken = [timed(act, payload(number)) for number in range(1, CALLS + 1)]
        processor_ms = (time.process_time() - began) * 1000 / CALLS
    own = [entry.duration_ms for entry in server.log[-CALLS:]]
    added = [whole - destination for whole, destination in zip(taken, own, strict=True)]
    return {
        "calls": CALLS,
        "destination_median_ms": round(statistics.median(own), 2),
        "added_median_ms": round(statistics.median(added), 2),
        "added_p99_ms": round(statistics.quantiles(added, n=100)[98], 2),
        "processor_ms": round(processor_ms, 2),
        "sent_bytes": round(Counting.sent_bytes / CALLS),
        "at_most": MOST_ADDED_MS,
    }


def timed(act: DataAction, one: dict[str, Any]) -> float:
    started = time.perf_counter()
    act(one, 20_000)
    return (time.perf_counter() - started) * 1000


def main() -> int:
    imported = measure_import()
    warm_calls = {target: measure_warm_calls(target) for target in ("genesys", "webhook")}
    result = {
        "python": platform.python_version(),
        "import": imported,
        "warm_call": warm_calls,
        "memory": measure_memory(),
    }
    print(json.dumps(result, indent=2))
    held = {
        f"its import takes {imported['ratio']} times that of its parts": imported["ratio"]
        <= MOST_IMPORT_RATIO,
        **{
            f"it adds {one['added_median_ms']} ms to a call of {target}": one["added_median_ms"]
            <= MOST_ADDED_MS
            for target, one in warm_calls.items()
        },
    }
    broken = [bound for bound, holds in held.items() if not holds]
    return records.write_if_it_holds("data_action", result, broken)


if __name__ == "__main__":
    sys.exit(main())
