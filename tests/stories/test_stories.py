"""Ten nights on call: a stack breaks in one way, and whoever knows only the commands and the
runbook sees what it is, does what the page says, and ends with everything settled.
"""

import getpass
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from once.genesys.script import Script
from once.operate import findings
from once.project import ROOT
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.conftest import Answer, once, up
from tests.operate.support import count_waiting, until

pytestmark = pytest.mark.local

RUNBOOK = (ROOT / "docs/runbook.md").read_text()
OPERATIONS = (ROOT / "docs/operations.md").read_text()
PATIENCE_SECONDS, EVERY_SECONDS = 180.0, 2.0


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[DeployedStack]:
    """A fresh stack for each story, up in the folder in which its commands are typed."""
    with deployed(MaxTries="3") as local, up(local, tmp_path):
        yield local


@pytest.fixture
def folder(broken: DeployedStack, tmp_path: Path) -> Path:  # noqa: ARG001 - the stack is up in it
    return tmp_path


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "_GRACE_MS", 1_500)  # nobody waits for five minutes here


class Page:
    """A page of the runbook, or one it links to: who follows it types only what it names."""

    def __init__(self, heading: str, source: str = RUNBOOK) -> None:
        found = re.search(rf"^###? {heading}\n(.*?)(?=^##|\Z)", source, re.MULTILINE | re.DOTALL)
        assert found, f"there is no page {heading}"
        self.text = " ".join(found[1].split())

    def follow(self, *typed: str, says: str = "") -> Answer:
        options = (word for word in typed if not word.startswith("--"))
        known = [f"once {typed[0]}", f"once {' '.join(list(options)[:2])}"]
        assert any(f"`{name}" in self.text for name in known), f"{typed} is not on the page"
        answer = once(*typed, says=says)
        assert answer.code == 0, answer.err
        return answer


def send(folder: Path, *conversations: str) -> None:
    """The events of a file, as somebody sends them who tries it out."""
    path = folder / "events.jsonl"
    path.write_text("".join(json.dumps(customer_start(one)) + "\n" for one in conversations))
    assert once("send", str(path)).code == 0


def wait_for(what: Callable[[], Answer], *sentences: str, code: int) -> str:
    """Types it until it says all of this, which is what it says then."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = what()
        missing = [one for one in sentences if one not in answer.out]
        if answer.code == code and not missing:
            return answer.out
        assert time.monotonic() < end, (missing, answer.code, answer.out, answer.err)
        time.sleep(EVERY_SECONDS)


def find(code: str, *parts: str, count: int | None = None) -> dict[str, Any]:
    """Asks for the status until it has this finding, of so many events, with all these parts in
    its sentence."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        answer = once("status", "--json")
        for one in answer.json["findings"]:
            if (
                one["code"] == code
                and count in (None, one["count"])
                and all(part in one["sentence"] for part in parts)
            ):
                assert answer.code == 3
                found: dict[str, Any] = one
                return found
        assert time.monotonic() < end, (code, parts, answer.out, once("status").out)
        time.sleep(EVERY_SECONDS)


def explain_says(conversation: str, *sentences: str) -> str:
    return wait_for(lambda: once("explain", conversation), *sentences, code=0)


def all_is_well(local: DeployedStack) -> str:
    """Nobody is needed, and nothing waits."""
    until(lambda: count_waiting(local) == 0, PATIENCE_SECONDS)
    said = wait_for(lambda: once("status"), "Nothing is stuck.", code=0)
    assert re.search(r"queue +0 +0 +0", said), said
    return said


def test_an_answer_is_lost(broken: DeployedStack, folder: Path) -> None:
    once("destination", "lose")
    send(folder, "lost")
    found = find(
        "REQUESTS_FAIL", "the connection to the destination broke before its answer", count=1
    )
    assert found["commands"] == ["once explain lost"]
    explain_says(
        "lost",
        "customer arrives — not settled yet: the connection to the destination broke",
        "no request is known to have succeeded; a destination that stores no keys may have",
    )
    once("destination", "ok")
    all_is_well(broken)
    page = Page("A customer got two, or none")
    said = page.follow("explain", "lost").out
    asked = len(calls("lost"))
    assert asked > 2
    assert f"{asked} requests, perhaps acted on more than once" in said
    assert f"a destination that stores no keys may have acted on it {asked} times" in said
    (key,) = {call["idempotencyKey"] for call in calls("lost")}
    assert f"under Idempotency-Key {key[:8]}:" in said
    assert key in page.follow("explain", "lost", "--verbose").out


