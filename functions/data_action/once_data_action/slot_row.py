"""The limiter's rows, one per slot, and the request that takes a token, as boto3's arguments."""

from typing import Any

_KEPT_SECONDS = 3_600


def take(table: str, slot: int, quota: int, now_ms: int) -> dict[str, Any]:
    """Builds the UpdateItem that takes one token. It is refused if the slot is used up.

    A token whose response was lost, or that no request used, is not given back: giving it back
    twice would exceed the limit.
    """
    return {
        "TableName": table,
        "Key": {"pk": {"S": "pace"}, "sk": {"S": f"slot/{slot}"}},
        "UpdateExpression": "SET expires_at = :expires ADD used :one",
        "ConditionExpression": "attribute_not_exists(used) OR used < :quota",
        "ExpressionAttributeValues": {
            ":expires": {"N": str(now_ms // 1000 + _KEPT_SECONDS)},
            ":one": {"N": "1"},
            ":quota": {"N": str(quota)},
        },
    }
