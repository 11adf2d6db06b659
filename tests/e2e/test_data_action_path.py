"""Every answer in the tables of docs/data-action.md, given over HTTP to the deployed path.

Each case is one event, about which the destination says what the case scripts and then that all is
well. They go at once, each in a batch of its own, so that none waits for another's retries.
"""

import re
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from proof.embedded import Embedded
from proof.events import ORGANISATION
from proof.template import TEMPLATE
from tests.data_action.test_docs import rows
from tests.e2e.delivery import Course, answers, claim, deliver, requests, warm
from tests.operate.support import start_anew, until

pytestmark = pytest.mark.embedded

_FAST = TEMPLATE["Mappings"]["Timing"]["fast"]
_DEADLINE_MS = (_FAST["Machine"] - _FAST["Attempt"]) * 1000


class Case(NamedTuple):
    """What the destination answers, call by call, and what becomes of the event."""

    answer: str  # its row in the documents
    replies: tuple[Any, ...]
    requests: int
    outcome: str
    reason: str
    why: str = ""

    @property
    def name(self) -> str:
        said = self.why or " ".join(str(reply) for reply in self.replies)
        return re.sub(r"[^\w,. -]", "", f"{self.answer}: {said}")


def limit(after: object = None, **more: Any) -> dict[str, Any]:
    return {"status": 429, **({} if after is None else {"retryAfter": after}), **more}


SILENCE = {"answer": "none", "holdSeconds": 4}
LONG_AGO = {"Retry-After": "Mon, 04 May 2020 10:00:00 GMT"}
MOVED = {"status": 302, "headers": {"Location": "/elsewhere"}}

BUSY = "408, 409, 423, 425"
BROKEN = "no connection, reset, no answer in time"
LIMITED = "503 with a readable `Retry-After`"
REMOTE = "Genesys, details say `ACTION.REMOTE_ENDPOINT`"
PROCESSING = "Genesys, details say `ACTION.PROCESSING`"
AUTHENTICATION = "Genesys, details say `ACTION.AUTHENTICATION`"
CERTIFICATE = "a TLS certificate that is not valid"  # see test_webhook_path.py

CASES = [
    Case("200-299", (200,), 1, "PROCESSED", "ACTED"),
    Case("200-299", (204,), 1, "PROCESSED", "ACTED"),
    # Asked again three times; then it is the queue's turn.
    Case("500-599", (500,) * 4, 4, "RETRY", "ACTION_UNANSWERED"),
    Case("500-599", (502, 504, 599), 4, "PROCESSED", "ACTED"),
    Case("500-599", ({"status": 503, "retryAfter": "later"},), 2, "PROCESSED", "ACTED", "garbage"),
    Case(BUSY, (408, 409, 423, 425), 4, "RETRY", "ACTION_UNANSWERED"),
    Case(BUSY, (409,), 2, "PROCESSED", "ACTED"),
    Case(BROKEN, ("reset",) * 4, 4, "RETRY", "ACTION_UNANSWERED"),
    Case(BROKEN, ("lose",), 2, "PROCESSED", "ACTED", "it acts and hangs up"),
    Case(BROKEN, (SILENCE,), 2, "PROCESSED", "ACTED", "it does not answer"),
    Case(BROKEN, (limit(6), SILENCE), 2, "RETRY", "TOO_LATE", "no time is left to ask again"),
    Case(REMOTE, ("remote-endpoint",) * 4, 4, "RETRY", "ACTION_UNANSWERED"),
    Case(REMOTE, ("remote-endpoint",), 2, "PROCESSED", "ACTED"),
    # Short waits happen inside the execution, at most three of them.
    Case("429", (limit(1),) * 4, 4, "RETRY", "RATE_LIMITED", "seconds, throughout"),
    Case("429", (limit(2),), 2, "PROCESSED", "ACTED", "seconds"),
    Case("429", (limit(retryAfterDate=2.5),), 2, "PROCESSED", "ACTED", "a date"),
    Case("429", (limit(headers=LONG_AGO),), 2, "PROCESSED", "ACTED", "a date long ago"),
    Case("429", (limit("soon"),), 2, "PROCESSED", "ACTED", "garbage"),
    Case("429", (limit(),), 2, "PROCESSED", "ACTED", "no time"),
    Case("429", (limit(9),), 1, "RETRY", "RATE_LIMITED", "past the deadline"),
    Case("429", (limit(200),), 1, "RETRY", "RATE_LIMITED", "more than 180 s"),
    Case("429", (limit("9" * 30),), 1, "RETRY", "RATE_LIMITED", "for ever"),
    Case(LIMITED, ({"status": 503, "retryAfter": 1},), 2, "PROCESSED", "ACTED"),
    # No further try can help: a person decides.
    Case("other 400-499", (400,), 1, "PARKED", "REJECTED"),
    Case("other 400-499", (422,), 1, "PARKED", "REJECTED"),
    Case(PROCESSING, ("processing",), 1, "PARKED", "UNCERTAIN"),
    # Faults of the set-up, of which no event is guilty.
    Case("401, 403", (401,), 2, "PROCESSED", "ACTED", "the token ended early"),
    Case("401, 403", (401, 401), 2, "RETRY", "SETUP_FAULT"),
    Case("401, 403", (403,), 1, "RETRY", "SETUP_FAULT"),
    Case(AUTHENTICATION, ("authentication",), 1, "RETRY", "SETUP_FAULT"),
    Case("404, 405, 410", (404,), 1, "RETRY", "SETUP_FAULT"),
    Case("404, 405, 410", (410,), 1, "RETRY", "SETUP_FAULT"),
    Case("300-399", (MOVED,), 1, "RETRY", "SETUP_FAULT", "moved"),
]
CLAIMS = {
    ("PROCESSED", "ACTED"): ("DONE", "PROCESSED"),
    ("PARKED", "REJECTED"): ("FAILED", "PARKED"),
    ("PARKED", "UNCERTAIN"): ("DONE", "PARKED"),
}
# Seconds between a refusal and the next call, at least and at most: whole ones are waited.
WAITS = {
    "seconds": (2, 4),
    "a date": (1, 5),
    "a date long ago": (0, 2),
    "garbage": (3, 5),
    "no time": (3, 5),
}


