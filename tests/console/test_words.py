"""What the pages say in words of their own: no stack is needed to read them."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from once.console.app import Console, _because, _Pages
from once.operate.pace import Breaker, State
from once.operate.status import QUEUES, Queue, Status
from once.operate.waiting import Waits
from once.outcomes import Outcome

NOW_MS = 1_795_000_100_000  # 2026-11-18 11:08:20


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        ("NOT_JSON", "The text is not JSON", "The text is not JSON"),
        ("REJECTED", "HTTP 422", "the destination refused it for good: HTTP 422"),
        ("REJECTED", None, "the destination refused it for good"),
        # A reason that no version here knows, in one word: there is nothing to say twice.
        ("STRANGE", "nobody knows it", "strange: nobody knows it"),
    ],
)
def test_a_detail_that_says_the_reason_stands_alone_and_any_other_follows_it(
    reason: str, detail: str | None, said: str
) -> None:
    assert _because(reason, detail) == said


def strip(breaker: Breaker) -> str:
    """The text of its figures, without the findings below them, which say much of it again."""
    waits = Waits(
        reason="BREAKER_OPEN",
        awaits="a person",
        events=3,
        first_returns_at_ms=NOW_MS,
        last_returns_at_ms=NOW_MS,
        said="",
        example="",
    )
    empty = {"visible": 0, "inFlight": 3, "delayed": 0, "oldestSeconds": None}
    found = Status(
        queues=[Queue.model_validate({"name": name, **empty}) for name in QUEUES],
        last_arrival_ms=None,
        arrivals=[],
        outcomes=dict.fromkeys(Outcome, 0),
        complete=True,
        hidden=3,
        waiting=[waits],
        failing=[],
        asked_again=None,
        pipe="RUNNING",
        pipe_reason=None,
        machine="ACTIVE",
        embedded=True,
        only_observes=False,
        breaker=breaker,
        limit=None,
        alarms=[],
        findings=[],
    )
    feed: Any = SimpleNamespace(status=found, trouble="")
    stack: Any = SimpleNamespace(embedded=True)
    figures, _, _ = _Pages(Console(stack, feed, write=True))._strip().partition("</dl>")
    return " ".join(re.sub("<[^>]*>", " ", figures).split())


@pytest.mark.parametrize(
    ("breaker", "wait", "calls"),
    [
        (
            Breaker(state=State.OPEN, held="the CRM is repaired", until_ms=NOW_MS + 60_000),
            "handed back, until the hold ends",
            "resume… held ends at 11:09:20 the CRM is repaired",
        ),
        (
            Breaker(state=State.HALF_OPEN, hold_ended=True),
            "handed back, until a call is answered",
            "hold… HALF_OPEN the hold has ended, the next event probes",
        ),
    ],
)
def test_the_figures_say_why_calls_are_held_until_when_and_what_ends_the_waiting(
    breaker: Breaker, wait: str, calls: str
) -> None:
    said = strip(breaker)
    assert f"Wait 3 {wait} Parked" in said
    assert f"Calls {calls} Last arrival" in said
