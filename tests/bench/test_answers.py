"""Commands that a person waits for ask AWS a fixed number of times, whatever is in the log."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import answers
from proof.still import Still, still
from tests.operate.conftest import once


@pytest.fixture(scope="module")
def stack() -> Iterator[Still]:
    with still() as one:
        yield one


@pytest.mark.parametrize("records", [500, 5_000])
def test_explain_searches_the_log_once_and_asks_for_the_claims_of_its_subject_once(
    stack: Still, tmp_path: Path, records: int
) -> None:
    stack.clear()
    answers.fill(stack, records)
    with stack.up(tmp_path):
        asked = answers.requests(answers.COMMANDS["explain"])
    assert (asked["StartQuery"], asked["Query"]) == (1, 1)
    assert asked.total() <= 5, asked


@pytest.mark.parametrize("records", [500, 5_000])
def test_status_asks_no_more_often_where_the_log_holds_more(
    stack: Still, tmp_path: Path, records: int
) -> None:
    stack.clear()
    answers.fill(stack, records)
    with stack.up(tmp_path):
        asked = answers.requests(answers.COMMANDS["status"])
        status = once("status").out
    assert "waits: " in status, "it was looked whether what is due is settled"
    assert asked["StartQuery"] == 3, "what waits, what of it is settled, and what came"
    assert asked.total() <= 16, asked
