"""Times `once explain` and `once status`, and counts their requests to AWS.

The stack's outcome log got 100,000 records in a day, and the events of the last half hour wait.
The log is the local stack's; the speed of AWS's own log is not measured.

Run: python -m bench.answers. Writes bench/results/answers.json.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import botocore.client

from bench import recorded
from once.cli import app
from once.operate import log
from once.project import ROOT
from proof.events import ORGANISATION
from proof.still import Still, still

RECORDS = 100_000
DAY_MS = 86_400_000
AGAIN = 12
# Handed back for 20 minutes, the older are due: status must then look whether they are settled.
WAITING_MS = 1_800_000
RETURNS_MS = 1_200_000
MOST_SECONDS = 1
COMMANDS = {"explain": ["explain", "conversation-77"], "status": ["status"]}


def records(number: int, now_ms: int) -> Iterator[dict[str, Any]]:
    """Evenly over the last day: of each five one acted, and four were its copies; at last they
    wait."""
    apart_ms = DAY_MS // number
    for at in range(number):
        conversation = at // 5
        message = {
            "recordedAtMs": now_ms - (number - at) * apart_ms,
            "messageId": f"message-{at}",
            "pk": f"{ORGANISATION}/conversation/conversation-{conversation}",
            "sk": f"v1/conversation.customer.start/participant/session/{at - at % 5}",
            "family": "conversation.customer.start",
            "source": "main",
            "occurredAtMs": now_ms - (number - at) * apart_ms - 900,
        }
        returns_at_ms = message["recordedAtMs"] + RETURNS_MS
        if message["recordedAtMs"] > now_ms - WAITING_MS:
            copy = (
                {"copyOf": f"message-{at - at % 5}"} if at % 5 else {"requests": 1, "status": 503}
            )
            back = {"outcome": "RETRY", "reason": "CALL_FAILED", "returnsAtMs": returns_at_ms}
            yield {**message, **back, **copy}
        elif at % 5:
            because = f"run-{at - at % 5}#message-{at - at % 5}"
            yield {**message, "outcome": "DUPLICATE", "reason": "SAME_KEY", "because": because}
        else:
            yield {
                **message,
                "outcome": "PROCESSED",
                "reason": "ACTED",
                "requests": 1,
                "ageMs": 900,
            }


def seconds(arguments: list[str], folder: Path) -> float:
    """Times the command as a user types it, from its start to its end."""
    started = time.monotonic()
    done = subprocess.run(  # noqa: S603 - the command is built here from our own parts
        [sys.executable, "-P", "-m", "once.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    taken = time.monotonic() - started
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    return taken


def requests(arguments: list[str]) -> Counter[str]:
    """Counts the requests of a command to AWS, by operation."""
    asked: Counter[str] = Counter()
    call = botocore.client.BaseClient._make_api_call
    # A pipe may be polling beside the command, which starts threads of its own.
    others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def counted(client: Any, operation: str, parameters: Any) -> Any:
        asked[operation] += threading.get_ident() not in others
        return call(client, operation, parameters)

    botocore.client.BaseClient._make_api_call = counted
    try:
        with redirect_stdout(StringIO()):
            app(arguments, standalone_mode=False)
    finally:
        botocore.client.BaseClient._make_api_call = call
    return asked


def fill(stack: Still, number: int) -> None:
    stack.records(records(number, log.now_ms()))
    stack.letter("EventQueueUrl", "{}")  # what waits is on the queue


def main() -> int:
    with still() as stack, tempfile.TemporaryDirectory() as place:
        fill(stack, RECORDS)
        with stack.up(Path(place)):
            taken = {
                name: [seconds(arguments, Path(place)) for _ in range(AGAIN)]
                for name, arguments in COMMANDS.items()
            }
            asked = {name: requests(arguments) for name, arguments in COMMANDS.items()}
    result = {
        "records": RECORDS,
        "seconds": {name: round(median(all_), 2) for name, all_ in taken.items()},
        "searches": {name: counted["StartQuery"] for name, counted in asked.items()},
        "requests": {name: counted.total() for name, counted in asked.items()},
    }
    recorded.write("answers", result)
    print(json.dumps(result, indent=2))
    slow = [name for name, half in result["seconds"].items() if half > MOST_SECONDS]
    if slow:
        print(f"Slower than {MOST_SECONDS} s: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
