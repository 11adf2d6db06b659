"""A run reports the outcome of each line, and its exit code says if all are settled."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from once.commands import run
from tests.commands.conftest import once
from tests.commands.fakes import KEY, Clock, FakeStack
from tests.once.test_delivery import make_lines, read_sent, settle


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of two lines on a stack that settles the first, skips its copy, and leaves others."""
    clock = Clock()
    clock.replace_time(monkeypatch)
    stack = FakeStack(clock, None)

    def take(message: dict[str, Any]) -> None:
        name = json.loads(message["Body"])["id"]
        if name == "a1":
            settle(stack, name)
        if name == "a2":
            met = f"run#{read_sent(stack)['a1']}"
            settle(stack, name, outcome="DUPLICATE", reason="SAME_KEY", because=met)

    @contextmanager
    def fake(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(describe=lambda: stack, destination=SimpleNamespace(log=[]))

    stack.sqs.machine = take
    monkeypatch.setattr(run, "local_stack", fake)
    monkeypatch.setattr(run.Stack, "at", lambda stack: stack)
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join(line.text for line in make_lines("a1", "a2")))
    return path


def test_run_in_which_all_is_settled_ends_well_and_writes_its_report(events: Path) -> None:
    report = events.with_name("report.json")
    answer = once("run", str(events), "--report", str(report))
    assert answer.code == 0
    written = json.loads(report.read_text())
    assert written["outcomes"] == {"PROCESSED": 1, "DUPLICATE": 1}
    first, second = written["events"]
    assert first["key"] == KEY
    assert (second["reason"], second["becauseOfLine"]) == ("SAME_KEY", 1)


def test_run_that_leaves_an_event_unsettled_fails(events: Path) -> None:
    (line,) = make_lines("b1")
    events.write_text(events.read_text() + "\n" + line.text)
    assert once("run", str(events)).code == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--report", "no/such/folder/report.json"], 1),
        (["--set", "MaxTries"], 2),
    ],
    ids=str,
)
def test_run_refuses_options_before_it_starts(
    events: Path, options: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "local_stack", None)
    assert once("run", str(events), *options).code == code
