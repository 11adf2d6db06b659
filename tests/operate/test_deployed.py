"""What only a deployed stack has: metrics of what was logged, and executions to link to."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from rich.table import Table

from once.operate import executions, log, status, waiting
from once.operate import phrases as words
from once.operate.pace import Breaker, Limit, State
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.project import ROOT
from once.records import OutcomeRecord

REGION = "eu-west-1"
NOW = datetime(2026, 11, 18, 17, 40, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1000)
MACHINE = f"arn:aws:states:{REGION}:123456789012:stateMachine:once"
GROUP = "/aws/vendedlogs/states/once"
OUTPUTS = {
    "StateMachineArn": MACHINE,
    "OutcomeLogGroupName": "outcomes",
    "PipeName": "pipe",
    "ClaimTableName": "claims",
    **{output: f"https://sqs/1/{output}" for output in status.QUEUES.values()},
}


class Deployed(Stack):
    """A deployed stack whose clients answer from a table."""

    region = REGION
    outputs = OUTPUTS

    def __init__(self, parameters: dict[str, str] | None = None, **clients: Any) -> None:
        super().__init__(None, "once")
        self.parameters = parameters or {}
        self._clients = clients

    def client(self, service: str) -> Any:
        return self._clients[service]


def of(**answers: Any) -> Any:
    """A client whose operations answer these."""

    def always(answer: Any) -> Any:
        return lambda **_: answer

    return SimpleNamespace(**{name: always(answer) for name, answer in answers.items()})


def logs(*lines: tuple[str, dict[str, Any]], counted: Sequence[dict[str, str]] = ()) -> Any:
    rows = [
        [
            {"field": "@timestamp", "value": at},
            {"field": "@message", "value": json.dumps(line)},
            {"field": "@ptr", "value": "p"},
        ]
        for at, line in lines
    ]

    counts = [[{"field": name, "value": row[name]} for name in row] for row in counted]

    def start(**query: Any) -> Any:
        return {"queryId": "counted" if "stats" in query["queryString"] else "lines"}

    def results(**query: Any) -> Any:
        return {
            "status": "Complete",
            "results": rows if query["queryId"] == "lines" else counts,
        }

    return SimpleNamespace(start_query=start, get_query_results=results)


def machine(**logging: Any) -> Any:
    return of(describe_state_machine={"status": "ACTIVE", **logging})


LOGGED = {
    "loggingConfiguration": {
        "destinations": [
            {
                "cloudWatchLogsLogGroup": {
                    "logGroupArn": f"arn:aws:logs:{REGION}:123456789012:log-group:{GROUP}:*"
                }
            }
        ]
    }
}


def test_an_execution_is_linked_by_the_whole_arn_that_the_machines_log_knows() -> None:
    arn = f"arn:aws:states:{REGION}:123456789012:express:once:a-name:run-1"
    line = {"type": "ExecutionStarted", "execution_arn": arn}
    stack: Any = Deployed(
        logs=logs(("2026-05-04 10:00:00.123", line)), stepfunctions=machine(**LOGGED)
    )
    assert executions.links(stack, {"run-1", "run-2"}, 0) == {
        "run-1": f"https://{REGION}.console.aws.amazon.com/states/home?region={REGION}"
        f"#/express-executions/details/{arn}?startDate=1777888800123"
    }


def test_without_a_log_of_the_machine_there_is_no_link() -> None:
    stack: Any = Deployed(stepfunctions=machine())
    assert executions.links(stack, {"run-1"}, 0) == {}


def queues(visible: int, in_flight: int = 0) -> Any:
    return of(
        get_queue_attributes={
            "Attributes": {
                "ApproximateNumberOfMessages": str(visible),
                "ApproximateNumberOfMessagesNotVisible": str(in_flight),
                "ApproximateNumberOfMessagesDelayed": "0",
            }
        }
    )


class Metrics:
    """CloudWatch with some numbers, by the name of the metric."""

    def __init__(self, **values: list[float]) -> None:
        self._values = values

    def get_metric_data(self, **request: Any) -> Any:
        results = []
        for query in request["MetricDataQueries"]:
            metric = query["MetricStat"]["Metric"]
            dimensions = {d["Name"]: d["Value"] for d in metric["Dimensions"]}
            assert dimensions in ({"Stack": "once"}, {"QueueName": dimensions.get("QueueName")})
            values = self._values.get(metric["MetricName"], [])
            times = [NOW - timedelta(minutes=at) for at in range(len(values))]
            results.append({"Id": query["Id"], "Values": values, "Timestamps": times})
        return {"MetricDataResults": results}

    def describe_alarms(self, **_: Any) -> Any:
        return {"MetricAlarms": [{"AlarmName": "once-events-waiting"}]}


def whole(
    metrics: Metrics,
    visible: int = 3,
    in_flight: int = 0,
    records: Sequence[dict[str, Any]] = (),
    row: dict[str, Any] | None = None,
    **parameters: Any,
) -> Any:
    """`records` of the outcome log, newest first, each a minute older."""
    lines = [
        (f"{NOW - timedelta(minutes=at):%Y-%m-%d %H:%M:%S}.000", record)
        for at, record in enumerate(records)
    ]
    return Deployed(
        parameters,
        sqs=queues(visible, in_flight),
        cloudwatch=metrics,
        pipes=of(describe_pipe={"CurrentState": "RUNNING"}),
        stepfunctions=machine(),
        logs=logs(*lines),
        dynamodb=of(get_item={"Item": row} if row else {}),
    )


def test_outcomes_come_from_the_metrics() -> None:
    found = status.of(whole(Metrics(PROCESSED=[5.0, 7.0])), NOW_MS)
    assert found.outcomes[Outcome.PROCESSED] == 12
    assert "deliveries settled in the last hour: 12 PROCESSED" in shown(found)


def test_an_event_that_has_waited_for_days_shows_its_age_beside_a_fresh_one() -> None:
    """SQS tells no age of what was received three times: its metric has that of the fresh one."""
    old = handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000)
    fresh = handed_back("m2", "LIMITED", returnsAtMs=NOW_MS + 60_000)
    counted = Metrics(
        SECONDS_WAITING=[9.0, 5 * 86_400.0, 864_000.0], ApproximateAgeOfOldestMessage=[9.0]
    )
    found = status.of(whole(counted, records=[fresh, old]), NOW_MS)
    assert found.queues[0].oldest_seconds == 5 * 86_400 + 60
    (finding,) = (one for one in found.findings if "oldest" in one.what)
    assert finding.what == (
        "The oldest that waits is on the queue for 5 d; after 10 days it is parked"
    )
    assert finding.helps == "docs/runbook.md#events-waiting-long"
    assert [queue.oldest_seconds for queue in found.queues[1:]] == [None] * 3


def test_the_age_of_what_is_settled_is_shown_no_more() -> None:
    counted = Metrics(SECONDS_WAITING=[9.0, 5 * 86_400.0])
    fresh = handed_back("m2", "LIMITED", returnsAtMs=NOW_MS + 60_000)
    assert status.of(whole(counted, records=[fresh]), NOW_MS).queues[0].oldest_seconds == 9
    assert status.of(whole(counted), NOW_MS).queues[0].oldest_seconds is None


def test_what_waits_under_a_limit_is_no_finding_but_a_forecast() -> None:
    limited = handed_back("m1", "LIMITED", returnsAtMs=NOW_MS + 60_000)
    stack = whole(
        Metrics(SECONDS_WAITING=[7_300.0]),
        visible=2140,
        records=[limited],
        MaxActionsPerMinute="300",
    )
    found = status.of(stack, NOW_MS)
    assert found.queues[0].oldest_seconds == 7_300
    assert found.limit is not None
    assert found.limit.text == "limited to 300 a minute, 2,140 waiting, drained in about 8 minutes"
    assert not any("oldest" in finding.what for finding in found.findings)


def test_what_stopped_while_others_go_on_is_a_finding() -> None:
    """A source that went silent, and status said that nothing is stuck."""
    day = 86_400_000
    stack = whole(Metrics(), visible=0)
    stack._clients["logs"] = logs(
        counted=[
            {"source": source, "family": "user.presence", "events": "50", "first": at, "last": at}
            for source, until_ms in (("live", 0), ("old", day))
            for at in map(str, range(NOW_MS - 9 * day, NOW_MS - until_ms + 1, 3_600_000))
        ]
    )
    found = status.of(stack, NOW_MS)
    finding = found.findings[0]
    assert finding.what == (
        "Stopped? user.presence of old, none for 24 h in which 1,200 are usual, and others go on"
    )
    assert finding.helps == "once check --look, docs/runbook.md#events-silent"
    assert "Nothing is stuck" not in shown(found)


@pytest.fixture
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of the log answers no more than three."""
    monkeypatch.setattr(log, "MOST", 3)


