"""Pins what `once resume` asks before it changes anything."""

import io
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from once.errors import OnceError
from once.operate import log
from once.operate.command import Operation
from once.operate.pause import resume
from tests.operate.deployed import NOW_MS, breaker_row, deployed, returned


@pytest.mark.parametrize(
    ("pipe", "row", "asked", "unsaid"),
    [
        ("STOPPED", None, "Start the pipe?", "breaker"),
        ("RUNNING", breaker_row(open_until=NOW_MS + 9_000), "Send requests again?", "pipe"),
        ("STOPPED", breaker_row(open_until=NOW_MS + 9_000), "Send requests again?", "at once"),
    ],
)
def test_resume_asks_only_about_what_it_changes(
    pipe: str,
    row: Mapping[str, Any] | None,
    asked: str,
    unsaid: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []

    def refuse(_: Operation, question: str, __: bool, facts: Iterable[str]) -> None:
        seen.extend([question, *facts])
        raise InterruptedError

    monkeypatch.setattr(log, "now_ms", lambda: NOW_MS)
    monkeypatch.setattr(Operation, "confirm", refuse)
    with pytest.raises(InterruptedError):
        resume(Operation(deployed(None, pipe=pipe, row=row), as_json=False))
    assert seen[0] == asked
    assert not any(unsaid in fact for fact in seen[1:])
    assert (pipe == "STOPPED") == any("The pipe is STOPPED" in fact for fact in seen)


def test_resume_says_how_long_events_still_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(log, "now_ms", lambda: NOW_MS)
    monkeypatch.setattr("once.operate.pause._let_requests_flow", lambda _: None)
    limited = [returned(f"m{number}", "RATE_LIMITED") for number in range(6)]
    resume(Operation(deployed(None, *limited), as_json=False))
    assert "6 events still wait, until 17:41:00 UTC at the latest" in capsys.readouterr().out


def test_a_question_without_a_terminal_ends_its_line_before_the_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(OnceError, match="--yes"):
        Operation(deployed(None), as_json=False).confirm("Start the pipe?", yes=False)
    assert capsys.readouterr().err.endswith("\n")
