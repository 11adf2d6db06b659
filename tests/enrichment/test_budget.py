"""A message that takes too much processor time, or breaks our code, is parked alone."""

import json
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from once_enrichment import budget, normalise
from once_enrichment.message import Message

from tests.enrichment.examples import conversation
from tests.enrichment.sending import element, elements, record

HOSTILE = "hostile"
_QUADRATIC = re.compile("(a|a)+b")


def in_python() -> None:
    while True:
        pass


def in_a_regular_expression() -> None:
    _QUADRATIC.match("a" * 60)


def where_errors_are_caught() -> None:
    while True:
        with suppress(Exception):
            in_python()


SLOW = {
    work.__name__: work for work in (in_python, in_a_regular_expression, where_errors_are_caught)
}


@pytest.fixture
def slow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that a hostile message never ends; the budget is short, for the test's sake."""
    work: Callable[[], None] = SLOW[request.param]
    usual = normalise.open_event

    def open_event(value: Any) -> Any:
        if value["detail"]["eventBody"]["participantId"] == HOSTILE:
            work()
        return usual(value)

    monkeypatch.setattr(normalise, "open_event", open_event)
    monkeypatch.setattr(budget, "SECONDS", 0.1)


@pytest.mark.parametrize("slow", SLOW, indirect=True)
@pytest.mark.usefixtures("slow")
def test_a_hostile_message_is_parked_and_its_neighbours_live() -> None:
    hostile = conversation("user.start", participantId=HOSTILE)
    good = conversation("user.start"), conversation("user.end")
    start = time.thread_time()
    answer = elements(
        record(good[0], "before"),
        record(hostile, "hostile-1"),
        record(hostile, "hostile-2"),
        record(good[1], "after"),
    )
    assert time.thread_time() - start < 1
    assert [one["kind"] for one in answer] == ["event", "parked", "parked", "event"]
    assert {one["reason"] for one in answer[1:3]} == {"TOO_SLOW"}
    assert all(HOSTILE in one["raw"] for one in answer[1:3])


def test_a_large_batch_of_good_messages_is_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is a message's, not the batch's."""
    monkeypatch.setattr(budget, "SECONDS", 0.02)
    batch = [record(conversation("user.start", sessionId=f"s{n}"), str(n)) for n in range(5_000)]
    assert {normalise.normalise(one)["kind"] for one in batch} == {"event"}


def test_afterwards_nothing_is_watched() -> None:
    element(conversation("user.start"))
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    for _ in range(10):
        signal.raise_signal(signal.SIGPROF)  # one that was on its way when the batch ended


def test_a_thread_of_ones_own_is_served_without_a_watch() -> None:
    """`once` calls the enrichment in a thread; Lambda calls its handler in the main thread."""
    found: list[Any] = []
    thread = Thread(target=lambda: found.extend(elements(record(conversation("user.start")))))
    thread.start()
    thread.join()
    assert [one["kind"] for one in found] == ["event"]


def test_a_message_at_which_our_code_breaks_is_parked_and_its_neighbours_live(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works = normalise._element

    def breaks(message: Message) -> dict[str, Any]:
        if message.delivery["messageId"] == "bad":
            raise ZeroDivisionError
        return works(message)

    monkeypatch.setattr(normalise, "_element", breaks)
    bad = conversation("user.end")
    before, parked, after = elements(
        record(conversation("user.start"), "before"),
        record(bad, "bad"),
        record(conversation("acw"), "after"),
    )
    assert (before["kind"], after["kind"]) == ("event", "event")
    assert (parked["kind"], parked["reason"], parked["messageId"]) == (
        "parked",
        "UNEXPECTED",
        "bad",
    )
    assert parked["detail"].startswith("ZeroDivisionError while normalising")
    assert json.loads(parked["raw"]) == bad
