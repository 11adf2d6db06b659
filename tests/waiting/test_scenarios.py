"""The scenarios that take a moment; bench/waiting.py runs the long ones too."""

import pytest

from proof.waiting.scenarios import SCENARIOS, Scenario

pytestmark = pytest.mark.thorough

QUICK = [scenario for scenario in SCENARIOS if scenario.quick]


@pytest.mark.parametrize("scenario", QUICK, ids=lambda s: f"{s.group}, {s.name}")
def test_waiting_keeps_its_figures(scenario: Scenario) -> None:
    found = scenario.judge()
    broken = [name for name, held in found.holds.items() if not held]
    assert not broken, found.measured
