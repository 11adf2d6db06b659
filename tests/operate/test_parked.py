"""Events that were parked for real, and settled with the commands that the runbook names."""

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.operate import log
from once.operate.bulk import resend
from once.operate.stack import Stack
from proof.embedded import Embedded
from proof.events import customer_start
from tests.operate.conftest import once
from tests.operate.support import (
    destination_answers,
    explained,
    keys_asked,
    pk_of,
    until,
    verdict,
)

pytestmark = pytest.mark.embedded


def parked(*ids: str) -> list[dict[str, Any]]:
    answer = once("parked", "list", *ids, "--json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = answer.json["parked"]
    return found


def test_a_refused_event_is_listed_with_its_reason_and_shown_whole(operated: Embedded) -> None:
    destination_answers(operated, "p-shown", 422)
    operated.settle(customer_start("p-shown"))
    (entry,) = parked("p-shown")
    assert entry["reason"] == "REJECTED"
    assert entry["element"] is None
    said = once("parked", "list", "p-shown").out
    assert "REJECTED" in said
    assert entry["messageId"] in said
    assert [line for line in said.splitlines() if entry["messageId"] in line and " s " in line[:8]]
    shown = once("parked", "show", entry["messageId"])
    assert '"conversationId": "p-shown"' in shown.out
    assert "refused it for good" in shown.out
    # The id that Genesys' support asks for; a list has its beginning.
    correlation = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\))", entry["cause"])
    assert correlation is not None
    assert correlation[0] in shown.out
    assert correlation[0] in whole(entry)["cause"]
    assert correlation[0] not in said
    once("parked", "drop", "p-shown", "--yes")


def test_a_refused_event_is_replayed_when_the_destination_takes_it(operated: Embedded) -> None:
    destination_answers(operated, "p-refused", 422)
    operated.settle(customer_start("p-refused"))
    refused = "parked: the destination refused it for good"
    assert (verdict("p-refused") or "").startswith(refused)
    answer = once("parked", "replay", "p-refused", "--yes", "--json")
    assert (answer.code, answer.json["done"]) == (0, 1)
    until(lambda: verdict("p-refused") == "acted once")
    assert len(keys_asked(operated, "p-refused")) == 1
    assert parked("p-refused") == []


def test_an_event_that_may_have_acted_is_replayed_only_when_that_is_agreed(
    operated: Embedded,
) -> None:
    destination_answers(operated, "p-uncertain", "processing")
    operated.settle(customer_start("p-uncertain"))
    operated.settle(customer_start("p-uncertain"))
    (row,) = operated.rows(pk_of("p-uncertain")).values()
    assert (row["status"], row["outcome"]) == ("DONE", "PARKED")

    refused = once("parked", "replay", "p-uncertain", says="n\n")
    assert refused.code == 1
    assert "1 of 1 may have acted already" in refused.err
    assert "Nothing was changed" in refused.err
    assert len(parked("p-uncertain")) == 1

    assert once("parked", "replay", "p-uncertain", says="y\n").code == 0
    until(lambda: len(keys_asked(operated, "p-uncertain")) == 2)
    # The same key: a destination that remembers keys still acts once.
    assert len(set(keys_asked(operated, "p-uncertain"))) == 1
    until(lambda: operated.rows(pk_of("p-uncertain"))[row["sk"]]["outcome"] == "PROCESSED")
    assert parked("p-uncertain") == []


def test_what_a_person_dropped_is_explained_so_and_a_copy_acts_as_before(
    operated: Embedded,
) -> None:
    destination_answers(operated, "p-dropped", 422)
    operated.settle(customer_start("p-dropped"))
    (before,) = operated.rows(pk_of("p-dropped")).values()
    once("parked", "drop", "p-dropped", "--yes")
    said = verdict("p-dropped") or ""
    assert said.startswith("dropped by a person on 20")
    assert "was parked: the destination refused it for good" in said
    (row,) = operated.rows(pk_of("p-dropped")).values()
    dropped_at = row.pop("dropped_at")
    assert int(dropped_at) > log.now_ms() - 60_000
    assert row == before, "who may act is decided by the rest of the row"
    operated.settle(customer_start("p-dropped"))
    assert len(keys_asked(operated, "p-dropped")) == 1
    assert (verdict("p-dropped") or "").startswith("acted once")


def test_a_drop_that_may_not_mark_the_claim_drops_all_the_same(
    operated: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination_answers(operated, "p-unmarked", 422)
    operated.settle(customer_start("p-unmarked"))
    client = Stack.client

    def without_right(stack: Stack, service: str) -> Any:
        if service == "dynamodb":
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "UpdateItem")
        return client(stack, service)

    with monkeypatch.context() as patched:
        patched.setattr(Stack, "client", without_right)
        answer = once("parked", "drop", "p-unmarked", "--yes", "--json")
    assert (answer.code, answer.json["done"], answer.json["failed"]) == (0, 1, {})
    assert (verdict("p-unmarked") or "").startswith("parked: ")


