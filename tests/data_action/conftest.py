"""Fixtures: the imitation of Genesys, and a data action wired to it."""

from collections.abc import Callable, Iterator

import pytest

from once.genesys.server import GenesysServer
from tests.data_action.support import MAPPING, Bench


@pytest.fixture
def server() -> Iterator[GenesysServer]:
    with GenesysServer() as running:
        yield running


@pytest.fixture
def make(server: GenesysServer) -> Callable[..., Bench]:
    def build(target: str = "genesys", mapping_text: str | None = None) -> Bench:
        return Bench(server, target, mapping_text or MAPPING.read_text("utf-8"))

    return build


@pytest.fixture
def genesys_action(make: Callable[..., Bench]) -> Bench:
    return make("genesys")


@pytest.fixture
def webhook_action(make: Callable[..., Bench]) -> Bench:
    return make("webhook")


@pytest.fixture(params=["genesys", "webhook"])
def either(request: pytest.FixtureRequest, make: Callable[..., Bench]) -> Bench:
    return make(request.param)
