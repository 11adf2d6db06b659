"""`once check` against a machine in memory, which does what is promised, or one thing else."""

import json
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from once_enrichment.handler import normalise

from once.model.rule import Event, Rows
from tests.commands.conftest import Answer, once
from tests.commands.fakes import NOW_MS, FakeStack


class Machine:
    """Settles each message immediately, as the claim rule and the canary's body say."""

    def __init__(self, stack: FakeStack) -> None:
        self.stack = stack
        self.rows = Rows()
        self.acts_on_copies = False
        self.parks = True
        self.took: list[dict[str, Any]] = []

    def __call__(self, message: dict[str, Any]) -> None:
        clock = self.stack.clock
        element = normalise({**message, "messageId": message["MessageId"], "body": message["Body"]})
        self.took.append({**message, "element": element})
        first = element["firstMessageId"]
        record = {"firstMessageId": first, "pk": element["key"]["pk"], "sk": element["key"]["sk"]}
        verdict = self.rows.settle(Event.of(element), clock.ms)
        body = {} if "broken" in element else json.loads(element["raw"])
        for step in element["bodyPath"]:
            body = body[step]
        outcome, reason = str(verdict.outcome), verdict.reason
        if outcome == "DUPLICATE" and self.acts_on_copies:
            outcome, reason = "PROCESSED", "OBSERVED"
        if outcome == "PROCESSED" and clock.ms < body.get("failUntilMs", 0):
            self._log(record, "RETRY", "CALL_FAILED", 1_000)
        if outcome == "PROCESSED" and clock.ms < body.get("refuseUntilMs", 0):
            outcome, reason = "PARKED", "REJECTED"
        if first != message["MessageId"]:  # it was replayed
            outcome, reason = "PROCESSED", "OBSERVED"
        if outcome == "PARKED" and self.parks:
            about = {"firstMessageId": first, "reason": reason, "parkedAtMs": clock.ms}
            parked = json.dumps({"once": about, "event": element["raw"]})
            self.stack.sqs.put("dead-letters", parked)
        self._log(record, outcome, reason, 0)

    def _log(self, record: dict[str, Any], outcome: str, reason: str, ago_ms: int) -> None:
        self.stack.logs.add(outcome, reason, ago_ms=ago_ms, **record)


@pytest.fixture
def machine(stack: FakeStack) -> Machine:
    made = Machine(stack)
    stack.sqs.machine = made

    def invoke(**request: Any) -> dict[str, Any]:
        (record,) = json.loads(request["Payload"])
        return {"Payload": BytesIO(json.dumps([normalise(record)]).encode())}

    missing = type("Missing", (Exception,), {})
    vars(stack)["lambda"] = SimpleNamespace(invoke=invoke)
    vars(stack)["events"] = SimpleNamespace(
        describe_rule=lambda **_: {"State": "ENABLED"},
        list_targets_by_rule=lambda **_: {"Targets": [{"Arn": "arn:aws:sqs:eu-west-1:1:events"}]},
        list_event_sources=lambda **_: {"EventSources": []},
        exceptions=SimpleNamespace(ResourceNotFoundException=missing),
    )
    return made


def read_checks(answer: Answer) -> dict[str, Any]:
    return {check["name"]: check["works"] for check in answer.json["checks"]}


def test_check_passes_on_a_stack_that_does_what_is_promised(
    machine: Machine, stack: FakeStack
) -> None:
    answer = once("check", "--story", "--yes", "--json")
    assert answer.code == 0
    assert False not in read_checks(answer).values()
    assert list(read_checks(answer).values()).count(True) == 8
    assert len(machine.took) > 58
    assert stack.sqs.queues["dead-letters"] == []
    canaries = [took for took in machine.took if "GenesysOnceCanary" in took["MessageAttributes"]]
    replays = [took for took in machine.took if took["element"].get("canary")]
    assert len(canaries) + len(replays) == len(machine.took), "a destination would see the others"


