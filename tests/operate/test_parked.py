"""Events that were parked for real, and settled with the commands that the runbook names."""

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.operate import dead_ends, log
from once.operate.dead_ends import Stuck
from once.operate.stack import Stack
from once.outcomes import Outcome
from proof.deployed import DeployedStack
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

pytestmark = pytest.mark.local


def parked(*ids: str) -> list[dict[str, Any]]:
    answer = once("parked", "list", *ids, "--json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = answer.json["messages"]
    return found


def test_a_refused_event_is_listed_with_its_reason_and_shown_whole(operated: DeployedStack) -> None:
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
    assert "permanently rejected it" in shown.out
    assert once("parked", "show", entry["messageId"][:8]).out == shown.out
    # The id that Genesys' support asks for; a list has its beginning.
    correlation = re.search(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\))", entry["cause"])
    assert correlation is not None
    assert correlation[0] in shown.out
    assert correlation[0] in whole(entry)["cause"]
    assert correlation[0] not in said
    once("parked", "drop", "p-shown", "--yes")


def test_a_refused_event_is_replayed_when_the_destination_takes_it(operated: DeployedStack) -> None:
    destination_answers(operated, "p-refused", 422)
    operated.settle(customer_start("p-refused"))
    refused = "parked: the destination permanently rejected it"
    assert (verdict("p-refused") or "").startswith(refused)
    answer = once("parked", "replay", "p-refused", "--yes", "--json")
    assert (answer.code, answer.json["done"]) == (0, 1)
    until(lambda: verdict("p-refused") == "acted on")
    assert len(keys_asked(operated, "p-refused")) == 1
    assert parked("p-refused") == []


def test_an_event_that_may_have_acted_is_replayed_only_when_that_is_agreed(
    operated: DeployedStack,
) -> None:
    destination_answers(operated, "p-uncertain", "processing")
    operated.settle(customer_start("p-uncertain"))
    operated.settle(customer_start("p-uncertain"))
    (row,) = operated.rows(pk_of("p-uncertain")).values()
    assert (row["status"], row["outcome"]) == ("DONE", "PARKED")

    refused = once("parked", "replay", "p-uncertain", says="n\n")
    assert refused.code == 1
    assert "1 of 1 may have been acted on already" in refused.err
    assert "may have been acted on already, and may fail again unless" in refused.err
    assert "Nothing was changed" in refused.err
    assert len(parked("p-uncertain")) == 1

    assert once("parked", "replay", "p-uncertain", says="y\n").code == 0
    until(lambda: len(keys_asked(operated, "p-uncertain")) == 2)
    # The same key: a destination that remembers keys still acts once.
    assert len(set(keys_asked(operated, "p-uncertain"))) == 1
    until(lambda: operated.rows(pk_of("p-uncertain"))[row["sk"]].get("outcome") == "PROCESSED")
    assert parked("p-uncertain") == []


def test_a_dropped_event_is_explained_so_and_its_copy_ends_as_a_copy(
    operated: DeployedStack,
) -> None:
    destination_answers(operated, "p-dropped", 422)
    operated.settle(customer_start("p-dropped"))
    (before,) = operated.rows(pk_of("p-dropped")).values()
    once("parked", "drop", "p-dropped", "--yes")
    said = verdict("p-dropped") or ""
    assert said.startswith("dropped by an operator on 20")
    assert "was parked: the destination permanently rejected it" in said
    (row,) = operated.rows(pk_of("p-dropped")).values()
    dropped_at = row.pop("dropped_at")
    assert int(dropped_at) > log.now_ms() - 60_000
    assert row == before, "who may act is decided by the rest of the row"
    (copy,) = operated.settle(customer_start("p-dropped"))
    assert (copy.outcome, copy.reason) == (Outcome.DUPLICATE, "SAME_KEY")
    assert (verdict("p-dropped") or "").startswith("dropped by an operator on 20")


def test_a_drop_that_may_not_mark_the_claim_drops_all_the_same(
    operated: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination_answers(operated, "p-unconfirmed", 422)
    operated.settle(customer_start("p-unconfirmed"))
    client = Stack.client

    def without_right(stack: Stack, service: str) -> Any:
        if service == "dynamodb":
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "UpdateItem")
        return client(stack, service)

    with monkeypatch.context() as patched:
        patched.setattr(Stack, "client", without_right)
        answer = once("parked", "drop", "p-unconfirmed", "--yes", "--json")
    assert (answer.code, answer.json["done"], answer.json["failed"]) == (0, 1, {})
    assert (verdict("p-unconfirmed") or "").startswith("parked: ")


def test_a_replay_that_died_before_its_delete_acts_once(operated: DeployedStack) -> None:
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
    assert event["verdict"] == "acted on; 2 requests, perhaps acted on more than once"
    assert [m["outcome"] for m in event["messages"]] == ["PARKED", "PROCESSED", "DUPLICATE"]
    assert len(keys_asked(operated, "p-crash")) == 2


