"""Conditions and updates agree with moto's evaluator."""

from collections import defaultdict
from copy import deepcopy

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
        backend.put_item(TABLE, deepcopy(row), overwrite=True)
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
    samples = defaultdict(list)

    def noted(verb: str, request: Request, row: Row | None) -> Row | None:
        after, is_refused = None, False
        try:
            after = written(verb, request, row)
        except RefusedError:
            is_refused = True
        expressions = (request.get("ConditionExpression"), request.get("UpdateExpression"))
        samples[verb, expressions, is_refused].append((request, row, after))
        if is_refused:
            raise RefusedError
        return after

    monkeypatch.setattr(world, "written", noted)
    for seed in (2, 15, 22, 26):
        Walk(seed, deployed.machine()).broken_promise()
    assert len(samples) > 12
    for (verb, _, is_refused), writes in samples.items():
        for request, row, after in writes[:: len(writes) // 8 + 1]:
            if is_refused:
                with pytest.raises(ConditionalCheckFailed):
                    by_moto(backend, verb, request, row)
            else:
                assert by_moto(backend, verb, request, row) == after, request
