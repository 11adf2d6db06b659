"""Every answer in the tables of docs/data-action.md, given over HTTP to the deployed path.

Each case is one event, about which the destination says what the case scripts and then that all is
well. They go side by side, each in a batch of its own, so that none waits for another's retries.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start
from proof.template import TEMPLATE
from tests.data_action.test_docs import rows
from tests.e2e.delivery import (
    Course,
    answers,
    claim,
    deliver,
    let_calls_flow,
    requests,
    warm,
)
from tests.operate.support import restart_with

pytestmark = pytest.mark.local

_FAST = TEMPLATE["Mappings"]["Durations"]["fast"]
_DEADLINE_MS = (_FAST["Machine"] - _FAST["Attempt"]) * 1000


class Case(NamedTuple):
    """The replies of the destination, request by request, and the outcome of the event."""

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
BROKEN = "no connection, reset, no response in time"
LIMITED = "503 with a readable `Retry-After`"
REMOTE = "Genesys 400 with `ACTION.REMOTE_ENDPOINT`"
PROCESSING = "Genesys 400 with `ACTION.PROCESSING`"
AUTHENTICATION = "Genesys 400 with `ACTION.AUTHENTICATION`"
CERTIFICATE = "an invalid TLS certificate"  # see test_webhook_path.py

CASES = [
    Case("200-299", (200,), 1, "PROCESSED", "ACTED"),
    Case("200-299", (204,), 1, "PROCESSED", "ACTED"),
    # Asked again once; then it is the queue's turn.
    Case("500-599", (500,) * 2, 2, "RETRY", "CALL_FAILED"),
    Case("500-599", (502,), 2, "PROCESSED", "ACTED"),
    Case("500-599", (504, 599), 2, "RETRY", "CALL_FAILED"),
    Case("500-599", ({"status": 503, "retryAfter": "later"},), 2, "PROCESSED", "ACTED", "garbage"),
    Case(BUSY, (408, 423), 2, "RETRY", "CALL_FAILED"),
    Case(BUSY, (409,), 2, "PROCESSED", "ACTED"),
    Case(BUSY, (425,), 2, "PROCESSED", "ACTED"),
    Case(BROKEN, ("reset",) * 2, 2, "RETRY", "CALL_FAILED"),
    Case(BROKEN, ("lose",), 2, "PROCESSED", "ACTED", "it acts and hangs up"),
    Case(BROKEN, (SILENCE,), 2, "PROCESSED", "ACTED", "it does not answer"),
    Case(REMOTE, ("remote-endpoint",) * 2, 2, "RETRY", "CALL_FAILED"),
    Case(REMOTE, ("remote-endpoint",), 2, "PROCESSED", "ACTED"),
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
    # Nobody calls for as long as it says, 180 s at most.
    Case("429", (limit(7),), 1, "RETRY", "RATE_LIMITED", "seconds"),
    Case("429", (limit(retryAfterDate=20.5),), 1, "RETRY", "RATE_LIMITED", "a date"),
    Case("429", (limit(headers=LONG_AGO),), 1, "RETRY", "RATE_LIMITED", "a date long ago"),
    Case("429", (limit("soon"),), 1, "RETRY", "RATE_LIMITED", "garbage"),
    Case("429", (limit(),), 1, "RETRY", "RATE_LIMITED", "no time"),
    Case("429", (limit(200),), 1, "RETRY", "RATE_LIMITED", "more than 180 s"),
    Case("429", (limit("9" * 30),), 1, "RETRY", "RATE_LIMITED", "a number beyond all bounds"),
    Case(LIMITED, ({"status": 503, "retryAfter": 7},), 1, "RETRY", "RATE_LIMITED"),
]
(REFUSED,) = (case for case in CASES if case.replies == (401, 401))
CLAIMS = {
    ("PROCESSED", "ACTED"): ("DONE", "PROCESSED"),
    ("PARKED", "REJECTED"): ("DONE", "PARKED"),
    ("PARKED", "UNCERTAIN"): ("DONE", "PARKED"),
}
# For how many seconds nobody calls after a refusal, at least and at most.
PAUSES = {
    "seconds": (7, 7),
    "a date": (18, 21),
    "a date long ago": (1, 1),
    "garbage": (30, 30),
    "no time": (30, 30),
    "more than 180 s": (180, 180),
    "a number beyond all bounds": (180, 180),
}


@pytest.fixture(scope="module")
def path(local: DeployedStack) -> Iterator[DeployedStack]:
    """With functions that have started, and a destination of which nothing is noted."""
    warm(local)
    let_calls_flow(local)
    yield local
    let_calls_flow(local)
    restart_with(local)  # without the tokens that have ended


def forget(path: DeployedStack) -> None:
    """Lets the data action ask again what it remembers for 30 s as refused."""
    restart_with(path)
    warm(path)


class Delivered(NamedTuple):
    """By the names of the cases: what the first delivery came to, and the pause that it made."""

    courses: dict[str, Course]
    pauses: dict[str, float]


@pytest.fixture(scope="module")
def delivered(path: DeployedStack) -> Delivered:
    """Side by side, but for those that stop all calls: one after the other."""
    found = {case.name: Course(f"action-{number}") for number, case in enumerate(CASES)}
    for case in CASES:
        answers(path, found[case.name], *case.replies)
    together = [case for case in CASES if case.reason != "RATE_LIMITED" and case != REFUSED]
    deliver(path, [found[case.name] for case in together])
    deliver(path, [found[REFUSED.name]])
    forget(path)
    pauses = {}
    for case in (case for case in CASES if case.reason == "RATE_LIMITED"):
        let_calls_flow(path)
        course = found[case.name]
        deliver(path, [course])
        row = path.rows("pace")["breaker"]
        pauses[case.name] = int(row["not_before"]) - course.requests[-1].at_ms
    let_calls_flow(path)
    return Delivered(found, pauses)


@pytest.fixture(scope="module")
def courses(delivered: Delivered) -> dict[str, Course]:
    return delivered.courses


@pytest.fixture(scope="module")
def parked(path: DeployedStack, courses: dict[str, Course]) -> dict[str, dict[str, Any]]:  # noqa: ARG001
    """The letters in the parking queue, by subject."""
    return {letter["element"].get("subjectKey"): letter for letter in path.parked()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_answer_ends_as_documented(
    courses: dict[str, Course], parked: dict[str, dict[str, Any]], case: Case
) -> None:
    course = courses[case.name]
    assert course.ended == (case.outcome, case.reason)
    assert len(course.requests) == case.requests
    assert len({entry.facts["idempotencyKey"] for entry in course.requests}) == 1
    assert course.claim == CLAIMS.get((case.outcome, case.reason), ("FAILED", "RETRY"))
    assert (course.record.requests or 0) == len(course.requests) - (
        case.requests == 2 and "401" in case.name
    )
    gone = case.outcome != "RETRY"
    assert (course.message["MessageId"] in course.batch.deleted) == gone
    letter = parked.get(f"{ORGANISATION}/conversation/{course.conversation}", {})
    assert letter.get("reason") == (case.reason if case.outcome == "PARKED" else None)


@pytest.mark.parametrize("why", PAUSES)
def test_nobody_calls_for_as_long_as_the_header_says(delivered: Delivered, why: str) -> None:
    (case,) = [case for case in CASES if (case.answer, case.why) == ("429", why)]
    least, most = PAUSES[why]
    # From when it was asked, so with the time of its answer.
    assert least * 1000 <= delivered.pauses[case.name] < (most + 2) * 1000


def test_no_call_begins_after_the_deadline(courses: dict[str, Course]) -> None:
    for course in courses.values():
        assert course.requests[-1].at_ms - course.requests[0].at_ms <= _DEADLINE_MS


def test_what_was_handed_back_acts_at_its_next_delivery_under_the_same_key(
    path: DeployedStack, courses: dict[str, Course]
) -> None:
    again = [courses[case.name] for case in CASES if case.outcome == "RETRY"]
    deliver(path, again)
    for course in again:
        assert (course.record.outcome, course.claim) == ("PROCESSED", ("DONE", "PROCESSED"))
        assert course.requests[-1].acted
        assert len({entry.facts["idempotencyKey"] for entry in course.requests}) == 1


def test_what_a_limited_destination_refused_comes_back_by_itself_under_the_same_key(
    path: DeployedStack,
) -> None:
    let_calls_flow(path)
    course = Course("comes-back")
    answers(path, course, limit(1))
    (report,) = path.settle(course.event or customer_start(course.conversation))
    assert (report.outcome, claim(path, course)) == ("PROCESSED", ("DONE", "PROCESSED"))
    refused, acted = requests(path, course)
    assert (refused.status, acted.acted) == (429, True)
    assert acted.at_ms - refused.at_ms >= 1_000
    assert refused.facts["idempotencyKey"] == acted.facts["idempotencyKey"]


def test_every_documented_answer_and_error_is_among_the_cases() -> None:
    """And what ends badly ends as the second table says of the error that the first one names."""
    errors = {answer: error for answer, error, *_ in rows("| response | error")}
    assert {case.answer for case in CASES} | {CERTIFICATE} == set(errors)
    ends = {error.strip("`"): outcome for error, _, outcome in rows("| error | second request")}
    met = set()
    for case in CASES:
        if case.outcome != "PROCESSED":
            named = re.match(r"`(\w+)`", errors[case.answer])
            assert named, case.answer
            assert ends[named[1]].startswith(f"`{case.outcome}`, `{case.reason}`"), case.name
            met.add(named[1])
    # Failed, if a second request may follow; and what the deadline or a pause forbids.
    assert set(ends) - met == {"Transient", "TooLate", "Paused"}


def login(path: DeployedStack, *replies: Any) -> tuple[Course, list[int | None]]:
    """An event whose token has ended, and how the login answered when it was renewed."""
    let_calls_flow(path)
    before = len(path.destination.received("token"))
    path.destination.expire_tokens()
    path.destination.script.add({"match": {"endpoint": "token"}, "replies": list(replies)})
    course = Course(f"login-{before}-{len(replies)}")
    deliver(path, [course])
    answers = path.destination.received("token")[before:]
    if course.record.reason == "SETUP_FAULT":
        forget(path)
    return course, [entry.status for entry in answers]


@pytest.mark.parametrize(
    ("replies", "answers", "outcome", "reason"),
    [
        ([], [200], "PROCESSED", "ACTED"),
        ([500], [500, 200], "PROCESSED", "ACTED"),
        (["reset"], [None, 200], "PROCESSED", "ACTED"),
        ([limit(1)], [429], "RETRY", "RATE_LIMITED"),
        ([limit(200)], [429], "RETRY", "RATE_LIMITED"),
        (["invalid-scope"], [400], "RETRY", "SETUP_FAULT"),
        ([401], [401], "RETRY", "SETUP_FAULT"),
        ([404], [404], "RETRY", "SETUP_FAULT"),
    ],
    ids=["well", "500", "reset", "429", "429 more than 180 s", "scope", "401", "404"],
)
def test_a_token_that_ended_is_renewed_as_far_as_the_login_lets(
    path: DeployedStack, replies: list[Any], answers: list[int | None], outcome: str, reason: str
) -> None:
    course, answered = login(path, *replies)
    assert course.ended == (outcome, reason)
    assert answered == answers
    assert [entry.status for entry in course.requests if entry.status != 401] == [200] * (
        outcome == "PROCESSED"
    )
