"""The documents have the recorded numbers, and the records speak about this code."""

from pathlib import Path

import pytest

from bench import numbers, records
from bench.compare.run import compare
from bench.compare.verdict import Verdict


def test_fill_replaces_only_text_between_markers() -> None:
    document = "a\n<!-- numbers:cost -->\nold\n<!-- /numbers:cost -->\nb\n"
    filled = numbers.filled(document, {"cost": lambda: "new\n"}, "README.md")
    assert filled == "a\n<!-- numbers:cost -->\nnew\n<!-- /numbers:cost -->\nb\n"


def test_unknown_marker_is_named_with_its_document() -> None:
    document = "<!-- numbers:coast -->\n<!-- /numbers:coast -->"
    with pytest.raises(SystemExit, match=r"README\.md has numbers:coast"):
        numbers.filled(document, {"cost": str}, "README.md")


def test_changed_document_is_outdated(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- numbers:cost-short -->\nabout 3\n<!-- /numbers:cost-short -->\n")
    assert list(numbers.outdated(tmp_path)) == [readme]


def test_ranged_shows_a_range_if_runs_differ() -> None:
    assert numbers.ranged([Verdict(lost=3), Verdict(lost=1)], "lost") == "1 to 3"
    assert numbers.ranged([Verdict(lost=2), Verdict(lost=2)], "lost") == "2"


def test_record_is_stale_if_it_was_made_from_other_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    records.write("cost", {})
    assert "cost" not in records.stale()
    monkeypatch.setattr(records, "SOURCES", {**records.SOURCES, "cost": ("Makefile",)})
    assert "cost" in records.stale()


@pytest.mark.thorough
def test_comparison_shows_no_error_of_genesys_once() -> None:
    result = compare(7)
    *rivals, ours = result["contestants"]
    kept = [stream["name"] for stream in result["streams"] if not stream["saidOpenly"]]
    assert not any(ours["streams"][name] for name in kept)
    assert all(any(rival["streams"][name] for name in kept) for rival in rivals)
