"""A burst starts few interpreters, and a slow destination holds up nobody for long."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

CONFIG = {"FunctionArn": "arn:aws:lambda:eu-central-1:000000000000:function:any"}


@pytest.fixture
def acquire(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    # They take long, and most processes do not need them.
    from ministack.core import lambda_runtime
    from ministack.services import lambda_svc

    from once.local import server

    monkeypatch.setattr(lambda_runtime, "_workers", {})
    monkeypatch.setattr(
        lambda_runtime, "Worker", lambda *_: SimpleNamespace(in_use=False, _cold=False)
    )
    monkeypatch.setattr(lambda_svc, "acquire_worker", lambda_runtime.acquire_worker)
    monkeypatch.setattr(server, "_FIRST_ENVIRONMENTS", 2)
    server._start_few_environments()
    return lambda: lambda_svc.acquire_worker("any", CONFIG, b"")[0]


def test_a_burst_shares_the_first_environments(acquire: Callable[[], Any]) -> None:
    first, second = acquire(), acquire()
    with ThreadPoolExecutor(1) as burst:
        third = burst.submit(acquire)
        first.in_use = False
        assert third.result(10) is first
    assert second is not first


def test_events_that_wait_get_an_environment_of_their_own(
    acquire: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.local.server._WAIT_SECONDS", 0)
    assert len({id(acquire()) for _ in range(5)}) == 5


def test_environments_start_one_after_another(
    acquire: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.local.server._WAIT_SECONDS", 0)
    acquire()
    starting = acquire()
    starting._cold = True
    with ThreadPoolExecutor(1) as burst:
        third = burst.submit(acquire)
        with pytest.raises(TimeoutError):
            third.result(0.1)
        starting._cold = False
        assert third.result(10) is not starting
