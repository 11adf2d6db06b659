"""Ten nights on call: a stack breaks in one way, and whoever knows only the commands and the
runbook sees what it is, does what the page says, and ends with everything settled.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from once.genesys.script import Script
from once.project import ROOT
from proof.embedded import Embedded, deployed
from proof.events import customer_start
from tests.operate.conftest import Answer, once, up

pytestmark = pytest.mark.embedded

RUNBOOK = (ROOT / "docs/runbook.md").read_text()
PATIENCE_SECONDS = 90.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("on-call")


@pytest.fixture(scope="module")
def broken(folder: Path) -> Iterator[Embedded]:
    """One stack for all the stories, up in the folder in which they are typed."""
    with deployed(MaxTries="3") as embedded, up(embedded, folder):
        yield embedded


@pytest.fixture(autouse=True)
def well_before_and_after(broken: Embedded) -> Iterator[None]:
    all_is_well()
    yield
    once("destination", "ok")
    broken.destination.script = Script()
    all_is_well()


class Page:
    """A page of the runbook: whoever follows it types only what it names."""

    def __init__(self, heading: str) -> None:
        found = re.search(rf"^### {heading}\n(.*?)(?=^##|\Z)", RUNBOOK, re.MULTILINE | re.DOTALL)
        assert found, f"the runbook has no page {heading}"
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
        time.sleep(0.3)


def status_says(*sentences: str) -> str:
    return wait_for(lambda: once("status"), *sentences, code=3)


def explain_says(conversation: str, *sentences: str) -> str:
    return wait_for(lambda: once("explain", conversation), *sentences, code=0)


def all_is_well() -> str:
    """Nobody is needed, and nothing waits."""
    empty = r"queue +0 +0 +0"
    said = ""
    end = time.monotonic() + PATIENCE_SECONDS
    while not re.search(empty, said):
        assert time.monotonic() < end, said
        said = wait_for(lambda: once("status"), "Nothing is stuck.", code=0)
    return said


def test_an_answer_is_lost(folder: Path) -> None:
    once("destination", "lose")
    send(folder, "lost")
    status_says("fails, 1 event", "the connection to the destination broke before its answer")
    explain_says(
        "lost",
        "customer arrives — not settled yet: the connection to the destination broke",
        "none of these calls is known to have acted, and each may have",
    )
    once("destination", "ok")
    all_is_well()
    page = Page("A customer got two, or none")
    said = page.follow("explain", "lost").out
    asked = len(calls("lost"))
    assert asked > 2
    assert f"acted; asked {asked} times, and may have acted more than once" in said
    assert f"a destination that does not remember keys may have acted {asked} times" in said
    (key,) = {call["idempotencyKey"] for call in calls("lost")}
    assert f"under Idempotency-Key {key[:8]}:" in said
    assert key in page.follow("explain", "lost", "--verbose").out


def calls(conversation: str) -> list[dict[str, str]]:
    return [
        one for one in once("received", "--json").json["calls"] if one["subjectId"] == conversation
    ]


def test_the_credentials_are_refused(broken: Embedded, folder: Path) -> None:
    """The client's secret was renewed in Genesys Cloud, and nobody stored the new one."""
    secrets, arn = broken.client("secretsmanager"), "once/destination"
    stored = json.loads(secrets.get_secret_value(SecretId=arn)["SecretString"])
    broken.destination.client_secret = "renewed"
    broken.destination.expire_tokens()
    send(folder, "refused-1", "refused-2")
    said = status_says("2 events handed back: the Genesys login answered 401", "for a repair")
    assert "docs/runbook.md#setup-fault" in said
    page = Page("setup-fault")
    assert "the Genesys login answered 401" in page.follow("explain", "refused-1").out
    assert "aws secretsmanager put-secret-value" in Page("Rotate the secret").text
    renewed = json.dumps({**stored, "clientSecret": "renewed"})
    secrets.put_secret_value(SecretId=arn, SecretString=renewed)
    all_is_well()
    explain_says("refused-1", "customer arrives — acted once\n")


def test_it_refuses_events_for_good(folder: Path) -> None:
    once("destination", "422")
    send(folder, "unfit-1", "unfit-2", "unfit-3")
    said = status_says("Parked, since unreadable, refused for good or given up: 3 events")
    assert "→ once parked list, docs/runbook.md#events-parked" in said
    explain_says("unfit-1", "parked: the destination refused it for good", "answered 422")
    page = Page("events-parked")
    listed = page.follow("parked", "list").out
    assert "3  REJECTED: HTTP 422, conversation.customer.start from tests" in listed
    assert "the destination answered 422" in listed
    once("destination", "ok")
    answer = page.follow("parked", "replay", says="y\n")
    assert "3 REJECTED: the destination refused it for good" in answer.err
    assert "3 replayed." in answer.out
    all_is_well()
    explain_says("unfit-1", "customer arrives — acted once\n")


def test_it_limits_calls(folder: Path) -> None:
    once("destination", "429")
    send(folder, "limited-1", "limited-2")
    said = status_says("the destination answered 429", "the next call at", "for the destination")
    assert "docs/runbook.md#the-destination-answers-429" in said
    page = Page("The destination answers 429")
    said = page.follow("explain", "limited-1").out
    assert "the destination answered 429" in said
    assert "asked to wait 5 s" in said
    once("destination", "ok")
    all_is_well()
    said = page.follow("explain", "limited-1").out
    assert "acted once\n" in said
    assert "what it refused did not act" in said