@pytest.mark.usefixtures("few_lines")
def test_where_more_waits_than_a_search_answers_status_says_at_least() -> None:
    records = [
        handed_back(f"m{number}", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000, tries=1)
        for number in range(3)
    ]
    stack = whole(Metrics(), visible=0, in_flight=100_000, records=records)
    found = status.of(stack, NOW_MS)
    assert not found.complete
    assert "waits: at least 3 events  for a retry" in shown(found)
    assert "conversation.acd.start fails, at least 3 events" in shown(found)
    assert places(found) == ["queue", "100,000", "", "at least 3", ""], (
        "nobody knows how many are worked on"
    )
    fault = [handed_back(f"m{n}", "SETUP_FAULT", returnsAtMs=NOW_MS + 60_000) for n in range(3)]
    assert "at least 3 events handed back" in shown(
        status.of(whole(Metrics(), visible=0, records=fault), NOW_MS)
    )


@pytest.mark.usefixtures("few_lines")
def test_what_is_due_is_not_counted_where_its_end_may_be_beyond_the_search() -> None:
    due = handed_back("m1", "SETUP_FAULT", returnsAtMs=NOW_MS - 1)
    ends = [{**handed_back(f"m{n}", "ACTED"), "outcome": "PROCESSED"} for n in range(2, 4)]
    found = status.of(whole(Metrics(), visible=1, records=[*ends, due]), NOW_MS)
    assert (found.waiting, found.complete) == ([], False)


