"""Nothing that a stack writes contains words of a caller, a secret or the destination.

Markers are planted in events, in secrets and in all that the destination says. They are searched
for in every log, in what executions answered and failed with, in claims, metrics and the reasons of
what was parked, and in what the commands show to somebody who does not ask for an event itself.
Ids and times, which make the key, are written; whatever else an event carries is not.
The emulator writes no log of the pipe, and of the state machine which states were entered; for
the rest, the template is asked.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from once.genesys.script import action_error_body
from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET
from once.local.stack import LocalStack
from once.outcomes import Outcome
from proof.deployed import DeployedStack
from proof.events import customer_start
from proof.template import RESOURCES, TEMPLATE
from tests.e2e.delivery import Course, answers, deliver, let_calls_flow, warm
from tests.operate.conftest import once, up
from tests.operate.support import restart_with

PHONE = "4915550100742"
WORDS = "said-by-the-caller"
THEIRS = "said-by-the-destination"
CREDENTIALS = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
MARKERS = (PHONE, WORDS, THEIRS, CLIENT_SECRET, SIGNING_SECRET, CREDENTIALS)

Places = dict[str, list[str]]


def written(local: DeployedStack, since: datetime) -> Places:
    """Everything but the events themselves, by where it stands."""
    pages = local.client("cloudwatch").get_paginator("list_metrics").paginate()
    letters = local.parked()
    assert any(PHONE in json.dumps(letter) for letter in letters), "what is parked is kept whole"
    return {
        **logged(local),
        **executed(local, since),
        "claims": [json.dumps(row) for row in claims(local)],
        "metrics": [json.dumps(metric) for page in pages for metric in page["Metrics"]],
        "parked": [without_event(letter) for letter in letters],
    }


def logged(local: DeployedStack | LocalStack) -> Places:
    logs = local.client("logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    pages = logs.get_paginator("filter_log_events")
    return {
        group: [
            event["message"]
            for page in pages.paginate(logGroupName=group)
            for event in page["events"]
        ]
        for group in groups
    }


def executed(local: DeployedStack, since: datetime) -> Places:
    """Collects the outputs of executions, and the outputs and errors of their tasks."""
    states = local.client("stepfunctions")
    pages = states.get_paginator("list_executions").paginate(
        stateMachineArn=local.outputs["StateMachineArn"]
    )
    outputs, events = [], []
    for execution in (execution for page in pages for execution in page["executions"]):
        if execution["startDate"] >= since:
            arn = {"executionArn": execution["executionArn"]}
            outputs.append(states.describe_execution(**arn)["output"])
            for part in states.get_paginator("get_execution_history").paginate(**arn):
                events += part["events"]
    details = [detail for event in events for detail in event.values() if isinstance(detail, dict)]
    return {
        "outputs": outputs,
        "errors": [f"{d.get('error')} {d['cause']}" for d in details if "cause" in d],
        "answers of tasks": [
            event["taskSucceededEventDetails"].get("output", "")
            for event in events
            if "taskSucceededEventDetails" in event
        ],
    }


def claims(local: DeployedStack) -> Iterator[Any]:
    pages = local.client("dynamodb").get_paginator("scan")
    for page in pages.paginate(TableName=local.outputs["ClaimTableName"]):
        yield from page["Items"]


def without_event(letter: dict[str, Any]) -> str:
    """A parked record but for what a person has to see of the event itself."""
    element = {k: v for k, v in letter["element"].items() if k not in ("body", "raw")}
    return json.dumps({**letter, "element": element})


def leaks(places: Places, markers: Iterable[str]) -> list[tuple[str, str, str]]:
    return [
        (marker, place, text)
        for place, texts in places.items()
        for text in texts
        for marker in markers
        if marker in text
    ]


def call(conversation: str, **body: Any) -> dict[str, Any]:
    return customer_start(
        conversation,
        ani=f"tel:+{PHONE}",
        attributes={"Caller": f"+{PHONE}", f"number {PHONE}": WORDS},
        **body,
    )


def customs() -> list[dict[str, Any]]:
    """Events of somebody's own, which may hold anything anywhere."""
    text = f"{WORDS} +{PHONE}"
    detail = {"conversationId": "c0ffee-1", "status": text, "callerId": f"+{PHONE}", "id": text}
    return [
        {"detail-type": "Call Change", "id": text, "detail": detail},
        {"detail-type": f"Call of +{PHONE}", "detail": {**detail, "customer_email_id": WORDS}},
        {**detail, "source": text, "version": text},
        {**detail, "conversationId": PHONE, "queueId": f"+{PHONE}", f"{WORDS} id": "x"},
    ]


def unknown() -> dict[str, Any]:
    """A topic that nobody declared, with a number where an id should be."""
    event = call("private-unknown", userId=PHONE, callerId=PHONE)
    template = "v2.callers.{id}.things"
    event["detail"]["topicName"] = template.replace("{id}", WORDS)
    return event | {"detail-type": template}


def echo(status: int, detail: str | None = None, **headers: str) -> dict[str, Any]:
    """An answer that quotes the call in every field that an error of Genesys has."""
    said = f"{THEIRS}: no such caller, +{PHONE}"
    names = ("message", "userMessage", "errorCode", "code", "correlationId", "contextId")
    body: Any = dict.fromkeys(names, said)
    if detail:
        body = {**action_error_body(detail, status), **body}
    return {"status": status, "body": body, "headers": {"WWW-Authenticate": said, **headers}}