def test_it_is_down_and_comes_back(folder: Path) -> None:
    once("destination", "down")
    send(folder, *(f"down-{number}" for number in range(24)))
    said = status_says(
        "Breaker OPEN: no call was answered since", "one probes at", "for the breaker"
    )
    assert "docs/runbook.md#breaker-open" in said
    page = Page("breaker-open")
    first = once("received", "--json").json["calls"][-1]["subjectId"]
    wait_for(lambda: page.follow("explain", first), "broke before its answer", code=0)
    once("destination", "ok")
    all_is_well()
    said = page.follow("explain", first).out
    assert "customer arrives — acted; asked" in said
    assert "may have acted" in said, "nobody can tell a call without an answer from one that acted"


def test_it_hangs(folder: Path) -> None:
    once("destination", "hanging")
    send(folder, *(f"hangs-{number}" for number in range(4)))
    said = status_says(
        "conversation.customer.start fails",
        "the destination did not answer within 2.0 s",
        "so it may be an outage",
    )
    assert "others act" not in said
    assert "docs/runbook.md#data-action-failing" in said
    page = Page("data-action-failing")
    assert "did not answer within 2.0 s" in page.follow("explain", "hangs-0").out
    once("destination", "ok")
    all_is_well()
    assert "acted; asked" in page.follow("explain", "hangs-0").out


def test_one_event_fails_while_others_act(broken: Embedded, folder: Path) -> None:
    broken.destination.script.add(
        {"match": {"conversationId": "poison"}, "replies": [502], "then": 502}
    )
    send(folder, "poison")
    seen = set()
    end = time.monotonic() + PATIENCE_SECONDS
    while "Parked" not in (said := once("status").out):
        assert time.monotonic() < end, said
        seen |= {line for line in said.splitlines() if line.startswith("! ")}
        send(folder, f"good-{time.monotonic_ns()}")
    assert any(
        re.search(
            r"conversation\.customer\.start fails, 1 event, 2 tries: .*502.*; others act", one
        )
        for one in seen
    ), seen
    page = Page("events-given-up")
    listed = page.follow("parked", "list").out
    assert "1  GAVE_UP: HTTP 502, conversation.customer.start from tests" in listed
    assert "3 tries; last called on" in listed
    explain_says(
        "poison", "parked: given up after 3 tries (MaxTries), while", "its last try, 3 of 3"
    )
    shown = page.follow("parked", "show", "poison").out
    assert "502" in shown.splitlines()[1]
    broken.destination.script = Script()  # what it failed on is repaired
    assert "1 replayed." in page.follow("parked", "replay", "--reason", "GAVE_UP", says="y\n").out
    all_is_well()
    asked = len(calls("poison"))
    assert asked > 6, "three tries of two calls, and the one that acted"
    explain_says("poison", f"acted; asked {asked} times, and may have acted more than once")


def test_what_arrives_is_not_json(folder: Path) -> None:
    path = folder / "events.jsonl"
    path.write_text('{"truncated": \nno event\n')
    assert "Not JSON, so they will be parked: 2" in once("send", str(path), "--yes").out
    status_says("Parked, since unreadable, refused for good or given up: 2 events")
    page = Page("events-parked")
    listed = page.follow("parked", "list", "--json").json
    assert {one["reason"] for one in listed["groups"]} == {"NOT_JSON"}
    ids = [one["messageId"] for one in listed["parked"]]
    assert '"raw": ' in page.follow("parked", "show", ids[0]).out
    explain_says(ids[0], "messages that hold no event", "parked: its text is not JSON")
    answer = page.follow("parked", "drop", *ids, says="y\n")
    assert "2 NOT_JSON: its text is not JSON" in answer.err
    assert "2 dropped." in answer.out
    all_is_well()
    for message_id in ids:
        explain_says(message_id, "messages that hold no event", "parked: its text is not JSON")
    assert once("parked", "show", ids[0]).code == 1, "nothing of it lies there"


def test_lambda_does_not_run_the_function(broken: Embedded, folder: Path) -> None:
    functions, name = broken.client("lambda"), broken.outputs["DataActionFunctionName"]
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        send(folder, "throttled")
        said = status_says("THROTTLED: Lambda refused to run the call's function: too many at once")
        assert "docs/runbook.md#calls-are-throttled" in said
        explain_says("throttled", "not settled yet: Lambda refused to run the call's function")
    finally:
        page = Page("Calls are throttled")
        assert "aws lambda delete-function-concurrency" in page.text
        functions.delete_function_concurrency(FunctionName=name)
    all_is_well()
    assert calls("throttled")[0]["acted"]
    explain_says("throttled", "customer arrives — acted once\n")


def processed() -> int:
    counted = re.search(r"messages settled in the last hour: .*?([\d,]+) PROCESSED", all_is_well())
    return int(counted[1].replace(",", "")) if counted else 0


def test_somebody_forgot_an_event_on_purpose(folder: Path) -> None:
    before = processed()
    send(folder, "again")
    explain_says("again", "acted once")
    page = Page("A customer got two, or none")
    key = re.search(
        r"^ +(\S+/conversation/again/\S+)", page.follow("explain", "again", "--verbose").out, re.M
    )
    assert key
    answer = page.follow("forget", key[1], says="y\n")
    assert "PROCESSED" in answer.err
    explain_says("again", "acted once, then forgotten on purpose on ", "its next copy acts again")
    assert processed() == before + 1, "what is forgotten waits for nobody"
    send(folder, "again")
    said = explain_says("again", "acted twice; somebody opened it on purpose on ")
    one, other = (call["idempotencyKey"] for call in calls("again"))
    assert other.startswith(f"{one}.")
    acts = [line for line in said.splitlines() if "1 call answered 200, Idempotency-Key " in line]
    assert [re.match(r"[\d: -]+", line) is not None for line in acts] == [True, True]
    assert "(once forget): it acted again, as a new one" in said
    assert processed() == before + 2
    assert page.follow("explain", other).out == page.follow("explain", one).out
