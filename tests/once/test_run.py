"""A run reports the outcome of each line, and its exit code says if all are settled."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from once.commands import run
from once.model.reasons import Outcome
from tests.commands.conftest import once
from tests.once.test_delivery import FakeStack, make_lines


class Answering(FakeStack):
    """Settles the first message, skips its copy, and leaves the others."""

    def took(self, message_id: str) -> None:
        if message_id == "a1":
            self.record(message_id, Outcome.PROCESSED, "ACTED", pk="o/conversation/a", sk="v2/x/1")
        if message_id == "a2":
            self.record(message_id, Outcome.DUPLICATE, "SAME_KEY", because="run#a1")


@pytest.fixture
def events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextmanager
    def fake(*_: Any, **__: Any) -> Iterator[Any]:
        yield SimpleNamespace(describe=Answering, destination=SimpleNamespace(log=[]))

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
    assert first["key"] == "o/conversation/a/v2/x/1"
    assert (second["reason"], second["becauseOfLine"]) == ("SAME_KEY", 1)


def test_run_that_leaves_an_event_unsettled_fails(events: Path) -> None:
    (line,) = make_lines("b1")
    events.write_text(events.read_text() + "\n" + line.text)
    assert once("run", str(events), "--patience", "1").code == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--report", "no/such/folder/report.json"], 1),
        (["--set", "MaxTries"], 2),
        (["--patience", "0"], 2),
    ],
    ids=str,
)
def test_run_refuses_options_before_it_starts(
    events: Path, options: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "local_stack", None)
    assert once("run", str(events), *options).code == code
