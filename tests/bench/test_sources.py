"""A record is stale if what it was made from has another meaning now, and only then."""

import json
import shutil
from pathlib import Path

import pytest

from bench import sources
from bench.sources import ROOT, SOURCES, hashes, stale

MACHINE = "statemachine/dedupe.asl.yaml"
OF_THE_MACHINE = sorted(record for record, made_from in SOURCES.items() if MACHINE in made_from)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the repository in which the definition may be changed."""
    for name in ("bench", "functions", "once", "proof"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "statemachine", tmp_path / "statemachine")
    return tmp_path


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Records that were made from what is there now."""
    folder = tmp_path / "results"
    folder.mkdir()
    for record in SOURCES:
        (folder / f"{record}.json").write_text(json.dumps({"madeFrom": hashes(record)}))
    return folder


def edit(root: Path, old: str, new: str) -> None:
    text = (root / MACHINE).read_text("utf-8")
    assert old in text
    (root / MACHINE).write_text(text.replace(old, new, 1), "utf-8")


def test_a_removed_guard_makes_the_records_of_the_machine_stale(root: Path, results: Path) -> None:
    edit(root, "attribute_not_exists(pk)", "attribute_exists(pk)")
    assert sorted(stale(root, results)) == OF_THE_MACHINE
    assert {"chaos", "compare", "cost", "explorer", "waiting"} <= set(OF_THE_MACHINE)


def test_a_changed_comment_makes_no_record_stale(root: Path, results: Path) -> None:
    edit(root, "Comment: >-\n  ", "Comment: >-\n  In other words, ")
    edit(root, "QueryLanguage:", "# A remark.\nQueryLanguage:")
    assert stale(root, results) == {}


def test_installed_or_compiled_files_make_no_record_stale(root: Path, results: Path) -> None:
    not_ours = ("node_modules", "__pycache__")
    (root / "proof").unlink()
    shutil.copytree(ROOT / "proof", root / "proof", ignore=shutil.ignore_patterns(*not_ours))
    for name in not_ours:
        (root / "proof" / "asl" / name).mkdir()
        (root / "proof" / "asl" / name / "theirs.py").write_text("anything = 1")
    assert stale(root, results) == {}
    (root / "proof" / "asl" / "new.py").write_text("anything = 1")
    assert "explorer" in stale(root, results)


def test_make_check_names_stale_records_and_only_a_release_fails(
    root: Path,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    edit(root, "attribute_not_exists(pk)", "attribute_exists(pk)")
    monkeypatch.setattr(sources, "stale", lambda: stale(root, results))
    monkeypatch.setattr("sys.argv", ["sources"])
    assert sources.main() == 0
    assert f"explorer.json, made before a change of {MACHINE}" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["sources", "--strict"])
    assert sources.main() == 1


@pytest.mark.parametrize(
    ("text", "is_the_same"),
    [
        ("def held(row):\n    return row['owner'] == 'me'  # a remark\n", True),
        ('def held(row):\n    """Says so."""\n    return row["owner"] == "me"\n', True),
        ("def held(row):\n    return row['owner'] != 'me'\n", False),
        ("def held(row, now):\n    return row['owner'] == 'me'\n", False),
    ],
)
def test_python_is_hashed_without_comments_docstrings_and_layout(
    text: str, is_the_same: bool
) -> None:
    one = sources._meaning(".py", b"def held(row):\n    return row['owner'] == 'me'\n")
    assert (one == sources._meaning(".py", text.encode())) is is_the_same


def test_every_source_exists() -> None:
    named = {source for made_from in SOURCES.values() for source in made_from}
    assert [source for source in named if not (ROOT / source).exists()] == []


def test_every_record_has_sources() -> None:
    assert sorted(SOURCES) == sorted(path.stem for path in sources.RESULTS.glob("*.json"))
