"""Each situation on the deployed definition and the deployed function."""

from typing import Any

import pytest

from proof.sim import deployed
from proof.sim.script import Script
from proof.sim.situations import SITUATIONS


def new(**options: Any) -> Script:
    function = deployed.functions(options.get("per_minute", 0))
    return Script(deployed.machine(), function, **options)


@pytest.mark.parametrize("name", SITUATIONS)
def test_situation_ends_as_its_name_says(name: str) -> None:
    SITUATIONS[name](new)
