"""`make bench` on a busy machine."""

import shutil
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bench.__main__ as benches
from bench import copies, enrichment, recorded


def test_a_failed_measurement_does_not_stop_the_others(
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
    assert "Measured, and within its bounds: enrichment, data_action, copies, answers" in out


def test_a_measurement_that_misses_a_bound_leaves_the_record_unchanged(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "enrichment.json"
    shutil.copy(recorded.FOLDER / "enrichment.json", kept)
    before = kept.read_text()
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    slow = recorded.read("enrichment") | {"import": {"ratio": 9.0}}
    for name in ("mixed", "snapshots", "import", "package"):
        monkeypatch.setattr(enrichment, f"measure_{name}", partial(slow.get, name))
    assert enrichment.main() == 1
    assert kept.read_text() == before
    assert "Not recorded, a bound did not hold: import" in capsys.readouterr().err
    slow["import"]["ratio"] = 1.0
    assert enrichment.main() == 0
    assert recorded.read("enrichment")["import"] == {"ratio": 1.0}


@pytest.mark.parametrize(
    ("bounds", "name", "bad"),
    [
        (copies.broken_bounds, "copies", {"acts": 299}),
        (
            copies.broken_bounds,
            "copies",
            {"runs": [{"pairs": 300, "settled": 0.9, "answersMs": 1}]},
        ),
    ],
)
def test_a_bound_is_judged_by_what_would_be_recorded(
    bounds: Callable[[dict[str, Any]], list[str]], name: str, bad: dict[str, Any]
) -> None:
    good = recorded.read(name)
    assert bounds(good) == []
    assert len(bounds(good | bad)) == 1
