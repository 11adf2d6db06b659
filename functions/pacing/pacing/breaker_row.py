"""The one row of the breaker and every request on it, as boto3's keyword arguments.

It exists only between a failed call and the next answered one, so a healthy stack has none. The
data action function carries a copy of the three requests that it makes itself: note_failure,
note_rate_limited and clear.
"""

from collections.abc import Sequence
from typing import Any

Request = dict[str, Any]

KEY = {"pk": {"S": "pace"}, "sk": {"S": "breaker"}}
MOST_FAILED = 20
SLOW_MS = 1_000
_KEPT_SECONDS = 14 * 86_400
# Longer waits are obeyed in steps of this length, with one probe after each.
_LONGEST_STEP_SECONDS = 180
_UNSAID_SECONDS = 30


def read(table: str) -> Request:
    """For GetItem."""
    return {"TableName": table, "Key": KEY, "ConsistentRead": True}


def note_failure(table: str, started_ms: int, keys: Sequence[str], now_ms: int) -> Request:
    """For UpdateItem: a call that began then failed.

    `keys` are the first 16 digits of the idempotency keys of events that had never failed before:
    retries of what always fails would make a healthy destination look down. A set, because nobody
    can tell a repeated write from a first one. Refused once the set is full.
    """
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
    """Until when nobody calls after a 429, or a 503 that names a time."""
    seconds = _UNSAID_SECONDS if retry_after_seconds is None else retry_after_seconds
    return now_ms + round(1000 * min(max(seconds, 1), _LONGEST_STEP_SECONDS))


def note_rate_limited(table: str, started_ms: int, until_ms: int, now_ms: int) -> Request:
    """For UpdateItem: nobody calls before then. Refused where a later time stands already."""
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
    """For DeleteItem: a call that began then was answered.

    Made where the batch had read a row, and after any answer that took longer than SLOW_MS: with
    failures as slow as answers, those of batches that could have read the row come too late.
    A row of failures that began after the call stays, and so does a wait or a hold that was not
    over by then. What opening changes is not asked for, or the answers that come right then would
    count for nothing.
    """
    return {
        "TableName": table,
        "Key": KEY,
        "ConditionExpression": "since < :started AND "
        "(attribute_not_exists(not_before) OR not_before < :started)",
        "ExpressionAttributeValues": {":started": _n(started_ms)},
    }


def open_(table: str, since_ms: int | None, until_ms: int, now_ms: int) -> Request:
    """For UpdateItem: enough failed. Refused where it is open already, or the row is another."""
    return _update(
        table, {"open_until": until_ms}, _as_read(since=since_ms, open_until=None), now_ms
    )


def probe(
    table: str,
    since_ms: int | None,
    open_until_ms: int | None,
    not_before_ms: int | None,
    until_ms: int,
    now_ms: int,
) -> Request:
    """For UpdateItem: whoever writes it makes the one call; everyone else waits until then."""
    seen = _as_read(since=since_ms, open_until=open_until_ms, not_before=not_before_ms)
    return _update(table, {"open_until": until_ms}, seen, now_ms)


def end_probe(table: str, until_ms: int, now_ms: int) -> Request:
    """For UpdateItem: the probe made no call, so the next batch may probe at once."""
    return _update(table, {"open_until": now_ms}, _as_read(open_until=until_ms), now_ms)


def hold(table: str, by: str, until_ms: int, now_ms: int) -> Request:
    """For UpdateItem: a person lets nobody call before then; afterwards one batch probes."""
    request = _update(table, {"not_before": until_ms}, {}, now_ms)
    request["UpdateExpression"] += ", since = if_not_exists(since, :now), held = :by"
    request["ExpressionAttributeValues"] |= {":now": _n(now_ms), ":by": {"S": by}}
    return request


def resume(table: str) -> Request:
    """For DeleteItem: a person lets everybody call at once."""
    return {"TableName": table, "Key": KEY}


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
