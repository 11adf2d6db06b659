"""A stack in memory with an event of each outcome, and a console that serves it."""

# ruff: noqa: N803 - boto3 names its arguments so

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

from once.console.app import make
from once.console.command import serve
from once.ports import listen
from once.stack.facade import Stack, read_clock_ms
from tests.commands.fakes import ORGANISATION, Clock, FakeStack

TOKEN = "the-token-of-this-start"
CALL = "7ab1e5e7-0a11-4b00-9c0d-000000000001"
CALL_PK = f"{ORGANISATION}/conversation/{CALL}"
PATH = ("OpenEvent", "MayClaim", "ClaimKey", "MayAct", "RunAction", "HasActed", "Processed",
        "RecordOutcome")  # fmt: skip
HOSTILE = '<img src=x onerror=alert(1)>"\u202e'
KINDS = {
    "PROCESSED": ("customer.start", "ACTED"),
    "STALE": ("user.end", "NEWER_STATE"),
    "IGNORED": ("acw", "NO_ROUTE_MATCHED"),
    "PARKED": ("customer.end", "REJECTED"),
    "RETRY": ("acd.start", "CALL_FAILED"),
}


def id_of(number: int) -> str:
    return f"{number:08x}-4471-4ed2-b5b0-42109261e2d2"


class Now(Clock):
    """The time of this machine: a browser has no other."""

    @property
    def ms(self) -> int:
        return read_clock_ms()

    @ms.setter
    def ms(self, _: int) -> None: ...


class Table:
    """The claim table, for reading."""

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []

    def get_item(self, *, Key: dict[str, Any], **_: Any) -> dict[str, Any]:
        found = [row for row in self.items if {n: row[n] for n in ("pk", "sk")} == Key]
        return {"Item": found[0]} if found else {}

    def put_item(self, *, Item: dict[str, Any], **_: Any) -> None:
        self.items.append(Item)

    def get_paginator(self, _name: str) -> Any:
        def paginate(*, ExpressionAttributeValues: dict[str, Any], **_: Any) -> list[Any]:
            pk = ExpressionAttributeValues[":pk"]
            return [{"Items": [row for row in self.items if row["pk"] == pk]}]

        return SimpleNamespace(paginate=paginate)


class PagesStack(FakeStack):
    """A fake stack at the time of this machine."""

    is_local = True

    def __init__(self) -> None:
        super().__init__(Now(), Table())

    def add(self, number: int, outcome: str, ago_ms: int = 60_000, **fields: Any) -> str:
        """Adds a record of a conversation's step; returns the id of its message."""
        step, reason = KINDS.get(outcome, ("customer.start", "SAME_KEY"))
        name = id_of(number)
        sk = fields.pop("sk", f"v2/conversation.{step}/p/s/{number}")
        known = {
            "firstMessageId": name, "run": f"execution-{number}#{name}", "pk": CALL_PK, "sk": sk,
            "family": f"conversation.{step}", "occurredAtMs": read_clock_ms() - 61_000, **fields,
        }  # fmt: skip
        self.logs.add(outcome, known.pop("reason", reason), ago_ms=ago_ms, **known)
        return name


def story_stack() -> PagesStack:
    """Makes a stack with an event of each outcome, a copy, and texts that a page must not obey."""
    stack = PagesStack()
    acted = {"requests": 1, "status": 200, "durationMs": 95, "ageMs": 900}
    stack.add(1, "PROCESSED", envelopeId="e-1", idempotencyKey="a" * 64, source="main", **acted)
    stack.add(
        2, "DUPLICATE", 58_000, because=f"execution-1#{id_of(1)}", envelopeId="e-2",
        source="reporting", sk="v2/conversation.customer.start/p/s/1",
    )  # fmt: skip
    stack.add(3, "STALE", 50_000, because=f"execution-1#{id_of(1)}")
    stack.add(4, "IGNORED", 45_000, cause="no route is for the family conversation.acw")
    stack.add(5, "PARKED", 40_000, cause="HTTP 400 bad.request", status=400, requests=1)
    retry = {"requests": 1, "status": 503, "retryInSeconds": 60, "tries": 1, "cause": "HTTP 503"}
    stack.add(6, "RETRY", 35_000, waitsSinceMs=read_clock_ms() - 35_000, **retry)
    stack.add(7, "PROCESSED", 9_000, note=f"a note of {HOSTILE}", **acted)
    broken = {"pk": "-/message/b", "sk": "v2/broken", "family": "broken"}
    stack.add(8, "PARKED", 5_000, reason="UNREADABLE", cause=f"NOT_JSON: {HOSTILE}", **broken)
    now_ms = read_clock_ms()
    for number, state in enumerate(PATH):
        step = {"id": number, "details": {"name": state}, "event_timestamp": now_ms - 60_100}
        known = {**step, "type": "StateEntered", "execution": "execution-1"}
        stack.logs.of_executions.append((now_ms - 60_000, known))
    times: dict[str, Any] = {"event_time": now_ms - 61_000, "claimed_at": now_ms - 60_100}
    stack.put_claim(
        pk=CALL_PK, sk="v2/conversation.customer.start/p/s/1", owner=f"execution-1#{id_of(1)}",
        lease_until=now_ms + 80_000, done_at=now_ms, family="conversation.customer.start", **times,
    )  # fmt: skip
    stack.sqs.put("dead-letters", "{}")
    stack.sqs.delayed = 1
    return stack


@contextmanager
def served(stack: Stack, options: str = "") -> Iterator[str]:
    """Serves a console in this process; yields its address, without the token."""
    listening = listen(0, "once console")
    port = listening.getsockname()[1]
    servers: list[Any] = []
    app = make(stack, port, TOKEN, options)
    thread = threading.Thread(target=serve, args=(app, listening, servers.append))
    thread.start()
    try:
        until = time.monotonic() + 20
        while not (servers and servers[0].started):
            assert time.monotonic() < until, "the console did not start"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        cast(Any, servers[0]).should_exit = True
        thread.join(20)
        listening.close()
