"""docs/promises.md names situations and promises that the simulator has."""

import re

from proof.definition.asl import ROOT
from proof.sim.situations import SITUATIONS

# The cell *shown by* of each row.
CELLS = [
    line.rstrip("| ").rpartition("| ")[2]
    for line in (ROOT / "docs" / "promises.md").read_text("utf-8").split("\n## What")[0].split("\n")
    if line.startswith("| ") and not line.startswith("| promise ")
]
CHECKED = set(
    re.findall(r'BrokenError\(\s*"([^"]+)"', (ROOT / "proof/sim/promises.py").read_text("utf-8"))
)


def test_promises_page_names_situations_of_the_simulator() -> None:
    named = re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`", " ".join(CELLS))
    assert len(named) > 20
    assert [name for name in named if name not in SITUATIONS] == []


def test_promises_page_names_promises_that_the_simulator_checks() -> None:
    named = re.findall(r"\*([^*]+)\*", " ".join(CELLS))
    assert len(named) > 15
    assert [name for name in named if name not in CHECKED] == []
