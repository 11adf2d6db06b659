"""Each situation on the deployed definition and the deployed function."""

import pytest

from proof.sim import deployed
from proof.sim.situations import SITUATIONS, play_situation

# Each takes more than a second: events that wait are looked at again and again.
LONG = (
    "an_outage_gives_up_no_event",
    "a_limit_holds_for_a_burst",
    "a_limit_holds_while_the_table_does_not_respond",
)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.thorough) if name in LONG else name
        for name in SITUATIONS
    ],
)
def test_situation_ends_as_its_name_says(name: str) -> None:
    play_situation(name, deployed.machine())