REPLIES: dict[str, list[Any]] = {
    "acted": [echo(200)],
    "refused": [echo(422)],
    "refused-in-prose": [{"status": 400, "body": f"<p>{THEIRS} +{PHONE}</p>"}],
    "uncertain": [echo(400, "ACTION.PROCESSING")],
    "unauthorised": [echo(401), echo(401)],
    "unauthorised-behind": [echo(400, "ACTION.AUTHENTICATION")],
    "forbidden": [echo(403)],
    "gone": [echo(404)],
    "moved": [echo(302, Location=f"https://example.com/{THEIRS}?{PHONE}")],
    "failing-once": [echo(500)],
    "failing-behind": [echo(400, "ACTION.REMOTE_ENDPOINT")],
    "lost": ["lose"],
}
# By itself, since the data action remembers for 30 s that every event is refused, and sends none.
UNAUTHORISED = "unauthorised"
# The last, since nobody calls after it.
LIMITED = [echo(429, **{"Retry-After": f"{THEIRS} {PHONE}"})]
# By a receipt handle anybody with rights to the queue can delete the message.
RECEIPT = "receipt-of-"


@pytest.fixture(scope="module")
def places(local: DeployedStack) -> Places:
    """All that is written of events of every fate, with markers in each of them."""
    since = datetime.now(UTC)
    restart_with(local)  # without what earlier tests had refused
    warm(local)
    let_calls_flow(local)
    broken = json.dumps(call("private-cut-off"))[:-9]
    nameless = call("private-without-a-subject")
    for name in ("conversationId", "participantId", "sessionId", "eventTime"):
        nameless["detail"]["eventBody"][name] = {"phone": PHONE}
    odd = call("private-odd", mediaType=[PHONE], provider={"dnis": PHONE})
    large = call("private-large", note=PHONE * 17_000)
    local.settle(call("private"), call("private"), large, broken, nameless, odd)
    local.settle(*customs(), unknown())
    courses = {name: Course(f"private-{name}", call(f"private-{name}")) for name in REPLIES}
    for name, replies in REPLIES.items():
        answers(local, courses[name], *replies)
    deliver(local, [course for name, course in courses.items() if name != UNAUTHORISED])
    deliver(local, [courses[UNAUTHORISED]])
    assert [name for name, course in courses.items() if not course.requests] == []
    ends = {course.record.outcome for course in courses.values()}
    assert ends == {Outcome.PROCESSED, Outcome.PARKED, Outcome.RETRY}
    let_calls_flow(local)
    with refusing_logins(local):
        rejected = Course("private-login", call("private-login"))
        deliver(local, [rejected])
        assert rejected.ended == ("RETRY", "SETUP_FAULT")
    limited = Course("private-limited", call("private-limited"))
    answers(local, limited, *LIMITED)
    let_calls_flow(local)
    deliver(local, [limited])
    assert limited.ended == ("RETRY", "RATE_LIMITED")
    let_calls_flow(local)
    courses["limited"] = limited
    terminal = shown(local, [course.conversation for course in courses.values()])
    return {"terminal": terminal, **written(local, since)}


@contextmanager
def refusing_logins(local: DeployedStack) -> Iterator[None]:
    """Every token has ended, and the login quotes what it was sent."""
    said = {"error": "invalid_client", "description": f"{CREDENTIALS} {CLIENT_SECRET} {THEIRS}"}
    refusal = {"status": 401, "body": said}
    local.destination.script.add({"match": {"endpoint": "token"}, "replies": [refusal]})
    restart_with(local)
    yield
    restart_with(local)


def shown(local: DeployedStack, conversations: list[str]) -> list[str]:
    """By the commands that do not show an event whole."""
    with TemporaryDirectory() as folder, up(local, Path(folder)):
        commands = [["status"], ["parked", "list"], ["dead-letters", "list"]]
        commands += [["explain", conversation] for conversation in conversations]
        return [once(*command, *form).out for command in commands for form in ([], ["--json"])]


def test_no_marker_is_written_anywhere_but_in_the_events(
    local: DeployedStack, places: Places
) -> None:
    headers = [entry.headers for entry in local.destination.log]
    tokens = {h["authorization"].rpartition(" ")[2] for h in headers if "authorization" in h}
    assert CREDENTIALS in tokens
    assert leaks(places, {*MARKERS, *tokens, RECEIPT}) == []


@pytest.mark.parametrize(
    ("place", "known"),
    [
        ("OutcomeLogGroup", "private-refused"),
        ("EnrichmentLogGroup", ""),
        ("OutcomeLogGroup", "it refuses this event"),
        ("DataActionLogGroup", ""),
        ("PacingLogGroup", "a return time was refused"),
        ("outputs", "batchItemFailures"),
        ("errors", "it refuses this event"),
        ("answers of tasks", "ACTED"),
        ("claims", "private-refused"),
        ("parked", "REJECTED"),
        ("terminal", "the destination permanently rejected it"),
    ],
)
def test_what_is_known_to_be_written_is_found_there(places: Places, place: str, known: str) -> None:
    (name,) = [name for name in places if place in name]
    assert leaks({name: places[name]}, [known])


def test_the_logs_of_pipe_and_state_machine_hold_no_payload_unless_asked_for() -> None:
    assert TEMPLATE["Parameters"]["LogPayloads"]["Default"] == "false"
    logging = RESOURCES["StateMachine"]["Properties"]["Logging"]
    assert logging["IncludeExecutionData"] == {"Ref": "LogPayloads"}
    assert "IncludeExecutionData" not in RESOURCES["Pipe"]["Properties"]["LogConfiguration"]
