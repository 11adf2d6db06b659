"""`once explain` on a real stack: the story of a conversation, with the cause of every skip."""

import json
import re
import time
import uuid
from collections import defaultdict
from typing import Any

import pytest

from proof import story
from proof.deployed import DeployedStack
from proof.events import customer_start
from proof.story import FOLDER
from tests.e2e.delivery import warm
from tests.operate.conftest import once
from tests.operate.support import destination_answers, explained, keys_asked, queue_with

pytestmark = pytest.mark.local

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def ours(text: str) -> str:
    """The story with ids of this file's own: others send it to the same stack."""
    return UUID.sub(lambda found: str(uuid.uuid5(uuid.NAMESPACE_OID, found[0])), text)


CALL, CHAT, FIRST_AGENT = (ours(one) for one in (story.CALL, story.CHAT, story.FIRST_AGENT))
LINES = ours((FOLDER / "story.jsonl").read_text()).splitlines()
EXPECTED: list[dict[str, Any]] = json.loads((FOLDER / "story.expected.json").read_text())


def happenings(subject: str) -> dict[str, list[dict[str, Any]]]:
    """Reads the envelopes of a subject from the story's file, by happening and in order."""
    found = defaultdict(list)
    for line, expected in zip(LINES, EXPECTED, strict=True):
        if subject in line and expected["outcome"] != "PARKED":
            found[expected["happening"]].append(json.loads(line))
    return found


@pytest.fixture(scope="module")
def sent(local: DeployedStack) -> None:
    """Batch by batch: all at once is for machines that are not busy with something else."""
    warm(local)
    for start in range(0, len(LINES), 10):
        local.settle(*LINES[start : start + 10])


@pytest.mark.usefixtures("sent", "operated")
def test_a_telephone_call_reads_in_the_words_of_a_contact_centre() -> None:
    answer = once("explain", CALL)
    assert answer.code == 0
    order = [
        "customer arrives",
        "flow starts",
        "flow ends",
        "enters a queue",
        "attributes change",
        "leaves the queue: ANSWERED",
        "customer leaves",
        "wrapped up",
    ]
    places = [answer.out.index(f"{words}") for words in order]
    assert places == sorted(places)
    assert f"conversation {CALL}" in answer.out
    assert answer.out.count(" — acted on") == len(happenings(CALL))


@pytest.mark.usefixtures("sent", "operated")
def test_every_copy_names_the_message_that_acted_and_its_cause() -> None:
    causes = {}
    for name, copies in happenings(CALL).items():
        first, *later = copies
        ids = {copy["id"]: copy["source"] for copy in later}
        causes[name] = [
            "SAME_ENVELOPE"
            if first["id"] in ids
            else "SECOND_INTEGRATION"
            if first["source"] not in ids.values()
            else "REPUBLISHED"
            for _ in later
        ]
    events = explained(CALL)
    assert len(events) == len(causes)
    assert sorted(
        tuple(m["cause"] for m in event["messages"] if m["cause"]) for event in events
    ) == sorted(tuple(cause) for cause in causes.values())
    assert {"SAME_ENVELOPE", "SECOND_INTEGRATION", "REPUBLISHED"} <= {
        cause for found in causes.values() for cause in found
    }
    for event in events:
        (acted,) = [m for m in event["messages"] if m["outcome"] == "PROCESSED"]
        for copy in event["messages"]:
            if copy is not acted and copy["outcome"] != "RETRY":
                assert (copy["outcome"], copy["becauseOf"]) == ("DUPLICATE", acted["messageId"])


@pytest.mark.usefixtures("sent", "operated")
def test_the_chat_has_changes_sent_twice_within_their_window() -> None:
    messages = [m for event in explained(CHAT) for m in event["messages"]]
    assert "WITHIN_WINDOW" in {m.get("cause") for m in messages}
    # On a slow machine one may still wait.
    settled = [message for message in messages if message["outcome"] != "RETRY"]
    assert len(settled) == sum(CHAT in line for line in LINES)


@pytest.mark.usefixtures("sent", "operated")
def test_an_agent_is_a_subject_too() -> None:
    assert "presence: OFFLINE" in once("explain", FIRST_AGENT).out


def test_a_stale_event_names_the_newer_one(operated: DeployedStack) -> None:
    def status(state: str, clock: str) -> dict[str, Any]:
        return {
            "detail-type": "Conversation Status Change",
            "source": "tests.chat",
            "detail": {"conversation_id": "chat-7", "status": state, "timestamp": clock},
        }

    operated.settle(status("connected", "2025-03-12T10:00:05.000Z"))
    operated.settle(status("alerting", "2025-03-12T10:00:01.000Z"))
    stale, newer = explained("chat-7")
    assert stale["outcome"] == "STALE"
    assert stale["messages"][0]["cause"] == "OLDER"
    assert stale["messages"][0]["becauseOf"] == newer["messages"][0]["messageId"]
    assert stale["verdict"] == (
        "skipped: older than status: connected, which happened at 10:00:05.000"
    )


