"""Reading an EVENTS file, and what of it a bus can carry."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from once.errors import OnceError
from once.lines import Line, bus_entry, read_lines, source_prefix

EVENT: dict[str, Any] = {
    "source": "contact-centre.chat",
    "detail-type": "Conversation Status Change",
    "detail": {"status": "on_hold"},
}


def test_lines_keep_their_numbers_and_their_text(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes('\ufeff{"a": 1}\r\n\n  not json \n{"text": "one\u2028line"}'.encode())
    assert read_lines(file) == [
        Line(1, '{"a": 1}'),
        Line(3, "  not json "),
        Line(4, '{"text": "one\u2028line"}'),
    ]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (json.dumps(EVENT, indent=2), [json.dumps(EVENT, indent=2)]),
        (
            '\n[ {"a": 1.50} ,\n {"a": 1, "a": 2}, "x" ]\n',
            ['{"a": 1.50}', '{"a": 1, "a": 2}', '"x"'],
        ),
        ('{\n"a": 1}\n{\n"a": 2}\n', ['{\n"a": 1}', '{\n"a": 2}']),
        ('{"a": 1}\n{"a":\n', ['{"a": 1}', '{"a":']),
        ('{"a":\n{"a": 1}\n', ['{"a":', '{"a": 1}']),
        ("7\n8\n", ["7", "8"]),
        ("[" * 100_000, ["[" * 100_000]),
    ],
    ids=["document", "array", "documents", "lines", "broken lines", "numbers", "deep"],
)
def test_json_that_is_laid_out_is_read_as_what_it_is(
    tmp_path: Path, text: str, events: list[str]
) -> None:
    file = tmp_path / "events.json"
    file.write_text(text)
    assert [line.text for line in read_lines(file)] == events


def test_an_array_without_elements_holds_no_events(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_text("[]")
    with pytest.raises(OnceError, match="holds no events"):
        read_lines(file)


def test_bytes_that_are_no_text_do_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(b'\xff\xfe\n{"a": 1}\n')
    assert [line.number for line in read_lines(file)] == [1, 2]


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(OnceError, match=f"Cannot read .*{name}"):
        read_lines(tmp_path / name)


def test_a_file_without_events_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text("\n \n")
    with pytest.raises(OnceError, match="holds no events"):
        read_lines(file)


def test_a_bus_carries_source_type_detail_and_time() -> None:
    entry = bus_entry(json.dumps({**EVENT, "id": "mine", "time": "2025-03-12T09:00:00Z"}))
    assert entry == {
        "Source": "contact-centre.chat",
        "DetailType": "Conversation Status Change",
        "Detail": '{"status": "on_hold"}',
        "Time": datetime(2025, 3, 12, 9, tzinfo=UTC),
    }


def test_a_time_that_is_none_is_left_to_the_bus() -> None:
    assert "Time" not in (bus_entry(json.dumps({**EVENT, "time": "yesterday"})) or {})


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        json.dumps({**EVENT, "source": "aws.partner/genesys.com/cloud/org/suffix"}),
        json.dumps({**EVENT, "source": ""}),
        json.dumps({**EVENT, "detail": "text"}),
        json.dumps({k: v for k, v in EVENT.items() if k != "detail-type"}),
    ],
    ids=["no json", "array", "aws source", "no source", "no detail object", "no detail-type"],
)
def test_a_bus_does_not_carry(line: str) -> None:
    assert bus_entry(line) is None


@pytest.mark.parametrize(
    ("sources", "prefix"),
    [
        ([], ""),
        (["chat"], "chat"),
        (["simulate.a/x", "simulate.a/y", "simulate.b"], "simulate."),
        (["chat", "genesys.cloud", "genesys"], "genesys"),
    ],
)
def test_one_prefix_takes_as_many_sources_as_it_can(sources: list[str], prefix: str) -> None:
    assert source_prefix(sources) == prefix
