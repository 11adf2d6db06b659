"""Each finding of a status has its code, count, remedy and commands to paste."""

import re
from typing import Any

import pytest
from rich.table import Table

from once.operate import log, status
from once.operate import phrases as words
from once.operate.findings import KINDS, Finding, Severity
from once.operate.status import Status, read_status
from once.outcomes import Outcome
from once.project import ROOT
from once.reasons import REASONS
from tests.operate.deployed import (
    MINUTE_MS,
    NOW_MS,
    REGION,
    Metrics,
    breaker_row,
    deployed,
    returned,
)

RUNBOOK = (ROOT / "docs/runbook.md").read_text("utf-8")
OLD_MS = NOW_MS - 20 * MINUTE_MS


def found(*records: Any, options: str = "", metrics: Metrics | None = None, **more: Any) -> Status:
    return read_status(deployed(metrics, *records, **more), NOW_MS, options)


def finding(code: str, *records: Any, **more: Any) -> Finding | None:
    return next((one for one in found(*records, **more).findings if one.code == code), None)


def shown(status_: Status) -> str:
    parts = status._view(status_, NOW_MS)
    return "\n".join(part for part in parts if isinstance(part, str))


def test_a_healthy_stack_has_no_finding() -> None:
    assert found().findings == []
    assert "Nothing is stuck" in shown(found())


def test_every_finding_has_its_page_in_the_runbook() -> None:
    headings = {
        line.removeprefix("### ").lower().replace(",", "").replace(" ", "-")
        for line in RUNBOOK.splitlines()
        if line.startswith("### ")
    }
    assert {kind.runbook for kind in KINDS.values()} <= headings


def tail(part: str) -> str:
    """Returns AWS's command that shows what a part of the stack wrote."""
    return f"aws logs tail /log/{part} --since 1h --region {REGION}"


HELPED = [c for c, one in REASONS.items() if one.remedy and one.outcome is Outcome.RETRY]


@pytest.mark.parametrize("code", HELPED)
def test_a_reason_with_a_remedy_is_a_finding_while_events_wait_for_it(code: str) -> None:
    one = finding(code, returned("m1", code), returned("m2", code), options=" --stack live")
    assert one is not None
    assert (one.count, one.remedy, one.page) == (2, REASONS[code].remedy, REASONS[code].page)
    assert "2 events returned to the queue, last at 17:40:00 UTC: " in one.sentence
    assert one.commands[0] == "once explain c1 --stack live"
    if log_ := REASONS[code].log:
        assert tail(log_) in one.commands
    over = returned("m1", code, returnsAtMs=NOW_MS - 60 * MINUTE_MS)
    assert finding(code, over) is None


def test_a_function_that_fails_itself_leads_to_its_log_and_not_to_the_destination() -> None:
    failed = returned("m1", "FUNCTION_FAILED", cause="Runtime.ImportModuleError")
    (one,) = found(failed).findings
    assert one.code == "FUNCTION_FAILED"
    assert "Runtime.ImportModuleError" in one.sentence
    assert tail("data-action") in one.commands
    assert one.page == "docs/runbook.md#the-function-fails"


def test_commands_of_a_finding_are_lines_of_their_own_and_an_example_is_called_one() -> None:
    said = shown(found(returned("m1", "FUNCTION_FAILED"), options=" --stack live"))
    lines = [line.strip() for line in re.sub(r"\[.*?\]", "", said).splitlines()]
    assert lines[-4:] == [
        "docs/runbook.md#the-function-fails",
        tail("data-action"),
        "for example one of these events:",
        "once explain c1 --stack live",
    ]


def test_a_single_failure_is_no_finding_and_lasting_ones_are() -> None:
    hiccup = returned("m1", "CALL_FAILED", status=500)
    assert found(hiccup, row=breaker_row(since=NOW_MS - 1_000)).findings == []
    again = [returned("m1", "CALL_FAILED", status=500, tries=at) for at in (3, 2, 1)]
    one = finding("REQUESTS_FAIL", *again)
    assert one is not None
    assert one.count == 1
    lasting = [returned("m1", "CALL_FAILED") for _ in range(6)]
    assert finding("REQUESTS_FAIL", *lasting) is not None, "it has failed for five minutes"


def test_failures_of_one_family_are_told_from_an_outage() -> None:
    lasting = [returned("m1", "CALL_FAILED", tries=1) for _ in range(6)]
    others = finding("REQUESTS_FAIL", *lasting, metrics=Metrics(PROCESSED=[5.0]))
    alone = finding("REQUESTS_FAIL", *lasting)
    nobody = finding("REQUESTS_FAIL", *lasting, row=breaker_row(since=OLD_MS))
    assert others
    assert "requests for others succeed" in others.sentence
    assert alone
    assert "nothing was acted on in the last hour" in alone.sentence
    assert nobody
    assert "no request has succeeded since 2026-11-18 17:20:00 UTC, so it may be" in nobody.sentence