def test_the_same_message_delivered_again_after_it_acted(operated: DeployedStack) -> None:
    message = {
        "MessageId": "delivered-twice",
        "ReceiptHandle": "none",
        "Body": json.dumps(customer_start("c-redelivered")),
        "MD5OfBody": "none",
        "Attributes": {"SentTimestamp": str(time.time_ns() // 1_000_000)},
    }
    for _ in range(2):
        operated.stack.pipe.run_batch([message])
    (event,) = explained("c-redelivered")
    assert event["verdict"] == "acted on"
    assert len(event["messages"][0]["deliveries"]) == 2


def test_a_message_is_explained_by_the_event_that_it_met(operated: DeployedStack) -> None:
    event = customer_start("c-by-message")
    operated.settle(event)
    operated.settle({**event, "id": "another-envelope"})
    copy = explained("c-by-message")[0]["messages"][1]
    assert copy["cause"] == "REPUBLISHED"
    assert explained(copy["messageId"]) == explained("c-by-message")
    assert explained("another-envelope") == explained("c-by-message")


def test_a_broken_message_is_explained_by_its_id(operated: DeployedStack) -> None:
    operated.settle("broken on purpose, to be explained")
    parked = once("parked", "list", "--json").json["messages"]
    ids = [entry["messageId"] for entry in parked if entry["reason"] == "NOT_JSON"]
    verdicts = [event["verdict"] for message_id in ids for event in explained(message_id)]
    assert "parked: its text is not JSON" in verdicts
    once("parked", "drop", *ids, "--yes")


def test_returned_deliveries_are_shown(operated: DeployedStack) -> None:
    destination_answers(operated, "c-late", *[503] * 4)
    with queue_with(operated, VisibilityTimeout="11"):
        operated.settle(customer_start("c-late"))
    (event,) = explained("c-late")
    assert event["verdict"] == "acted on; 5 requests, perhaps acted on more than once"
    # Two calls in each delivery.
    *waited, last = event["messages"][0]["deliveries"]
    assert [(one["reason"], one["requests"], one["status"]) for one in waited] == [
        ("CALL_FAILED", 2, 503)
    ] * 2
    assert all(one["returnsAtMs"] > one["recordedAtMs"] for one in waited)
    assert (last["reason"], event["requests"]) == ("ACTED", 5)
    assert event["idempotencyKeys"] == list(dict.fromkeys(keys_asked(operated, "c-late")))


def test_an_unknown_id_ends_as_not_found(operated: DeployedStack) -> None:  # noqa: ARG001
    answer = once("explain", "no-such-conversation")
    assert answer.code == 4
    assert "Nothing is known of no-such-conversation" in answer.err
    as_json = once("explain", "no-such-conversation", "--json")
    said = json.loads(as_json.out)
    assert (as_json.code, said["exitCode"]) == (4, 4)
    assert "Nothing is known" in said["error"]


def test_a_claim_that_the_log_forgot_is_found_by_its_key(operated: DeployedStack) -> None:
    operated.settle(customer_start("c-forgotten-by-the-log"))
    (event,) = explained("c-forgotten-by-the-log")
    logs, group = operated.client("logs"), operated.outputs["OutcomeLogGroupName"]
    (stream,) = logs.describe_log_streams(logGroupName=group)["logStreams"]
    kept = logs.filter_log_events(logGroupName=group)["events"]
    logs.delete_log_stream(logGroupName=group, logStreamName=stream["logStreamName"])
    logs.create_log_stream(logGroupName=group, logStreamName=stream["logStreamName"])
    try:
        (by_claim,) = explained(event["key"])
    finally:
        logs.put_log_events(
            logGroupName=group,
            logStreamName=stream["logStreamName"],
            logEvents=[{"timestamp": e["timestamp"], "message": e["message"]} for e in kept],
        )
    assert by_claim["verdict"] == "acted on"
    assert "messages" not in by_claim or by_claim["messages"] == []


def test_an_event_of_ones_own_is_found_by_the_id_that_its_key_hides(
    operated: DeployedStack,
) -> None:
    detail = {"conversationId": "jane1985", "eventId": "call-of-jane-7", "status": "connected"}
    operated.settle({"detail-type": "Conversation Status Change", "detail": detail})
    for thing in ("jane1985", "call-of-jane-7"):
        answer = once("explain", thing, "--json")
        assert answer.code == 0, answer.err
        (subject,) = answer.json["subjects"]
        assert subject["pk"].startswith("-/conversation/~")
        (event,) = subject["events"]
        assert event["outcome"] == "PROCESSED"
