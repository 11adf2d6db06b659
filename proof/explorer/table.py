"""DynamoDB on a single row: moto's table and expression evaluator, called directly, and remembered
by what each request and each row say."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend

Row = dict[str, dict[str, str]]

_TABLE = "claims"


class RefusedError(Exception):
    """The condition of a write did not hold."""


_known: dict[tuple[str, str], Row | None] = {}


def changed(operation: str, request: Mapping[str, Any], row: Row | None) -> Row:
    """The row after a putItem or an updateItem, in the shape the ASL sends it."""
    at = (json.dumps([operation, request], sort_keys=True), json.dumps(row))
    if at not in _known:
        _known[at] = _change(operation, request, row)
    after = _known[at]
    if after is None:
        raise RefusedError
    return after


def _change(operation: str, request: Mapping[str, Any], row: Row | None) -> Row | None:
    backend = _table()
    key = request["Key"] if operation == "dynamodb:updateItem" else request["Item"]
    place = {"pk": key["pk"], "sk": key["sk"]}
    backend.delete_item(_TABLE, place)
    if row is not None:
        backend.put_item(_TABLE, row, overwrite=True)
    expressions = {
        "condition_expression": request.get("ConditionExpression"),
        "expression_attribute_names": request.get("ExpressionAttributeNames", {}),
        "expression_attribute_values": request.get("ExpressionAttributeValues", {}),
    }
    try:
        if operation == "dynamodb:putItem":
            backend.put_item(_TABLE, request["Item"], **expressions)
        else:
            update = request["UpdateExpression"]
            backend.update_item(_TABLE, place, update_expression=update, **expressions)
    except ConditionalCheckFailed:
        return None
    item = backend.get_item(_TABLE, place)
    assert item is not None
    after: Row = item.to_json()["Attributes"]
    return after


@cache
def _table() -> DynamoDBBackend:
    backend = DynamoDBBackend("us-east-1", "123456789012")
    backend.create_table(
        _TABLE,
        schema=[
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        attr=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
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
