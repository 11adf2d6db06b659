"""The corrections of ministack, where it differs from AWS."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

CONFIG = {"FunctionArn": "arn:aws:lambda:eu-central-1:000000000000:function:any"}
TABLE = {
    "TableName": "claims",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}
CLAIM = {
    "TableName": "claims",
    "Item": {"pk": {"S": "event"}},
    "ConditionExpression": "attribute_not_exists(pk)",
}
TIME = {
    "TableName": "claims",
    "Key": {"pk": {"S": "latest"}},
    "UpdateExpression": "SET claimed = :yes",
    "ConditionExpression": "attribute_not_exists(claimed)",
    "ExpressionAttributeValues": {":yes": {"BOOL": True}},
}


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


def test_events_that_wait_get_environments_one_after_another(
    acquire: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.local.server._WAIT_SECONDS", 0)
    environments = [acquire() for _ in range(5)]
    assert len({*map(id, environments)}) == 5
    environments[-1]._cold = True
    with ThreadPoolExecutor(1) as burst:
        another = burst.submit(acquire)
        with pytest.raises(TimeoutError):
            another.result(0.1)
        environments[-1]._cold = False
        assert id(another.result(10)) not in map(id, environments)


@pytest.mark.parametrize(("write", "asked"), [("_put_item", CLAIM), ("_update_item", TIME)])
def test_two_writers_that_look_at_the_same_time_do_not_both_pass(
    monkeypatch: pytest.MonkeyPatch, write: str, asked: dict[str, Any]
) -> None:
    from ministack.services import dynamodb

    from once.local import server

    for name in ("_put_item", "_update_item", "_delete_item"):
        monkeypatch.setattr(dynamodb, name, getattr(dynamodb, name))  # restored at the end
    both_have_read = threading.Barrier(2)
    evaluate = dynamodb._evaluate_condition

    def wait_and_evaluate(*given: Any) -> Any:
        # Broken if the other has to wait until this one has written.
        with suppress(threading.BrokenBarrierError):
            both_have_read.wait(timeout=0.2)
        return evaluate(*given)

    monkeypatch.setattr(dynamodb, "_evaluate_condition", wait_and_evaluate)
    server._write_rows_one_at_a_time()
    dynamodb._create_table(TABLE)
    try:
        with ThreadPoolExecutor(2) as writers:
            answers = [writers.submit(getattr(dynamodb, write), asked) for _ in range(2)]
        assert sorted(answer.result()[0] for answer in answers) == [200, 400]
    finally:
        dynamodb._delete_table({"TableName": "claims"})


def test_records_are_counted_by_family() -> None:
    from once.local.logs_and_metrics import _COUNT, count_lines

    said = ({"family": "a"}, {"family": "a"}, "no object", {"family": "a", "outcome": "RETRY"})
    records = [{"@message": json.dumps(line), "_timestamp_ms": ms} for ms, line in enumerate(said)]
    query = _COUNT.fullmatch(
        'filter ispresent(family) and family != "b" and outcome != "RETRY"'
        " | stats count(*) as events, max(@timestamp) as last by family, source"
    )
    assert query is not None
    assert [*count_lines(query[1], query[2], records)] == [{"family": "a", "events": 2, "last": 1}]
