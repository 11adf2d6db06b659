"""Findings in the facts of a stack: code, severity, page of the runbook, commands."""

import re
from pathlib import Path
from typing import Any

import pytest

from once.model.findings import find
from once.model.reasons import REASONS, Outcome
from once.model.status import (
    Alarm,
    Arrived,
    Breaker,
    Depth,
    Pause,
    PipeFailure,
    State,
    Status,
    Waits,
)
from tests.model.support import NOW_MS

RUNBOOK = (Path(__file__).parents[2] / "docs" / "runbook.md").read_text("utf-8")
PAGES = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", RUNBOOK, re.M)}
HOUR_MS = 3_600_000
FAILING = Breaker(since_ms=NOW_MS - HOUR_MS)
OPEN = Breaker(state=State.OPEN, why="outage", since_ms=NOW_MS - HOUR_MS - 1, until_ms=NOW_MS + 9)
LIMITED = Breaker(state=State.HALF_OPEN, why="429", since_ms=NOW_MS - 120_000)
PAUSE = Pause(reason="repair", by="ada", since_ms=NOW_MS - 5, until_ms=NOW_MS + 60_000)
ACTED = Arrived(source="s", family="f", outcomes={Outcome.PROCESSED: 1}, last_ms=1)
TAIL = "aws logs tail {} --since 1h"
EXPLAIN = "once explain c0de"


def depth(visible: int = 0, in_flight: int = 0, delayed: int = 0) -> Depth:
    return Depth(visible=visible, in_flight=in_flight, delayed=delayed)


def make_status(**fields: Any) -> Status:
    """A healthy stack, but for the fields."""
    words = dict.fromkeys(("table_error", "last_failure", "last_parked", "pipe_reason"), "")
    lists: dict[str, Any] = {name: [] for name in ("waiting", "arrived", "pipe_failures", "alarms")}
    groups = ("Pipe", "Enrichment", "DataAction", "Execution")
    known: dict[str, Any] = {
        "queue": depth(), "parked": 0, "breaker": Breaker(), "limit": 0, "is_answer_lost": False,
        "is_complete": True, "taken": 0, "recorded_ms": None, "pipe": "RUNNING",
        "machine": "ACTIVE", "only_observes": False, "table": "claims", "function": "data-action",
        "enrichment": "enrichment", "logs": {f"{name}LogGroupName": f"/{name}" for name in groups},
    }  # fmt: skip
    return Status(**{**words, **lists, **known, **fields})


def waits(reason: str, **fields: Any) -> Waits:
    known = {"sentence": "its cause", "families": ["f"], "events": 2, "since_ms": NOW_MS - 9_000}
    known |= {"newest_ms": NOW_MS - 9_000, "last_due_ms": NOW_MS, "example": "c0de"}
    return Waits(reason=reason, **{**known, **fields})


def failure(is_enrichment: bool = True, error: str = "it failed.", ago_ms: int = 9) -> Any:
    failed = {"is_enrichment": is_enrichment, "executions": 2, "error": error}
    return {"pipe_failures": [PipeFailure(last_ms=NOW_MS - ago_ms, **failed)]}


QUEUED = {"queue": depth(visible=1)}
THROTTLED = "Rate Exceeded."
COMMAND = "aws lambda get-function-concurrency --function-name"


