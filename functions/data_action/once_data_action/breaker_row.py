"""The requests on the breaker's row that are made here, as boto3's keyword arguments.

A copy of what pacing/breaker_row.py, which has the whole story, makes of them; a test holds both
equal. A function's folder holds all that is deployed with it.
"""

from collections.abc import Sequence
from typing import Any

Request = dict[str, Any]

KEY = {"pk": {"S": "pace"}, "sk": {"S": "breaker"}}
MOST_FAILED = 20
SLOW_MS = 1_000
_KEPT_SECONDS = 14 * 86_400
_LONGEST_STEP_SECONDS = 180
_UNSAID_SECONDS = 30


def read(table: str) -> Request:
    """Builds the GetItem that reads the row."""
    return {"TableName": table, "Key": KEY, "ConsistentRead": True}


def note_failure(table: str, started_ms: int, keys: Sequence[str], now_ms: int) -> Request:
    """Builds the UpdateItem for a failed request. It is refused when the set is full."""
    request: Request = {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": "SET since = if_not_exists(since, :since), expires_at = :expires",
        "ExpressionAttributeValues": {":since": _n(started_ms), ":expires": _expires(now_ms)},
        "ReturnValues": "ALL_NEW",
    }
    if keys:
        request["UpdateExpression"] += " ADD failed :keys"
        request["ConditionExpression"] = "attribute_not_exists(failed) OR size(failed) < :most"
        request["ExpressionAttributeValues"] |= {
            ":keys": {"SS": sorted(set(keys))},
            ":most": _n(MOST_FAILED),
        }
    return request


def rate_limited_until_ms(now_ms: int, retry_after_seconds: float | None) -> int:
    """Returns until when nothing is sent after a 429, or a 503 that names a time."""
    seconds = _UNSAID_SECONDS if retry_after_seconds is None else retry_after_seconds
    return now_ms + round(1000 * min(max(seconds, 1), _LONGEST_STEP_SECONDS))


def note_rate_limited(table: str, started_ms: int, until_ms: int, now_ms: int) -> Request:
    """Builds the UpdateItem for a 429. It is refused if a later time is in the row."""
    return {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": "SET since = if_not_exists(since, :since), not_before = :until, "
        "expires_at = :expires",
        "ConditionExpression": "attribute_not_exists(not_before) OR not_before < :until",
        "ExpressionAttributeValues": {
            ":since": _n(started_ms),
            ":until": _n(until_ms),
            ":expires": _expires(now_ms),
        },
    }


def clear(table: str, started_ms: int) -> Request:
    """Builds the DeleteItem for a request that succeeded or was rejected."""
    return {
        "TableName": table,
        "Key": KEY,
        "ConditionExpression": "since < :started AND "
        "(attribute_not_exists(not_before) OR not_before < :started)",
        "ExpressionAttributeValues": {":started": _n(started_ms)},
    }


def _expires(now_ms: int) -> dict[str, str]:
    return _n(now_ms // 1000 + _KEPT_SECONDS)


def _n(value: int) -> dict[str, str]:
    return {"N": str(value)}
