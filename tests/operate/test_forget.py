"""`once forget`: what was forgotten acts again, as a new occurrence, and nothing else does."""

import uuid
from typing import Any

import pytest

from once.operate import log
from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start
from tests.operate.conftest import once
from tests.operate.support import (
    destination_answers,
    explained,
    keys_asked,
    pk_of,
    queue_with,
    until,
    verdict,
)

pytestmark = pytest.mark.local


def presence(user: str, name: str, clock: str) -> dict[str, Any]:
    return {
        "id": str(uuid.uuid4()),
        "detail-type": "v2.users.{id}.presence",
        "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/tests",
        "detail": {
            "topicName": f"v2.users.{user}.presence",
            "version": "2",
            "eventBody": {
                "source": "PURECLOUD",
                "presenceDefinition": {"id": f"id-of-{name}", "systemPresence": name},
                "primary": True,
                "message": "",
                "modifiedDate": f"2025-03-12T{clock}.000Z",
            },
            "timestamp": f"2025-03-12T{clock}.100Z",
        },
    }


def test_a_forgotten_event_acts_again_once_under_a_key_of_its_own(operated: DeployedStack) -> None:
    event = customer_start("f-again")
    operated.settle(event)
    (first,) = explained("f-again")
    answer = once("forget", first["key"], says="y\n")
    assert answer.code == 0
    assert "PROCESSED" in answer.err, "it says what it is about to forget"
    assert (verdict("f-again") or "").startswith("acted on; `once forget` opened it on ")

    replay, copy = operated.settle(event, event)
    assert sorted((replay.outcome, copy.outcome)) == ["DUPLICATE", "PROCESSED"]
    one, other = keys_asked(operated, "f-again")
    assert other.startswith(one + "."), "a destination that remembers keys acts again as well"
    said = verdict("f-again") or ""
    assert said.startswith("acted on twice; `once forget` opened it on ")
    assert operated.settle(event)[0].outcome == "DUPLICATE"


def test_the_new_key_is_kept_when_the_first_try_fails(operated: DeployedStack) -> None:
    event = customer_start("f-retried")
    operated.settle(event)
    assert once("forget", explained("f-retried")[0]["key"], "--yes").code == 0
    destination_answers(operated, "f-retried", *[503] * 4)
    with queue_with(operated, VisibilityTimeout="11"):
        operated.settle(event)
    asked = [
        entry.facts["idempotencyKey"]
        for entry in operated.destination.received("execute")
        if entry.facts.get("conversationId") == "f-retried"
    ]
    assert len(asked) == 6
    assert len(set(asked[1:])) == 1
    assert asked[1] != asked[0]


def test_a_refusal_to_agree_changes_nothing(operated: DeployedStack) -> None:
    operated.settle(customer_start("f-no"))
    rows = operated.rows(pk_of("f-no"))
    assert once("forget", explained("f-no")[0]["key"], says="n\n").code == 1
    assert operated.rows(pk_of("f-no")) == rows


def test_an_old_state_acts_again_though_a_newer_one_has_passed(operated: DeployedStack) -> None:
    old, new = presence("u-f", "MEAL", "10:00:00"), presence("u-f", "BUSY", "11:00:00")
    operated.settle(old)
    operated.settle(new)
    meal = next(event for event in explained("u-f") if "MEAL" in event["text"])
    answer = once("forget", meal["key"], says="y\n")
    assert "A newer state has passed (2025-03-12 11:00:00.000 UTC)" in answer.err
    (again,) = operated.settle(old)
    assert again.outcome == "PROCESSED"
    # What is older still stays stale.
    (older,) = operated.settle(presence("u-f", "BREAK", "09:00:00"))
    assert older.outcome == "STALE"