@pytest.mark.parametrize(
    ("parameters", "observes"),
    [
        ({"ActionTarget": "none"}, True),
        ({"ActionTarget": "none", "ActionFunctionArn": "arn:aws:lambda:…:mine"}, False),
        ({"ActionTarget": "webhook", "ActionFunctionArn": ""}, False),
    ],
)
def test_a_stack_that_calls_nobody_says_so(parameters: dict[str, Any], observes: bool) -> None:
    found = status.of(whole(Metrics(), **parameters), 0)
    assert found.only_observes is observes
    assert (words.OBSERVED in list(status._view(found, 0))) is observes


@pytest.mark.parametrize(
    ("waiting", "said"),
    [
        (0, "limited to 300 a minute, nothing waiting"),
        (12, "limited to 300 a minute, 12 waiting, drained in about 1 minute"),
    ],
)
def test_a_limit_in_words(waiting: int, said: str) -> None:
    assert Limit(per_minute=300, waiting=waiting).text == said


def handed_back(message_id: str, reason: str, **more: Any) -> dict[str, Any]:
    said = {"messageId": message_id, "outcome": "RETRY", "reason": reason}
    place = {"pk": "org/conversation/c1", "sk": f"v1/conversation.acd.start/{message_id}"}
    return {**said, **place, "family": "conversation.acd.start", **more}


def breaker_row(**fields: int | str) -> dict[str, Any]:
    return {
        "pk": {"S": "pace"},
        "sk": {"S": "breaker"},
        "since": {"N": str(NOW_MS - 60_000)},
        "failed": {"SS": [str(number) for number in range(20)]},
        **{
            name: {"S": value} if isinstance(value, str) else {"N": str(value)}
            for name, value in fields.items()
        },
    }


def shown(found: status.Status) -> str:
    return "\n".join(line for line in status._view(found, NOW_MS) if isinstance(line, str))


def places(found: status.Status) -> list[Any]:
    """The row of the queue in the table."""
    (table, *_) = (part for part in status._view(found, NOW_MS) if not isinstance(part, str))
    assert isinstance(table, Table)
    assert [column.header for column in table.columns][1:] == [
        *("messages", "worked on", "wait", "oldest")
    ]
    return [next(iter(column.cells)) for column in table.columns]