def calls(conversation: str) -> list[dict[str, str]]:
    return [
        one
        for one in once("destination", "--json").json["calls"]
        if one["subjectId"] == conversation
    ]


def test_the_credentials_are_refused(broken: DeployedStack, folder: Path) -> None:
    """The client's secret was renewed in Genesys Cloud, and nobody stored the new one."""
    secrets, arn = broken.client("secretsmanager"), "once/destination"
    stored = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    broken.destination.client_secret = "renewed"
    broken.destination.expire_tokens()
    send(folder, "refused-1", "refused-2")
    found = find("SETUP_FAULT", "the Genesys login answered 401", count=2)
    assert found["page"] == "docs/runbook.md#setup-fault"
    page = Page("setup-fault")
    assert "the Genesys login answered 401" in page.follow("explain", "refused-1").out
    assert "(operations.md#rotate-the-secret)" in page.text
    assert "aws secretsmanager put-secret-value" in Page("Rotate the secret", OPERATIONS).text
    renewed = json.dumps({**stored, "clientSecret": "renewed"})
    secrets.put_secret_value(SecretId=arn, SecretString=renewed)
    all_is_well(broken)
    explain_says("refused-1", "customer arrives — acted on\n")


def test_it_refuses_events_for_good(broken: DeployedStack, folder: Path) -> None:
    once("destination", "422")
    send(folder, "unfit-1", "unfit-2", "unfit-3")
    found = find("EVENTS_PARKED", count=3)
    assert found["commands"] == ["once parked list"]
    assert found["page"] == "docs/runbook.md#events-parked"
    explain_says("unfit-1", "parked: the destination permanently rejected it", "answered 422")
    page = Page("events-parked")
    listed = page.follow("parked", "list").out
    assert "3  REJECTED: HTTP 422, conversation.customer.start from tests" in listed
    assert "the destination answered 422" in listed
    once("destination", "ok")
    answer = page.follow("parked", "replay", says="y\n")
    assert "3 REJECTED: the destination permanently rejected it" in answer.err
    assert "3 replayed." in answer.out
    all_is_well(broken)
    explain_says("unfit-1", "customer arrives — acted on\n")


def test_it_limits_calls(broken: DeployedStack, folder: Path) -> None:
    once("destination", "429")
    send(folder, "limited-1", "limited-2")
    found = find("RATE_LIMITED", "the destination answered 429")
    assert found["page"] == "docs/runbook.md#the-destination-answers-429"
    page = Page("The destination answers 429")
    explain_says("limited-1", "the destination answered 429", "asked to wait 5 s")
    once("destination", "ok")
    all_is_well(broken)
    said = page.follow("explain", "limited-1").out
    assert "acted on\n" in said
    assert "the rejected requests did nothing" in said


def test_it_is_down_and_comes_back(broken: DeployedStack, folder: Path) -> None:
    once("destination", "down")
    send(folder, *(f"down-{number}" for number in range(24)))
    found = find("DESTINATION_DOWN", "no request succeeded since")
    assert found["page"] == "docs/runbook.md#breaker-open"
    assert found["commands"][0].startswith("once explain down-")
    page = Page("breaker-open")
    first = once("destination", "--json").json["calls"][-1]["subjectId"]
    wait_for(lambda: page.follow("explain", first), "broke before its answer", code=0)
    once("destination", "ok")
    all_is_well(broken)
    said = page.follow("explain", first).out
    assert "perhaps acted on more than once" in said, "a lost response may hide an act"


def test_it_hangs(broken: DeployedStack, folder: Path) -> None:
    once("destination", "hanging")
    send(folder, *(f"hangs-{number}" for number in range(4)))
    found = find(
        "REQUESTS_FAIL",
        "conversation.customer.start",
        "the destination did not answer within 2.0 s",
        "so it may be an outage",
    )
    assert "others succeed" not in found["sentence"]
    assert found["page"] == "docs/runbook.md#data-action-failing"
    page = Page("data-action-failing")
    explain_says("hangs-0", "did not answer within 2.0 s")
    once("destination", "ok")
    all_is_well(broken)
    assert "perhaps acted on more than once" in page.follow("explain", "hangs-0").out


