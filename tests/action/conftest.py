"""Fixtures: a stack with a virtual clock, and the real targets with the mock destination."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from moto import mock_aws

from once.genesys.server import GenesysServer
from tests.action.support import TABLE, Sender, Site, create_table, dynamodb, items


@pytest.fixture(scope="module")
def emulated() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patched, mock_aws():
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patched.setenv(name, "testing")
        client = dynamodb()
        create_table(client)
        yield client


@pytest.fixture
def make_site(emulated: Any) -> Iterator[Callable[..., Site]]:
    yield partial(Site, emulated)
    for item in items(emulated):
        emulated.delete_item(TableName=TABLE, Key={"pk": item["pk"], "sk": item["sk"]})


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()


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
