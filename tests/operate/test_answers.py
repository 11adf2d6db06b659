"""The commands answer `--json` with the figures that the text shows."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from once_enrichment.normalise import normalise

from once.cli import commands
from once.genesys.server import GenesysServer
from once.operate import check, log, queues
from once.operate import phrases as words
from once.operate.canaries import Canaries
from once.operate.checks import Check
from once.operate.stack import Stack
from once.records import OutcomeRecord
from once.waiter import Waiter
from proof.definition.asl import ROOT
from proof.events import customer_start
from proof.still import Still, still
from tests.operate.conftest import once

STORY = ROOT / "once" / "examples" / "story.jsonl"
ANSWERING = {
    typed
    for typed, command in commands()
    if any("--json" in parameter.opts for parameter in command.params)
}
MINUTE_MS = 60_000


@pytest.fixture(scope="module")
def stack() -> Iterator[Still]:
    with still() as one:
        yield one


@pytest.fixture(autouse=True)
def stocked(stack: Still, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The stack with one event of each kind in it, up in the folder of this test."""
    now_ms = log.now_ms()
    monkeypatch.setattr(log, "now_ms", lambda: now_ms)
    monkeypatch.setattr(queues, "_POLL_SECONDS", 0)  # nobody else reads them
    with GenesysServer() as destination, stack.up(tmp_path, destination):
        webhook = {"family": "user.presence", "idempotencyKey": "k" * 64}
        urllib3.request("POST", destination.webhook_url, json=webhook)
        stock(stack)
        yield
        stack.clear()


def stock(stack: Still) -> None:
    """An act with its copy, what waits, what is parked, and two that are dead."""
    acted, refused = element("acted"), element("refused")
    del refused["receiptHandle"]
    now_ms = log.now_ms()
    row = {
        **acted["key"],
        "status": "DONE",
        "outcome": "PROCESSED",
        "owner": "7e7e0001:5b5b0001#acted-1",
        "message_id": "acted-1",
        "event_id": "",
        "event_time": acted["occurredAtMs"],
        "occurrence": acted["occurredAtMs"],
        "failed_at": 0,
        "claimed_at": now_ms - MINUTE_MS,
        "lease_until": now_ms - 1,
        "done_at": now_ms - MINUTE_MS,
        "expires_at": now_ms // 1000 + 86_400,
        "family": acted["family"],
        "topic": acted["topic"],
        "tries": 0,
        "copies": 0,
    }
    stack.claims([row])
    stack.records(
        [
            record(
                acted,
                "acted-1",
                "RETRY",
                "CALL_FAILED",
                now_ms - 3,
                requests=2,
                status=503,
                returnsAtMs=now_ms - 2,
            ),
            record(acted, "acted-1", "PROCESSED", "ACTED", now_ms - 2, requests=1, ageMs=1_500),
            record(acted, "acted-2", "DUPLICATE", "SAME_KEY", now_ms, because=row["owner"]),
            record(
                element("waiting"),
                "waiting-1",
                "RETRY",
                "CALL_FAILED",
                now_ms,
                requests=1,
                tries=2,
                status=502,
                cause="the destination answered HTTP 502",
                returnsAtMs=now_ms + 10 * MINUTE_MS,
            ),
            {
                "recordedAtMs": now_ms,
                "_aws": {
                    "CloudWatchMetrics": [
                        {
                            "Namespace": "GenesysOnce",
                            "Dimensions": [["Stack"]],
                            "Metrics": [{"Name": "PROCESSED"}, {"Name": "DUPLICATE"}],
                        }
                    ]
                },
                "Stack": "once",
                "PROCESSED": 1,
                "DUPLICATE": 1,
            },
        ]
    )
    parked = {
        "reason": "REJECTED",
        "element": refused,
        "owner": "7e7e0001:5b5b0001#refused-1",
        "cause": "the destination answered HTTP 422",
        "status": 422,
        "tries": 1,
        "failedAtMs": now_ms,
    }
    stack.letter("ParkingQueueUrl", json.dumps(parked))
    stack.letter("EventDeadLettersUrl", json.dumps(customer_start("dead")))
    stack.letter(
        "RuleDeadLettersUrl",
        json.dumps(customer_start("undelivered")),
        ERROR_CODE="NO_PERMISSIONS",
        ERROR_MESSAGE="not allowed",
    )


def element(conversation: str) -> dict[str, Any]:
    """Returns the element that the enrichment makes of an event of a conversation."""
    return dict(
        normalise(
            {
                "messageId": f"{conversation}-1",
                "body": json.dumps(customer_start(conversation)),
                "attributes": {"SentTimestamp": str(log.now_ms())},
            }
        )
    )


def record(
    of: dict[str, Any], message_id: str, outcome: str, reason: str, at_ms: int, **more: Any
) -> dict[str, Any]:
    return {
        "recordedAtMs": at_ms,
        "messageId": message_id,
        "outcome": outcome,
        "reason": reason,
        **of["key"],
        "family": of["family"],
        "occurredAtMs": of["occurredAtMs"],
        **more,
    }


def key_of(conversation: str) -> str:
    key = element(conversation)["key"]
    return f"{key['pk']}/{key['sk']}"


TYPED: dict[str, Callable[[], list[str]]] = {
    "send": lambda: [str(STORY), "--wait", "--timeout", "0", "--yes"],
    "destination": list,
    "audit": lambda: [str(STORY)],
    "routes try": lambda: [str(STORY)],
    "status": list,
    "explain": lambda: ["acted"],
    "parked list": list,
    "parked show": lambda: ["refused"],
    "parked replay": lambda: ["--yes"],
    "parked drop": lambda: ["refused", "--yes"],
    "dead-letters list": list,
    "dead-letters show": lambda: ["dead"],
    "dead-letters replay": lambda: ["--yes"],
    "dead-letters drop": lambda: ["dead", "--yes"],
    "forget": lambda: [key_of("acted"), "--yes"],
    "check": lambda: ["--yes"],
    "pause": lambda: ["--for", "30m", "--reason", "repairs", "--yes"],
    "resume": lambda: ["--yes"],
}