def test_one_event_fails_while_others_act(broken: DeployedStack, folder: Path) -> None:
    broken.destination.script.add(
        {"match": {"conversationId": "poison"}, "replies": [502], "then": 502}
    )
    send(folder, "poison")
    seen: set[str] = set()

    def is_parked() -> bool:
        send(folder, f"good-{time.monotonic_ns()}")
        said = once("status").out
        seen.update(line for line in said.splitlines() if line.startswith("! "))
        return "Parked" in said

    until(is_parked, PATIENCE_SECONDS, every=1)
    assert any(
        re.search(
            r"1 event of conversation\.customer\.start fail.* tr(y|ies).*502.*others succeed", one
        )
        for one in seen
    ), seen
    page = Page("events-given-up")
    listed = page.follow("parked", "list").out
    assert "1  GAVE_UP: HTTP 502, conversation.customer.start from tests" in listed
    assert "3 tries; last request on" in listed
    explain_says("poison", "parked: its last try (MaxTries) failed, while", "3 tries")
    shown = page.follow("parked", "show", "poison").out
    assert "502" in shown.splitlines()[1]
    broken.destination.script = Script()  # what it failed on is repaired
    assert "1 replayed." in page.follow("parked", "replay", "--reason", "GAVE_UP", says="y\n").out
    all_is_well(broken)
    asked = len(calls("poison"))
    assert asked > 6, "three tries of two calls, and the one that acted"
    explain_says("poison", f"{asked} requests, perhaps acted on more than once")


def test_messages_that_are_not_json_are_parked(broken: DeployedStack, folder: Path) -> None:
    path = folder / "events.jsonl"
    event = json.dumps(customer_start("among-broken-ones"))
    path.write_text(f'{{"truncated": \nno event\n{event}\n')
    assert "so parked: 2 messages." in once("send", str(path), "--yes").out
    find("EVENTS_PARKED", count=2)
    page = Page("events-parked")
    listed = page.follow("parked", "list", "--json").json
    assert {one["reason"] for one in listed["groups"]} == {"NOT_JSON"}
    ids = [one["messageId"] for one in listed["messages"]]
    assert '"raw": ' in page.follow("parked", "show", ids[0]).out
    explain_says(ids[0], "messages that hold no event", "parked: its text is not JSON")
    answer = page.follow("parked", "drop", *ids, says="y\n")
    assert "2 NOT_JSON: its text is not JSON" in answer.err
    assert "2 dropped." in answer.out
    all_is_well(broken)
    for message_id in ids:
        explain_says(message_id, "messages that hold no event", "parked: its text is not JSON")
    assert once("parked", "show", ids[0]).code == 4, "nothing of it is there"


def test_lambda_does_not_run_the_function(broken: DeployedStack, folder: Path) -> None:
    functions, name = broken.client("lambda"), broken.outputs["DataActionFunctionName"]
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        send(folder, "throttled")
        assert find("THROTTLED")["page"] == "docs/runbook.md#requests-are-throttled"
        explain_says("throttled", "not settled yet: Lambda did not run the function")
    finally:
        page = Page("Requests are throttled")
        assert "aws lambda delete-function-concurrency" in page.text
        functions.delete_function_concurrency(FunctionName=name)
    all_is_well(broken)
    assert calls("throttled")[0]["acted"]
    explain_says("throttled", "customer arrives — acted on\n")


@contextmanager
def without_handler(broken: DeployedStack, output: str) -> Iterator[None]:
    """A function that was deployed broken, until the block ends."""
    functions, name = broken.client("lambda"), broken.outputs[output]
    works = functions.get_function_configuration(FunctionName=name)["Handler"]
    functions.update_function_configuration(FunctionName=name, Handler="no.such.handler")
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Handler=works)


def test_the_function_that_sends_requests_fails(broken: DeployedStack, folder: Path) -> None:
    with without_handler(broken, "DataActionFunctionName"):
        send(folder, "crashes")
        found = find("FUNCTION_FAILED", "the function that sends the request failed itself")
        assert found["commands"] == ["once explain crashes"]
        page = Page("The function fails")
        assert "request" not in page.follow("explain", "crashes").out.replace(
            "sends the request", ""
        )
        answer = once("check", "--yes", "--json")
        assert (answer.code, "Runtime.ImportModuleError" in answer.out) == (3, True)
        assert calls("crashes") == []

    all_is_well(broken)
    explain_says("crashes", "customer arrives — acted on")
    assert [one["acted"] for one in calls("crashes")] == [True]


