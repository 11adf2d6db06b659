"""The ledger has each thing on disk before the run creates it."""

from pathlib import Path

import pytest

from once.errors import OnceError
from proof.prove import ledger
from proof.prove.ledger import Ledger, Thing


def test_what_came_last_goes_first(tmp_path: Path) -> None:
    one = Ledger.open("run", {"region": "eu-west-1"}, tmp_path)
    one.creating("bucket", "b")
    one.creating("stack", "s")
    assert one.left() == [Thing("stack", "s"), Thing("bucket", "b")]
    one.gone(Thing("stack", "s"))
    assert one.left() == [Thing("bucket", "b")]


def test_another_process_finds_what_is_left(tmp_path: Path) -> None:
    died = Ledger.open("run", {"region": "eu-west-1"}, tmp_path)
    died.creating("bucket", "b")
    died.release()
    (found,) = ledger.kept(tmp_path)
    assert (found.run, found.where, found.left()) == (
        "run",
        {"region": "eu-west-1"},
        [Thing("bucket", "b")],
    )


def test_a_run_that_is_still_at_work_is_left_alone(tmp_path: Path) -> None:
    running = Ledger.open("run", {}, tmp_path)
    running.creating("bucket", "b")
    assert ledger.kept(tmp_path) == []
    running.release()
    assert [one.run for one in ledger.kept(tmp_path)] == ["run"]


def test_a_line_that_was_cut_off_names_what_was_never_created(tmp_path: Path) -> None:
    died = Ledger.open("run", {}, tmp_path)
    died.creating("bucket", "b")
    died.release()
    path = tmp_path / "prove" / "run.ledger"
    path.write_text(path.read_text() + '\n{"creating": ["stack", "')
    (found,) = ledger.kept(tmp_path)
    assert found.left() == [Thing("bucket", "b")]
    found.gone(Thing("bucket", "b"))
    assert found.left() == []


def test_a_run_that_died_at_its_first_line_left_nothing(tmp_path: Path) -> None:
    (tmp_path / "prove").mkdir()
    (tmp_path / "prove" / "run.ledger").touch()
    assert ledger.kept(tmp_path) == []
    assert list((tmp_path / "prove").iterdir()) == []


def test_a_strangers_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prove").mkdir()
    (tmp_path / "prove" / "run.ledger").write_text('{"creating": ["stack", "production"]}')
    with pytest.raises(OnceError, match="is no ledger"):
        ledger.kept(tmp_path)
