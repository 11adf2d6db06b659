"""`once explain` finds the events of a thing by each of its names, and says what became of them."""

from pathlib import Path

import pytest

from once.project import EXAMPLE
from tests.commands.conftest import once
from tests.commands.fakes import (
    FIRST,
    KEY,
    NOW_MS,
    ORGANISATION,
    PK,
    SECOND,
    SK,
    USER,
    FakeStack,
)
from tests.model.support import DIGEST

OTHER_SK = "v2/user.presence/PURECLOUD/2ade8443-7d3a-51bc-a086-df1cb825d127"


def add_act(stack: FakeStack) -> None:
    stack.logs.add(
        "PROCESSED", "ACTED", ago_ms=50_000, requests=1, status=200, idempotencyKey=DIGEST,
        envelopeId="envelope-1", eventId="publisher-1", ageMs=900,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [USER, PK, KEY, FIRST, FIRST[:8], DIGEST, "envelope-1", "publisher-1", "put-back-1", USER[:9]],
)
def test_explain_finds_an_event_by_each_of_its_names(stack: FakeStack, name: str) -> None:
    stack.logs.add("RETRY", "CALL_FAILED", requests=1, returnedAs="put-back-1")
    add_act(stack)
    stack.put_claim()
    answer = once("explain", name, "--json")
    (subject,) = answer.json["subjects"]
    (event,) = subject["events"]
    assert answer.code == 0
    assert (event["key"], event["outcome"], event["requests"]) == (KEY, "PROCESSED", 2)
    assert event["idempotencyKeys"] == [DIGEST]


def test_explain_finds_a_claim_that_the_log_has_forgotten(stack: FakeStack) -> None:
    stack.put_claim()
    stack.outputs["EventBusName"] = f"aws.partner/genesys.com/cloud/{ORGANISATION}/events"
    (subject,) = once("explain", USER, "--json").json["subjects"]
    assert subject["events"][0]["claim"]["status"] == "DONE"


def test_explain_names_several_ids_that_begin_alike(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED")
    stack.logs.add("PROCESSED", "ACTED", firstMessageId=FIRST[:9] + "0" * 27)
    answer = once("explain", FIRST[:8])
    assert answer.code == 1
    assert FIRST in answer.err


def test_explain_of_an_unknown_thing_fails_and_names_the_queue(stack: FakeStack) -> None:
    stack.sqs.put("events", "{}")
    answer = once("explain", "nothing-of-it", "--json")
    assert answer.code == answer.json["exitCode"] == 1
    assert "once status" in answer.json["error"]


def test_explain_shows_the_event_that_a_skipped_one_met(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", firstMessageId=SECOND, sk=OTHER_SK)
    stack.logs.add("STALE", "NEWER_STATE", ago_ms=10_000, because=f"run#{SECOND}")
    (subject,) = once("explain", FIRST, "--json").json["subjects"]
    assert [event["outcome"] for event in subject["events"]] == ["PROCESSED", "STALE"]


def test_explain_shows_the_pause_of_now_for_what_waits_for_it(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "PAUSED", ago_ms=3_600_000)
    stack.pause(held="repair", held_by="ada", held_at=NOW_MS - 1, not_before=NOW_MS + 60_000)
    assert "ada" in once("explain", USER).out


def test_explain_problems_leaves_out_what_is_well(stack: FakeStack) -> None:
    add_act(stack)
    stack.logs.add("PARKED", "REJECTED", firstMessageId=SECOND, sk=OTHER_SK, requests=1)
    for arguments in (("--problems",), (USER, "--problems")):
        (subject,) = once("explain", *arguments, "--json").json["subjects"]
        assert [event["outcome"] for event in subject["events"]] == ["PARKED"]
    assert once("explain", "--problems").code == 0


def test_explain_problems_names_executions_that_left_no_record(stack: FakeStack) -> None:
    assert once("explain", "--problems", "--json").json["isComplete"]
    stack.logs.add_failed_step("TargetStageFailed", message="failed")
    assert not once("explain", "--problems", "--json").json["isComplete"]
    assert "once explain ID" in once("explain", "--problems").out


def test_explain_problems_leaves_out_canaries_that_a_check_removed(stack: FakeStack) -> None:
    pk, sk = "-/message/0", "v2/broken"
    stack.logs.add("PARKED", "UNREADABLE", pk=pk, sk=sk, family="broken")
    assert once("explain", "--problems", "--json").json["subjects"] == []
    stack.put_claim("DONE", "PARKED", pk=pk, sk=sk, family="broken")
    (subject,) = once("explain", "--problems", "--json").json["subjects"]
    assert subject["pk"] == pk


def test_explain_takes_a_key_without_an_organisation(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", pk="-/conversation/c0de", sk=SK)
    answer = once("explain", f"-/conversation/c0de/{SK}", "--json")
    assert answer.json["subjects"][0]["pk"] == "-/conversation/c0de"


def test_explain_event_needs_no_stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(*_: object) -> None:
        raise AssertionError("AWS was asked")

    monkeypatch.setattr("once.stack.facade.Stack.find", find)
    presence = EXAMPLE.read_text().splitlines()[0]
    file = tmp_path / "events.jsonl"
    file.write_text(f"{presence}\nno event\n")
    answer = once("explain", "--event", str(file), "--json")
    first, second = answer.json["elements"]
    assert answer.code == 0
    assert first["policy"]["order"] == "latest"
    assert first["key"]["sk"].startswith("v2/user.presence/")
    assert second["detail"].startswith("NOT_JSON")
    shown = once("explain", "--event", str(file)).out
    assert f"{PK}/v2/user.presence/" in shown
    assert "NOT_JSON" in shown
    file.write_text("no event\n")
    answer = once("explain", "--event", str(file))
    assert answer.code == 1
    assert "no event" in answer.out
