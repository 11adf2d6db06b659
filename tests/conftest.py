"""Fixtures that more than one folder of tests uses."""

from collections.abc import Iterator

import pytest

from proof.embedded import Embedded, deployed


@pytest.fixture(scope="session")
def embedded() -> Iterator[Embedded]:
    """The project's own template, deployed once for the whole session."""
    with deployed() as stack:
        yield stack
