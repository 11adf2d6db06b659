"""The lines of a function's log that say why it fails, and its error if no line does."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from once.operate.command import Operation
from once.operate.logs import Part, logs
from tests.operate.deployed import deployed, returned

FRAME = ("START RequestId: 1 Version: 1", "END RequestId: 1", "REPORT RequestId: 1 Duration: 2 ms")
BROKEN = "Runtime.ImportModuleError: Unable to import module 'no': No module named 'no'"


def show(
    capsys: pytest.CaptureFixture[str], part: Part, *lines: str, every: bool = False
) -> tuple[str, Any]:
    """Returns the text and the JSON that `once logs` answers."""
    stack = deployed(None, returned("m1", "FUNCTION_FAILED", cause=BROKEN))
    pages = [{"events": [{"timestamp": 1, "message": f"{line}\n"} for line in lines]}]
    paginator = SimpleNamespace(paginate=lambda **_: pages)
    stack.client("logs").get_paginator = lambda _: paginator
    said = []
    for as_json in (False, True):
        logs(Operation(stack, as_json=as_json), part, every=every)
        said.append(capsys.readouterr().out)
    return said[0], json.loads(said[1])


def test_logs_begin_with_the_error_and_leave_out_the_frame(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said, answer = show(capsys, Part.DATA_ACTION, *FRAME, "[ERROR] own line")
    _, first, second = said.splitlines()
    assert first == f"The newest error: {BROKEN}"
    assert second.endswith("[ERROR] own line")
    assert (answer["error"], answer["leftOut"]) == (BROKEN, 3)


def test_logs_without_a_line_of_the_function_say_where_the_error_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said, _ = show(capsys, Part.DATA_ACTION, *FRAME)
    assert BROKEN in said
    here = "nothing was logged here since 1h but START, END and REPORT lines (--all)."
    assert f"The outcome log has that error; {here}" in said
    said, answer = show(capsys, Part.ENRICHMENT, *FRAME)
    assert (answer["error"], "once check" in said) == (None, True)
    assert "Nothing was logged here since 1h but START, END and REPORT lines (--all)." in said


@pytest.mark.parametrize(
    "newest",
    [
        '{"log_level": "ERROR", "errorType": "KeyError", "errorMessage": "\'id\'"}',
        "Traceback (most recent call last):\n  File \"handler.py\", line 1\nKeyError: 'id'",
        "KeyError: 'id'",
    ],
)
def test_logs_of_the_enrichment_begin_with_the_newest_error_that_it_logged(
    newest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said, answer = show(capsys, Part.ENRICHMENT, "OSError: the oldest", newest, "a warning", "7")
    assert answer["error"] == "KeyError: 'id'"
    assert said.splitlines()[1] == "The newest error: KeyError: 'id'"


def test_logs_of_failed_requests_begin_with_the_newest_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    facts = json.dumps({"once": "1", "sentence": "the webhook answered 503", "requests": 1})
    traceback = ("    return self._http.post(", f"once_data_action.errors.Failed: {facts}")
    said, _ = show(capsys, Part.MACHINE, *traceback)
    _, first, counted, *lines = said.splitlines()
    assert first == "The newest error: once_data_action.errors.Failed: the webhook answered 503"
    assert counted == "the last 1 of 2 lines; --json has all"
    assert len(lines) == 1, "no line begins within a traceback"


def test_logs_show_the_frame_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    said, answer = show(capsys, Part.MACHINE, *FRAME, every=True)
    assert all(line in said for line in FRAME)
    assert answer["leftOut"] == 0