def test_a_replay_of_what_was_given_up_says_that_it_may_have_acted_and_fail_again(
    operated: Embedded,
) -> None:
    destination_answers(operated, "p-may-have", "processing")
    operated.settle(customer_start("p-may-have"))
    asked = once("parked", "replay", "p-may-have", says="n\n")
    assert "may have acted already when it was called, and may fail again unless" in asked.err
    assert "once parked replay ID, without an ID all" in once("parked", "list", "p-may-have").out
    once("parked", "drop", "p-may-have", "--yes")


def test_a_replay_that_died_before_its_delete_acts_once(operated: Embedded) -> None:
    destination_answers(operated, "p-crash", "processing")
    operated.settle(customer_start("p-crash"))
    sqs, url = operated.client("sqs"), operated.outputs["ParkingQueueUrl"]
    (letter,) = [
        message
        for message in until(
            lambda: sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0)
        )["Messages"]
        if "p-crash" in message["Body"]
    ]
    assert once("parked", "replay", "p-crash", "--yes").code == 0
    until(lambda: len(keys_asked(operated, "p-crash")) == 2)
    sqs.send_message(QueueUrl=url, MessageBody=letter["Body"])  # as if it were there still
    assert once("parked", "replay", "p-crash", "--yes").code == 0
    (event,) = until(
        lambda: [e for e in explained("p-crash") if len(e["messages"]) == 3 and e["outcome"]]
    )
    assert event["verdict"] == "acted; asked twice, and may have acted more than once"
    assert [m["outcome"] for m in event["messages"]] == ["PARKED", "PROCESSED", "DUPLICATE"]
    assert len(keys_asked(operated, "p-crash")) == 2


def whole(entry: dict[str, Any]) -> dict[str, Any]:
    answer = once("parked", "show", entry["messageId"], "--json")
    found: dict[str, Any] = json.loads(answer.out)["parked"][0]
    return found


def test_a_poisoned_event_comes_back_to_its_place_until_it_is_dropped(operated: Embedded) -> None:
    text = "poisoned: " + "x" * 300_000
    operated.settle(text)
    (entry,) = [e for e in parked() if e["reason"] == "NOT_JSON"]
    shown = whole(entry)
    assert "rawRef" in shown["element"], "it is too large to be parked as it is"
    answer = once("parked", "replay", entry["messageId"], "--yes", "--json")
    assert answer.json == {**answer.json, "done": 1, "gone": 0, "failed": {}}
    (again,) = until(lambda: [e for e in parked() if e["reason"] == "NOT_JSON"])
    assert again["messageId"] != entry["messageId"]
    assert whole(again)["element"]["firstSentAtMs"] == shown["element"]["firstSentAtMs"]
    dropped = once("parked", "drop", again["messageId"], says="y\n")
    assert "Delete 1 event for good?" in dropped.err
    assert "1 dropped." in dropped.out
    assert [e for e in parked() if e["reason"] == "NOT_JSON"] == []


def test_only_what_was_asked_for_is_replayed(operated: Embedded) -> None:
    for conversation in ("p-this", "p-that"):
        destination_answers(operated, conversation, 422)
        operated.settle(customer_start(conversation))
    assert once("parked", "replay", "p-this", "--yes").code == 0
    assert len(parked("p-that")) == 1
    assert once("parked", "replay", "p-that", "--reason", "UNCERTAIN", "--yes").code == 0
    assert len(parked("p-that")) == 1
    everything = once("parked", "drop", "--yes")
    assert (everything.code, "Name what to delete" in everything.err) == (1, True)
    assert once("parked", "drop", "p-that", "--yes").code == 0


