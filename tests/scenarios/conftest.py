from collections.abc import Iterator

import pytest

from proof.scenarios.embedded_machine import EmbeddedMachine, started


@pytest.fixture(scope="package")
def embedded_machine() -> Iterator[EmbeddedMachine]:
    with started() as machine:
        yield machine
