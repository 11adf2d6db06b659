"""The dead-letter queue in the hands of an operator: what is there, and what becomes of it."""

import json
from typing import Any

import pytest
from once_enrichment.handler import normalise

from once.stack import dead_letters
from tests.commands.conftest import once
from tests.commands.fakes import FIRST, NOW_MS, USER, FakeStack

EVENT = json.dumps(
    {
        "topicName": f"v2.users.{USER}.presence",
        "version": "2",
        "eventBody": {
            "source": "PURECLOUD",
            "presenceDefinition": {"id": "e32adf1a-97d9-5a3e-9109-8dfa78ac4484"},
            "modifiedDate": "2027-01-15T07:50:00.000Z",
        },
    }
)
OCCURRED_MS = NOW_MS - 600_000
PK, SK = normalise({"body": EVENT, "attributes": {"SentTimestamp": str(NOW_MS)}})["key"].values()


def park(stack: FakeStack, reason: str = "REJECTED", event: str = EVENT, **once_: Any) -> str:
    """Puts a message into the dead-letter queue as the machine parks it."""
    about = {
        "firstMessageId": FIRST,
        "firstSentAtMs": NOW_MS - 590_000,
        "after": f"run#{FIRST}",
        "reason": reason,
        "cause": "HTTP 422",
        "key": f"{PK} {SK}",
        "parkedAtMs": NOW_MS - 60_000,
        **once_,
    }
    known = {name: value for name, value in about.items() if value is not None}
    return stack.sqs.put("dead-letters", json.dumps({"once": known, "event": event}))


def list_one(stack: FakeStack) -> Any:
    assert stack
    (message,) = once("parked", "list", "--json").json["messages"]
    return message


def test_a_parked_event_is_listed_with_its_reason_and_cause(stack: FakeStack) -> None:
    park(stack)
    message = list_one(stack)
    assert (message["firstMessageId"], message["reason"]) == (FIRST, "REJECTED")
    assert "HTTP 422" in message["why"]
    assert message["family"] == "user.presence"
    assert message["isStale"] is False


def test_an_event_that_the_rule_could_not_deliver_is_listed_with_its_error(
    stack: FakeStack,
) -> None:
    attributes = {"RULE_ARN": "arn", "ERROR_CODE": "NO_PERMISSIONS", "ERROR_MESSAGE": "KMS"}
    stack.sqs.put("dead-letters", EVENT, **attributes)
    message = list_one(stack)
    assert message["reason"] == "NOT_DELIVERED"
    assert "NO_PERMISSIONS" in message["why"]


def test_a_message_that_was_given_up_has_the_reason_of_its_last_record(stack: FakeStack) -> None:
    message_id = stack.sqs.put("dead-letters", EVENT)
    stack.logs.add("RETRY", "PARKING_FAILED", firstMessageId=message_id, awsError="KMS denied it")
    message = list_one(stack)
    assert message["reason"] == "PARKING_FAILED"
    assert "KMS denied it" in message["why"]


def test_a_message_that_was_put_back_and_given_up_keeps_its_chain(stack: FakeStack) -> None:
    park(stack, "CALL_FAILED", parkedAtMs=None, cause=None, waitsSinceMs=NOW_MS - 1)
    stack.logs.add("RETRY", "CALL_FAILED", cause="HTTP 503")
    message = list_one(stack)
    assert (message["firstMessageId"], message["reason"]) == (FIRST, "CALL_FAILED")
    assert "HTTP 503" in message["why"]


@pytest.mark.parametrize(
    ("event", "reason"),
    [("no event", "UNREADABLE"), (EVENT[:-1] + f', "text": "{"x" * 300_000}"}}', "NOT_READ")],
)
def test_a_message_that_nobody_parked_is_read_by_the_normaliser(
    stack: FakeStack, event: str, reason: str
) -> None:
    stack.sqs.put("dead-letters", event)
    assert list_one(stack)["reason"] == reason