def test_many_families_that_fail_are_one_finding() -> None:
    lasting = [
        returned(f"m{number}", "CALL_FAILED", family=f"f{number % 3}") for number in range(18)
    ]
    fail = found(*lasting, row=breaker_row(since=OLD_MS)).findings
    assert [(one.code, one.count) for one in fail] == [("REQUESTS_FAIL", 18)]
    assert "3 families" in fail[0].sentence


def test_a_failure_that_nothing_waits_for_is_found_when_it_lasts() -> None:
    assert finding("REQUESTS_FAIL", row=breaker_row()) is None
    one = finding("REQUESTS_FAIL", row=breaker_row(since=OLD_MS))
    assert one is not None
    assert (one.count, one.since_ms) == (20, OLD_MS)
    assert finding("REQUESTS_FAIL", row=breaker_row(since=OLD_MS), in_flight=0) is None


@pytest.mark.parametrize(("minutes", "severity"), [(1, Severity.TICKET), (61, Severity.PAGE)])
def test_an_open_breaker_is_a_finding_that_pages_after_an_hour(
    minutes: int, severity: Severity
) -> None:
    since_ms = NOW_MS - minutes * MINUTE_MS
    waits = returned("m1", "BREAKER_OPEN")
    one = finding(
        "DESTINATION_DOWN", waits, row=breaker_row(since=since_ms, open_until=NOW_MS + 12_000)
    )
    assert one is not None
    assert (one.severity, one.since_ms) == (severity, since_ms)
    assert "in 12 s" in one.sentence
    assert one.commands[0] == "once explain c1"


def test_a_429_is_a_finding_only_when_it_lasts() -> None:
    row = {"not_before": NOW_MS + 5_000}
    assert finding("RATE_LIMITED", row=breaker_row(**row)) is None
    assert finding("RATE_LIMITED", row=breaker_row(since=OLD_MS, **row)) is not None


@pytest.mark.parametrize(("seconds", "is_well"), [(59, True), (170, False)])
def test_a_long_429_is_not_called_well_while_nothing_is_sent(seconds: int, is_well: bool) -> None:
    waits = [returned(f"m{number}", "RATE_LIMITED") for number in range(2)]
    row = breaker_row(since=NOW_MS - 5_000, not_before=NOW_MS + seconds * 1_000)
    one = found(*waits, row=row)
    said = re.sub(r"\[.*?\]", "", shown(one))
    assert one.findings == []
    assert ("Nothing is stuck." in said) is is_well
    if not is_well:
        assert (
            "The destination limits requests (429): none is sent until 17:42:50 UTC. 2 events are "
            "tried again, by 17:41:00 UTC." in said
        )
        assert "docs/runbook.md#the-destination-answers-429" in said
        assert "once resume" in said


def test_an_open_breaker_names_the_cause_of_the_newest_request_and_its_page() -> None:
    limited = returned("m1", "RATE_LIMITED", cause="the destination answered 429: asked to wait")
    failed = returned("m2", "CALL_FAILED", cause="no answer in 8 s")
    row = breaker_row(since=OLD_MS, open_until=NOW_MS + 5_000)
    (last_429,) = found(limited, failed, row=row).findings
    assert (last_429.code, last_429.page) == (
        "RATE_LIMITED",
        "docs/runbook.md#the-destination-answers-429",
    )
    assert "the last request: the destination answered 429" in last_429.sentence
    (down,) = found(failed, limited, row=row).findings
    assert (down.code, down.page) == ("DESTINATION_DOWN", "docs/runbook.md#breaker-open")
    assert "the last request: no answer in 8 s" in down.sentence
    assert down.commands == ["once explain c1"], "each can be pasted"


@pytest.mark.parametrize(
    ("parameters", "function"),
    [({}, "once-data-action"), ({"ActionFunctionArn": "arn:aws:lambda:…:mine"}, "…:mine'")],
)
def test_throttling_has_a_command_with_the_name_of_the_function(
    parameters: dict[str, str], function: str
) -> None:
    throttled = returned("m1", "THROTTLED")
    one = finding("THROTTLED", throttled, parameters=parameters, options=" --profile 'our own'")
    assert one is not None
    asked = one.commands[-1]
    assert asked.startswith("aws lambda get-function-concurrency --function-name ")
    assert f"{function} --region eu-west-1 --profile 'our own'" in asked