def test_a_claim_that_changes_during_the_question_stays(
    operated: DeployedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newest time moved back under a claim that stands would let what is stale act."""
    old, new = presence("u-raced", "MEAL", "10:00:00"), presence("u-raced", "BUSY", "11:00:00")
    operated.settle(old)
    operated.settle(new)
    meal = next(event for event in explained("u-raced") if "MEAL" in event["text"])
    pk, sk = f"{ORGANISATION}/user/u-raced", meal["key"].split("/", 3)[3]

    def taken_over_meanwhile(*_: object) -> None:
        operated.client("dynamodb").update_item(
            TableName=operated.outputs["ClaimTableName"],
            Key={"pk": {"S": pk}, "sk": {"S": sk}},
            UpdateExpression="SET #o = :other",
            ExpressionAttributeNames={"#o": "owner"},
            ExpressionAttributeValues={":other": {"S": "other#other"}},
        )

    before = operated.rows(pk)
    monkeypatch.setattr("once.operate.command.Operation.confirm", taken_over_meanwhile)
    answer = once("forget", meal["key"])
    assert (answer.code, "nothing was forgotten" in answer.err) == (1, True)
    before[sk]["owner"] = "other#other"
    assert operated.rows(pk) == before


def test_a_forgotten_claim_is_kept_as_long_as_a_new_one(operated: DeployedStack) -> None:
    old, new = presence("u-kept", "MEAL", "10:00:00"), presence("u-kept", "BUSY", "11:00:00")
    operated.settle(old)
    operated.settle(new)
    pk, table = f"{ORGANISATION}/user/u-kept", operated.outputs["ClaimTableName"]
    for sk in operated.rows(pk):
        operated.client("dynamodb").update_item(
            TableName=table,
            Key={"pk": {"S": pk}, "sk": {"S": sk}},
            UpdateExpression="SET expires_at = :soon",
            ExpressionAttributeValues={":soon": {"N": str(log.now_ms() // 1000 + 60)}},
        )
    meal = next(event for event in explained("u-kept") if "MEAL" in event["text"])
    answer = once("forget", meal["key"], "--yes", "--json")
    touched = [meal["key"].split("/", 3)[3], *answer.json["rewound"]]
    assert len(touched) == 2
    rows = operated.rows(pk)
    in_a_week = log.now_ms() // 1000 + 7 * 86_400
    assert all(int(rows[sk]["expires_at"]) > in_a_week for sk in touched)


def test_other_states_of_the_subject_keep_their_newest(operated: DeployedStack) -> None:
    """An agent's presence from another source has a newest state of its own."""
    old, new = presence("u-sources", "MEAL", "10:00:00"), presence("u-sources", "BUSY", "11:00:00")
    new["detail"]["eventBody"]["source"] = "TEAMS"
    operated.settle(old)
    operated.settle(new)
    meal = next(event for event in explained("u-sources") if "MEAL" in event["text"])
    answer = once("forget", meal["key"], "--yes", "--json")
    assert answer.json["rewound"] == []


def test_a_busy_claim_is_forgotten_only_after_its_lease(
    operated: DeployedStack,
) -> None:
    """A holder that died, with its lease still running: nobody can tell it from a living one."""
    event = customer_start("f-stuck")
    operated.settle(event)
    (done,) = explained("f-stuck")
    pk, sk = pk_of("f-stuck"), done["key"].split("/", 3)[3]

    def hold(milliseconds: int) -> None:
        operated.client("dynamodb").update_item(
            TableName=operated.outputs["ClaimTableName"],
            Key={"pk": {"S": pk}, "sk": {"S": sk}},
            UpdateExpression="SET #s = :held, #o = :holder, lease_until = :until REMOVE outcome",
            ExpressionAttributeNames={"#s": "status", "#o": "owner"},
            ExpressionAttributeValues={
                ":held": {"S": "IN_PROGRESS"},
                ":holder": {"S": "dead#dead"},
                ":until": {"N": str(log.now_ms() + milliseconds)},
            },
        )

    hour_ms = 3_600_000
    hold(hour_ms)
    refused = once("forget", done["key"], "--yes")
    assert refused.code == 1
    assert "its claim is free in" in refused.err
    with queue_with(operated, VisibilityTimeout="6"):
        (line,) = operated.send(event)
        until(
            lambda: any(
                m.get("cause") == "IN_PROGRESS" for e in explained("f-stuck") for m in e["messages"]
            )
        )
        assert "in progress" in str([e["verdict"] for e in explained("f-stuck")])
        hold(-1)
        # The lease is over, so the queue's own retry takes the claim over.
        (report,) = operated.wait([line])
        assert report.outcome == "PROCESSED"

    hold(-1)
    assert once("forget", done["key"], "--yes").code == 0
    assert operated.settle(event)[0].outcome == "PROCESSED"


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("conversation/c1", "is not a key"),
        (f"{ORGANISATION}/conversation/none/v1/x/1", "There is no claim"),
    ],
)
def test_a_key_that_is_none_is_said_so(operated: DeployedStack, key: str, said: str) -> None:  # noqa: ARG001
    answer = once("forget", key, "--yes")
    assert answer.code == (4 if said == "There is no claim" else 1)
    assert said in answer.err