def test_what_waits_is_counted_by_reason_with_the_time_it_comes_back() -> None:
    stack = whole(
        Metrics(),
        visible=0,
        records=[
            handed_back("m1", "LIMITED", returnsAtMs=NOW_MS + 60_000),
            handed_back("m2", "LIMITED", returnsAtMs=NOW_MS + 90_000),
            handed_back("m3", "LIMITED", returnsAtMs=NOW_MS - 1),
            handed_back("m4", "LIMITED", returnsAtMs=NOW_MS + 60_000, copyOf="m1"),
            handed_back("m1", "NOT_REACHED", returnsAtMs=NOW_MS + 5_000),
        ],
        MaxActionsPerMinute="300",
    )
    found = status.of(stack, NOW_MS)
    (waits,) = found.waiting
    assert (waits.reason, waits.events) == ("LIMITED", 2), "what is due is not said to wait"
    line = "waits: 2 events  for the limit  next try from 17:41:00 to 17:41:30  LIMITED: MaxAct"
    assert line in shown(found)
    assert [finding.what for finding in found.findings] == ["Alarm events-waiting"], (
        "what waits for its turn needs nobody"
    )


def test_what_is_due_still_waits_until_its_end_is_recorded() -> None:
    """Else status would say that all is well each time that the events are tried once more."""
    due = handed_back("m1", "SETUP_FAULT", returnsAtMs=NOW_MS - 1)
    acted = {**due, "outcome": "PROCESSED", "reason": "ACTED"}
    found = status.of(whole(Metrics(), visible=1, records=[due]), NOW_MS)
    assert [(one.awaits, one.returns(NOW_MS)) for one in found.waiting] == [("a repair", "now")]
    assert any("docs/runbook.md#setup-fault" in finding.helps for finding in found.findings)
    assert status.of(whole(Metrics(), visible=1, records=[acted, due]), NOW_MS).waiting == []


@pytest.mark.parametrize(
    ("reason", "row", "awaits"),
    [
        ("LIMITED", {}, "the limit"),
        ("BREAKER_OPEN", {"open_until": NOW_MS + 5_000}, "the breaker"),
        ("BREAKER_OPEN", {"not_before": NOW_MS + 5_000, "held": "repairs"}, "a person"),
        ("SETUP_FAULT", {}, "a repair"),
        ("RATE_LIMITED", {"not_before": NOW_MS + 5_000}, "the destination"),
        ("HELD", {}, "another execution"),
        ("CALL_FAILED", {}, "a retry"),
    ],
)
def test_for_whom_it_waits_is_said(reason: str, row: dict[str, Any], awaits: str) -> None:
    record = handed_back("m1", reason, returnsAtMs=NOW_MS + 60_000)
    stack = whole(Metrics(), visible=0, records=[record], row=breaker_row(**row) if row else None)
    assert [one.awaits for one in status.of(stack, NOW_MS).waiting] == [awaits]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (None, "calls were paused and flow again"),
        ({"open_until": NOW_MS + 5_000}, "calls are paused, since the destination answers nobody"),
        ({"not_before": NOW_MS + 5_000}, "calls are paused, since the destination answered 429"),
        ({"not_before": NOW_MS + 5_000, "held": "repairs"}, "calls are held: repairs"),
        ({"not_before": NOW_MS - 1, "held": "x"}, "calls were held, and the next event probes"),
    ],
)
def test_why_calls_are_paused_is_said_by_the_breaker_as_it_is_now(
    row: dict[str, Any] | None, said: str
) -> None:
    record = handed_back("m1", "BREAKER_OPEN", returnsAtMs=NOW_MS + 60_000)
    stack = whole(Metrics(), visible=0, records=[record], row=row and breaker_row(**row))
    assert [one.said for one in status.of(stack, NOW_MS).waiting] == [said]


def test_reasons_stand_under_each_other_with_their_causes() -> None:
    records = [
        handed_back("m1", "BREAKER_OPEN", returnsAtMs=NOW_MS + 60_000),
        *[
            handed_back(f"n{at}", "CALL_FAILED", returnsAtMs=NOW_MS + at, cause="no answer in 8 s")
            for at in range(1_000, 12_000, 1_000)
        ],
    ]
    said = shown(status.of(whole(Metrics(), visible=0, records=records), NOW_MS)).splitlines()
    many, one = (line for line in said if line.startswith("waits: "))
    assert many.startswith(
        "waits: 11 events  for a retry      next try from 17:40:01 to 17:40:11  "
    )
    assert many.endswith("CALL_FAILED: no answer in 8 s")
    assert one.index("BREAKER_OPEN: ") == many.index("CALL_FAILED: ")


