"""Documents hold what the records say, and name no region that no script writes."""

from pathlib import Path

import pytest

from bench import numbers, sources


def test_region_is_written_between_its_markers() -> None:
    document = "a\n<!-- numbers:quotas -->\nold\n<!-- /numbers:quotas -->\nb\n"
    filled = numbers.filled(document)
    assert "old" not in filled
    assert filled.startswith("a\n")
    assert numbers.filled(filled) == filled


def test_unknown_region_is_an_error() -> None:
    with pytest.raises(SystemExit):
        numbers.filled("<!-- numbers:no -->\n<!-- /numbers:no -->")


def test_comment_changes_no_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path
    (root / "functions").mkdir()
    (root / "statemachine").mkdir()
    (root / "statemachine/once.asl.yaml").write_text("A: 1 # why\nComment: x\n")
    code = root / "functions" / "a.py"
    code.write_text("x = 1\n")
    monkeypatch.setattr(sources, "ROOT", root)
    first = sources.made_from("compare")
    code.write_text('"""Says why."""\n# why\nx  =  1\n')
    assert sources.made_from("compare") == first
    code.write_text("x = 2\n")
    assert sources.made_from("compare") != first
