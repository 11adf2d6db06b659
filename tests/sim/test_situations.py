"""Each situation on the deployed definition and the deployed function."""

import pytest

from proof.sim import deployed
from proof.sim.situations import SITUATIONS, play_situation


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_ends_as_its_name_says(name: str) -> None:
    play_situation(name, deployed.machine())
