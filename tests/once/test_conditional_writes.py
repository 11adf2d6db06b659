"""The local stack decides one conditional write of a row after the other, as DynamoDB does."""

import threading
from contextlib import suppress
from typing import Any

import pytest

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


@pytest.mark.parametrize(("write", "asked"), [("_put_item", CLAIM), ("_update_item", TIME)])
def test_two_writers_that_look_at_the_same_time_do_not_both_pass(
    monkeypatch: pytest.MonkeyPatch, write: str, asked: dict[str, Any]
) -> None:
    # They take long, and most processes do not need them.
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
        statuses: list[int] = []
        writers = [
            threading.Thread(target=lambda: statuses.append(getattr(dynamodb, write)(asked)[0]))
            for _ in range(2)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
    finally:
        dynamodb._delete_table({"TableName": "claims"})
    assert sorted(statuses) == [200, 400]