@pytest.fixture(scope="module")
def path(embedded: Embedded) -> Iterator[Embedded]:
    """With a destination at which so many calls went well that these failures are few."""
    table, queue = embedded.outputs["ClaimTableName"], embedded.outputs["EventQueueUrl"]
    place = {"pk": {"S": "gate"}, "sk": {"S": "health"}}
    counted = {
        "since": {"N": str(time.time_ns() // 1_000_000 + 300_000)},
        "failed": {"N": "0"},
        "acted": {"N": "1000"},
    }
    embedded.client("dynamodb").put_item(TableName=table, Item=place | counted)
    warm(embedded)
    yield embedded
    embedded.client("dynamodb").delete_item(TableName=table, Key=place)
    # What was told to come back in a quarter of an hour.
    embedded.client("sqs").purge_queue(QueueUrl=queue)
    start_anew(embedded)  # without the tokens that have ended


@pytest.fixture(scope="module")
def courses(path: Embedded) -> dict[str, Course]:
    """By the names of the cases, after their first delivery."""
    found = {case.name: Course(f"action-{number}") for number, case in enumerate(CASES)}
    for case in CASES:
        answers(path, found[case.name], *case.replies)
    # The longest first, so that they do not end last.
    deliver(path, [found[case.name] for case in sorted(CASES, key=lambda c: -c.requests)])
    return found


@pytest.fixture(scope="module")
def parked(path: Embedded, courses: dict[str, Course]) -> dict[str, dict[str, Any]]:  # noqa: ARG001
    """The letters in the parking queue, by subject."""
    return {letter["element"].get("lane"): letter for letter in path.parked()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_ends_as_documented(
    courses: dict[str, Course], parked: dict[str, dict[str, Any]], case: Case
) -> None:
    course = courses[case.name]
    assert course.ended == (case.outcome, case.reason)
    assert len(course.requests) == case.requests
    assert len({entry.facts["idempotencyKey"] for entry in course.requests}) == 1
    assert course.claim == CLAIMS.get((case.outcome, case.reason), ("FAILED", "RETRY"))
    # Waiting for the destination is not the event's fault: a fresh message takes its place.
    deferred = case.reason in ("RATE_LIMITED", "TOO_LATE")
    assert (course.record.deferred_to is not None) == deferred
    gone = deferred or case.outcome != "RETRY"
    assert (course.message["MessageId"] in course.batch.deleted) == gone
    letter = parked.get(f"{ORGANISATION}/conversation/{course.conversation}", {})
    assert letter.get("reason") == (case.reason if case.outcome == "PARKED" else None)


@pytest.mark.parametrize("why", WAITS)
def test_a_wait_is_as_long_as_the_header_says(courses: dict[str, Course], why: str) -> None:
    (case,) = [case for case in CASES if (case.answer, case.why) == ("429", why)]
    first, second = courses[case.name].requests
    least, most = WAITS[why]
    assert least * 1000 <= second.at_ms - first.at_ms < most * 1000


def test_no_call_begins_after_the_deadline(courses: dict[str, Course]) -> None:
    for course in courses.values():
        assert course.requests[-1].at_ms - course.requests[0].at_ms <= _DEADLINE_MS


def test_what_was_handed_back_acts_at_its_next_delivery_under_the_same_key(
    path: Embedded, courses: dict[str, Course]
) -> None:
    again = [
        courses[case.name] for case in CASES if case.reason in ("ACTION_UNANSWERED", "SETUP_FAULT")
    ]
    deliver(path, again)
    for course in again:
        assert (course.record.outcome, course.claim) == ("PROCESSED", ("DONE", "PROCESSED"))
        assert course.requests[-1].acted
        assert len({entry.facts["idempotencyKey"] for entry in course.requests}) == 1


@pytest.mark.parametrize("why", ["seconds, throughout", "no time is left to ask again"])
def test_what_was_deferred_comes_back_by_itself_under_the_same_key(
    path: Embedded, courses: dict[str, Course], why: str
) -> None:
    (course,) = [courses[case.name] for case in CASES if case.why == why]
    until(lambda: claim(path, course) == ("DONE", "PROCESSED"))
    later = requests(path, course)[len(course.requests) :]
    assert later[-1].acted
    keys = {entry.facts["idempotencyKey"] for entry in (*course.requests, *later)}
    assert len(keys) == 1


def test_every_documented_answer_and_error_is_among_the_cases() -> None:
    """And what ends badly ends as the second table says of the error that the first one names."""
    errors = {answer: error for answer, error, *_ in rows("| answer | error")}
    assert {case.answer for case in CASES} | {CERTIFICATE} == set(errors)
    ends = {error.strip("`"): outcome for error, _, _, outcome in rows("| error | asked again")}
    met = set()
    for case in CASES:
        if case.outcome != "PROCESSED":
            named = re.match(r"`(\w+)`", errors[case.answer])
            assert named, case.answer
            error = "TooLate" if case.reason == "TOO_LATE" else named[1]
            assert ends[error] == f"`{case.outcome}`, `{case.reason}`", case.name
            met.add(error)
    assert met == set(ends)


def login(path: Embedded, *replies: Any) -> tuple[Course, list[int | None]]:
    """An event whose token has ended, and how the login answered when it was renewed."""
    before = len(path.destination.received("token"))
    path.destination.expire_tokens()
    path.destination.script.add({"match": {"endpoint": "token"}, "replies": list(replies)})
    course = Course(f"login-{before}-{len(replies)}")
    deliver(path, [course])
    answers = path.destination.received("token")[before:]
    return course, [entry.status for entry in answers]


@pytest.mark.parametrize(
    ("replies", "answers", "outcome", "reason"),
    [
        ([], [200], "PROCESSED", "ACTED"),
        ([500], [500, 200], "PROCESSED", "ACTED"),
        (["reset"], [None, 200], "PROCESSED", "ACTED"),
        ([limit(1)], [429, 200], "PROCESSED", "ACTED"),
        ([limit(200)], [429], "RETRY", "RATE_LIMITED"),
        (["invalid-scope"], [400], "RETRY", "SETUP_FAULT"),
        ([401], [401], "RETRY", "SETUP_FAULT"),
        ([404], [404], "RETRY", "SETUP_FAULT"),
    ],
    ids=["well", "500", "reset", "429", "429 more than 180 s", "scope", "401", "404"],
)
def test_a_token_that_ended_is_renewed_as_far_as_the_login_lets(
    path: Embedded, replies: list[Any], answers: list[int | None], outcome: str, reason: str
) -> None:
    course, answered = login(path, *replies)
    assert course.ended == (outcome, reason)
    assert answered == answers
    assert [entry.status for entry in course.requests if entry.status != 401] == [200] * (
        outcome == "PROCESSED"
    )
