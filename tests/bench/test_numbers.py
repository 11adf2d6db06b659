"""The documents have the recorded numbers."""

import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest

from bench import numbers, recorded
from bench.compare.verdict import Verdict
from bench.numbers import speed
from bench.numbers.comparison import Comparison, ranged


def test_fill_replaces_only_text_between_markers():
    document = "a\n<!-- numbers:copies -->\nold\n<!-- /numbers:copies -->\nb\n"
    said = numbers.filled(document, {"copies": lambda: "new\n"}, "README.md")
    assert said == "a\n<!-- numbers:copies -->\nnew\n<!-- /numbers:copies -->\nb\n"


def test_unknown_marker_is_named_with_its_document():
    document = "<!-- numbers:copyes -->\n<!-- /numbers:copyes -->"
    with pytest.raises(SystemExit, match=r"README\.md has numbers:copyes\. There are copies"):
        numbers.filled(document, {"copies": str}, "README.md")


def test_changed_document_is_outdated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "docs").mkdir()
    readme = tmp_path / "README.md"
    readme.write_text("<!-- numbers:chaos -->\nabout 3\n<!-- /numbers:chaos -->\n")
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    monkeypatch.setattr(numbers, "CHARTS", tmp_path / "docs" / "charts")
    assert readme in numbers.outdated()
    numbers.write()
    assert numbers.outdated() == []


def test_chart_has_a_title_and_suits_light_and_dark_pages():
    drawn = numbers.drawings()["comparison.svg"]
    root = ET.fromstring(drawn)  # noqa: S314 - our own file
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text
    assert "prefers-color-scheme: dark" in drawn
    assert not re.search(r"(fill|stroke)='#", drawn), "a colour that is the same on either page"


def test_chart_names_the_streams_where_genesys_once_may_fail():
    compared = recorded.read("compare")
    names = [stream["name"] for stream in compared["streams"] if stream["saidOpenly"]]
    assert f"known limits: {', '.join(names)}" in unescape(numbers.drawings()["comparison.svg"])


def test_speed_says_if_the_machine_was_busy(monkeypatch: pytest.MonkeyPatch):
    measured, read = recorded.read("enrichment"), recorded.read
    monkeypatch.setattr(
        recorded, "read", lambda name: measured if name == "enrichment" else read(name)
    )
    measured["measuredUnder"] = {"cores": 2, "load": 9.0}
    assert "The machine was busy meanwhile: load 9 on 2 cores." in speed.speed()
    measured["measuredUnder"]["load"] = 1.0
    assert "busy" not in speed.speed()


def test_healthy_destination_gets_requests_within_fractions_of_a_second():
    (well,) = [
        one["measured"]
        for one in recorded.read("waiting")["scenarios"]
        if (one["group"], one["name"]) == ("healthy", "10 events/s")
    ]
    assert well["p50 to the request s"] <= 0.13
    assert well["p99 to the request s"] <= 0.4


def test_recorded_comparison_shows_no_error_of_genesys_once():
    compared = Comparison()
    for ours in compared.totals(-1, compared.kept):
        assert (ours.lost, ours.acted_twice, ours.wrongly_skipped) == (0, 0, 0)


def test_ranged_shows_a_range_if_runs_differ():
    assert ranged([Verdict(lost=3), Verdict(lost=1), Verdict(lost=2)], "lost") == "1 to 3"
    assert ranged([Verdict(lost=2), Verdict(lost=2)], "lost") == "2"
