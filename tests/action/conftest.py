"""Fixtures: a stack with a virtual clock, and the real targets with the mock destination."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from once.genesys.server import GenesysServer
from tests.action.support import Sender, Site


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def server() -> Iterator[GenesysServer]:
    with GenesysServer() as running:
        yield running


@pytest.fixture
def make(server: GenesysServer) -> Callable[..., Sender]:
    return partial(Sender, server)


@pytest.fixture
def genesys_action(make: Callable[..., Sender]) -> Sender:
    return make("genesys")


@pytest.fixture
def webhook_action(make: Callable[..., Sender]) -> Sender:
    return make("webhook")


@pytest.fixture(params=["genesys", "webhook"])
def either(request: pytest.FixtureRequest, make: Callable[..., Sender]) -> Sender:
    return make(request.param)
