"""The destination of a stack that is up: broken and put right without a restart, and what it was
asked; and `once send --wait`, which says by its exit code whether all is settled."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import urllib3

from once.console.acts import ask
from once.errors import OnceError
from once.operate.destination import destination
from once.run.up import _whom_it_calls
from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.operate.conftest import Answer, once
from tests.operate.support import until, verdict


@pytest.fixture
def broken_meanwhile(operated: DeployedStack) -> Iterator[DeployedStack]:
    yield operated
    assert once("destination", "ok").code == 0


def sent(*events: dict[str, Any], wait: str = "60") -> Answer:
    Path("events.json").write_text(json.dumps(events, indent=2))
    return once("send", "events.json", "--wait", "--timeout", wait, "--json")


def calls(conversation: str) -> list[tuple[int | None, bool, bool]]:
    return [
        (call.get("status"), call["acted"], call["repeated"])
        for call in once("destination", "--json").json["calls"]
        if call.get("subjectId") == conversation
    ]


@pytest.mark.local
def test_a_destination_is_broken_and_repaired(broken_meanwhile: DeployedStack) -> None:  # noqa: ARG001
    assert once("destination", "422").code == 0
    answer = sent(customer_start("x-refused"))
    assert (answer.code, answer.json["outcomes"]) == (0, {"PARKED": 1})
    assert once("destination", "ok").code == 0
    answer = sent(customer_start("x-taken"), customer_start("x-taken"))
    assert (answer.code, answer.json["outcomes"]) == (0, {"PROCESSED": 1, "DUPLICATE": 1})
    assert calls("x-refused") == [(422, False, False)]
    assert calls("x-taken") == [(200, True, False)]
    said = once("destination").out
    assert "x-taken" in said
    once("parked", "drop", "x-refused", "--yes")


@pytest.mark.local
@pytest.mark.parametrize("state", ["down", "hanging", "429", "503", "lose"])
def test_an_event_unsettled_in_time_ends_with_3_and_its_reason(
    broken_meanwhile: DeployedStack,  # noqa: ARG001
    state: str,
) -> None:
    assert once("destination", state).code == 0
    assert once("destination", "--json").json["destination"] == state
    conversation = f"x-{state}"
    answer = sent(customer_start(conversation), wait="2")
    assert answer.code == 3
    assert sum(answer.json["unsettled"].values()) == 1
    until(lambda: calls(conversation))
    assert once("destination", "ok").code == 0
    assert once("destination", "--json").json["destination"] == "ok"
    until(lambda: (verdict(conversation) or "").startswith("acted"))


@pytest.mark.local
def test_a_state_that_no_destination_has_is_refused_with_those_there_are(
    operated: DeployedStack,  # noqa: ARG001
) -> None:
    states = ("broken", "lose"), ("broken", "ok, down, hanging, 429, or a status"), ("99", "to 599")
    for state, said in states:
        answer = once("destination", state)
        assert (answer.code, said in answer.err) == (1, True)


@pytest.mark.local
def test_how_the_destination_behaves_is_a_sentence_that_names_its_script(
    broken_meanwhile: DeployedStack,
) -> None:
    assert once("destination", "authentication").out.endswith(
        "The destination answers every event with: authentication.\n"
    )
    assert once("destination", "ok").out.endswith("The destination acts on every event.\n")
    broken_meanwhile.destination.script_file = Path("trouble.json")
    try:
        assert once("destination", "ok").out.endswith(
            "The destination answers as its script has it: trouble.json\n"
        )
    finally:
        broken_meanwhile.destination.script_file = None


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A stack whose destination answers these, one after the other."""

    def by(*replies: tuple[int, Any]) -> Any:
        answers = iter(replies)

        def request(*_: Any, **__: Any) -> urllib3.HTTPResponse:
            status, said = next(answers)
            return urllib3.HTTPResponse(json.dumps(said).encode(), status=status)

        monkeypatch.setattr(urllib3.PoolManager, "request", request)
        return SimpleNamespace(up=SimpleNamespace(genesys="http://destination", genesys_key=""))

    return by


def test_the_states_are_listed_only_where_a_state_was_refused(
    answered: Callable[..., Any],
) -> None:
    refusal = {"message": "broken is no reply."}
    with pytest.raises(OnceError, match=r"(?s)^broken is no reply\..*ok, down, hanging, 429, or a"):
        ask(answered((400, refusal)), destination, state="broken")
    nothing = {"message": "There is no such page."}
    for replies, state in ([(404, nothing)], None), ([(200, {}), (404, nothing)], "ok"):
        with pytest.raises(OnceError, match=r"^There is no such page\.$"):
            ask(answered(*replies), destination, state=state)


def test_a_destination_of_an_older_version_which_names_no_script_says_how_it_behaves(
    answered: Callable[..., Any],
) -> None:
    said = ask(answered((200, []), (200, {"reply": None})), destination, state=None).said
    assert said[0] == "The destination acts on every event."


@pytest.mark.local
def test_a_file_with_few_events_is_confirmed_before_it_is_sent(
    operated: DeployedStack,
) -> None:
    def parked() -> Any:
        return once("parked", "list", "--reason", "NOT_JSON", "--json").json["messages"]

    before = len(operated.destination.log), parked()
    event = json.dumps(customer_start("among-notes"))
    Path("notes.txt").write_text(f"not\nan\n{event}\n")
    answer = once("send", "notes.txt", says="n\n")
    assert answer.code == 1
    assert "2 of 3 are no events and will be parked." in answer.err
    assert "Nothing was changed" in answer.err
    assert (len(operated.destination.log), parked()) == before


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"ActionTarget": "genesys", "GenesysHost": "https://theirs"}, "https://theirs"),
        ({"ActionTarget": "webhook", "WebhookUrl": "https://ours/secret?k=v"}, "https://ours"),
        ({"ActionTarget": "none"}, "nobody (ActionTarget is none)"),
        ({"ActionTarget": "genesys", "ActionFunctionArn": "arn:x"}, "arn:x"),
    ],
)
def test_up_names_the_destination_that_is_used(parameters: dict[str, str], said: str) -> None:
    assert _whom_it_calls(parameters) == said
