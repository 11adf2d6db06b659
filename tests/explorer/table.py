"""DynamoDB on a single row: moto's table and expression evaluator, called directly."""

from collections.abc import Mapping
from typing import Any

from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend

Row = dict[str, dict[str, str]]

_TABLE = "claims"


class Refused(Exception):
    """The condition of a write did not hold."""


class OneRow:
    """Applies a request, in the shape the ASL sends it, to a row or to the lack of one."""

    def __init__(self) -> None:
        self._backend = DynamoDBBackend("us-east-1", "123456789012")
        self._backend.create_table(
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

    def put(self, row: Row | None, request: Mapping[str, Any]) -> Row:
        item = request["Item"]
        self._holding(row, item)
        try:
            self._backend.put_item(
                _TABLE,
                item,
                condition_expression=request.get("ConditionExpression"),
                expression_attribute_names=request.get("ExpressionAttributeNames"),
                expression_attribute_values=request.get("ExpressionAttributeValues"),
            )
        except ConditionalCheckFailed:
            raise Refused from None
        return self._now(item)

    def update(self, row: Row | None, request: Mapping[str, Any]) -> Row:
        key = request["Key"]
        self._holding(row, key)
        try:
            self._backend.update_item(
                _TABLE,
                key,
                update_expression=request["UpdateExpression"],
                condition_expression=request.get("ConditionExpression"),
                expression_attribute_names=request.get("ExpressionAttributeNames", {}),
                expression_attribute_values=request.get("ExpressionAttributeValues", {}),
            )
        except ConditionalCheckFailed:
            raise Refused from None
        return self._now(key)

    def _holding(self, row: Row | None, key: Mapping[str, Any]) -> None:
        self._backend.delete_item(_TABLE, {"pk": key["pk"], "sk": key["sk"]})
        if row is not None:
            self._backend.put_item(_TABLE, row, overwrite=True)

    def _now(self, key: Mapping[str, Any]) -> Row:
        item = self._backend.get_item(_TABLE, {"pk": key["pk"], "sk": key["sk"]})
        assert item is not None
        row: Row = item.to_json()["Attributes"]
        return row
