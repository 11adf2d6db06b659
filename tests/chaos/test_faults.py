"""Faults: the file that names them, the draws that decide on them, and what they do to a pipe."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from once.genesys.script import Script
from once.genesys.server import Received
from once.lines import Line
from once.outcomes import Outcome
from once.run.report import ActionReport, Key, LineReport
from proof.chaos.effects import faults_report
from proof.chaos.faults import Draws, Fault, Faults, arrange
from proof.chaos.faulty_pipe import FaultyPipe
from proof.chaos.faulty_server import invocation
from proof.chaos.play import CHAOS
from tests.once.pipes import FakeAws, message, succeeded

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples"


def test_the_chaos_has_every_fault_there_is() -> None:
    chances = Faults.read(CHAOS).chances
    assert set(chances) == set(get_args(Fault))
    assert all(0 < chance < 1 for chance in chances.values()), chances


def thrown(draws: Draws, places: list[str]) -> dict[str, list[float | None]]:
    rolled: dict[str, list[float | None]] = {}
    for place in places:
        rolled.setdefault(place, []).append(draws.draw("table.throttled", place))
    return rolled


def test_the_same_seed_throws_the_same_whoever_asks_first() -> None:
    faults = Faults(seed=7, chances={"table.throttled": 0.3})
    places = [str(number % 50) for number in range(500)]
    first = thrown(Draws(faults), places)
    assert first == thrown(Draws(faults), sorted(places))
    assert first != thrown(Draws(Faults(seed=8, chances=faults.chances)), places)


def test_a_fault_happens_as_often_as_its_chance_says() -> None:
    draws = Draws(Faults(chances={"table.throttled": 0.2}))
    for number in range(5000):
        draws.draw("table.throttled", str(number), about=[str(number)])
        draws.draw("table.answer_lost", str(number))
    assert {one.fault for one in draws.happened} == {"table.throttled"}
    assert 900 < len(draws.happened) < 1100


def test_lines_are_sent_twice_and_overtaken_but_never_dropped() -> None:
    lines = [Line(number, str(number)) for number in range(200)]
    draws = Draws(Faults(chances={"sending.sent_twice": 0.1, "sending.overtaken": 0.3}))
    sent = arrange(lines, draws)
    faults = Counter(one.fault for one in draws.happened)
    assert set(sent) == set(lines)
    assert len(sent) == len(lines) + faults["sending.sent_twice"] > len(lines)
    assert sent != sorted(sent, key=lambda line: line.number)
    assert arrange(lines, Draws(draws.faults)) == sent


def deliver(chances: Mapping[Fault, float], count: int = 1, executions: int = 1) -> FakeAws:
    """Messages, each with a body of its own, through a faulty pipe until so much was executed."""
    aws = FakeAws()
    executed = threading.Semaphore(0)

    def execute(_: str) -> dict[str, Any]:
        executed.release()
        return succeeded({"batchItemFailures": []})

    aws.enrich = lambda records: [{"messageId": r["messageId"]} for r in records]
    aws.execute = execute
    aws.waiting = [message(number, str(number)) for number in range(count)]
    with FaultyPipe(aws.client, "pipe", Draws(Faults(chances=chances))):
        for _ in range(executions):
            assert executed.acquire(timeout=10)
    return aws


def test_a_message_delivered_twice_goes_through_two_executions() -> None:
    aws = deliver({"pipe.delivered_twice": 1}, executions=2)
    assert [json.loads(given)[0]["messageId"] for given in aws.executions] == ["m0", "m0"]
    assert aws.deleted == ["r0", "r0"]


def test_when_the_answer_is_lost_the_execution_ran_and_nothing_is_deleted() -> None:
    aws = deliver({"pipe.answer_lost": 1})
    assert len(aws.executions) == 1
    assert aws.deleted == []


def test_a_lost_delete_leaves_that_message() -> None:
    aws = deliver({"pipe.delete_lost": 0.5}, count=40, executions=4)
    assert 0 < len(aws.deleted) < 40


def replies(chances: Mapping[Fault, float], keys: list[str]) -> dict[str, list[int | str]]:
    script = Script(rules=Faults(chances=chances).rules())
    answers: dict[str, list[int | str]] = {}
    for key in keys:
        reply = script.next_reply("execute", {"idempotencyKey": key})
        said: Any = "ok" if reply is None else reply.answer
        answers.setdefault(key, []).append(reply.status if reply and said == "send" else said)
    return answers


def test_the_destination_refuses_an_event_each_time_and_fails_now_and_then() -> None:
    keys = [f"{number % 300:064x}" for number in range(1200)]
    chances: dict[Fault, float] = {
        "destination.refused": 0.1,
        "destination.failing": 0.1,
        "destination.silent": 0.1,
    }
    answers = replies(chances, keys)
    refused = [said for said in answers.values() if 422 in said]
    assert 10 < len(refused) < 60
    assert all(said == [422] * 4 for said in refused)
    assert {said for one in answers.values() for said in one} == {"ok", 422, 500, "none"}
    assert answers == replies(chances, sorted(keys))


def request(key: str, status: int | None, *, acted: bool, answer: str = "send") -> Received:
    answer = "reset" if status is None and answer == "send" else answer
    facts = {"idempotencyKey": key}
    return Received(1, "execute", facts, {}, {}, b"", status, acted, answer=answer)


def effects(*requests: Received, killed: str = "") -> list[list[str]]:
    draws = Draws(Faults(chances={"execution.killed": 1 if killed else 0}))
    draws.draw("execution.killed", about=[killed])
    keys = dict.fromkeys(one.facts["idempotencyKey"] for one in requests)
    actions = [ActionReport(idempotency_key=k, line=1, calls=2, effects=1) for k in keys]
    return [act.because for act in faults_report(draws, requests, actions, [], []).repeated_acts]


def test_a_repeated_act_names_the_fault_that_hid_the_first() -> None:
    lost, kept = request("k", None, acted=True), request("k", 200, acted=True)
    assert effects(lost, kept) == [["destination.answer_lost"]]
    assert effects(kept, kept, killed="k") == [["execution.killed"]]
    windowed = request("k.17", 200, acted=True)
    assert effects(windowed, windowed, killed="k") == [["execution.killed"]]


def test_a_repeated_act_that_no_fault_hid_has_no_excuse() -> None:
    kept = request("k", 200, acted=True)
    assert effects(kept, kept, killed="another") == [[]]
    assert effects(kept, request("k", 500, acted=False)) == []


def unsettled(state: str, count: int, fault: Fault) -> int:
    draws = Draws(Faults(chances={fault: 1}))
    for _ in range(count):
        draws.draw(fault, about=["k"], state=state)
    return faults_report(draws, [], [], [], []).unsettled.get("k", 0)


def test_a_fault_may_hide_that_a_state_was_settled() -> None:
    assert unsettled("ClaimKey", 2, "table.answer_lost") == 2
    assert unsettled("AdvanceLatest", 1, "table.answer_lost") == 1
    assert unsettled("Processed", 1, "table.answer_lost") == 0
    assert unsettled("CloseClaim", 2, "table.throttled") == 0
    assert unsettled("CloseClaim", 3, "table.throttled") == 1
    lost = request("k.17", None, acted=True)
    assert faults_report(Draws(Faults()), [lost], [], [], []).unsettled == {"k": 1}


def test_one_fault_hides_one_act() -> None:
    lost, kept = request("k", None, acted=True), request("k", 200, acted=True)
    assert effects(lost, kept, kept) == [[]]
    assert effects(lost, lost, kept) == [["destination.answer_lost"]]
    assert effects(lost, kept, kept, killed="k") == [
        ["destination.answer_lost", "execution.killed"]
    ]


def test_what_the_destination_did_is_counted_with_the_rest() -> None:
    requests = [
        request("a.17", 429, acted=False),
        request("b", 500, acted=False),
        request("c", 422, acted=False),
        request("d", None, acted=False),
        request("e", None, acted=False, answer="none"),
        request("f", None, acted=True),
        request("g", 200, acted=True),
    ]
    report = faults_report(Draws(Faults()), requests, [], [], [])
    names = ("answer_lost", "failing", "hung_up", "rate_limited", "refused", "silent")
    assert report.happened == {f"destination.{name}": 1 for name in names}


def test_what_ended_without_an_act_names_what_met_its_event() -> None:
    draws = Draws(Faults(chances={"table.throttled": 1}))
    key = Key(pk="p", sk="s")
    draws.draw("table.throttled", about=[hashlib.sha256(b"p\ns").hexdigest()])
    line = LineReport(line=3, outcome=Outcome.RETRY, key=key, reason="HELD", via="queue")
    report = faults_report(draws, [], [], [line], [line])
    for ended in (report.dead_letters, report.given_up):
        assert [(one.line, one.reason, one.met) for one in ended] == [
            (3, "HELD", {"table.throttled": 1})
        ]


@pytest.mark.parametrize("ask", ["begin", "end"])
def test_a_call_of_pacing_is_about_the_messages_that_it_names(ask: str) -> None:
    """Read wrongly, it would be a call that fails each time, in a run that still ends."""
    asked = json.loads((EXAMPLES / f"pace-{ask}.json").read_text())
    section, place, about = invocation(asked)
    assert section == "pacing"
    assert about[:2] == ["b0c1", "b0c2"]
    assert "None" not in place
    assert not any(name in place for name in about)
