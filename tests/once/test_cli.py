"""If `once run` cannot run, it prints one message with what to do, and starts nothing."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.local import aws

EVENT = '{"detail-type": "x", "detail": {"conversationId": "c", "status": "on_hold"}}\n'


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(EVENT)
    return path


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("it should have refused before it started anything")

    monkeypatch.setattr(aws.Emulator, "start", start)


def refusal(*arguments: str | Path, command: str = "run") -> str:
    result = CliRunner().invoke(app, [command, *map(str, arguments)])
    assert result.exit_code != 0
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


def test_a_missing_file(tmp_path: Path) -> None:
    said = refusal(tmp_path / "nowhere.jsonl")
    assert "nowhere.jsonl" in said
    assert "no such file" in said
    assert "once example > events.jsonl" in said


def test_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    assert "Is a directory" in refusal(tmp_path)


def test_a_report_into_a_folder_that_is_not_there(events: Path, tmp_path: Path) -> None:
    said = refusal(events, "--report", tmp_path / "missing" / "report.json")
    assert "its folder does not exist" in said


def test_a_report_to_a_place_that_cannot_be_written(events: Path, tmp_path: Path) -> None:
    assert "it is a folder, or not yours to write" in refusal(events, "--report", tmp_path)


def test_a_parameter_without_a_value(events: Path) -> None:
    assert "Parameter=Value" in refusal(events, "--set", "Timing")


def test_another_way_than_queue_or_bus(events: Path) -> None:
    assert "queue" in refusal(events, "--via", "pigeon")


def test_a_destination_script_that_is_not_there(events: Path, tmp_path: Path) -> None:
    assert "no such file" in refusal(events, "--destination", tmp_path / "none.json")


def test_a_destination_script_with_a_mistake(events: Path) -> None:
    events.with_suffix(".destination.json").write_text('{"rules": [{"replies": ["explode"]}]}')
    assert "no reply is called explode" in refusal(events)


def test_a_file_that_holds_no_json_at_all(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("# Notes\nnot an event\n")
    assert f"{notes} holds no event, but 2 times a text that is not JSON" in refusal(notes)


@pytest.mark.parametrize(
    "url",
    [
        "localhost:3000",
        "https://",
        "http://example.com/",
        "http://localhost/",
        "http://localhost:99999",
        "",
    ],
)
def test_an_address_to_forward_to_that_is_none(url: str) -> None:
    assert "http://localhost:3000/events" in refusal("--forward", url, command="dev")
