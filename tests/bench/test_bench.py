"""`make bench` on a busy machine."""

import shutil
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench.__main__ as benches
from bench import copies, enrichment, recorded, scale


def test_one_that_cannot_count_does_not_take_the_others_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured, written = [], []

    def imported(name: str) -> types.SimpleNamespace:
        def main() -> int:
            if name == "bench.cost":
                raise RuntimeError("it counted 3 of 4")
            measured.append(name)
            return 0

        return types.SimpleNamespace(main=main)

    monkeypatch.setattr(benches.importlib, "import_module", imported)
    monkeypatch.setattr(benches.numbers, "write", lambda: written.append(True))
    assert benches.main() == 1
    assert measured == [f"bench.{name}" for name in benches.BENCHES if name != "cost"]
    assert written == [True]
    out, err = capsys.readouterr()
    assert "it counted 3 of 4" in err
    assert "Not measured, or a bound did not hold: cost." in err
    assert "Measured, and within its bounds: enrichment, data_action, copies, scale, answers" in out


def test_what_misses_a_bound_leaves_the_record_that_the_documents_show_as_it_was(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "enrichment.json"
    shutil.copy(recorded.FOLDER / "enrichment.json", kept)
    before = kept.read_text()
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    slow = {"ratio": 9.0}
    monkeypatch.setattr(enrichment, "MEASURES", {"import": lambda: {"import": slow}})
    assert enrichment.main() == 1
    assert kept.read_text() == before
    assert "Not recorded, a bound did not hold: import" in capsys.readouterr().err
    slow["ratio"] = 1.0
    assert enrichment.main() == 0
    assert recorded.read("enrichment")["import"] == slow


@pytest.mark.parametrize(
    ("bounds", "name", "bad"),
    [
        (copies.broken_bounds, "copies", {"acts": 299}),
        (
            copies.broken_bounds,
            "copies",
            {"runs": [{"pairs": 300, "settled": 0.9, "answersMs": 1}]},
        ),
        (scale.broken_bounds, "scale", {"acts": 1}),
        (scale.broken_bounds, "scale", {"rSquared": 0.9}),
        (scale.broken_bounds, "scale", {"points": [{"events": 260}], "acts": 300}),
    ],
)
def test_a_bound_is_judged_by_what_would_be_recorded(
    bounds: Callable[[dict[str, Any]], list[str]], name: str, bad: dict[str, Any]
) -> None:
    good = recorded.read(name)
    assert bounds(good) == []
    assert len(bounds(good | bad)) == 1
