"""`once explain` of an Idempotency-Key, which may be all that the destination's own log knows of an
event; and without an id, of all that may have been acted on.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from once.keys import Key, Subject
from once.operate import explain, log
from proof.events import ORGANISATION
from proof.still import Still, still
from tests.operate.conftest import once

SK = "v1/conversation.customer.start/p/s/1741770109480"


@pytest.fixture(scope="module")
def stack() -> Iterator[Still]:
    with still() as one:
        yield one


@pytest.fixture(autouse=True)
def it_is_up(stack: Still, tmp_path: Path) -> Iterator[None]:
    with stack.up(tmp_path):
        yield
        stack.clear()


def key_of(conversation: str) -> str:
    return str(Key.of_row(pk_of(conversation), SK).idempotency_key)


def pk_of(conversation: str) -> str:
    return f"{ORGANISATION}/conversation/{conversation}"


def record(conversation: str, outcome: str, reason: str, **more: Any) -> dict[str, Any]:
    return {
        "recordedAtMs": log.now_ms() - 60_000,
        "messageId": f"{conversation}-1",
        "outcome": outcome,
        "reason": reason,
        "pk": pk_of(conversation),
        "sk": SK,
        "family": "conversation.customer.start",
        "occurredAtMs": log.now_ms() - 90_000,
        "requests": 1,
        **more,
    }


def explained(thing: str) -> list[tuple[str, str]]:
    """The conversations and verdicts that it finds."""
    answer = once("explain", thing, "--json")
    assert answer.code == 0, answer.err
    return [
        (Subject.parse(subject["pk"]).id, event["verdict"])
        for subject in answer.json["subjects"]
        for event in subject["events"]
    ]


def test_an_act_is_found_by_its_idempotency_key(stack: Still) -> None:
    stack.records(
        [
            record(one, "PROCESSED", "ACTED", idempotencyKey=key_of(one))
            for one in ("acted", "another")
        ]
    )
    assert explained(key_of("acted")) == [("acted", "acted on")]


def test_a_request_without_response_is_found_by_its_key(stack: Still) -> None:
    """The destination acted and its log has the key; ours has none."""
    stack.records(
        [
            record("lost", "RETRY", "CALL_FAILED", cause="no answer in 8 s"),
            record("refused", "PARKED", "REJECTED", status=422),
        ]
    )
    ((conversation, verdict),) = explained(key_of("lost"))
    assert (conversation, verdict[:34]) == ("lost", "not settled yet: no answer in 8 s;")
    ((conversation, verdict),) = explained(key_of("refused"))
    assert (conversation, verdict[:7]) == ("refused", "parked:")


def test_of_a_state_that_came_again_the_occurrence_with_the_key_is_found(stack: Still) -> None:
    stack.records(
        [
            record(
                "windowed",
                "PROCESSED",
                "ACTED",
                messageId=f"m{at}",
                windowMs=500,
                occurredAtMs=at,
                idempotencyKey=f"{key_of('windowed')}.{at}",
            )
            for at in (1_000, 9_000)
        ]
    )
    answer = once("explain", f"{key_of('windowed')}.9000", "--json").json
    ((event,),) = (subject["events"] for subject in answer["subjects"])
    assert [message["messageId"] for message in event["messages"]] == ["m9000"]


def test_a_key_that_nothing_was_called_under_is_said_to_be_unknown(stack: Still) -> None:
    stack.records([record("waits", "RETRY", "LIMITED", requests=0)])
    assert "Nothing is known of" in once("explain", key_of("waits")).err


def test_verbose_shows_the_key_of_a_request(stack: Still) -> None:
    stack.records([record("refused", "PARKED", "REJECTED", status=422)])
    assert f"Idempotency-Key {key_of('refused')}" in once("explain", "refused", "--verbose").out
    assert "Idempotency-Key" not in once("explain", "refused").out


def test_every_delivery_has_its_time_and_the_sum_follows(stack: Still) -> None:
    stack.records(
        [
            record("twice", "RETRY", "CALL_FAILED", requests=2, status=503),
            record("twice", "PROCESSED", "ACTED", idempotencyKey=key_of("twice")),
        ]
    )
    *_, failed, acted, meaning, _ = once("explain", "twice").out.splitlines()
    for line in (failed, acted):
        assert re.match(r"      (\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d(\.\d{3})? twice-", line)
    assert meaning.startswith(f"{'':6}3 requests were sent under Idempotency-Key ")


FIRST, SECOND = "3bf7d304-0000-4000-8000-000000000001", "3bf7d304-0000-4000-8000-000000000002"


def test_the_beginning_of_an_id_is_enough(stack: Still) -> None:
    stack.records([record(FIRST, "PROCESSED", "ACTED", messageId="m")])
    assert once("explain", FIRST[:8]).out == once("explain", FIRST).out


def test_a_beginning_that_several_ids_share_names_them(stack: Still) -> None:
    stack.records(record(one, "PROCESSED", "ACTED", messageId="m") for one in (FIRST, SECOND))
    answer = once("explain", FIRST[:8])
    assert f"2 ids begin with {FIRST[:8]}: {FIRST}, {SECOND}" in answer.err


def problems(*options: str) -> list[tuple[str, str]]:
    answer = once("explain", "--problems", *options, "--json")
    assert answer.code == 0, answer.err
    return [
        (Subject.parse(subject["pk"]).id, event["verdict"])
        for subject in answer.json["subjects"]
        for event in subject["events"]
    ]


def test_all_events_that_may_have_been_acted_on_are_listed_without_an_id(stack: Still) -> None:
    lost = {"cause": "the connection to the destination broke before its answer"}
    stack.records(
        [
            record("settled", "RETRY", "CALL_FAILED", **lost),
            record("settled", "PROCESSED", "ACTED", idempotencyKey=key_of("settled")),
            record("waits", "RETRY", "CALL_FAILED", **lost),
            record("waits", "RETRY", "BREAKER_OPEN", messageId="waits-2", sk=f"{SK}/2", requests=0),
            record("refused", "PARKED", "REJECTED", status=422),
            record("canary", "PARKED", "REJECTED", family="once.check"),
            record("limited", "RETRY", "RATE_LIMITED", status=429),
            record("limited", "PROCESSED", "ACTED", idempotencyKey=key_of("limited")),
            record("acted", "PROCESSED", "ACTED", idempotencyKey=key_of("acted")),
        ]
    )
    found = dict(problems())
    assert sorted(found) == ["refused", "settled", "waits"]
    assert len(problems()) == 3, "an event that only waits is not listed"
    assert "2 requests, perhaps acted on more than once" in found["settled"]
    said = once("explain", "--problems").out
    assert all(f"conversation {one}" in said for one in found)
    assert "1 request" not in said, "it shows no deliveries"
    whole = once("explain", "--problems", "--verbose").out
    assert f"2 requests were sent under Idempotency-Key {key_of('settled')}" in whole
    assert problems("--family", "user.") == []


def test_more_subjects_with_problems_than_are_listed_are_said_to_exist(
    stack: Still, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "_SUBJECTS", 2)
    stack.records([record(f"c{number}", "PARKED", "REJECTED") for number in range(3)])
    assert len(problems()) == 2
    assert "There may be more" in once("explain", "--problems").out


def test_without_an_id_and_problems_it_is_told_what_to_name() -> None:
    answer = once("explain")
    assert answer.code == 4
    assert "once explain --problems" in answer.err
    nothing = once("explain", "--problems").out
    assert "No event is parked, or perhaps acted on." in nothing