def test_a_pause_names_operator_time_and_reason_and_hides_its_effects() -> None:
    row = breaker_row(
        not_before=NOW_MS + 600_000, held="the CRM is repaired", held_by="ada", held_at=OLD_MS
    )
    lasting = [returned("m1", "CALL_FAILED") for _ in range(6)]
    (one,) = found(*lasting, row=row).findings
    assert (one.code, one.since_ms, one.commands) == ("PAUSED", OLD_MS, ["once resume"])
    assert one.sentence == (
        "Requests are paused by ada since 2026-11-18 17:20:00 UTC: the CRM is repaired; until "
        "2026-11-18 17:50:00 UTC, in 10 min"
    )


def test_messages_taken_while_nothing_is_recorded_page_and_name_the_function() -> None:
    taken = [0.0, 4.0, 4.0]
    one = finding(
        "NOTHING_RECORDED",
        metrics=Metrics(NumberOfMessagesReceived=taken, enrichment=[0.0, 2.0, 1.0]),
    )
    assert one is not None
    assert (one.severity, one.count) == (Severity.PAGE, 8)
    assert one.since_ms == NOW_MS - 2 * MINUTE_MS
    assert "the enrichment fails" in one.sentence
    assert one.commands == ["once check", tail("enrichment")]
    crashes = Metrics(NumberOfMessagesReceived=taken, ExecutionsFailed=[0.0, 1.0])
    other = finding("NOTHING_RECORDED", metrics=crashes)
    assert other is not None
    assert other.commands == ["once check", tail("machine")]


@pytest.mark.parametrize(
    "metrics",
    [
        Metrics(NumberOfMessagesReceived=[4.0], PROCESSED=[4.0]),
        Metrics(NumberOfMessagesReceived=[0.0, 0.0, 0.0, 4.0], SECONDS_WAITING=[1.0]),
        Metrics(NumberOfMessagesReceived=[4.0, 4.0]),
    ],
)
def test_messages_in_progress_are_not_called_unrecorded(metrics: Metrics) -> None:
    assert finding("NOTHING_RECORDED", metrics=metrics) is None


def test_dead_ends_a_stopped_pipe_and_alarms_are_findings() -> None:
    codes = {
        one.code: one
        for one in found(
            parked=3, pipe="STOPPED", metrics=Metrics(alarms=["events-waiting"])
        ).findings
    }
    assert (codes["EVENTS_PARKED"].count, codes["EVENTS_PARKED"].commands) == (
        3,
        ["once parked list"],
    )
    stopped = codes["PIPE_STOPPED"]
    assert (stopped.severity, stopped.since_ms) == (Severity.PAGE, OLD_MS)
    assert stopped.commands == ["once resume", tail("pipe")]
    assert "STOPPED, last changed 2026-11-18 17:20:00 UTC: no right" in stopped.sentence
    assert codes["ALARM"].page == "docs/runbook.md#events-waiting"
    assert codes["ALARM"].remedy == "events-waiting: what it means."


def test_an_event_that_waits_for_days_is_found_by_its_age() -> None:
    old = returned("m1", "LIMITED")
    counted = Metrics(SECONDS_WAITING=[9.0, 5 * 86_400.0, 864_000.0])
    both = found(returned("m2", "LIMITED"), old, metrics=counted)
    assert both.queues[0].oldest_seconds == 5 * 86_400 + 60
    assert [one.code for one in both.findings] == ["EVENTS_AGEING"]
    assert found(returned("m2", "LIMITED"), metrics=counted).queues[0].oldest_seconds == 9
    assert found(metrics=counted).queues[0].oldest_seconds is None


def test_a_source_that_stopped_while_others_go_on_is_a_finding() -> None:
    day_ms = 86_400_000
    counted = [
        {"source": source, "family": "user.presence", "events": "50", "first": at, "last": at}
        for source, until_ms in (("live", 0), ("old", day_ms))
        for at in map(str, range(NOW_MS - 9 * day_ms, NOW_MS - until_ms + 1, 3_600_000))
    ]
    one = finding("SOURCE_SILENT", counted=counted)
    assert one is not None
    assert "user.presence of old" in one.sentence
    assert one.commands == ["once check --look"]


def test_events_that_wait_for_the_limit_are_no_finding_but_a_forecast() -> None:
    limited = [returned("m1", "LIMITED"), returned("m2", "LIMITED")]
    waits = found(*limited, visible=2_040, parameters={"MaxActionsPerMinute": "300"})
    assert waits.findings == []
    assert waits.limit is not None
    assert waits.limit.text == "limited to 300 per minute, 2,140 wait, about 8 minutes"
    assert "2 events wait for the limit" in shown(waits)
    by_default = found(parameters={"MaxActionsPerMinute": "auto"}).limit
    assert by_default is not None
    assert "MaxActionsPerMinute=auto" in by_default.text