def test_what_is_worked_on_is_told_from_what_waits() -> None:
    record = handed_back("m1", "LIMITED", returnsAtMs=NOW_MS + 60_000)
    found = status.of(whole(Metrics(), visible=3, in_flight=5, records=[record]), NOW_MS)
    assert (found.hidden, found.queues[0].in_flight) == (1, 5)
    assert places(found) == ["queue", "8", "4", "1", ""]


def test_failures_of_a_batch_that_is_not_recorded_yet_are_a_finding() -> None:
    finding = status.of(whole(Metrics(), row=breaker_row()), NOW_MS).findings[-2]
    assert finding.what == (
        "Breaker CLOSED, calls flow, but 20 events failed since 2026-11-18 17:39:00 UTC and "
        "nobody was answered"
    )
    assert finding.helps == "docs/runbook.md#data-action-failing"


@pytest.mark.parametrize("fields", [{}, {"open_until": NOW_MS - 1}, {"not_before": NOW_MS - 1}])
def test_a_breaker_whose_events_are_all_settled_is_no_finding(fields: dict[str, int]) -> None:
    found = status.of(whole(Metrics(), visible=0, row=breaker_row(**fields)), NOW_MS)
    assert [finding.what for finding in found.findings] == ["Alarm events-waiting"]


def test_first_failures_may_be_an_outage_though_others_acted_before_it() -> None:
    first = handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000, tries=1)
    stack = whole(Metrics(PROCESSED=[500.0]), visible=0, records=[first], row=breaker_row())
    (finding, *_) = status.of(stack, NOW_MS).findings
    assert finding.what.endswith(
        "nothing else was answered since 2026-11-18 17:39:00 UTC, so it may be an outage"
    )


def test_many_kinds_that_fail_at_once_are_one_finding() -> None:
    waits = {"returnsAtMs": NOW_MS + 60_000}
    first = [
        handed_back(f"m{number}", "CALL_FAILED", family=family, **waits)
        for number, family in enumerate(("user.presence", "conversation.acw", "custom.call"))
    ]
    stack = whole(Metrics(), visible=0, records=first, row=breaker_row())
    failures = list(status._failures(status.of(stack, NOW_MS), NOW_MS))
    assert len(failures) == 1
    assert failures[0].what.startswith("3 events of 3 families fail: ")
    assert failures[0].what.endswith("so it may be an outage")
    again = [*first, handed_back("m9", "CALL_FAILED", tries=2, **waits)]
    stack = whole(Metrics(), visible=0, records=again, row=breaker_row())
    assert len(list(status._failures(status.of(stack, NOW_MS), NOW_MS))) == 4


def test_an_event_that_fails_alone_for_days_says_since_when_nobody_was_answered() -> None:
    """With its tries it once failed while others were answered, and PROCESSED is of copies."""
    alone = handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000, tries=2)
    row = breaker_row(since=NOW_MS - 3 * 86_400_000)
    stack = whole(Metrics(PROCESSED=[5.0]), visible=0, records=[alone], row=row)
    (finding, *_) = status.of(stack, NOW_MS).findings
    assert finding.what.startswith("conversation.acd.start fails, 1 event, 2 tries: ")
    assert finding.what.endswith(
        "; others were answered before, nothing else was answered since 2026-11-15 17:40:00 UTC"
    )


def test_where_nothing_else_was_called_nobody_knows_whether_it_is_an_outage() -> None:
    """Two that were replayed failed once more, and status spoke of an outage."""
    replayed = [
        handed_back(f"m{number}", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000) for number in (1, 2)
    ]
    row = breaker_row(since=NOW_MS - 20_000) | {"failed": {"SS": ["a", "b"]}}
    (finding, *_) = status.of(
        whole(Metrics(), visible=0, records=replayed, row=row), NOW_MS
    ).findings
    called = "; nothing else was called since 2026-11-18 17:39:40 UTC, so "
    assert finding.what.endswith(f"{called}it may be an outage, or these alone")
    found = status.of(whole(Metrics(), visible=0, records=replayed, row=row), NOW_MS)
    found.failing[0].given_up = 2
    (given_up, *_) = status._failures(found, NOW_MS)
    assert given_up.what.endswith(f"{called}whether others fail too is not known")


