"""`once normalise`: exactly one line out for each event in."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.elements import Element
from pydantic import TypeAdapter
from typer.testing import CliRunner

from once.cli import app
from once.normalise import normalise_all
from tests.enrichment.examples import conversation
from tests.enrichment.sending import element, record

EVENT = conversation("user.start")


def normalised(folder: Path, *values: Any) -> list[dict[str, Any]]:
    path = folder / "events.jsonl"
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    answer = CliRunner().invoke(app, ["normalise", str(path)])
    assert answer.exit_code == 0, answer.output
    return [json.loads(line) for line in answer.stdout.splitlines()]


@given(st.lists(st.text(), max_size=5))
def test_every_record_gives_an_element_on_one_line(bodies: list[str]) -> None:
    records = [{"messageId": "-", "body": body, "attributes": {}} for body in bodies]
    answer = list(normalise_all(records))
    assert len(answer) == len(bodies)
    for line in answer:
        assert "\n" not in line
        TypeAdapter(Element).validate_python(json.loads(line))


def test_an_event_and_an_sqs_record_become_what_the_enrichment_answers(tmp_path: Path) -> None:
    received = {"MessageId": "m", "Body": json.dumps(EVENT), "Attributes": {"SentTimestamp": "1"}}
    bare, whole, capital = normalised(tmp_path, EVENT, record(EVENT), received)
    assert whole == element(EVENT)
    nothing = {"messageId": "line-1", "receiptHandle": "", "receives": 0, "sentAtMs": 0}
    assert bare == {**whole, **nothing}
    assert capital["messageId"] == "m"


def test_copies_on_two_lines_are_two_elements(tmp_path: Path) -> None:
    one, two = normalised(tmp_path, EVENT, EVENT)
    assert one["key"] == two["key"]
    assert one["kind"] == two["kind"] == "event"


def test_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    text = f"{json.dumps(EVENT)}\n\nnot json\u2028at all\r\n"
    (tmp_path / "events.jsonl").write_text(text, "utf-8", newline="")
    by_file = CliRunner().invoke(app, ["normalise", str(tmp_path / "events.jsonl")])
    by_stdin = CliRunner().invoke(app, ["normalise", "-"], input=text)
    assert by_file.exit_code == by_stdin.exit_code == 0
    assert by_file.stdout == by_stdin.stdout
    kinds = [json.loads(line)["kind"] for line in by_file.stdout.splitlines()]
    assert kinds == ["event", "parked"]


def test_bytes_that_are_no_utf_8_still_make_a_line(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"\xff\xff\n{}\n")
    answer = CliRunner().invoke(app, ["normalise", str(tmp_path / "bad")])
    assert len(answer.stdout.splitlines()) == 2


def test_a_large_event_shows_where_its_body_would_be(tmp_path: Path) -> None:
    (large,) = normalised(tmp_path, conversation("attributes", attributes={"a": "x" * 300_000}))
    assert large["bodyRef"]["key"].endswith("/line-1.json")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_document_and_an_array_are_read_as_what_they_are(
    tmp_path: Path, indent: int | None, mark: str
) -> None:
    path = tmp_path / "events.json"
    for document, count in ((EVENT, 1), ([EVENT, EVENT], 2)):
        text = mark + json.dumps(document, indent=indent)
        path.write_text(text, "utf-8")
        by_file = CliRunner().invoke(app, ["normalise", str(path)])
        by_stdin = CliRunner().invoke(app, ["normalise"], input=text)
        assert by_file.stdout == by_stdin.stdout
        elements = [json.loads(line) for line in by_file.stdout.splitlines()]
        assert [one["kind"] for one in elements] == ["event"] * count


def test_a_reader_of_the_first_line_alone_gets_no_error(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(f"{json.dumps(EVENT)}\n" * 500)
    command = shlex.join([sys.executable, "-m", "once.cli", "normalise", str(path)])
    answer = subprocess.run(
        ["bash", "-c", f"{command} | head -1"], capture_output=True, text=True, check=True
    )
    assert json.loads(answer.stdout)["kind"] == "event"
    assert answer.stderr == ""


def test_what_would_steer_the_terminal_is_written_as_json_does() -> None:
    hostile = conversation("user.start", note="\x1b[2J\x9b\u202e\x7f")
    text = json.dumps(hostile, ensure_ascii=False)
    (line,) = normalise_all([{"messageId": "-", "body": text, "attributes": {}}])
    assert line.isprintable()
    assert json.loads(line)["body"]["note"] == "\x1b[2J\x9b\u202e\x7f"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["normalise", str(tmp_path / "missing.jsonl")])
    assert answer.exit_code == 1
    assert "Give a file of events" in answer.stderr


def test_note_says_what_genesys_sent_otherwise() -> None:
    (line,) = normalise_all([record(conversation("user.start", sessionId=None))])
    assert json.loads(line)["note"] == "missing sessionId: the whole body is the identity"
