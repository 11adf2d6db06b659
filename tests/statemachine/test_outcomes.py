"""Each outcome: its path, its record, and what it writes and sends."""

from typing import Any

import pytest

from once.model.records import NEVER_RAN
from proof.asl.errors import Failure
from proof.asl.services import REFUSED
from tests.statemachine.playing import (
    ACTED,
    DOWN,
    ME,
    NOW_MS,
    OTHER,
    SENT_MS,
    Play,
    changing,
    claim,
    element,
    raised,
    row,
)

PUT_BACK = {"firstMessageId": "m1", "firstSentAtMs": SENT_MS, "waitsSinceMs": SENT_MS}


def test_an_event_that_is_acted_on_goes_straight_down() -> None:
    play = Play([element()], {"RunAction": [ACTED]})
    assert play.path == ["ClaimKey", "RunAction", "Processed", "RecordOutcome"]
    assert play.outcome == ("PROCESSED", "ACTED")


def test_the_record_of_an_act_says_what_happened() -> None:
    record = Play([element(note="a field is new")], {"RunAction": [ACTED]}).record
    metrics = {metric["Name"] for metric in record.pop("_aws")["CloudWatchMetrics"][0]["Metrics"]}
    assert metrics == {"NOTED", "SECONDS_TO_ACTION"}
    assert record == {
        "Stack": "genesys-once",
        "firstMessageId": "m1",
        "run": ME,
        "pk": "org/user/u1",
        "sk": "v2/station/on",
        "family": "v2.users.station",
        "occurredAtMs": SENT_MS,
        "envelopeId": "e1",
        "source": "main",
        "note": "a field is new",
        "idempotencyKey": "a" * 64,
        "outcome": "PROCESSED",
        "reason": "ACTED",
        "requests": 1,
        "status": 200,
        "ageMs": 1_500,
        "NOTED": 1,
        "SECONDS_TO_ACTION": 1.5,
    }


def test_the_function_gets_the_event_and_its_history() -> None:
    event = element()
    assert Play([event], {"RunAction": [ACTED]}).asked("RunAction")["Payload"] == {
        "version": "3",
        "event": event,
        "idempotencyKey": "a" * 64,
        "owner": ME,
        "tries": 0,
        "failedAtMs": 0,
        "deaths": 0,
        "retry": 0,
    }


@pytest.mark.parametrize(
    "given", [[], {}, [element(), element()], element(), 5, "x", None, [1], [None], [{"key": {}}]]
)
def test_other_input_fails_the_execution(given: Any) -> None:
    play = Play(given)
    assert play.ended.failure is not None
    assert play.calls == []


def test_an_unwanted_event_claims_nothing() -> None:
    route = {"name": "meal", "action": "none", "ignored": "ROUTE_IS_NONE"}
    play = Play([element(route=route)])
    assert play.path == ["RecordOutcome"]
    assert play.outcome == ("IGNORED", "ROUTE_IS_NONE")
    assert play.record["route"] == "meal"


def test_an_unwanted_state_is_noted_as_a_break() -> None:
    play = Play([changing(expiresAtMs=NOW_MS - 1)])
    assert play.path == ["NoteBreak", "RecordOutcome"]
    assert play.outcome == ("IGNORED", "EXPIRED")
    assert play.written("NoteBreak")[":time"] == str(SENT_MS)


@pytest.mark.parametrize("outcome", ["PROCESSED", "STALE", "PARKED"])
def test_an_earlier_delivery_keeps_its_outcome(outcome: str) -> None:
    settled = claim(owner="before#m1", outcome=outcome)
    play = Play([element()], {"ClaimKey": [REFUSED], "ReadClaim": [settled]})
    assert play.outcome == (outcome, "SETTLED_BEFORE")
    assert play.record["because"] == "before#m1"


def test_a_held_claim_is_read_four_times_and_then_waits() -> None:
    held = claim(status="IN_PROGRESS", lease_until=NOW_MS + 60_000)
    play = Play([element()], {"ClaimKey": [REFUSED], "ReadClaim": [held] * 4})
    assert [call.state for call in play.calls].count("ReadClaim") == 4
    assert play.outcome == ("RETRY", "HELD")
    assert play.asked("PutBack")["DelaySeconds"] == 51  # a second after its lease
    assert "CloseClaim" not in play.path


def test_an_event_behind_a_request_of_its_subject_waits() -> None:
    latest = row(owner=OTHER, claim="v2/x", event_time=SENT_MS - 9, turn_until=NOW_MS + 60_000)
    busy = claim(status="IN_PROGRESS", lease_until=NOW_MS + 60_000)
    answers: dict[str, list[Any]] = {
        "AdvanceLatest": [REFUSED],
        "ReadLatest": [latest],
        "ReadPredecessor": [busy] * 4,
    }
    play = Play([changing()], answers)
    assert play.outcome == ("RETRY", "BEHIND")
    assert play.path[-3:] == ["PutBack", "CloseClaim", "RecordOutcome"]
    assert play.asked("PutBack")["DelaySeconds"] == 30


