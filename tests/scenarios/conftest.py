from collections.abc import Iterator

import pytest

from tests.scenarios.embedded_machine import EmbeddedMachine, embedded_machine


@pytest.fixture(scope="session")
def embedded() -> Iterator[EmbeddedMachine]:
    with embedded_machine() as machine:
        yield machine
