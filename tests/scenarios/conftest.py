from collections.abc import Iterator

import pytest

from proof.scenarios.emulator_machine import EmulatorMachine, started


@pytest.fixture(scope="package")
def emulator_machine() -> Iterator[EmulatorMachine]:
    with started() as machine:
        yield machine