def test_check_finds_a_copy_that_is_acted_on(machine: Machine) -> None:
    machine.acts_on_copies = True
    answer = once("check", "--story", "--yes", "--json")
    assert answer.code == 3
    checks = read_checks(answer)
    assert checks["a copy meets its claim"] is False
    assert checks["the example story"] is False
    assert checks["an unreadable message is parked"] is True


def test_check_finds_a_parked_event_that_is_not_in_the_queue(machine: Machine) -> None:
    machine.parks = False
    answer = once("check", "--yes", "--json")
    assert answer.code == 3
    assert read_checks(answer)["a rejected event is parked, and a replay acts on it"] is False


def test_check_of_a_stack_that_records_nothing_sends_one_canary(
    machine: Machine, stack: FakeStack
) -> None:
    sent: list[Any] = []
    stack.sqs.machine = sent.append
    answer = once("check", "--yes", "--json")
    assert answer.code == 3
    assert len(sent) == 1
    assert machine.took == []


@pytest.mark.parametrize("answer", [[], {"errorType": "InvalidRoutesError", "errorMessage": "x"}])
def test_check_stops_at_an_enrichment_that_does_not_work(
    machine: Machine, stack: FakeStack, answer: Any
) -> None:
    error = {"FunctionError": "Unhandled"} if answer else {}
    response = {"Payload": BytesIO(json.dumps(answer).encode()), **error}
    vars(stack)["lambda"] = SimpleNamespace(invoke=lambda **_: response)
    checked = once("check", "--yes", "--json")
    assert checked.code == 3
    assert read_checks(checked)["enrichment"] is False
    assert machine.took == []


def test_check_ends_when_the_same_failure_has_come_twice(
    machine: Machine, stack: FakeStack
) -> None:
    def fail(message: dict[str, Any]) -> None:
        for ago_ms in (2_000, 1_000):
            record = {
                "firstMessageId": message["MessageId"],
                "errorClass": "Runtime.ImportModuleError",
            }
            stack.logs.add("RETRY", "FUNCTION_FAILED", ago_ms=ago_ms, **record)

    stack.sqs.machine = fail
    answer = once("check", "--yes", "--json")
    assert answer.code == 3
    assert machine.took == []
    assert stack.clock.ms - NOW_MS < 30_000
    (failed,) = [check for check in answer.json["checks"] if check["works"] is False]
    assert "the-function-fails" in failed["detail"]
    assert failed["detail"].count("RETRY") == 1


def test_check_names_the_remedy_of_an_enrichment_that_is_throttled(
    machine: Machine, stack: FakeStack
) -> None:
    def refuse(**_: Any) -> None:
        error = {"Code": "TooManyRequestsException", "Message": "Rate Exceeded."}
        raise ClientError({"Error": error}, "Invoke")

    vars(stack)["lambda"] = SimpleNamespace(invoke=refuse)
    (check,) = [c for c in once("check", "--yes", "--json").json["checks"] if c["works"] is False]
    assert "requests-are-throttled" in check["detail"]
    assert "get-function-concurrency --function-name enrichment" in check["detail"]
    assert machine.took == []


def test_check_sends_nothing_while_requests_are_paused(machine: Machine, stack: FakeStack) -> None:
    stack.pause(held="repair", held_by="ada", held_at=NOW_MS, not_before=NOW_MS + 60_000)
    assert once("check", "--yes").code == 1
    assert machine.took == []


def test_check_look_sends_nothing_and_finds_a_rule_that_is_off(
    machine: Machine, stack: FakeStack
) -> None:
    assert once("check", "--look").code == 0
    stack.events.describe_rule = lambda **_: {"State": "DISABLED"}  # type: ignore[attr-defined]
    answer = once("check", "--look", "--json")
    assert (answer.code, read_checks(answer)["rule"]) == (3, False)
    stack.pipes.state = "STOPPED"
    answer = once("check", "--look", "--json")
    assert (answer.code, read_checks(answer)["pipe"]) == (3, False)
    assert machine.took == []
