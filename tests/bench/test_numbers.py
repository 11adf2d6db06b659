"""The documents say what was recorded."""

import re
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest

from bench import numbers, recorded
from bench.compare.verdict import Verdict
from bench.numbers import speed
from bench.numbers.comparison import Comparison, ranged


def test_every_number_in_the_documents_is_the_recorded_one():
    assert numbers.outdated() == [], "write them again: python -m bench.numbers"


def test_only_what_stands_between_the_markers_is_replaced():
    document = "a\n<!-- numbers:scale -->\nold\n<!-- /numbers:scale -->\nb\n"
    said = numbers.filled(document, {"scale": lambda: "new\n"}, "README.md")
    assert said == "a\n<!-- numbers:scale -->\nnew\n<!-- /numbers:scale -->\nb\n"


def test_a_marker_that_nothing_is_known_for_is_named_with_its_document():
    document = "<!-- numbers:skale -->\n<!-- /numbers:skale -->"
    with pytest.raises(SystemExit, match=r"README\.md has numbers:skale\. There are scale"):
        numbers.filled(document, {"scale": str}, "README.md")


def test_a_changed_document_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "docs").mkdir()
    readme = tmp_path / "README.md"
    readme.write_text("<!-- numbers:scale -->\nabout 3 seconds\n<!-- /numbers:scale -->\n")
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    monkeypatch.setattr(numbers, "CHARTS", tmp_path / "docs" / "charts")
    assert readme in numbers.outdated()
    numbers.write()
    assert numbers.outdated() == []


@pytest.mark.parametrize("name", ["comparison", "cost", "scale", "capacity"])
def test_a_chart_is_well_formed_and_has_a_title(name: str):
    root = ET.fromstring(numbers.drawings()[f"{name}.svg"])  # noqa: S314 - our own file
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text


@pytest.mark.parametrize("name", sorted(numbers.drawings()))
def test_a_chart_can_be_read_on_a_light_and_on_a_dark_page(name: str):
    drawn = numbers.drawings()[name]
    if name == "explained.svg":  # a terminal, dark on either
        return
    assert "prefers-color-scheme: dark" in drawn
    assert not re.search(r"(fill|stroke)='#", drawn), "a colour that is the same on either page"


def test_the_chart_names_the_streams_in_which_this_project_may_lose():
    compared = recorded.read("compare")
    names = [stream["name"] for stream in compared["streams"] if stream["saidOpenly"]]
    assert f"this project may lose here: {', '.join(names)}" in unescape(
        numbers.drawings()["comparison.svg"]
    )


def test_of_the_recorded_copies_in_work_nearly_all_were_settled_at_once():
    recorded_copies = recorded.read("copies")
    assert recorded_copies["acts"] == sum(run["pairs"] for run in recorded_copies["runs"])
    for run in recorded_copies["runs"]:
        assert run["settled"] >= 0.99, run


def test_the_recorded_drain_grows_with_the_events_and_no_faster():
    drained = recorded.read("scale")
    assert drained["points"][-1]["events"] == 5_000
    assert drained["rSquared"] >= 0.98


def test_the_documents_say_by_how_much_the_enrichment_misses_its_goals(
    monkeypatch: pytest.MonkeyPatch,
):
    measured = recorded.read("enrichment")
    measured["goals"] = {"times_parse_and_hash": 2.0, "times_powertools": 1.0}
    measured["mixed"] |= {"times_parse_and_hash": 3.0, "times_powertools": 0.9}
    measured["measuredUnder"] = {"cores": 2, "load": 9.0}
    read = recorded.read
    monkeypatch.setattr(
        recorded, "read", lambda name: measured if name == "enrichment" else read(name)
    )
    said = speed.speed()
    assert "2.0 times parsing and hashing, missed by 50%, and 1.0 times Powertools, met" in said
    assert "busy when it was measured, load 9 on 2 cores: to be measured again" in said
    measured["measuredUnder"]["load"] = 1.0
    assert "busy" not in speed.speed()


def test_a_well_destination_is_called_within_fractions_of_a_second_of_the_queue():
    (well,) = [
        one["measured"]
        for one in recorded.read("waiting")["scenarios"]
        if (one["group"], one["name"]) == ("healthy", "10 events/s")
    ]
    assert well["p50 to the call s"] <= 0.13
    assert well["p99 to the call s"] <= 0.4


def test_in_every_recorded_comparison_this_project_keeps_its_promises():
    compared = Comparison()
    for ours in compared.totals(-1, compared.kept):
        assert (ours.lost, ours.acted_twice, ours.wrongly_skipped) == (0, 0, 0)


def test_a_count_that_differs_between_runs_is_shown_as_a_range():
    assert ranged([Verdict(lost=3), Verdict(lost=1), Verdict(lost=2)], "lost") == "1 to 3"
    assert ranged([Verdict(lost=2), Verdict(lost=2)], "lost") == "2"
