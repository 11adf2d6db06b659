"""DynamoDB on a single row: moto's table and expression evaluator, called directly, and remembered
by what each request and each row say."""

import json
from collections.abc import Mapping, MutableMapping
from copy import deepcopy
from functools import cache
from typing import Any

from botocore.exceptions import ClientError
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend

Row = dict[str, Any]
Key = tuple[str, str]

_TABLE = "claims"


class RefusedError(Exception):
    """The condition of a write did not hold."""


_known: dict[tuple[str, str], Row | None] = {}


class Client:
    """The part of boto3's client that our functions use, on rows in memory."""

    def __init__(self, rows: MutableMapping[Key, Row]) -> None:
        self._rows = rows

    def get_item(self, **request: Any) -> dict[str, Any]:
        row = self._rows.get(key_of(request))
        return {"Item": row} if row else {}

    def update_item(self, **request: Any) -> dict[str, Any]:
        row = self._changed("dynamodb:updateItem", request)
        self._rows[key_of(request)] = row
        return {"Attributes": row}

    def delete_item(self, **request: Any) -> dict[str, Any]:
        self._changed("dynamodb:deleteItem", request)
        self._rows.pop(key_of(request), None)
        return {}

    def _changed(self, operation: str, request: Mapping[str, Any]) -> Row:
        try:
            return changed(operation, request, self._rows.get(key_of(request)))
        except RefusedError:
            error = {"Error": {"Code": "ConditionalCheckFailedException", "Message": "refused"}}
            raise ClientError(error, operation) from None  # type: ignore[arg-type]


def key_of(request: Mapping[str, Any]) -> Key:
    key = request.get("Key") or request["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def changed(operation: str, request: Mapping[str, Any], row: Row | None) -> Row:
    """The row after a putItem or an updateItem, in the shape the ASL sends it; {} once deleted."""
    at = (json.dumps([operation, request], sort_keys=True), json.dumps(row))
    if at not in _known:
        _known[at] = _change(operation, request, row)
    after = _known[at]
    if after is None:
        raise RefusedError
    return after


def _change(operation: str, request: Mapping[str, Any], row: Row | None) -> Row | None:
    backend = _table()
    pk, sk = key_of(request)
    place = {"pk": {"S": pk}, "sk": {"S": sk}}
    backend.delete_item(_TABLE, place)
    if row is not None:
        # moto adds to the very set that it was given, and this row is remembered.
        backend.put_item(_TABLE, deepcopy(row), overwrite=True)
    expressions = {
        "condition_expression": request.get("ConditionExpression"),
        "expression_attribute_names": request.get("ExpressionAttributeNames", {}),
        "expression_attribute_values": request.get("ExpressionAttributeValues", {}),
    }
    try:
        if operation == "dynamodb:putItem":
            backend.put_item(_TABLE, request["Item"], **expressions)
        elif operation == "dynamodb:deleteItem":
            backend.delete_item(_TABLE, place, **expressions)
            return {}
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
