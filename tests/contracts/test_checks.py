"""Each check of `python -m schemas --check` fails on the change it guards against."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from once_enrichment import families, identity
from once_enrichment.families import Family
from pydantic import create_model

from schemas import checks, contracts
from schemas.contracts import Contract

ROOT = Path(__file__).parents[2]
Json = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of all files that the checks look at."""
    for folder in ("schemas", "events"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "docs").mkdir()
    for page in ("families.md", "runbook.md", "data-action.md"):
        shutil.copy(ROOT / "docs" / page, tmp_path / "docs")
    return tmp_path


def test_files_of_the_repository_have_no_fault_and_are_written_alike(root: Path) -> None:
    assert checks.find(root) == []
    (root / "schemas" / "gone.schema.json").write_text("{}")
    (root / "docs" / "families.md").unlink()
    checks.write(root)
    assert checks.find(root) == []


def append(text: str) -> Callable[[str], str]:
    return lambda old: old + text


def on_first_line(change: Callable[[Json], Json]) -> Callable[[str], str]:
    def edited(old: str) -> str:
        first, *rest = old.splitlines()
        return "\n".join([json.dumps(change(json.loads(first))), *rest]) + "\n"

    return edited


def without_body(line: Json) -> Json:
    body = line["event"]["detail"]["eventBody"]
    body.pop("sessionId")
    return {"name": line["name"], "event": line["event"]}


@pytest.mark.parametrize(
    ("file", "edit", "says"),
    [
        ("schemas/event.schema.json", append(" "), "is not what the models say"),
        ("schemas/old.schema.json", append("{}"), "follows from no model"),
        ("docs/families.md", append("more"), "is not what the models say"),
        ("events/enrichment.json", append("\n"), "is not what the models say"),
        (checks.EXAMPLES, lambda old: old.partition("\n")[2], "agent.state is missing"),
        (checks.EXAMPLES, on_first_line(without_body), "lacks what identifies it"),
    ],
)
def test_change_of_a_file_is_named(
    file: str, edit: Callable[[str], str], says: str, root: Path
) -> None:
    path = root / file
    path.write_text(edit(path.read_text("utf-8") if path.exists() else ""))
    findings = checks.find(root)
    assert any(finding.startswith(file) and says in finding for finding in findings), findings


def test_pinned_key_changes_with_its_version_only(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_NO_VALUE", "absent")
    checks.write(root)
    assert any("raise KEY_VERSION" in finding for finding in checks.find(root))
    monkeypatch.setattr(identity, "KEY_VERSION", "v3")
    checks.write(root)
    assert not any("raise KEY_VERSION" in finding for finding in checks.find(root))


def test_new_family_wants_an_example(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    seat = Family(topics=("v2.chairs.{id}.seat",), why="Persons return.", order="changes")
    monkeypatch.setattr(checks, "FAMILIES", (*families.FAMILIES, seat))
    assert "chair.seat is missing" in "".join(checks.find(root))


def test_field_without_a_description_is_named() -> None:
    schema = contracts.schema_of(Contract("x", create_model("X", fast=(bool, ...)), "X"))
    assert "fast has no description" in next(checks.undescribed({"x": schema}))