@pytest.mark.parametrize(
    ("fields", "code", "severity", "page", "sentence", "commands"),
    [
        ({"pipe": "STOPPED", "pipe_reason": "too many errors", "queue": depth(2, 1)},
         "PIPE_STOPPED", "page", "events-waiting", "too many errors; 3 messages",
         ["once resume", TAIL.format("/Pipe")]),
        ({"pipe": "STOPPED"}, "PIPE_STOPPED", "page", "events-waiting",
         "an operator may have stopped it$", ["once resume", TAIL.format("/Pipe")]),
        ({"machine": "DELETING"}, "MACHINE_INACTIVE", "page", "outcomes-unrecorded", "DELETING",
         ["once check --look"]),
        ({"taken": 40}, "NOTHING_RECORDED", "page", "outcomes-unrecorded", "40 times",
         ["once check", TAIL.format("/Enrichment")]),
        ({"table_error": "KMS"}, "TABLE_UNREADABLE", "page", "the-table-or-a-queue-fails", "KMS",
         ["aws dynamodb describe-table --table-name claims"]),
        ({"breaker": Breaker(state=State.OPEN, pause=PAUSE)}, "PAUSED", "ticket",
         "destination-down", "by ada .*: repair", ["once resume"]),
        ({**failure(), **QUEUED, "recorded_ms": NOW_MS}, "ENRICHMENT_FAILS", "ticket",
         "the-enrichment-fails", "^Repaired, or for a few .* twice .*: it failed$",
         ["once check", TAIL.format("/Enrichment")]),
        ({**failure(), "queue": depth(in_flight=1)}, "ENRICHMENT_FAILS", "page",
         "the-enrichment-fails", "it failed$", ["once check", TAIL.format("/Enrichment")]),
        ({**failure(is_enrichment=False), **QUEUED, "recorded_ms": NOW_MS - 9}, "EXECUTIONS_FAIL",
         "ticket", "the-table-or-a-queue-fails", "it failed$", [TAIL.format("/Pipe")]),
        ({**failure(error=THROTTLED), **QUEUED, "refused": ["X"]}, "ENRICHMENT_THROTTLED",
         "ticket", "requests-are-throttled", "Rate Exceeded", [f"{COMMAND} enrichment"]),
        ({**failure(error="x" * 700), **QUEUED}, "ENRICHMENT_FAILS", "page",
         "the-enrichment-fails", " x{600} …$", ["once check", TAIL.format("/Enrichment")]),
        ({"parked": 2}, "EVENTS_PARKED", "ticket", "events-parked", "2 events$",
         ["once parked list"]),
        ({"parked": 2, "last_parked": "HTTP 422"}, "EVENTS_PARKED", "ticket", "events-parked",
         "HTTP 422", ["once parked list"]),
        ({"queue": depth(delayed=7)}, "WAIT_UNKNOWN", "ticket", "outcomes-unrecorded", "7 events",
         ["once check"]),
        ({"waiting": [waits("HELD", since_ms=NOW_MS - 24 * HOUR_MS - 1)]}, "EVENTS_AGEING",
         "ticket", "waiting-long", "24 h", [EXPLAIN]),
        ({"waiting": [waits("THROTTLED")]}, "THROTTLED", "ticket", "requests-are-throttled",
         "2 events .* last at 07:59:51", [EXPLAIN, f"{COMMAND} data-action"]),
        ({"waiting": [waits("FUNCTION_FAILED")], "is_complete": False}, "FUNCTION_FAILED",
         "ticket", "the-function-fails", "^at least 2", [EXPLAIN, TAIL.format("/DataAction")]),
        ({"waiting": [waits("OF_ANOTHER_RELEASE")]}, "OF_ANOTHER_RELEASE", "ticket",
         "waiting-long", "its cause", [EXPLAIN]),
        ({"waiting": [waits("SETUP_FAULT")], "breaker": OPEN}, "SETUP_FAULT", "page",
         "setup-fault", "no request has succeeded since 2027-01-15 06:59:59", [EXPLAIN]),
        ({"waiting": [waits("SETUP_FAULT")], "breaker": FAILING}, "SETUP_FAULT", "ticket",
         "setup-fault", "no request has succeeded", [EXPLAIN]),
        ({"waiting": [waits("CALL_FAILED", families=["f", "g"])]}, "REQUESTS_FAIL", "ticket",
         "the-destination-fails", "of f and g fail.* may be an outage", [EXPLAIN]),
        ({"waiting": [waits("CALL_FAILED", families=["f", "g", "h"])], "arrived": [ACTED]},
         "REQUESTS_FAIL", "ticket", "the-destination-fails", "3 families.* succeed", [EXPLAIN]),
        ({"breaker": OPEN, "waiting": [waits("BREAKER_OPEN")], "last_failure": "HTTP 503"},
         "DESTINATION_DOWN", "page", "destination-down",
         "since .*: HTTP 503; the next request is at 08:00:00", [EXPLAIN]),
        ({"breaker": FAILING, "is_answer_lost": True}, "DESTINATION_DOWN", "ticket",
         "destination-down", "may act again", [TAIL.format("/DataAction"), "once pause"]),
        ({"breaker": LIMITED, "waiting": [waits("RATE_LIMITED")], "is_answer_lost": True},
         "RATE_LIMITED", "ticket", "the-destination-limits-requests", "the next event probes$",
         [EXPLAIN, "once resume"]),
        ({"refused": ["GetItem", "Query"]}, "NOT_PERMITTED", "ticket", "operator-policy.json",
         "GetItem, Query", []),
    ],
)  # fmt: skip
def test_each_fault_is_found_with_its_remedy(
    fields: dict[str, Any], code: str, severity: str, page: str, sentence: str, commands: list[str]
) -> None:
    findings = {finding.code: finding for finding in find(make_status(**fields), NOW_MS)}
    assert {*findings} - {"NOT_PERMITTED"} <= {code}, "one cause is one finding"
    finding = findings[code]
    assert (finding.severity, finding.commands) == (severity, commands)
    assert re.split("[#/]", finding.page)[-1] == page
    assert page in {*PAGES, "operator-policy.json"}
    assert finding.remedy not in PAGES
    assert re.search(sentence, finding.sentence), finding.sentence


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"pipe": "unknown", "machine": "unknown"},
        {"taken": 2, "queue": depth(in_flight=2)},
        {"taken": 40, "recorded_ms": NOW_MS},
        {"taken": 40, "breaker": Breaker(state=State.OPEN, pause=PAUSE)},
        failure(),
        {"waiting": [waits("HELD", since_ms=NOW_MS - 24 * HOUR_MS)]},
        {"queue": depth(delayed=1), "waiting": [waits("LIMITED")]},
        {"breaker": LIMITED.model_copy(update={"since_ms": NOW_MS - 119_999})},
    ],
)
def test_a_wait_that_ends_by_itself_is_no_finding(fields: dict[str, Any]) -> None:
    codes = [finding.code for finding in find(make_status(**fields), NOW_MS)]
    assert codes in ([], ["PAUSED"])


