"""What the data action costs beside its destination: its import, and what a warm call adds.

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
from pathlib import Path
from typing import Any

from data_action import genesys, handler, mapping, webhook
from data_action.bodies import Bodies
from data_action.handler import DataAction
from data_action.outbound import Outbound
from data_action.secret import Secret

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET, GenesysServer

RESULT = Path(__file__).parent / "results" / "data_action.json"
PACKAGE = Path(handler.__file__).parents[1]

IMPORT_ROUNDS = 15
CALLS = 300
CALL_MS = 8_000
DESTINATION_MS = 20
MOST_IMPORT_RATIO = 1.5
MOST_ADDED_MS = 5.0


class StoredSecret:
    """Secrets Manager's answer, without its network."""

    def __init__(self, **values: str) -> None:
        self._text = json.dumps(values)

    def get_secret_value(self, SecretId: str) -> dict[str, str]:  # noqa: N803, ARG002
        return {"SecretString": self._text}


def import_ms(module: str) -> float:
    """In a fresh interpreter, as in a cold start; compiled files are there already."""
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print((time.perf_counter() - start) * 1000)"
    )
    environment = os.environ | {"PYTHONPATH": str(PACKAGE)}
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(run.stdout)


def measure_import() -> dict[str, float]:
    modules = ("boto3", "data_action.handler")
    for module in modules:
        import_ms(module)
    # In turns, so that both meet the same noise.
    times = [[import_ms(module) for module in modules] for _ in range(IMPORT_ROUNDS)]
    boto3_ms, ours_ms = (statistics.median(column) for column in zip(*times, strict=True))
    return {
        "boto3_ms": round(boto3_ms, 1),
        "data_action_ms": round(ours_ms, 1),
        "ratio": round(statistics.median(ours / boto3 for boto3, ours in times), 3),
        "at_most": MOST_IMPORT_RATIO,
    }


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def data_action(target: str, server: GenesysServer) -> DataAction:
    http = Outbound(now_ms)
    bodies = Bodies("", lambda: None)  # type: ignore[arg-type, return-value]
    stored: Any
    if target == "webhook":
        stored = StoredSecret(signingSecret=SIGNING_SECRET)
        signing = Secret("arn", webhook.FIELDS, stored)
        return DataAction(
            webhook.Webhook(server.webhook_url, signing, bodies, http, now_ms),
            None,
            CALL_MS,
            now_ms,
        )
    stored = StoredSecret(clientId=CLIENT_ID, clientSecret=CLIENT_SECRET)
    tokens = genesys.Tokens(server.url, Secret("arn", genesys.FIELDS, stored), http, now_ms)
    actions = mapping.read("actions.toml", (PACKAGE / "actions.toml").read_text("utf-8"))
    target = genesys.Genesys(server.url, tokens, actions, bodies, http)
    return DataAction(target, None, CALL_MS, now_ms)


def payload(number: int) -> dict[str, Any]:
    pk, sk = f"org/conversation/c{number}", "v1/conversation.user.end/p/s/1777888800123"
    return {
        "version": "2",
        "callsAllowed": 2,
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
        taken = [timed(act, payload(number)) for number in range(1, CALLS + 1)]
    own = [entry.duration_ms for entry in server.log[-CALLS:]]
    added = [whole - destination for whole, destination in zip(taken, own, strict=True)]
    return {
        "calls": CALLS,
        "destination_median_ms": round(statistics.median(own), 2),
        "added_median_ms": round(statistics.median(added), 2),
        "added_p99_ms": round(statistics.quantiles(added, n=100)[98], 2),
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
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")
    print(RESULT.read_text())
    held = imported["ratio"] <= MOST_IMPORT_RATIO and all(
        one["added_median_ms"] <= MOST_ADDED_MS for one in warm_calls.values()
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
