"""`once status` finds what is wrong: code, severity, page, commands and exit code."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.commands.conftest import Answer, once
from tests.commands.fakes import NOW_MS, SECOND, FakeStack
from tests.model.support import DIGEST

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def read_findings(answer: Answer) -> dict[str, Any]:
    return {finding["code"]: finding for finding in answer.json["findings"]}


def test_status_of_a_healthy_stack_is_0(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    answer = once("status", "--json")
    assert answer.code == 0
    assert answer.json["findings"] == []
    assert "Nothing is stuck" in once("status").out


def test_status_shows_what_waits_for_longer_than_an_outage_looks_back(stack: FakeStack) -> None:
    stack.fail("a", since=NOW_MS - 30 * HOUR_MS, open_until=NOW_MS + 60_000)
    waits = {"waitsSinceMs": NOW_MS - 30 * HOUR_MS}
    stack.logs.add("RETRY", "BREAKER_OPEN", ago_ms=29 * HOUR_MS, **waits)
    stack.sqs.delayed = 1
    answer = once("status", "--json")
    (group,) = answer.json["waiting"]
    assert (group["reason"], group["events"]) == ("BREAKER_OPEN", 1)
    assert NOW_MS < group["lastDueMs"] <= NOW_MS + 15 * MINUTE_MS
    assert "EVENTS_AGEING" in read_findings(answer)


def test_status_does_not_count_events_that_were_settled_since(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "CALL_FAILED", ago_ms=120_000, requests=1)
    stack.logs.add("PROCESSED", "ACTED", ago_ms=60_000, requests=1)
    stack.logs.add("RETRY", "LIMITED", ago_ms=1_000, firstMessageId=SECOND, retryInSeconds=30)
    stack.sqs.delayed = 1
    answer = once("status", "--json")
    (group,) = answer.json["waiting"]
    assert group["reason"] == "LIMITED"
    assert answer.json["findings"] == []
    assert answer.code == 0
    assert "Nothing is stuck" not in once("status").out


def test_status_names_the_429_that_stops_requests_and_not_an_event_that_waits_for_it(
    stack: FakeStack,
) -> None:
    cause = {"cause": "asked to wait 900 s", "status": 429, "requests": 1}
    stack.logs.add("RETRY", "RATE_LIMITED", ago_ms=150_000, retryInSeconds=900, **cause)
    waits = {"firstMessageId": SECOND, "cause": "it is not over", "requests": 0}
    stack.logs.add("RETRY", "RATE_LIMITED", ago_ms=60_000, retryInSeconds=900, **waits)
    stack.pause(since=NOW_MS - 150_000, not_before=NOW_MS + 25_000)
    stack.sqs.delayed = 2
    answer = once("status", "--json")
    assert "900 s" in read_findings(answer)["RATE_LIMITED"]["sentence"]
    assert "900 s" in answer.json["waiting"][0]["sentence"]


def test_status_after_a_pause_says_that_it_is_over(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "PAUSED", ago_ms=10_000, retryInSeconds=600)
    stack.sqs.delayed = 1
    answer = once("status")
    assert answer.code == 0
    assert "the pause is over" in answer.out


def test_status_says_once_who_paused_and_why(stack: FakeStack) -> None:
    cause = "paused by bob: an update"  # a pause that was replaced
    stack.logs.add("RETRY", "PAUSED", ago_ms=10_000, cause=cause, retryInSeconds=600)
    pause = {"held": "the CRM is down", "held_by": "ada", "held_at": NOW_MS - 1}
    stack.pause(since=NOW_MS - 1, not_before=NOW_MS + 60_000, **pause)
    stack.sqs.delayed = 1
    (finding,) = once("status", "--json", "--stack", "production").json["findings"]
    assert finding["commands"] == ["once resume --stack production"]
    out = once("status").out
    assert (out.count("ada"), out.count("the CRM is down"), out.count("bob")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("step", "code"),
    [("EnrichmentStageFailed", "ENRICHMENT_FAILS"), ("TargetStageFailed", "EXECUTIONS_FAIL")],
)
def test_status_finds_failed_executions_while_others_are_recorded(
    stack: FakeStack, step: str, code: str
) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    stack.logs.add_failed_step("ExecutionFailed", message="failed")
    stack.logs.add_failed_step(step, message="it failed", details="InvalidRoutesError")
    stack.sqs.put("events", "{}")
    (finding,) = once("status", "--json").json["findings"]
    assert (finding["code"], finding["count"]) == (code, 1)
    assert "it failed: InvalidRoutesError" in finding["sentence"]


def test_status_without_the_table_still_says_what_it_knows(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "TABLE_UNANSWERED", retryInSeconds=600)
    stack.sqs.delayed = 1
    stack.dynamodb.delete_table(TableName="claims")
    findings = read_findings(once("status", "--json"))
    assert findings["TABLE_UNREADABLE"]["severity"] == "page"
    assert "ResourceNotFoundException" in findings["TABLE_UNREADABLE"]["sentence"]
    assert "TABLE_UNANSWERED" in findings
    assert "requests are sent" not in once("status").out


@pytest.mark.parametrize(
    ("client", "method", "request_name"),
    [
        ("metrics", "describe_alarms", "DescribeAlarms"),
        ("logs", "start_query", "StartQuery"),
        ("pipes", "describe_pipe", "DescribePipe"),
        ("sqs", "get_queue_attributes", "GetQueueAttributes"),
        ("", "read_breaker", "GetItem"),
    ],
)
def test_status_shows_what_the_credentials_may_read(
    stack: FakeStack, monkeypatch: pytest.MonkeyPatch, client: str, method: str, request_name: str
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        error = {"Code": "AccessDeniedException", "Message": "User is not authorized"}
        raise ClientError({"Error": error}, request_name)

    stack.metrics.taken = 40
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    owner = stack if not client else getattr(stack, client)
    monkeypatch.setattr(owner, method, refuse)
    answer = once("status", "--json")
    (finding,) = answer.json["findings"]
    assert answer.code == 3
    assert request_name in finding["sentence"]
    assert finding["page"].endswith("operator-policy.json")
    assert "Nothing is stuck" not in once("status").out


@pytest.mark.parametrize(
    ("status", "is_refused_now", "is_lost"),
    [(None, False, True), (503, False, False), (None, True, False)],
)
def test_status_offers_a_pause_if_a_probe_may_act_without_an_answer(
    stack: FakeStack, status: int | None, is_refused_now: bool, is_lost: bool
) -> None:
    stack.fail("a", since=NOW_MS - HOUR_MS, open_until=NOW_MS + 60_000)
    lost = {"cause": "no answer", "requests": 1, "status": status}
    stack.logs.add("RETRY", "CALL_FAILED", ago_ms=90_000, retryInSeconds=600, **lost)
    if is_refused_now:
        refused = {"firstMessageId": SECOND, "cause": "connection refused", "requests": 0}
        stack.logs.add("RETRY", "CALL_FAILED", retryInSeconds=600, **refused)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["DESTINATION_DOWN"]
    assert ("once pause" in finding["commands"]) is is_lost


def test_status_shows_no_canary_as_the_last_event_of_a_source(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    assert "user.presence" in once("status", "--verbose").out
    stack.logs.lines.clear()
    stack.logs.add("PARKED", "UNREADABLE", family="broken")
    assert "last event" not in once("status", "--verbose").out


def test_status_names_the_newest_cause_of_parked_events(stack: FakeStack) -> None:
    stack.sqs.put("dead-letters", "{}")
    stack.logs.add("PARKED", "REJECTED", ago_ms=HOUR_MS, cause="HTTP 400")
    stack.logs.add("PARKED", "REJECTED", cause="HTTP 422")
    stack.logs.add("PARKED", "REJECTED", ago_ms=1_000, cause="a canary", family="once.check")
    sentence = read_findings(once("status", "--json"))["EVENTS_PARKED"]["sentence"]
    assert "REJECTED" in sentence
    assert "HTTP 422" in sentence


def test_status_names_no_failure_of_an_earlier_outage(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "CALL_FAILED", ago_ms=20 * MINUTE_MS, cause="HTTP 503", requests=1)
    stack.fail(DIGEST[:16], since=NOW_MS - 20_000)
    stack.logs.add("RETRY", "HELD", firstMessageId=SECOND, ago_ms=10_000, retryInSeconds=600)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["DESTINATION_DOWN"]
    assert "HTTP 503" not in finding["sentence"]


def test_status_reads_the_pipe_the_machine_the_alarms_and_the_dead_letter_queue(
    stack: FakeStack,
) -> None:
    stack.pipes.state, stack.pipes.reason = "STOPPED", "too many errors"
    stack.machine_status = "DELETING"
    stack.metrics.taken = 40
    stack.metrics.alarms = ["events-silent"]
    stack.sqs.put("dead-letters", "{}")
    findings = read_findings(once("status", "--json"))
    codes = {"PIPE_STOPPED", "MACHINE_INACTIVE", "NOTHING_RECORDED", "ALARM", "EVENTS_PARKED"}
    assert findings.keys() == codes
    assert "too many errors" in findings["PIPE_STOPPED"]["sentence"]
    assert findings["ALARM"]["page"] == "docs/runbook.md#events-silent"