@pytest.mark.parametrize(
    "code", [r.code for r in REASONS.values() if r.outcome == "RETRY" and r.remedy]
)
def test_each_reason_with_a_remedy_is_found(code: str) -> None:
    breaker = {"PAUSED": Breaker(state=State.OPEN, pause=PAUSE), "CALL_FAILED": Breaker()}
    status = make_status(waiting=[waits(code)], breaker=breaker.get(code, OPEN))
    assert [*find(status, NOW_MS)]


@pytest.mark.parametrize(
    ("name", "severity", "commands"),
    [
        ("rule-loses-events", "page", ["once check --look"]),
        ("outcomes-unrecorded", "page", ["once check", TAIL.format("/Pipe")]),
        ("events-waiting", "page", [TAIL.format("/Pipe")]),
        ("destination-down", "page", []),
        ("events-parked", "ticket", ["once parked list"]),
        ("parked-ageing", "ticket", ["once parked list"]),
        ("events-silent", "ticket", ["once check --look"]),
        ("waiting-long", "ticket", []),
    ],
)
def test_an_alarm_is_found_and_one_of_lost_events_comes_first(
    name: str, severity: str, commands: list[str]
) -> None:
    alarm = Alarm(name=name, since_ms=NOW_MS - 9, description="what it affects")
    findings = [*find(make_status(alarms=[alarm], parked=1), NOW_MS)]
    is_first = name in ("rule-loses-events", "outcomes-unrecorded")
    finding, other = findings if is_first else reversed(findings)
    assert other.code == "EVENTS_PARKED"
    assert (finding.severity, finding.commands, finding.since_ms) == (
        severity,
        commands,
        NOW_MS - 9,
    )
    assert (finding.page, finding.remedy) == (f"docs/runbook.md#{name}", "what it affects")


@pytest.mark.parametrize(
    ("recorded_ms", "first"), [(NOW_MS - 9, "ENRICHMENT_FAILS"), (NOW_MS, "THROTTLED")]
)
def test_a_cause_of_now_comes_before_failures_that_others_have_passed(
    recorded_ms: int, first: str
) -> None:
    status = make_status(
        **failure(), **QUEUED, recorded_ms=recorded_ms, waiting=[waits("THROTTLED")]
    )
    assert next(find(status, NOW_MS)).code == first


def test_findings_count_events_and_say_since_when() -> None:
    groups = [waits("CALL_FAILED"), waits("BREAKER_OPEN", events=3), waits("HELD", events=9)]
    (down,) = find(make_status(breaker=OPEN, waiting=groups), NOW_MS)
    assert (down.count, down.since_ms) == (5, OPEN.since_ms)
    (one,) = find(make_status(waiting=[waits("CALL_FAILED")]), NOW_MS)
    assert (one.count, one.since_ms) == (2, NOW_MS - 9_000)
