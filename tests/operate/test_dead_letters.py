"""Events that died for real, of a crash or of a rule that could not deliver, and their replay."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.operate.conftest import once
from tests.operate.support import (
    destination_answers,
    explained,
    keys_asked,
    machine,
    pk_of,
    queue_with,
    until,
    verdict,
)

pytestmark = pytest.mark.local


@contextmanager
def tried_once(local: DeployedStack) -> Iterator[None]:
    """Moves a message to the dead letters after one failure instead of 1,000 receives."""
    sqs, url = local.client("sqs"), local.outputs["EventQueueUrl"]
    name = "RedrivePolicy"
    kept = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name]
    policy = json.dumps({**json.loads(kept), "maxReceiveCount": 1})
    with queue_with(local, RedrivePolicy=policy, VisibilityTimeout="4"):
        yield


def dies_after_the_act(definition: dict[str, Any]) -> None:
    """Between the call and the mark, and takes the whole execution with it."""
    settle = definition["States"]["SettleEvents"]
    del settle["Catch"]
    event = settle["ItemProcessor"]["States"]
    event["RunAction"]["Next"] = "Die"
    event["Die"] = {"Type": "Fail", "Error": "Killed"}


def dead(*ids: str) -> list[dict[str, Any]]:
    answer = once("dead-letters", "list", *ids, "--json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = answer.json["messages"]
    return found


def test_an_execution_that_dies_leaves_a_dead_letter_that_a_replay_settles(
    operated: DeployedStack,
) -> None:
    with tried_once(operated), machine(operated, dies_after_the_act):
        operated.send(customer_start("d-crashed"))
        (letter,) = until(lambda: dead("d-crashed"))
    assert (letter["place"], letter["text"]) == ("queue", "customer arrives")
    status = once("status")
    assert status.code == 3
    assert "once dead-letters list" in status.out
    (row,) = operated.rows(pk_of("d-crashed")).values()
    assert row["status"] == "IN_PROGRESS"
    assert "died" in (verdict(letter["key"]) or "")

    until(lambda: verdict(letter["key"]) == "its owner died; the next delivery takes it over")
    answer = once("dead-letters", "replay", "d-crashed", says="y\n")
    assert answer.code == 0
    assert "Replay 1 event?" in answer.err
    until(lambda: verdict(letter["key"]) == "acted on")
    # It had acted before it died: asked again, with the same key.
    assert len(keys_asked(operated, "d-crashed")) == 2
    assert len(set(keys_asked(operated, "d-crashed"))) == 1
    assert dead("d-crashed") == []


def test_what_the_rule_could_not_deliver_is_listed_with_its_error_and_replayed(
    operated: DeployedStack,
) -> None:
    # As EventBridge puts it there; the emulator never fails to deliver.
    sent = operated.client("sqs").send_message(
        QueueUrl=operated.outputs["RuleDeadLettersUrl"],
        MessageBody=json.dumps(customer_start("d-undelivered")),
        MessageAttributes={
            name: {"DataType": "String", "StringValue": value}
            for name, value in {
                "RULE_ARN": "arn:aws:events:eu-central-1:123456789012:rule/once-events",
                "ERROR_CODE": "NO_PERMISSIONS",
                "ERROR_MESSAGE": "the queue's policy was changed",
            }.items()
        },
    )
    listed = once("dead-letters", "list", "--from", "rule").out
    assert "rule: NOT_DELIVERED: NO_PERMISSIONS: the queue's policy was changed" in listed
    assert once("dead-letters", "list", "--from", "queue", "d-undelivered").out.endswith(
        "Nothing is a dead letter that fits.\n"
    )
    assert once("dead-letters", "replay", sent["MessageId"], "--yes").code == 0
    until(lambda: verdict("d-undelivered") == "acted on")
    assert len(keys_asked(operated, "d-undelivered")) == 1
    assert dead("d-undelivered") == []


def test_a_dead_letter_that_had_acted_does_not_act_again(operated: DeployedStack) -> None:
    event = customer_start("d-acted")
    operated.settle(event)
    operated.client("sqs").send_message(
        QueueUrl=operated.outputs["EventDeadLettersUrl"], MessageBody=json.dumps(event)
    )
    assert once("dead-letters", "replay", "d-acted", "--yes").code == 0
    until(lambda: len(explained("d-acted")[0]["messages"]) == 2)
    assert explained("d-acted")[0]["messages"][1]["cause"] == "SAME_ENVELOPE"
    assert len(keys_asked(operated, "d-acted")) == 1


def test_listing_dead_letters_changes_nothing_and_counts_groups(
    operated: DeployedStack,
) -> None:
    for number in (1, 2):
        operated.client("sqs").send_message(
            QueueUrl=operated.outputs["EventDeadLettersUrl"],
            MessageBody=json.dumps(customer_start(f"d-look-{number}")),
        )
    ids = ["d-look-1", "d-look-2"]
    first = once("dead-letters", "list", *ids, "--json").out
    for _ in range(3):
        assert once("dead-letters", "list", *ids, "--json").out == first
    (group,) = json.loads(first)["groups"]
    assert (group["reason"], group["count"], group["source"]) == ("NOT_RECORDED", 2, "tests")
    asked = once("dead-letters", "replay", *ids)
    assert "2 NOT_RECORDED: " in asked.err
    assert "Replay 2 events?" in asked.err
    wrong = once("dead-letters", "replay", "d-typo", "--yes")
    assert (wrong.code, "nothing of d-typo" in wrong.err) == (4, True)
    assert len(dead(*ids)) == 2
    assert once("dead-letters", "replay", *ids, "--yes").code == 0
    until(lambda: verdict("d-look-1") == verdict("d-look-2") == "acted on")


def test_the_reason_of_the_last_try_stands_beside_a_dead_letter(operated: DeployedStack) -> None:
    destination_answers(operated, "d-reason", *[503] * 8)
    with tried_once(operated):
        operated.send(customer_start("d-reason"))
        # It may lie there before the batch of its last try has ended.
        (letter,) = until(
            lambda: [one for one in dead("d-reason") if one["reason"] != "NOT_RECORDED"]
        )
    assert letter["reason"] == "CALL_FAILED"
    listed = once("dead-letters", "list", "d-reason")
    assert listed.code == 0, listed.err
    assert re.search(r"queue: CALL_FAILED: .*503", listed.out)
    assert once("dead-letters", "replay", "d-reason", "--yes").code == 0


def test_an_interrupted_replay_leaves_both_dead_ends_as_they_were(
    operated: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ["d-kept-by-queue", "d-kept-by-rule"]
    for conversation, queue in zip(ids, ("EventDeadLettersUrl", "RuleDeadLettersUrl"), strict=True):
        operated.client("sqs").send_message(
            QueueUrl=operated.outputs[queue], MessageBody=json.dumps(customer_start(conversation))
        )

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("once.operate.dead_ends._resend", interrupt)
        answer = once("dead-letters", "replay", *ids, "--yes", "--json")
    assert (answer.code, answer.json["done"], answer.json["left"]) == (130, 0, 2)
    assert once("dead-letters", "replay", *ids, "--yes", "--json").json["done"] == 2
    for conversation in ids:
        until(lambda: verdict(conversation) == "acted on")  # noqa: B023 - awaited at once


def test_a_name_that_fits_no_dead_letter_is_an_error(operated: DeployedStack) -> None:  # noqa: ARG001
    answer = once("dead-letters", "replay", "no-such-event", "--yes")
    assert (answer.code, "nothing of no-such-event" in answer.err) == (4, True)
