"""`once status` finds what is wrong: code, severity, page, commands and exit code."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.model.reasons import REASONS
from tests.commands.conftest import Answer, once
from tests.commands.fakes import DIGEST, FIRST, NOW_MS, SECOND, USER, FakeStack

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def read_findings(answer: Answer) -> dict[str, Any]:
    return {finding["code"]: finding for finding in answer.json["findings"]}


def test_status_of_a_healthy_stack_is_0(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    answer = once("status", "--json")
    assert answer.code == 0
    assert answer.json["findings"] == []
    assert "Nothing is stuck" in once("status").out


@pytest.mark.parametrize(
    ("reason", "cause", "code", "page"),
    [
        ("CALL_FAILED", "connection refused", "DESTINATION_DOWN", "destination-down"),
        ("SETUP_FAULT", "HTTP 401", "SETUP_FAULT", "setup-fault"),
        ("CALL_FAILED", "no answer in 8 s", "DESTINATION_DOWN", "destination-down"),
    ],
)
def test_status_names_the_cause_of_a_dead_destination_at_its_first_failure(
    stack: FakeStack, reason: str, cause: str, code: str, page: str
) -> None:
    """One event of three an hour has failed: that is far from an open breaker."""
    stack.fail(DIGEST[:16], since=NOW_MS - 20_000)
    stack.logs.add("RETRY", reason, ago_ms=20_000, cause=cause, requests=1, retryInSeconds=60)
    stack.sqs.delayed = 1
    answer = once("status", "--json")
    findings = read_findings(answer)
    assert [*findings] == [code], "one cause is one finding"
    finding = findings[code]
    assert answer.code == 3
    assert cause in finding["sentence"]
    assert finding["page"].endswith(f"#{page}")
    assert finding["commands"][0] == f"once explain {USER}"
    assert finding["severity"] == "ticket"


def test_status_pages_for_a_destination_that_is_down_for_an_hour(stack: FakeStack) -> None:
    stack.fail("a", "b", since=NOW_MS - 2 * HOUR_MS, open_until=NOW_MS + 60_000)
    # Looks during an outage write no record, so the last one is old.
    stack.logs.add("RETRY", "CALL_FAILED", ago_ms=2 * HOUR_MS, cause="HTTP 503", requests=1)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["DESTINATION_DOWN"]
    assert finding["severity"] == "page"
    assert "HTTP 503" in finding["sentence"]
    assert finding["count"] == 1


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
    stack.logs.add("RETRY", "LIMITED", ago_ms=1_000, messageId=SECOND, retryInSeconds=30)
    stack.sqs.delayed = 1
    answer = once("status", "--json")
    (group,) = answer.json["waiting"]
    assert group["reason"] == "LIMITED"
    assert answer.json["findings"] == []
    assert answer.code == 0


@pytest.mark.parametrize(
    "code", [r.code for r in REASONS.values() if r.outcome == "RETRY" and r.remedy]
)
def test_status_finds_each_reason_that_has_a_remedy(stack: FakeStack, code: str) -> None:
    stack.logs.add("RETRY", code, ago_ms=6 * MINUTE_MS, retryInSeconds=900, requests=1)
    stack.sqs.delayed = 1
    if code == "PAUSED":
        stack.pause(held="repair", held_by="ada", held_at=NOW_MS - 1, not_before=NOW_MS + 60_000)
    elif code in ("BREAKER_OPEN", "RATE_LIMITED"):
        stack.fail("a", since=NOW_MS - 6 * MINUTE_MS, not_before=NOW_MS + 60_000)
    answer = once("status", "--json")
    assert answer.code == 3
    assert answer.json["findings"]
    assert "Nothing is stuck" not in once("status").out


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("FUNCTION_FAILED", "aws logs tail /aws/lambda/data-action --since 1h"),
        ("THROTTLED", "aws lambda get-function-concurrency --function-name data-action"),
    ],
)
def test_status_prints_the_command_for_a_function_that_fails(
    stack: FakeStack, reason: str, command: str
) -> None:
    stack.logs.add("RETRY", reason, errorClass="Runtime.ImportModuleError")
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))[reason]
    assert command in finding["commands"]
    assert "Runtime.ImportModuleError" in finding["sentence"]


def test_status_leaves_a_short_429_to_the_limit(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "RATE_LIMITED", ago_ms=5_000, requests=1, status=429)
    stack.pause(since=NOW_MS - 5_000, not_before=NOW_MS + 25_000)
    stack.sqs.delayed = 1
    assert once("status").code == 0


def test_status_names_the_429_that_stops_requests_and_not_an_event_that_waits_for_it(
    stack: FakeStack,
) -> None:
    cause = {"cause": "asked to wait 900 s", "status": 429, "requests": 1}
    stack.logs.add("RETRY", "RATE_LIMITED", ago_ms=150_000, retryInSeconds=900, **cause)
    waits = {"messageId": SECOND, "cause": "it is not over", "requests": 0}
    stack.logs.add("RETRY", "RATE_LIMITED", ago_ms=60_000, retryInSeconds=900, **waits)
    stack.pause(since=NOW_MS - 150_000, not_before=NOW_MS + 25_000)
    stack.sqs.delayed = 2
    answer = once("status", "--json")
    assert "900 s" in read_findings(answer)["RATE_LIMITED"]["sentence"]
    assert "900 s" in answer.json["waiting"][0]["sentence"]


def test_status_shows_who_paused_and_why(stack: FakeStack) -> None:
    stack.pause(
        since=NOW_MS - 1, held="the CRM is down", held_by="ada", held_at=NOW_MS - 1,
        not_before=NOW_MS + 60_000,
    )  # fmt: skip
    answer = once("status", "--json", "--stack", "production")
    finding = read_findings(answer)["PAUSED"]
    assert "ada" in finding["sentence"]
    assert "the CRM is down" in finding["sentence"]
    assert finding["commands"] == ["once resume --stack production"]
    assert "DESTINATION_DOWN" not in read_findings(answer)


def test_status_pages_for_a_stopped_pipe(stack: FakeStack) -> None:
    stack.pipes.state, stack.pipes.reason = "STOPPED", "too many errors"
    finding = read_findings(once("status", "--json"))["PIPE_STOPPED"]
    assert finding["severity"] == "page"
    assert finding["commands"][0] == "once resume"


def test_status_pages_if_messages_are_taken_and_nothing_is_recorded(stack: FakeStack) -> None:
    stack.metrics.taken = stack.sqs.in_flight = 2
    assert once("status").code == 0, "those in flight are about to be recorded"
    stack.metrics.taken = 40
    finding = read_findings(once("status", "--json"))["NOTHING_RECORDED"]
    assert finding["severity"] == "page"
    assert "once check" in finding["commands"]
    stack.fail("a", since=NOW_MS - HOUR_MS, open_until=NOW_MS + 60_000)
    findings = read_findings(once("status", "--json"))
    assert "NOTHING_RECORDED" not in findings, "looks in an outage write no record"


@pytest.mark.parametrize(
    ("step", "code", "command"),
    [
        ("EnrichmentStageFailed", "ENRICHMENT_FAILS", "once check"),
        ("TargetStageFailed", "EXECUTIONS_FAIL", "aws logs tail /states --since 1h"),
    ],
)
def test_status_finds_failed_executions_while_others_are_recorded(
    stack: FakeStack, step: str, code: str, command: str
) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    stack.logs.add_failed_step("ExecutionFailed", message="failed")
    stack.logs.add_failed_step(step, message="it failed", details="InvalidRoutesError")
    stack.sqs.put("events", "{}")
    answer = once("status", "--json")
    finding = read_findings(answer)[code]
    assert answer.code == 3
    assert "InvalidRoutesError" in finding["sentence"]
    assert finding["count"] == 1
    assert command in finding["commands"]
    assert finding["severity"] == "ticket"


def test_status_names_the_concurrency_of_an_enrichment_that_is_throttled(stack: FakeStack) -> None:
    error = "Lambda.TooManyRequestsException: Rate Exceeded."
    stack.logs.add_failed_step("EnrichmentInvocationFailed", message=error)
    stack.sqs.put("events", "{}")
    (finding,) = once("status", "--json").json["findings"]
    assert finding["page"].endswith("#requests-are-throttled")
    assert finding["commands"] == ["aws lambda get-function-concurrency --function-name enrichment"]


def test_status_pages_if_executions_fail_and_nothing_is_recorded(stack: FakeStack) -> None:
    stack.metrics.taken = 40
    stack.logs.add_failed_step("EnrichmentStageFailed", message="it failed")
    message = stack.sqs.put("events", "{}")
    findings = read_findings(once("status", "--json"))
    assert [*findings] == ["ENRICHMENT_FAILS"]
    assert findings["ENRICHMENT_FAILS"]["severity"] == "page"
    stack.logs.add("PROCESSED", "ACTED", messageId=message, requests=1)
    stack.sqs.queues["events"].clear()
    assert once("status").code == 0, "the message that failed is done"


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


@pytest.mark.parametrize(("status", "is_lost"), [(None, True), (503, False)])
def test_status_offers_a_pause_if_a_probe_may_act_without_an_answer(
    stack: FakeStack, status: int | None, is_lost: bool
) -> None:
    stack.fail("a", since=NOW_MS - HOUR_MS, open_until=NOW_MS + 60_000)
    stack.logs.add("RETRY", "CALL_FAILED", cause="no answer", requests=1, status=status)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["DESTINATION_DOWN"]
    assert ("once pause" in finding["commands"]) is is_lost


def test_status_shows_no_canary_as_the_last_event_of_a_source(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", requests=1)
    assert "user.presence" in once("status", "--verbose").out
    stack.logs.lines.clear()
    stack.logs.add("PARKED", "UNREADABLE", family="broken")
    assert "last event" not in once("status", "--verbose").out


def test_status_says_once_who_paused(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "PAUSED", ago_ms=10_000, retryInSeconds=600)
    stack.pause(
        since=NOW_MS - 1, held="the CRM is down", held_by="ada", held_at=NOW_MS - 1,
        not_before=NOW_MS + 60_000,
    )  # fmt: skip
    stack.sqs.delayed = 1
    assert once("status").out.count("the CRM is down") == 1


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
    stack.logs.add("RETRY", "HELD", messageId=SECOND, ago_ms=10_000, retryInSeconds=600)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["DESTINATION_DOWN"]
    assert "HTTP 503" not in finding["sentence"]


def test_status_after_a_pause_says_that_it_is_over(stack: FakeStack) -> None:
    cause = "paused by ada: repair"
    stack.logs.add("RETRY", "PAUSED", ago_ms=10_000, cause=cause, retryInSeconds=600)
    stack.sqs.delayed = 1
    answer = once("status", "--json")
    (group,) = answer.json["waiting"]
    assert answer.code == 0
    assert "over" in group["sentence"]
    assert "ada" not in group["sentence"]
    assert "Nothing is stuck" not in once("status").out


def test_status_finds_waiting_events_without_a_record(stack: FakeStack) -> None:
    stack.sqs.delayed = 7
    assert read_findings(once("status", "--json"))["WAIT_UNKNOWN"]["count"] == 7


def test_status_finds_parked_events_alarms_and_an_inactive_machine(stack: FakeStack) -> None:
    stack.sqs.put("dead-letters", "{}")
    stack.metrics.alarms = ["events-silent"]
    stack.machine_status = "DELETING"
    findings = read_findings(once("status", "--json"))
    assert findings["EVENTS_PARKED"]["count"] == 1
    assert findings["ALARM"]["page"] == "docs/runbook.md#events-silent"
    assert findings["MACHINE_INACTIVE"]["severity"] == "page"


@pytest.mark.parametrize("alarm", ["outcomes-unrecorded", "rule-loses-events"])
def test_an_alarm_of_lost_events_comes_first_and_names_a_command_that_helps(
    stack: FakeStack, alarm: str
) -> None:
    stack.metrics.alarms = ["events-silent", alarm]
    stack.pipes.state = "STOPPED"
    first, *_ = once("status", "--json").json["findings"]
    assert first["page"].endswith(f"#{alarm}")
    assert first["severity"] == "page"
    assert any(command.startswith("once check") for command in first["commands"])


def test_a_cause_of_now_comes_before_failures_that_others_have_passed(stack: FakeStack) -> None:
    stack.logs.add_failed_step("EnrichmentStageFailed", message="it failed")
    stack.logs.add("RETRY", "FUNCTION_FAILED", ago_ms=1_000, retryInSeconds=600)
    stack.sqs.in_flight = stack.sqs.delayed = 1
    assert [*read_findings(once("status", "--json"))] == ["FUNCTION_FAILED", "ENRICHMENT_FAILS"]
    stack.logs.add_failed_step("EnrichmentStageFailed", ago_ms=0, message="it failed")
    assert next(iter(read_findings(once("status", "--json")))) == "ENRICHMENT_FAILS"


def test_status_shows_requests_of_some_families_that_fail(stack: FakeStack) -> None:
    stack.logs.add("PROCESSED", "ACTED", messageId=SECOND, family="user.activity")
    stack.logs.add("RETRY", "CALL_FAILED", cause="HTTP 500", requests=1, retryInSeconds=600)
    stack.sqs.delayed = 1
    finding = read_findings(once("status", "--json"))["REQUESTS_FAIL"]
    assert "user.presence" in finding["sentence"]
    assert "others succeed" in finding["sentence"]


def test_a_copy_that_waits_already_does_not_settle_its_event(stack: FakeStack) -> None:
    stack.logs.add("RETRY", "LIMITED", ago_ms=2_000, retryInSeconds=600)
    met = f"run#{FIRST}"
    stack.logs.add("DUPLICATE", "WAITS_ALREADY", ago_ms=1_000, because=met)
    stack.sqs.delayed = 1
    assert once("status", "--json").json["waiting"][0]["events"] == 1
