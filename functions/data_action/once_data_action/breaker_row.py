"""The one row of the breaker and every request on it, as boto3's keyword arguments.

It exists only between a failed request, a 429 or a pause and the next success, so a healthy stack
has none.
"""

from typing import Any

from .breaker import Row
from .times import clamp

Request = dict[str, Any]

KEY = {"pk": {"S": "pace"}, "sk": {"S": "breaker"}}
MOST_FAILED = 20
_KEY_DIGITS = 16  # enough to tell 20 events apart
_KEPT_SECONDS = 14 * 86_400
# Longer waits are obeyed in steps of this length, with one probe after each.
LONGEST_STEP_SECONDS = 180
_UNSAID_SECONDS = 30  # longer than Genesys' own clients wait, each by itself


def read(table: str) -> Request:
    """Builds the GetItem that reads the row."""
    return {"TableName": table, "Key": KEY, "ConsistentRead": True}


def note_failure(table: str, since_ms: int, key: str | None, now_ms: int) -> Request:
    """Builds the UpdateItem for a request that began then and failed. Its response has the row.

    `key` is the Idempotency-Key of an event that had never failed before; None for any other, or
    an event that always fails would make a healthy destination look down. The keys are a set,
    because a repeated write looks like a first one. The write is refused when the set is full.
    """
    request: Request = {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": "SET since = if_not_exists(since, :since), expires_at = :expires",
        "ExpressionAttributeValues": {":since": _n(since_ms), ":expires": _expires(now_ms)},
        "ReturnValues": "ALL_NEW",
    }
    if key is not None:
        request["UpdateExpression"] += " ADD failed :key"
        request["ConditionExpression"] = "attribute_not_exists(failed) OR size(failed) < :most"
        request["ExpressionAttributeValues"] |= {
            ":key": {"SS": [key[:_KEY_DIGITS]]},
            ":most": _n(MOST_FAILED),
        }
    return request


def rate_limited_until_ms(now_ms: int, retry_after_seconds: float | None) -> int:
    """Returns the time before which no request is sent, after a 429 or a 503 that names a time."""
    seconds = _UNSAID_SECONDS if retry_after_seconds is None else retry_after_seconds
    return now_ms + round(1000 * clamp(seconds, 1, LONGEST_STEP_SECONDS))


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
    """Builds the DeleteItem for a request that began then and succeeded.

    A row of failures that began after the request stays, and so does a 429 or a pause that was
    not over by then. The condition does not name what opening changes, or responses at that
    moment would not count.
    """
    return {
        "TableName": table,
        "Key": KEY,
        "ConditionExpression": "since < :started AND "
        "(attribute_not_exists(not_before) OR not_before <= :started)",
        "ExpressionAttributeValues": {":started": _n(started_ms)},
    }


def open_(table: str, seen: Row, until_ms: int, now_ms: int) -> Request:
    """Builds the UpdateItem that opens. It is refused if the row is open already, or another."""
    as_read = _as_read(since=seen.since_ms, open_until=None)
    return _update(table, {"open_until": until_ms}, as_read, now_ms)


def probe(table: str, seen: Row, until_ms: int, now_ms: int) -> Request:
    """Builds the UpdateItem of a probe: its writer sends the one request, all others wait."""
    as_read = _as_read(
        since=seen.since_ms, open_until=seen.open_until_ms, not_before=seen.not_before_ms
    )
    return _update(table, {"open_until": until_ms}, as_read, now_ms)


def end_probe(table: str, until_ms: int, now_ms: int) -> Request:
    """Builds the UpdateItem for a probe that sent no request: the next event may probe."""
    return _update(table, {"open_until": now_ms}, _as_read(open_until=until_ms), now_ms)


def pause(table: str, reason: str, by: str, until_ms: int, now_ms: int) -> Request:
    """Builds the UpdateItem of a pause until then; afterwards one event probes."""
    request = _update(table, {"not_before": until_ms}, {}, now_ms)
    request["UpdateExpression"] += (
        ", since = if_not_exists(since, :now), held = :reason, held_by = :by"
        ", held_at = if_not_exists(held_at, :now)"
    )
    values = {":now": _n(now_ms), ":reason": {"S": reason}, ":by": {"S": by}}
    request["ExpressionAttributeValues"] |= values
    return request


def end_pause(table: str) -> Request:
    """Builds the DeleteItem that ends a pause. It is refused if requests failed."""
    return {
        "TableName": table,
        "Key": KEY,
        "ConditionExpression": "since = held_at AND attribute_not_exists(failed)",
    }


def resume(table: str) -> Request:
    """Builds the UpdateItem that ends a pause in an outage.

    The time of the first failure stays, or the next failure of every waiting event would be a try.
    """
    return {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": "REMOVE open_until, not_before, failed, held, held_by, held_at",
        "ConditionExpression": "attribute_exists(pk)",
    }


def _update(table: str, values: dict[str, int], condition: Request, now_ms: int) -> Request:
    assignments = ", ".join(f"{name} = :new_{name}" for name in values)
    there = condition.get("ExpressionAttributeValues", {})
    new = {f":new_{name}": _n(value) for name, value in values.items()}
    return {
        "TableName": table,
        "Key": KEY,
        "UpdateExpression": f"SET expires_at = :expires, {assignments}",
        **condition,
        "ExpressionAttributeValues": {":expires": _expires(now_ms)} | new | there,
    }


def _as_read(**fields: int | None) -> Request:
    """The condition that the row and these are still what was read, absent ones included."""
    clauses = ["attribute_exists(pk)"] + [
        f"attribute_not_exists({name})" if value is None else f"{name} = :{name}"
        for name, value in fields.items()
    ]
    values = {f":{name}": _n(value) for name, value in fields.items() if value is not None}
    condition: Request = {"ConditionExpression": " AND ".join(clauses)}
    return condition | ({"ExpressionAttributeValues": values} if values else {})


def _expires(now_ms: int) -> dict[str, str]:
    return _n(now_ms // 1000 + _KEPT_SECONDS)


def _n(value: int) -> dict[str, str]:
    return {"N": str(value)}
