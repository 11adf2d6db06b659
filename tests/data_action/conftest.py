"""Fixtures: the imitation of Genesys, and a data action wired to it."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from once.genesys.server import GenesysServer
from tests.data_action.support import Bench


@pytest.fixture
def server() -> Iterator[GenesysServer]:
    with GenesysServer() as running:
        yield running


@pytest.fixture
def make(server: GenesysServer) -> Callable[..., Bench]:
    return partial(Bench, server)


@pytest.fixture
def genesys_action(make: Callable[..., Bench]) -> Bench:
    return make("genesys")


@pytest.fixture
def webhook_action(make: Callable[..., Bench]) -> Bench:
    return make("webhook")


@pytest.fixture(params=["genesys", "webhook"])
def either(request: pytest.FixtureRequest, make: Callable[..., Bench]) -> Bench:
    return make(request.param)