def test_what_was_given_up_and_fails_again_after_its_replay_says_so() -> None:
    given_up = {**handed_back("m0", "GAVE_UP"), "outcome": "PARKED", "recordedAtMs": 1}
    again = {**handed_back("m1", "CALL_FAILED", cause="HTTP 500"), "recordedAtMs": 2}
    again["sk"] = given_up["sk"]
    records = [OutcomeRecord.model_validate(one) for one in (given_up, again)]
    (failing,) = waiting.failing(records[1:], records)
    assert failing.text(complete=True) == (
        "conversation.acd.start fails, 1 event (given up before, and replayed): HTTP 500"
    )


@pytest.mark.parametrize(
    ("window_ms", "later_ms", "given_up"),
    [
        (60_000, 0, 1),
        (60_000, 60_000, 1),
        (60_000, -60_000, 1),
        (60_000, 60_001, 0),
        (60_000, -60_001, 0),
        (None, 60_001, 1),
    ],
)
def test_another_occurrence_of_what_was_given_up_is_no_replay(
    window_ms: int | None, later_ms: int, given_up: int
) -> None:
    ring = {**handed_back("m0", "GAVE_UP"), "windowMs": window_ms, "occurredAtMs": NOW_MS}
    again = {**ring, "messageId": "m1", "reason": "CALL_FAILED", "occurredAtMs": NOW_MS + later_ms}
    parked = OutcomeRecord.model_validate(ring | {"outcome": "PARKED", "recordedAtMs": 1})
    fails = OutcomeRecord.model_validate(again | {"recordedAtMs": 2})
    (failing,) = waiting.failing([fails], [parked, fails])
    assert failing.given_up == given_up


def test_what_waits_for_the_limit_says_why_how_long_and_that_nobody_need_act() -> None:
    limited = [handed_back(f"m{n}", "LIMITED", returnsAtMs=NOW_MS + 60_000) for n in range(70)]
    stack = whole(Metrics(), visible=0, in_flight=70, records=limited, MaxActionsPerMinute="20")
    found = status.of(stack, NOW_MS)
    found.findings = []
    assert shown(found).endswith(
        "Nothing is stuck.[/] 70 events wait for the limit (MaxActionsPerMinute=20): about 4 "
        "minutes if nothing more comes, and nobody need do anything. "
        "docs/runbook.md#events-wait-for-the-limit"
    )
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE)
    assert "Events wait for the limit" in headings


def test_events_that_were_asked_for_more_than_once_are_counted_and_one_is_named() -> None:
    acted = {**handed_back("m1", "ACTED", calls=1), "outcome": "PROCESSED", "recordedAtMs": 3}
    failed = handed_back("m1", "CALL_FAILED", calls=2, recordedAtMs=2)
    refused = handed_back("m2", "RATE_LIMITED", calls=1, recordedAtMs=1)
    once_more = {**handed_back("m2", "ACTED", calls=1), "outcome": "PROCESSED", "recordedAtMs": 4}
    hour = [OutcomeRecord.model_validate(o) for o in (refused, failed, acted, once_more)]
    again = status._asked_again(hour, NOW_MS)
    assert again is not None
    assert (again.events, again.example) == (1, "org/conversation/c1/v1/conversation.acd.start/m1")
    # The same row, but another occurrence: each was asked for once.
    rings = [
        {**acted, "messageId": f"r{at}", "occurredAtMs": at, "windowMs": 1_000, "recordedAtMs": at}
        for at in (1_000, 600_000)
    ]
    twice = [OutcomeRecord.model_validate(one) for one in rings]
    assert status._asked_again(twice, NOW_MS) is None
    found = status.of(whole(Metrics()), NOW_MS)
    found.asked_again = again
    assert (
        "asked again: for 1 event of the last hour the destination was asked more than once → "
        "once explain c1; all that was asked: once received"
    ) in shown(found)


def test_when_it_is_tried_next_is_said_as_a_sentence() -> None:
    def returns(first_ms: int, last_ms: int) -> str:
        records = [
            OutcomeRecord.model_validate(
                handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + at, recordedAtMs=1)
            )
            for at in (first_ms, last_ms)
        ]
        (waits,) = waiting.by_reason(records, Breaker(state=State.CLOSED))
        return f"next try {waits.returns(NOW_MS)}"

    assert returns(-5, -1) == "next try now"
    assert returns(-5, 2_000) == "next try now, the last at 17:40:02"
    assert returns(1_000, 1_000) == "next try at 17:40:01"
    assert returns(1_000, 2_000) == "next try from 17:40:01 to 17:40:02"


