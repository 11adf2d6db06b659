"""A run reports its events, prints a summary, and ends with the right exit code."""

import json
from collections import Counter
from pathlib import Path

import pytest
from once.outcomes import Outcome
from once.run.report import ActionReport, Key, LineReport, Report
from typer.testing import CliRunner

from once.cli import app
from once.genesys.server import GenesysServer

KEY = Key(pk="org/conversation/c", sk="v1/conversation.acw/p/s/1")


def report(*outcomes: Outcome) -> Report:
    events = [
        LineReport(line=n, outcome=o, key=KEY, reason="SAME_KEY", via="queue", because_of_line=1)
        for n, o in enumerate(outcomes, 1)
    ]
    return Report(
        received=len(events),
        outcomes=dict(Counter(outcomes)),
        events=events,
        actions=[ActionReport(idempotency_key="0" * 64, line=1, calls=2, effects=1)],
        seconds=1.5,
    )


def run(monkeypatch: pytest.MonkeyPatch, result: Report, *options: str) -> tuple[int, str]:
    monkeypatch.setattr("once.run.command.run_events", lambda *_: (result, GenesysServer()))
    answer = CliRunner().invoke(app, ["run", "events.jsonl", *options])
    return answer.exit_code, " ".join(answer.output.split())


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GenesysServer, "__init__", lambda self: setattr(self, "log", []))


def test_a_run_in_which_all_is_settled_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    settled = report(Outcome.PROCESSED, Outcome.DUPLICATE, Outcome.STALE, Outcome.PARKED)
    code, said = run(monkeypatch, settled)
    assert code == 0
    assert (
        "All 4 messages are accounted for: 1 acted on, each once, 1 skipped as copies, "
        "1 skipped as stale, 1 parked for a person." in said
    )
    assert "a copy of a settled event: line 1" in said


def test_a_run_that_leaves_an_event_unsettled_ends_with_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unsettled = report(Outcome.PROCESSED, Outcome.RETRY, Outcome.RETRY)
    code, said = run(monkeypatch, unsettled)
    assert code == 1
    assert "2 of 3 messages were not settled." in said


def test_what_always_failed_alone_is_said_how_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    unsettled = report(Outcome.PROCESSED, Outcome.RETRY)
    assert "MaxTries" not in run(monkeypatch, unsettled)[1]
    failed = unsettled.events[1].model_copy(update={"reason": "CALL_FAILED"})
    unsettled = unsettled.model_copy(update={"events": [unsettled.events[0], failed]})
    assert "send more lines, or use --set MaxTries=1." in run(monkeypatch, unsettled)[1]


def test_the_report_has_the_names_that_were_promised(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    run(monkeypatch, report(Outcome.PROCESSED), "--report", str(file))
    assert json.loads(file.read_text()) == {
        "received": 1,
        "outcomes": {"PROCESSED": 1},
        "events": [
            {
                "line": 1,
                "outcome": "PROCESSED",
                "key": {"pk": KEY.pk, "sk": KEY.sk},
                "reason": "SAME_KEY",
                "via": "queue",
                "becauseOfLine": 1,
            }
        ],
        "actions": [{"idempotencyKey": "0" * 64, "line": 1, "calls": 2, "effects": 1}],
        "seconds": 1.5,
    }
