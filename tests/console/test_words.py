"""The pages use the right words; reading them needs no stack."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from once.console.app import _because, _Pages
from once.operate.status import read_status
from tests.operate.deployed import NOW_MS, breaker_row, deployed, returned


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        ("NOT_JSON", "The text is not JSON", "The text is not JSON"),
        ("REJECTED", "HTTP 422", "the destination permanently rejected it: HTTP 422"),
        ("REJECTED", None, "the destination permanently rejected it"),
        # A reason that no version here knows, in one word: there is nothing to say twice.
        ("STRANGE", "nobody knows it", "strange: nobody knows it"),
    ],
)
def test_a_detail_that_says_the_reason_stands_alone_and_any_other_follows_it(
    reason: str, detail: str | None, said: str
) -> None:
    assert _because(reason, detail) == said


def strip(row: dict[str, Any] | None = None) -> str:
    """The text of its figures, without the findings below them, which say much of it again."""
    stack = deployed(None, returned("m1", "BREAKER_OPEN"), row=row)
    feed: Any = SimpleNamespace(
        status=read_status(stack, NOW_MS),
        trouble="",
        status_as_of_ms=NOW_MS,
        find_durations=lambda: (40, 90),
    )
    figures, _, _ = _Pages(stack, feed, write=True)._strip().partition("</dl>")
    return " ".join(re.sub("<[^>]*>", " ", figures).split())


@pytest.mark.parametrize(
    ("row", "wait", "requests"),
    [
        (
            {"not_before": NOW_MS + 60_000, "held": "the CRM is repaired", "held_by": "ada"},
            "until the pause ends",
            "resume… paused ends at 17:41:00 the CRM is repaired (ada)",
        ),
        (
            {"open_until": NOW_MS + 60_000},
            "until a request succeeds",
            "pause… OPEN next probe at 17:41:00",
        ),
    ],
)
def test_the_figures_name_cause_and_end_of_a_pause_in_requests(
    row: dict[str, Any], wait: str, requests: str
) -> None:
    shown = strip(breaker_row(**row))
    assert f"Wait 1 {wait} Parked" in shown
    assert f"Requests {requests}" in shown


def test_a_healthy_stack_shows_how_fast_its_destination_responds() -> None:
    assert "Requests pause… flow median 40 ms, p95 90 ms" in strip()