def whole(entry: dict[str, Any]) -> dict[str, Any]:
    answer = once("parked", "show", entry["messageId"], "--json")
    found: dict[str, Any] = json.loads(answer.out)["messages"][0]
    return found


def test_a_poisoned_event_comes_back_to_its_place_until_it_is_dropped(
    operated: DeployedStack,
) -> None:
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
    assert "Delete 1 event permanently?" in dropped.err
    assert "1 dropped." in dropped.out
    assert [e for e in parked() if e["reason"] == "NOT_JSON"] == []


def test_only_the_named_events_are_replayed(operated: DeployedStack) -> None:
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


def test_an_interrupted_replay_continues_when_repeated(
    operated: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversations = [f"p-interrupted-{number}" for number in range(3)]
    for conversation in conversations:
        destination_answers(operated, conversation, 422)
    operated.settle(*map(customer_start, conversations))

    resend = dead_ends._resend

    def interrupt(stack: Stack, one: Stuck) -> None:
        if conversations[1] in one.message.body:
            raise KeyboardInterrupt
        resend(stack, one)

    with monkeypatch.context() as patched:
        patched.setattr(dead_ends, "_resend", interrupt)
        answer = once("parked", "replay", *conversations, "--yes")
    assert answer.code == 130
    # Several are replayed at a time, so the other two may have been sent or not.
    left = int(re.findall(r"Interrupted: (\d) left. The same command continues", answer.out)[0])
    assert 1 <= left <= 3
    again = once("parked", "replay", *conversations, "--yes", "--json")
    assert (again.code, again.json["done"]) == (0, left)
    for conversation in conversations:
        until(lambda: verdict(conversation) == "acted on")  # noqa: B023 - awaited at once
        assert len(keys_asked(operated, conversation)) == 1


def test_a_message_of_another_origin_stays_parked(operated: DeployedStack) -> None:
    sent = operated.client("sqs").send_message(
        QueueUrl=operated.outputs["ParkingQueueUrl"], MessageBody="somebody's shopping list"
    )
    answer = once("parked", "replay", sent["MessageId"], "--yes")
    assert answer.code == 3
    assert "nothing to replay" in answer.out
    assert once("parked", "drop", sent["MessageId"], "--yes").code == 0


def test_parked_events_are_counted_by_reason(operated: DeployedStack) -> None:
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
    first, second, _ = [entry["sentAtMs"] for entry in listed["messages"]]
    assert {entry["source"] for entry in listed["messages"]} == {"tests"}
    group = listed["groups"][0]
    assert (group["family"], group["source"]) == ("conversation.customer.start", "tests")
    assert group["firstMs"] <= group["lastMs"]
    assert first <= second
    assert "2 REJECTED: the destination permanently rejected it" in once("parked", "drop", *ids).err
    asked = once("parked", "replay", *ids)
    assert "1 UNCERTAIN: the destination failed while it acted" in asked.err
    assert "1 of 3 may have been acted on already" in asked.err
    once("parked", "drop", *ids, "--yes")


def test_a_typo_drops_and_replays_nothing(operated: DeployedStack) -> None:
    destination_answers(operated, "p-good", 422)
    operated.settle(customer_start("p-good"))
    for command in (["drop", "p-typo"], ["drop", "p-good", "p-typo"], ["replay", "p-typo"]):
        answer = once("parked", *command, "--yes")
        assert (answer.code, answer.out) == (4, "")
        assert "There is nothing of p-typo" in answer.err
    for name in ("drop", "replay"):
        answer = once("parked", name, "--reason", "REJEKTED", "--yes")
        assert (answer.code, "REJEKTED is no reason" in answer.err) == (1, True)
    assert len(parked("p-good")) == 1
    once("parked", "drop", "p-good", "--yes")


def test_a_claim_that_a_replay_opens_is_kept_as_long_as_a_new_one(operated: DeployedStack) -> None:
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
        once("resume", "--yes")
    assert row["status"] == "FAILED"
    assert int(row["expires_at"]) > log.now_ms() // 1000 + 7 * 86_400
    until(lambda: len(keys_asked(operated, "p-expires")) == 2)


def test_a_pace_is_kept(operated: DeployedStack) -> None:
    for number in range(4):
        destination_answers(operated, f"p-pace-{number}", 422)
    operated.settle(*[customer_start(f"p-pace-{number}") for number in range(4)])
    ids = [f"p-pace-{number}" for number in range(4)]
    assert once("parked", "replay", *ids, "--rate", "4", "--yes").code == 0
    until(lambda: all(keys_asked(operated, conversation) for conversation in ids))
    assert parked(*ids) == []


def test_showing_an_event_that_is_not_parked_ends_as_not_found(operated: DeployedStack) -> None:  # noqa: ARG001
    answer = once("parked", "show", "nothing-of-this-name")
    assert answer.code == 4
    assert "once parked list" in answer.err