def test_waiting_events_are_counted_by_reason_without_copies() -> None:
    (waits,) = found(
        returned("m1", "LIMITED"),
        returned("m2", "LIMITED", returnsAtMs=NOW_MS + 90_000),
        returned("m4", "LIMITED", copyOf="m1"),
        returned("m1", "NOT_REACHED", returnsAtMs=NOW_MS + 5_000),
    ).waiting
    assert (waits.reason, waits.events, waits.awaits) == ("LIMITED", 2, "the limit")
    assert waits.text(NOW_MS) == "next attempt from 17:41:00 to 17:41:30"
    assert waits.since_ms == NOW_MS - 3 * MINUTE_MS, "when it was first returned"


def test_a_due_event_waits_until_its_end_is_recorded() -> None:
    due = returned("m1", "SETUP_FAULT", returnsAtMs=NOW_MS - 1)
    acted = {**due, "outcome": "PROCESSED", "reason": "ACTED"}
    (waits,) = found(due).waiting
    assert waits.text(NOW_MS) == "next attempt now"
    assert found(acted, due).waiting == []
    assert found(due, in_flight=0).waiting == [], "nothing is on the queue"


def test_events_that_wait_for_the_breaker_say_why_now() -> None:
    waits = returned("m1", "BREAKER_OPEN")
    row = breaker_row(not_before=NOW_MS + 5_000, held="repairs")
    paused = found(waits, row=row).waiting[0]
    assert paused.awaits == "the end of the pause"
    assert paused.text(NOW_MS).startswith("next check at ")
    assert "repairs" in paused.sentence
    flows = found(waits).waiting[0]
    assert flows.awaits == "a retry"
    assert flows.sentence == "no request could be sent then; requests are sent again"
    assert "Nothing is stuck. 1 event returns by itself, by 17:41:00 UTC." in re.sub(
        r"\[.*?\]", "", shown(found(waits))
    )
    failing = found(waits, row=breaker_row(open_until=NOW_MS + 5_000)).waiting[0]
    assert failing.awaits == "the breaker"
    assert "no request succeeded since" in failing.sentence


def test_more_than_a_search_returns_is_said_to_be_at_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log, "MOST", 3)
    many = found(*(returned(f"m{number}", "SETUP_FAULT") for number in range(3)))
    assert not many.complete
    assert "waits: at least 3 events" in shown(many)
    assert many.findings[0].sentence.startswith("at least 3 events returned")


def queue_row(status_: Status) -> list[Any]:
    (table,) = (part for part in status._view(status_, NOW_MS) if isinstance(part, Table))
    assert all(cell for column in table.columns for cell in column.cells), "a cell is empty"
    return [next(iter(column.cells)) for column in table.columns]


def test_the_table_counts_events_in_progress_apart_from_waiting_ones() -> None:
    row = queue_row(found(returned("m1", "LIMITED"), visible=3, in_flight=5))
    assert row == ["queue", "8", "4", "1", "not known yet"]


def test_the_table_says_when_no_event_has_an_age() -> None:
    assert queue_row(found(in_flight=0)) == ["queue", "0", "0", "0", "-"]
    aged = found(returned("m1", "LIMITED"), in_flight=1, metrics=Metrics(SECONDS_WAITING=[600.0]))
    assert queue_row(aged) == ["queue", "1", "0", "1", "10 min"]


def test_outcomes_and_the_last_arrival_come_from_the_metrics() -> None:
    counted = found(metrics=Metrics(PROCESSED=[5.0, 7.0], NumberOfMessagesSent=[0.0, 0.0, 3.0]))
    assert counted.outcomes[Outcome.PROCESSED] == 12
    assert counted.last_arrival_ms == NOW_MS - 2 * MINUTE_MS
    assert "no event arrived in the last day" in shown(found())


@pytest.mark.parametrize(
    ("parameters", "observes"),
    [
        ({"ActionTarget": "none"}, True),
        ({"ActionTarget": "none", "ActionFunctionArn": "arn:aws:lambda:…:mine"}, False),
        ({"ActionTarget": "webhook", "ActionFunctionArn": ""}, False),
    ],
)
def test_a_stack_that_sends_nothing_says_so(parameters: dict[str, str], observes: bool) -> None:
    one = found(parameters=parameters)
    assert one.only_observes is observes
    assert (words.OBSERVED in shown(one)) is observes


def test_an_id_in_a_command_is_quoted() -> None:
    hostile = returned("m1", "SETUP_FAULT", pk="org/conversation/$(reboot)")
    one = finding("SETUP_FAULT", hostile)
    assert one is not None
    assert one.commands == ["once explain '$(reboot)'"]