def test_a_replay_that_is_interrupted_says_what_is_left_and_goes_on_when_typed_again(
    operated: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = [f"p-interrupted-{number}" for number in range(3)]
    for conversation in conversations:
        destination_answers(operated, conversation, 422)
    operated.settle(*map(customer_start, conversations))

    def interrupt(stack: Stack, body: str, first_sent_ms: int | None) -> None:
        if conversations[1] in body:
            raise KeyboardInterrupt
        resend(stack, body, first_sent_ms)

    with monkeypatch.context() as patched:
        patched.setattr("once.operate.parked.resend", interrupt)
        answer = once("parked", "replay", *conversations, "--yes")
    assert answer.code == 130
    assert "2 replayed." in answer.out
    assert "Interrupted: 1 left. The same command goes on with the rest." in answer.out
    again = once("parked", "replay", *conversations, "--yes", "--json")
    assert (again.code, again.json["done"]) == (0, 1)
    for conversation in conversations:
        until(lambda: verdict(conversation) == "acted once")  # noqa: B023 - awaited at once
        assert len(keys_asked(operated, conversation)) == 1


def test_what_is_not_ours_stays_and_is_said(operated: Embedded) -> None:
    sent = operated.client("sqs").send_message(
        QueueUrl=operated.outputs["ParkingQueueUrl"], MessageBody="somebody's shopping list"
    )
    answer = once("parked", "replay", sent["MessageId"], "--yes")
    assert answer.code == 3
    assert "nothing to replay" in answer.out
    assert once("parked", "drop", sent["MessageId"], "--yes").code == 0


def test_what_is_parked_is_counted_by_reason_and_asked_about_by_reason(operated: Embedded) -> None:
    for conversation in ("p-group-1", "p-group-2"):
        destination_answers(operated, conversation, 422)
    destination_answers(operated, "p-group-3", "processing")
    operated.settle(*[customer_start(f"p-group-{number}") for number in (1, 2, 3)])
    ids = [f"p-group-{number}" for number in (1, 2, 3)]
    listed = once("parked", "list", *ids, "--json").json
    assert [(group["reason"], group["count"]) for group in listed["groups"]] == [
        ("REJECTED", 2),
        ("UNCERTAIN", 1),
    ]
    first, second, _ = [entry["parkedAtMs"] for entry in listed["parked"]]
    assert {entry["source"] for entry in listed["parked"]} == {"tests"}
    group = listed["groups"][0]
    assert (group["family"], group["source"]) == ("conversation.customer.start", "tests")
    assert group["firstMs"] <= group["lastMs"]
    assert first <= second
    assert "2 REJECTED: the destination refused it for good" in once("parked", "drop", *ids).err
    asked = once("parked", "replay", *ids)
    assert "1 UNCERTAIN: the destination failed in the middle of it" in asked.err
    assert "1 of 3 may have acted already" in asked.err
    once("parked", "drop", *ids, "--yes")


def test_a_typo_drops_and_replays_nothing(operated: Embedded) -> None:
    destination_answers(operated, "p-good", 422)
    operated.settle(customer_start("p-good"))
    for command in (["drop", "p-typo"], ["drop", "p-good", "p-typo"], ["replay", "p-typo"]):
        answer = once("parked", *command, "--yes")
        assert (answer.code, answer.out) == (1, "")
        assert "There is nothing of p-typo" in answer.err
    for name in ("drop", "replay"):
        answer = once("parked", name, "--reason", "REJEKTED", "--yes")
        assert (answer.code, "REJEKTED is no reason" in answer.err) == (1, True)
    assert len(parked("p-good")) == 1
    once("parked", "drop", "p-good", "--yes")


def test_a_claim_that_a_replay_opens_is_kept_as_long_as_a_new_one(operated: Embedded) -> None:
    destination_answers(operated, "p-expires", "processing")
    operated.settle(customer_start("p-expires"))
    pk = pk_of("p-expires")
    (sk,) = operated.rows(pk)
    operated.client("dynamodb").update_item(
        TableName=operated.outputs["ClaimTableName"],
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        UpdateExpression="SET expires_at = :soon",
        ExpressionAttributeValues={":soon": {"N": str(log.now_ms() // 1000 + 60)}},
    )
    operated.client("pipes").stop_pipe(Name=operated.outputs["PipeName"])
    try:
        assert once("parked", "replay", "p-expires", "--yes").code == 0
        (row,) = operated.rows(pk).values()
    finally:
        once("resume")
    assert row["status"] == "FAILED"
    assert int(row["expires_at"]) > log.now_ms() // 1000 + 7 * 86_400
    until(lambda: len(keys_asked(operated, "p-expires")) == 2)


def test_a_pace_is_kept(operated: Embedded) -> None:
    for number in range(4):
        destination_answers(operated, f"p-pace-{number}", 422)
    operated.settle(*[customer_start(f"p-pace-{number}") for number in range(4)])
    ids = [f"p-pace-{number}" for number in range(4)]
    assert once("parked", "replay", *ids, "--rate", "4", "--yes").code == 0
    asked = until(
        lambda: [
            keys_asked(operated, conversation)[0]
            for conversation in ids
            if keys_asked(operated, conversation)
        ]
    )
    assert asked
    assert parked(*ids) == []


def test_showing_what_is_not_parked_says_so(operated: Embedded) -> None:  # noqa: ARG001
    answer = once("parked", "show", "nothing-of-this-name")
    assert answer.code == 1
    assert "once parked list" in answer.err
