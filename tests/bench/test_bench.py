"""`make bench` on a busy machine."""

import types

import pytest

import bench.__main__ as benches


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