@pytest.mark.parametrize("reason", sorted(status._HELPS))
def test_what_a_person_can_do_about_is_a_finding_that_names_a_page(reason: str) -> None:
    record = handed_back("m1", reason, returnsAtMs=NOW_MS + 60_000)
    found = status.of(whole(Metrics(), visible=0, records=[record]), NOW_MS)
    (finding, *_) = found.findings
    assert finding.what.startswith("1 event handed back: ")
    assert finding.helps.startswith("once explain c1, ")
    anchor = finding.helps.partition("#")[2].partition(";")[0]
    headings = re.findall(r"^### (.+)$", (ROOT / "docs/runbook.md").read_text(), re.MULTILINE)
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]


def test_a_poison_among_good_events_is_named_and_never_called_an_outage() -> None:
    poison = handed_back(
        "m1",
        "CALL_FAILED",
        returnsAtMs=NOW_MS + 60_000,
        status=502,
        cause="the destination answered HTTP 502",
        tries=7,
    )
    found = status.of(whole(Metrics(PROCESSED=[500.0]), visible=0, records=[poison]), NOW_MS)
    (finding,) = found.findings[:1]
    assert finding.what == (
        "conversation.acd.start fails, 1 event, 7 tries: "
        "the destination answered HTTP 502; others act"
    )
    assert finding.helps.startswith("once explain c1, ")
    assert "down" not in shown(found)


def test_one_failing_event_without_any_other_traffic_may_be_an_outage() -> None:
    alone = handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000)
    (finding, *_) = status.of(whole(Metrics(), visible=0, records=[alone]), NOW_MS).findings
    assert finding.what.endswith("nothing else acted in the last hour, so it may be an outage")


def test_a_hold_is_the_first_that_is_said() -> None:
    row = breaker_row(not_before=NOW_MS + 600_000, held="the CRM is being repaired")
    failing = handed_back("m1", "CALL_FAILED", returnsAtMs=NOW_MS + 60_000)
    found = status.of(whole(Metrics(), visible=0, row=row, records=[failing]), NOW_MS)
    said = "Calls are held until 17:50:00 UTC, in 10 min: the CRM is being repaired"
    assert said in shown(found).split("\n")[0]
    assert (found.findings[0].what, found.findings[0].helps) == (said, "once resume")
    assert not any("fails" in finding.what for finding in found.findings)


def test_an_open_breaker_is_a_finding_with_its_countdown() -> None:
    row = breaker_row(open_until=NOW_MS + 12_000)
    finding = status.of(whole(Metrics(), row=row), NOW_MS).findings[-2]
    assert finding.what == (
        "Breaker OPEN: no call was answered since 2026-11-18 17:39:00 UTC; one probes at 17:40:12 "
        "UTC, in 12 s"
    )
    assert "once hold" in finding.helps


def test_an_outage_names_one_event_that_waits_for_it() -> None:
    row = breaker_row(open_until=NOW_MS + 12_000)
    waits = handed_back("m1", "BREAKER_OPEN", returnsAtMs=NOW_MS + 12_000)
    finding = status.of(whole(Metrics(), row=row, records=[waits]), NOW_MS).findings[-2]
    assert finding.helps.startswith("once explain c1, docs/runbook.md#breaker-open")


def test_a_fault_of_the_set_up_cries_only_while_events_wait_for_it() -> None:
    waits = handed_back("m1", "SETUP_FAULT", returnsAtMs=NOW_MS + 1)
    over = handed_back("m1", "SETUP_FAULT", returnsAtMs=NOW_MS - 1)
    for record, cries in ((waits, True), (over, False)):
        found = status.of(whole(Metrics(), visible=0, records=[record]), NOW_MS)
        assert any("credentials" in finding.what for finding in found.findings) is cries


def test_when_the_last_event_arrived_is_said() -> None:
    found = status.of(whole(Metrics(NumberOfMessagesSent=[0.0, 0.0, 3.0])), NOW_MS)
    assert found.last_arrival_ms == NOW_MS - 120_000
    assert "the last event arrived 2 min ago" in shown(found)
    assert "no event arrived in the last day" in shown(status.of(whole(Metrics()), NOW_MS))