# Done once, there is nothing left to do it to.
TAKING = {"parked replay", "parked drop", "dead-letters replay", "dead-letters drop"}

# Of files.
WITHOUT_STACK = {"audit", "routes try"}

# What of an answer a person must read as well; the rest are details behind it.
FIGURES: dict[str, Callable[[Any], list[str]]] = {
    "send": lambda said: [f"{said['sent']} messages sent", *map(str, said["unsettled"].values())],
    "destination": lambda said: [
        words.count_requests(len(said["calls"])),
        *(call["family"] for call in said["calls"]),
        *(str(call["status"]) for call in said["calls"]),
    ],
    "routes try": lambda said: [
        *(f"{route[name]}" for route in said["routes"] for name in ("name", "action", "events")),
        f"{said['unreadable']}",
    ],
    "audit": lambda said: [f"{said['received']}", *map(str, said["outcomes"].values())],
    "status": lambda said: [
        *(f"{queue['visible']:,}" for queue in said["queues"]),
        *(
            f"{count:,} {outcome}"
            for outcome, count in said["outcomes"].items()
            if count and outcome != "RETRY"
        ),
        *(words.format_clock(one["firstReturnsAtMs"])[:8] for one in said["waiting"]),
        *(one["family"] for one in said["failing"]),
        *(finding[name] for finding in said["findings"] for name in ("remedy", "page")),
        *(command for finding in said["findings"] for command in finding["commands"]),
        said["pipe"],
        said["machine"],
    ],
    "explain": lambda said: [
        event[name]
        for subject in said["subjects"]
        for event in subject["events"]
        for name in ("text", "verdict")
    ],
    "parked list": lambda said: [
        *(f"{group['count']:,}" for group in said["groups"]),
        *(one[name] for one in said["messages"] for name in ("messageId", "reason")),
    ],
    "parked show": lambda said: [
        one[name] for one in said["messages"] for name in ("messageId", "cause")
    ],
    "parked replay": lambda said: [f"{said['done']} replayed"],
    "parked drop": lambda said: [f"{said['done']} dropped"],
    "dead-letters list": lambda said: [
        *(f"{group['count']:,}" for group in said["groups"]),
        *(one[name] for one in said["messages"] for name in ("messageId", "text")),
    ],
    "dead-letters show": lambda said: [one["messageId"] for one in said["messages"]],
    "dead-letters drop": lambda said: [f"{said['done']} dropped"],
    "dead-letters replay": lambda said: [f"{said['done']} replayed"],
    "forget": lambda _: ["Forgotten"],
    "check": lambda said: [one[name] for one in said["checks"] for name in ("name", "said")],
    "pause": lambda said: [words.format_second(said["pause"]["untilMs"])],
    "resume": lambda said: [said["pipe"]],
}


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch) -> None:
    """`once check` meets a stack that settles its canaries at once."""

    def settle(at: Stack, canaries: Canaries, waiter: Waiter) -> bool:
        canaries.good.message_ids = ["good", "copy"]
        canaries.refused.message_ids = ["refused"]
        canaries.failing.message_ids = ["failing"]
        canaries.broken.message_ids = ["broken"]
        for canary in (canaries.refused, canaries.broken):
            at.client("sqs").send_message(
                QueueUrl=at.outputs["ParkingQueueUrl"], MessageBody=canary.body
            )
        waiter.records |= {
            "good": [settled_as("good", "PROCESSED", "OBSERVED")],
            "copy": [settled_as("copy", "DUPLICATE", "SAME_KEY")],
            "refused": [settled_as("refused", "PARKED", "REJECTED")],
            "failing": [
                settled_as("failing", "RETRY", "CALL_FAILED"),
                settled_as("failing", "PROCESSED", "OBSERVED"),
            ],
            "broken": [settled_as("broken", "PARKED", "NOT_JSON")],
        }
        return True

    reads = Check(name="enrichment", works=True, said="it reads an event")
    monkeypatch.setattr(check, "invoke_enrichment", lambda *_: reads)
    monkeypatch.setattr(check, "_settle_first", settle)
    monkeypatch.setattr(check, "_GRACE_SECONDS", 0)


def settled_as(message_id: str, outcome: str, reason: str) -> OutcomeRecord:
    said = {"messageId": message_id, "outcome": outcome, "reason": reason}
    return OutcomeRecord.model_validate({**said, "recordedAtMs": log.now_ms()})


def test_every_command_with_json_is_typed_here() -> None:
    assert ANSWERING == set(TYPED) == set(FIGURES)


@pytest.mark.usefixtures("flown")
@pytest.mark.parametrize("typed", sorted(ANSWERING))
def test_a_person_reads_what_an_answer_holds(typed: str, stack: Still) -> None:
    arguments = [*typed.split(), *TYPED[typed]()]
    said = once(*arguments, "--json")
    assert said.code in (0, 3), said.err
    answer = said.json
    if typed in TAKING:
        stock(stack)
    read = once(*arguments)
    assert read.code == said.code, read.err
    if typed not in WITHOUT_STACK:
        assert answer["stack"] in read.out
    figures = FIGURES[typed](answer)
    assert figures
    assert [figure for figure in figures if figure not in read.out] == []