def test_the_enrichment_fails(
    broken: DeployedStack, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "_MINUTE_MS", 1_000)
    with without_handler(broken, "EnrichmentFunctionName"):
        send(folder, "unread")
        found = find("NOTHING_RECORDED", "the enrichment fails")
        assert (found["severity"], found["count"] > 0) == ("page", True)
        assert found["commands"] == ["once check"]
        assert "no outcome was recorded: the enrichment fails" in once("explain", "unread").err
        started = time.monotonic()
        answer = once("check", "--yes", "--json")
        assert time.monotonic() - started < 60
        assert answer.code == 3
        (check,) = (one for one in answer.json["checks"] if one["name"] == "enrichment")
        assert check["works"] is False
        assert "No module named" in check["said"], "the emulator's log lacks it"
        assert calls("unread") == []
    all_is_well(broken)
    explain_says("unread", "customer arrives — acted on")


def test_an_operator_pauses_requests(broken: DeployedStack, folder: Path) -> None:
    reason = "the CRM is being repaired"
    assert once("pause", says="n\n").code == 1
    assert once("status", "--json").json["breaker"]["state"] == "CLOSED"
    assert once("pause", "--for", "45s", "--reason", reason, says="y\n").code == 0
    found = find("PAUSED", reason, f"by {getpass.getuser()}")
    assert (found["commands"], found["sinceMs"] > 0) == (["once resume"], True)
    send(folder, "paused")
    explain_says("paused", "requests are paused by", reason)
    shorter = once("pause", "--for", "5s", says="n\n")
    assert (shorter.code, "End that pause earlier" in shorter.err) == (1, True)
    assert reason in shorter.err
    assert calls("paused") == []
    page = Page("breaker-open")
    assert once("resume", says="n\n").code == 1, "it asks"
    answer = page.follow("resume", says="y\n")
    assert reason in answer.err, "who ends a pause reads why it was set"
    all_is_well(broken)
    explain_says("paused", "customer arrives — acted on")


def activity(user: str, status: str, second: int) -> dict[str, Any]:
    event = customer_start()
    timestamp = f"2025-03-12T09:00:{second:02}.300Z"
    detail = {
        "topicName": f"v2.users.{user}.activity",
        "version": "2",
        "eventBody": {"id": user, "routingStatus": {"userId": user, "status": status}},
        "timestamp": timestamp,
    }
    return event | {"detail-type": "v2.users.{id}.activity", "time": timestamp, "detail": detail}


def test_a_state_returns_and_is_then_repeated(broken: DeployedStack, folder: Path) -> None:
    user = "3d9ee3c2-3e5f-43a1-9e76-0b0f0a8f1d11"
    states = enumerate(("IDLE", "INTERACTING", "IDLE", "IDLE"))
    path = folder / "activity.jsonl"
    path.write_text("".join(json.dumps(activity(user, one, at)) + "\n" for at, one in states))
    assert once("send", str(path), "--yes").code == 0
    all_is_well(broken)
    said = explain_says(user, "4 events: 3 acted on, 1 skipped as unchanged")
    assert "skipped: unchanged since 2025-03-12 09:00:02 UTC" in said
    (subject,) = once("explain", user, "--json").json["subjects"]
    assert len({key for one in subject["events"] for key in one["idempotencyKeys"]}) == 3


def processed(local: DeployedStack) -> int:
    counted = re.search(r"settled in the last hour: .*?([\d,]+) PROCESSED", all_is_well(local))
    return int(counted[1].replace(",", "")) if counted else 0


def test_somebody_forgot_an_event_on_purpose(broken: DeployedStack, folder: Path) -> None:
    before = processed(broken)
    send(folder, "again")
    explain_says("again", "acted on")
    page = Page("A customer got two, or none")
    key = re.search(
        r"^ +(\S+/conversation/again/\S+)", page.follow("explain", "again", "--verbose").out, re.M
    )
    assert key
    answer = page.follow("forget", key[1], says="y\n")
    assert "PROCESSED" in answer.err
    explain_says("again", "acted on; `once forget` opened it on ", "its next copy is acted on")
    assert processed(broken) == before + 1, "what is forgotten waits for nobody"
    send(folder, "again")
    said = explain_says("again", "acted on twice; `once forget` opened it on ")
    one, other = dict.fromkeys(call["idempotencyKey"] for call in calls("again"))
    assert other.startswith(f"{one}.")
    acts = [line for line in said.splitlines() if "1 request answered 200" in line]
    assert ["Idempotency-Key" in line for line in acts] == [True, True]
    assert "acted on again on purpose, with another Idempotency-Key" in said
    assert processed(broken) == before + 2
    assert page.follow("explain", other).out == page.follow("explain", one).out
