"""What the commands answer with `--json`: as their schemas say, and with the figures that a person
reads."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
from enrichment.normalise import normalise

from once.answers import model_of
from once.cli import commands
from once.genesys.server import GenesysServer
from once.operate import check, log, queues, replay
from once.operate import phrases as words
from once.operate.canaries import Canaries
from once.operate.stack import Stack
from once.prove import run
from once.records import OutcomeRecord
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
    monkeypatch.setattr(replay, "_POLL_SECONDS", 0.01)
    with GenesysServer() as destination, stack.up(tmp_path, destination.url):
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
                calls=2,
                status=503,
                returnsAtMs=now_ms - 2,
            ),
            record(acted, "acted-1", "PROCESSED", "ACTED", now_ms - 2, calls=1, ageMs=1_500),
            record(acted, "acted-2", "DUPLICATE", "SAME_KEY", now_ms, because=row["owner"]),
            record(
                element("waiting"),
                "waiting-1",
                "RETRY",
                "CALL_FAILED",
                now_ms,
                calls=1,
                tries=2,
                status=502,
                cause="the destination answered HTTP 502",
                returnsAtMs=now_ms + 10 * MINUTE_MS,
            ),
            {
                "recordedAtMs": now_ms,
                "PROCESSED": 1,
                "DUPLICATE": 1,
                "HANDED_BACK": 2,
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
    """What the enrichment makes of the event of a conversation."""
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


def at(distance_ms: int) -> str:
    return words.moment(log.now_ms() + distance_ms)


TYPED: dict[str, Callable[[], list[str]]] = {
    "send": lambda: [str(STORY), "--wait", "--timeout", "0", "--yes"],
    "received": list,
    "destination": lambda: ["down"],
    "audit": lambda: [str(STORY)],
    "status": list,
    "explain": lambda: ["acted"],
    "parked list": list,
    "parked show": lambda: ["refused"],
    "parked replay": lambda: ["--yes"],
    "parked drop": lambda: ["refused", "--yes"],
    "dead-letters list": list,
    "dead-letters replay": lambda: ["--yes"],
    "forget": lambda: [key_of("acted"), "--yes"],
    "replay": lambda: ["--from", at(-60_000), "--to", at(0), "--yes"],
    "check": lambda: ["--yes"],
    "prove": lambda: ["--embedded"],
    "hold": lambda: ["--for", "30m", "--why", "repairs", "--yes"],
    "resume": list,
    "permissions": list,
}

# Done once, there is nothing left to do it to.
TAKING = {"parked replay", "parked drop", "dead-letters replay"}

# Of files, and a policy that goes into one.
WITHOUT_STACK = {"audit", "permissions", "prove"}

# What of an answer a person must read as well; the rest are details behind it.
FIGURES: dict[str, Callable[[Any], list[str]]] = {
    "send": lambda said: [f"{said['sent']} events sent", *map(str, said["unsettled"].values())],
    "received": lambda said: [
        f"Asked {len(said['calls'])} times",
        *(call["family"] for call in said["calls"]),
        *(str(call["status"]) for call in said["calls"]),
    ],
    "destination": lambda said: [said["destination"]],
    "audit": lambda said: [f"{said['received']}", *map(str, said["outcomes"].values())],
    "status": lambda said: [
        *(f"{queue['visible']:,}" for queue in said["queues"]),
        *(
            f"{count:,} {outcome}"
            for outcome, count in said["outcomes"].items()
            if count and outcome != "RETRY"
        ),
        *(words.clock(one["firstReturnsAtMs"])[:8] for one in said["waiting"]),
        *(one["family"] for one in said["failing"]),
        *(finding[name] for finding in said["findings"] for name in ("what", "helps")),
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
        *(parked[name] for parked in said["parked"] for name in ("messageId", "reason")),
    ],
    "parked show": lambda said: [
        parked[name] for parked in said["parked"] for name in ("messageId", "cause")
    ],
    "parked replay": lambda said: [f"{said['done']} replayed"],
    "parked drop": lambda said: [f"{said['done']} dropped"],
    "dead-letters list": lambda said: [
        *(f"{group['count']:,}" for group in said["groups"]),
        *(dead[name] for dead in said["deadLetters"] for name in ("messageId", "text")),
    ],
    "dead-letters replay": lambda said: [f"{said['done']} replayed"],
    "forget": lambda _: ["Forgotten"],
    "replay": lambda said: [words.moment(said[name])[:16] for name in ("fromMs", "toMs")],
    "check": lambda said: [edge[name] for edge in said["edges"] for name in ("edge", "said")],
    "prove": lambda said: [
        f"{verdict}: {count}" for verdict, count in said["counts"].items() if count
    ],
    "hold": lambda said: [words.moment(said["untilMs"])[:19]],
    "resume": lambda said: [said["pipe"]],
    "permissions": lambda said: [json.dumps(said["policy"], indent=2)],
}


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch) -> None:
    """`once check` meets a stack that settles its canaries at once."""

    def fly(at: Stack, canaries: Canaries, *_: Any) -> dict[str, list[OutcomeRecord]]:
        canaries.good.message_ids = ["good", "copy"]
        canaries.refused.message_ids = ["refused"]
        canaries.failing.message_ids = ["failing"]
        canaries.broken.message_ids = ["broken"]
        for canary in (canaries.refused, canaries.broken):
            at.client("sqs").send_message(
                QueueUrl=at.outputs["ParkingQueueUrl"], MessageBody=canary.body
            )
        return {
            "good": [settled_as("good", "PROCESSED", "OBSERVED")],
            "copy": [settled_as("copy", "DUPLICATE", "SAME_KEY")],
            "refused": [settled_as("refused", "PARKED", "REJECTED")],
            "failing": [
                settled_as("failing", "RETRY", "CALL_FAILED"),
                settled_as("failing", "PROCESSED", "OBSERVED"),
            ],
            "broken": [settled_as("broken", "PARKED", "NOT_JSON")],
        }

    monkeypatch.setattr(check, "_fly", fly)


def settled_as(message_id: str, outcome: str, reason: str) -> OutcomeRecord:
    said = {"messageId": message_id, "outcome": outcome, "reason": reason}
    return OutcomeRecord.model_validate({**said, "recordedAtMs": log.now_ms()})


def test_every_command_with_json_says_what_it_answers() -> None:
    assert {typed for typed, command in commands() if model_of(command)} == ANSWERING
    assert ANSWERING == set(TYPED) == set(FIGURES)


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """`once prove` asks a few of its questions."""
    asked = run.questions()
    monkeypatch.setattr(run, "questions", lambda: asked[:3])


@pytest.mark.usefixtures("flown", "briefly")
@pytest.mark.parametrize("typed", sorted(ANSWERING))
def test_an_answer_is_as_its_schema_says_and_a_person_reads_the_same(
    typed: str, stack: Still
) -> None:
    arguments = [*typed.split(), *TYPED[typed]()]
    said = once(*arguments, "--json", *(["-"] if typed == "prove" else []))
    assert said.code in (0, 3), said.err
    answer = said.json  # held against its schema
    if typed in TAKING:
        stock(stack)
    read = once(*arguments)
    assert read.code == said.code, read.err
    if typed not in WITHOUT_STACK:
        assert answer["stack"] in read.out
    figures = FIGURES[typed](answer)
    assert figures
    assert [figure for figure in figures if figure not in read.out] == []
