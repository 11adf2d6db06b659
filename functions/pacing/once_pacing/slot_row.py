"""The limiter's rows, one a slot, and both requests on them, as boto3's keyword arguments."""

from typing import Any

Request = dict[str, Any]

_KEPT_SECONDS = 3_600


def take(table: str, slot: int, wanted: int, quota: int, now_ms: int) -> Request:
    """Builds the UpdateItem that takes tokens. It is refused if the slot is used up; else the
    response has the tokens used so far.

    Taking more than are left is not undone: none is left then, for this batch or another.
    """
    return {
        "TableName": table,
        "Key": _key(slot),
        "UpdateExpression": "SET expires_at = :expires ADD used :wanted",
        "ConditionExpression": "attribute_not_exists(used) OR used < :quota",
        "ExpressionAttributeValues": {
            ":expires": {"N": str(now_ms // 1000 + _KEPT_SECONDS)},
            ":wanted": {"N": str(wanted)},
            ":quota": {"N": str(quota)},
        },
        "ReturnValues": "UPDATED_NEW",
    }


def give_back(table: str, slot: int, tokens: int) -> Request:
    """Builds the UpdateItem that gives tokens back. It is not idempotent: it is made once."""
    return {
        "TableName": table,
        "Key": _key(slot),
        "UpdateExpression": "ADD used :less",
        "ConditionExpression": "used >= :tokens",
        "ExpressionAttributeValues": {
            ":less": {"N": str(-tokens)},
            ":tokens": {"N": str(tokens)},
        },
    }


def _key(slot: int) -> dict[str, Any]:
    return {"pk": {"S": "pace"}, "sk": {"S": f"slot/{slot}"}}