def test_a_failure_is_put_back_and_then_released() -> None:
    facts = {"tries": 1, "failedAtMs": NOW_MS, "requests": 1, "retryInSeconds": 44, "status": 500}
    failed = raised("PutBack", reason="CALL_FAILED", cause="HTTP 500", **facts)
    play = Play([element(canary=True)], {"RunAction": [failed]})
    assert play.path == ["ClaimKey", "RunAction", "PutBack", "CloseClaim", "RecordOutcome"]
    assert play.asked("PutBack")["DelaySeconds"] == 44
    assert play.body("PutBack") == {
        "event": element()["raw"],
        "once": PUT_BACK
        | {"after": ME, "reason": "CALL_FAILED", "dueAtMs": NOW_MS + 44_000, "canary": True},
    }
    written = play.written("CloseClaim")
    assert (written[":status"], written[":tries"], written[":cause"]) == ("FAILED", "1", "HTTP 500")
    assert written[":due"] == str(NOW_MS + 44_000)
    record = play.record
    assert record["returnedAs"] == "m3"
    assert record["SECONDS_WAITING"] == 1
    assert {name: record[name] for name in ("retryInSeconds", "waitsSinceMs", "status")} == {
        "retryInSeconds": 44,
        "waitsSinceMs": SENT_MS,
        "status": 500,
    }


def test_the_function_says_when_an_event_comes_back() -> None:
    wait = {"result": "WAIT", "reason": "LIMITED", "retryInSeconds": 7, "requests": 0}
    play = Play([element()], {"RunAction": [{"Payload": wait}]})
    assert play.outcome == ("RETRY", "LIMITED")
    assert play.asked("PutBack")["DelaySeconds"] == 7
    assert "result" not in play.record


@pytest.mark.parametrize(
    "name", ["Sandbox.Timedout", "States.Timeout", "Runtime.ExitError", *sorted(NEVER_RAN)]
)
def test_a_function_that_fails_keeps_its_claim_unless_it_never_ran(name: str) -> None:
    play = Play([element()], {"RunAction": [Failure(name, "")]})
    assert play.outcome == ("RETRY", "FUNCTION_FAILED")
    assert (play.record["errorClass"], play.record["NEEDS_REPAIR"]) == (name, 1)
    if name in NEVER_RAN:
        assert play.path[-3:] == ["PutBack", "CloseClaim", "RecordOutcome"]
        assert "leaseUntilMs" not in play.record
    else:
        assert play.path[-2:] == ["PutBack", "RecordOutcome"]
        assert play.record["leaseUntilMs"] == NOW_MS + 140_000
        assert play.asked("PutBack")["DelaySeconds"] == 141


def test_an_event_for_a_person_is_parked_and_then_closed() -> None:
    rejected = raised("Parked", reason="REJECTED", cause="HTTP 400")
    play = Play([element(canary=True)], {"RunAction": [rejected]})
    assert play.path == ["ClaimKey", "RunAction", "Parked", "CloseClaim", "RecordOutcome"]
    assert play.body("Parked") == {
        "event": element()["raw"],
        "once": {
            "firstMessageId": "m1",
            "firstSentAtMs": SENT_MS,
            "after": ME,
            "reason": "REJECTED",
            "cause": "HTTP 400",
            "key": "org/user/u1 v2/station/on",
            "parkedAtMs": NOW_MS,
            "canary": True,  # replayed by anybody, it must not reach the destination
        },
    }
    assert play.outcome == ("PARKED", "REJECTED")
    assert play.written("CloseClaim")[":outcome"] == "PARKED"


def test_a_message_that_holds_no_event_is_parked_without_a_request() -> None:
    play = Play([element(broken="UNREADABLE", detail="NOT_JSON: it ends early.")])
    assert play.path == ["ClaimKey", "Parked", "CloseClaim", "RecordOutcome"]
    assert play.body("Parked")["once"]["cause"] == "NOT_JSON: it ends early."


@pytest.mark.parametrize(
    ("state", "given", "seconds", "has_claim"),
    [
        ("NoteBreak", changing(expiresAtMs=1), 20, False),
        ("ClaimKey", element(), 138, False),  # the claim may be there, so until its lease is over
        ("AdvanceLatest", changing(), 20, True),
    ],
)
def test_an_event_waits_if_the_table_does_not_respond(
    state: str, given: Any, seconds: int, has_claim: bool
) -> None:
    play = Play([given], {state: [DOWN] * 3})
    assert play.outcome == ("RETRY", "TABLE_UNANSWERED")
    assert play.record["awsError"] == "DynamoDB.AmazonDynamoDBException: throttled"
    assert ("CloseClaim" in play.path) == has_claim
    if has_claim:  # the claim keeps the cause of its last request, here none
        assert play.written("CloseClaim")[":cause"] == ""
    assert play.asked("PutBack")["DelaySeconds"] == seconds
