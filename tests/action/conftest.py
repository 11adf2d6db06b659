"""Fixtures: a stack with a virtual clock, and the real targets with the mock destination."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from once.genesys.server import GenesysServer
from tests.action.support import Sender, Site


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Puts moto in the place of AWS, and yields the environment of a function there."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield monkeypatch


@pytest.fixture
def server() -> Iterator[GenesysServer]:
    with GenesysServer() as running:
        yield running


@pytest.fixture(params=["genesys", "webhook"])
def either(request: pytest.FixtureRequest, server: GenesysServer) -> Sender:
    return Sender(server, request.param)
