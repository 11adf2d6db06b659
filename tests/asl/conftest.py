"""The reference JSONata, or a skip that says what it lacks."""

from collections.abc import Iterator

import pytest

from proof.asl.jsonata import Reference, ReferenceMissingError


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    try:
        with Reference() as engine:
            yield engine
    except ReferenceMissingError as missing:
        pytest.skip(str(missing))
