"""Conditions and updates agree with moto's evaluator."""

import pytest
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend

from proof.sim import deployed, world
from proof.sim.table import RefusedError, Request, Row, key_of, written
from proof.sim.walk import Walk

TABLE = "claims"


@pytest.fixture(scope="module")
def backend() -> DynamoDBBackend:
    backend = DynamoDBBackend("us-east-1", "123456789012")
    names = ("pk", "sk")
    backend.create_table(
        TABLE,
        schema=[
            {"AttributeName": n, "KeyType": t}
            for n, t in zip(names, ("HASH", "RANGE"), strict=True)
        ],
        attr=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        throughput=None,
        indexes=None,
        global_indexes=None,
        streams=None,
        billing_mode="PAY_PER_REQUEST",
        sse_specification=None,
        tags=[],
        deletion_protection_enabled=False,
        warm_throughput=None,
    )
    return backend


def by_moto(backend: DynamoDBBackend, verb: str, request: Request, row: Row | None) -> Row | None:
    pk, sk = key_of(request)
    place = {"pk": {"S": pk}, "sk": {"S": sk}}
    backend.delete_item(TABLE, place)
    if row is not None:
        backend.put_item(TABLE, {**row}, overwrite=True)
    expressions = {
        "condition_expression": request.get("ConditionExpression"),
        "expression_attribute_names": request.get("ExpressionAttributeNames", {}),
        "expression_attribute_values": request.get("ExpressionAttributeValues", {}),
    }
    if verb == "put":
        backend.put_item(TABLE, request["Item"], **expressions)
    elif verb == "delete":
        backend.delete_item(TABLE, place, **expressions)
    else:
        update = request["UpdateExpression"]
        backend.update_item(TABLE, place, update_expression=update, **expressions)
    item = backend.get_item(TABLE, place)
    row: Row | None = item.to_json()["Attributes"] if item else None
    for value in (row or {}).values():
        if "SS" in value:
            value["SS"].sort()
    return row


def test_writes_of_walks_end_as_with_moto(
    backend: DynamoDBBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def both(verb: str, request: Request, row: Row | None) -> Row | None:
        nonlocal compared
        compared += 1
        try:
            theirs = by_moto(backend, verb, request, row)
        except ConditionalCheckFailed:
            with pytest.raises(RefusedError):
                written(verb, request, row)
            raise RefusedError from None
        ours = written(verb, request, row)
        assert ours == theirs, request
        return ours

    monkeypatch.setattr(world, "written", both)
    for seed in range(3):
        Walk(seed, deployed.machine()).broken_promise()
    assert compared > 100