@pytest.mark.parametrize(("sk", "is_stale"), [(SK, True), (f"{SK}/every change of it", False)])
def test_an_event_that_a_newer_state_has_passed_is_said_to_be_stale(
    stack: FakeStack, sk: str, is_stale: bool
) -> None:
    park(stack, key=f"{PK} {sk}")
    newest_ms = OCCURRED_MS + 10_000
    stack.put_row(PK, "latest/user.presence/PURECLOUD", event_time=newest_ms, expires_at=NOW_MS)
    assert list_one(stack)["isStale"] is is_stale


def test_a_replay_keeps_the_chain_and_begins_to_wait_anew(stack: FakeStack) -> None:
    park(stack, waitsSinceMs=1)
    assert once("parked", "replay", "--yes", "--json").json["done"] == 1
    (message,) = stack.sqs.queues["events"]
    body = json.loads(message["Body"])
    assert body["event"] == EVENT
    assert body["once"] == {
        "firstMessageId": FIRST,
        "firstSentAtMs": NOW_MS - 590_000,
        "after": f"run#{FIRST}",
    }
    assert stack.sqs.queues["dead-letters"] == []


def test_a_replay_of_a_dead_letter_dates_it_by_its_first_message(stack: FakeStack) -> None:
    message_id = stack.sqs.put("dead-letters", EVENT, ago_ms=5_000, GenesysOnceCanary="true")
    once("parked", "replay", "--yes")
    about = json.loads(stack.sqs.queues["events"][0]["Body"])["once"]
    assert about == {"firstMessageId": message_id, "firstSentAtMs": NOW_MS - 5_000, "canary": True}


@pytest.mark.parametrize("name", [FIRST, FIRST[:8], f"{PK}/{SK}", USER, "user.presence"])
def test_each_name_chooses_an_event(stack: FakeStack, name: str) -> None:
    park(stack)
    park(stack, event="no event", key="-/message/0 v2/broken", firstMessageId="other")
    chosen = once("parked", "list", name, "--json").json
    assert [message["firstMessageId"] for message in chosen["messages"]] == [FIRST]


def test_event_that_is_not_replayed_becomes_visible_again(stack: FakeStack) -> None:
    park(stack)
    once("parked", "list")
    assert stack.sqs.hidden == set()
    assert once("parked", "replay", says="n\n").code == 1
    assert stack.sqs.hidden == set()
    assert stack.sqs.queues["events"] == []


def test_a_failed_replay_leaves_the_event_and_ends_in_3(stack: FakeStack) -> None:
    park(stack)
    stack.sqs.refused.add(FIRST)
    answer = once("parked", "replay", "--yes", "--json")
    assert (answer.code, answer.json["failed"]) == (3, {FIRST: "refused"})
    assert len(stack.sqs.queues["dead-letters"]) == 1


def test_drop_deletes_and_notes_it_in_the_claim(stack: FakeStack) -> None:
    park(stack)
    stack.put_claim("DONE", "PARKED", pk=PK, sk=SK)
    assert once("parked", "drop", FIRST, "--yes").code == 0
    assert stack.read_row(PK, SK)["dropped_at"] == str(NOW_MS)
    assert stack.sqs.queues["dead-letters"] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("drop",), 2),
        (("drop", "nothing-of-it", "--yes"), 1),
        (("replay", "--reason", "GAVE_UP", "--yes"), 1),
        (("list", "nothing-of-it"), 1),
    ],
)
def test_a_choice_that_fits_nothing_changes_nothing(
    stack: FakeStack, arguments: tuple[str, ...], code: int
) -> None:
    park(stack)
    assert once("parked", *arguments).code == code
    assert len(stack.sqs.queues["dead-letters"]) == 1


def test_an_empty_queue_is_no_failure(stack: FakeStack) -> None:
    assert stack
    assert once("parked", "list").code == 0


def test_an_interrupted_replay_says_what_is_left(
    stack: FakeStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        park(stack, firstMessageId=f"message-{number}")
    real = dead_letters.replay

    def interrupt(*arguments: Any) -> dict[str, str]:
        if not stack.sqs.queues["events"]:
            return real(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(dead_letters, "replay", interrupt)
    answer = once("parked", "replay", "--yes", "--json")
    assert (answer.code, answer.json["done"], answer.json["left"]) == (130, 10, 2)
