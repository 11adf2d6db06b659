"""Decides if a request may be sent now: by the circuit breaker, and by the limit per minute.

The breaker is one row of the claim table. No row is CLOSED. While OPEN, no request is sent before
the later of `open_until` and `not_before`. Then it is HALF_OPEN: the event that moves `open_until`
sends one request, whose success deletes the row. The row exists only between a failed request, a
429 or a pause and the next success, so a healthy stack has none.

The limit cuts a minute into slots, and a row of each slot counts the tokens taken from it. All
requests on the rows are built here, as boto3's keyword arguments. An event that may not be sent, or
that failed, gets its delay here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

Request = dict[str, Any]

KEY = {"pk": {"S": "pace"}, "sk": {"S": "breaker"}}
MOST_FAILED = 20
_KEY_DIGITS = 16  # enough to tell 20 events apart
_KEPT_SECONDS = 14 * 86_400
# Longer waits are obeyed in steps of this length, with one probe after each.
LONGEST_STEP_SECONDS = 180
_UNSAID_SECONDS = 30  # longer than Genesys' own clients wait, each by itself
_SLOT_KEPT_SECONDS = 3_600
# A token is good in its slot and 1.5 s more. The clock is read again after connecting, so a request
# is at most a second on its way: what a slot allows arrives within the slot and 2.5 s. So a minute,
# wherever it begins, meets the slots that touch 62.5 s, and all tokens of those together are never
# more than the limit.
_GRACE_MS = 1_500
_REACH_MS = 62_500
_FASTER = 25  # so many times as fast as it arrived, the backlog of an outage comes back
_SECOND_MS = 1_000
_LONGEST_MS = 900 * _SECOND_MS  # SQS delays a message by 15 minutes at most


@dataclass(frozen=True)
class Evidence:
    """The breaker opens if so many events failed and no request succeeded for so long."""

    failed: int
    lasted_ms: int


@dataclass(frozen=True)
class Times:
    """Production's times, or all of them shorter by one factor on the local stack."""

    # For 50 events per second and for 20 per hour; bench/breaker.py has the table.
    evidence: tuple[Evidence, ...]
    open_ms: int
    longest_open_ms: int
    # Between requests of an event that failed: its age, so that it doubles by itself.
    shortest_try_ms: int
    # Between looks of an event that met another reason: a fifth of its age.
    shortest_look_ms: int
    shortest_limited_ms: int
    longest_own_ms: int
    # An event that was sent shortly before the first failure belongs to the outage too.
    before_outage_ms: int
    # Beyond this, the order of an outage needs more than the longest delay.
    long_outage_ms: int
    period_ms: int
    # Spreads what is due at the same moment.
    spread_ms: int
    longest_ms: int

    @classmethod
    def of(cls, call_ms: int = 8_000, scale: float = 1.0) -> "Times":
        def scaled(seconds: float) -> int:
            return round(seconds * _SECOND_MS * scale)

        return cls(
            # A slow response of a healthy destination takes up to a call, and the row is read
            # up to a second later.
            evidence=(Evidence(20, call_ms + 4 * _SECOND_MS), Evidence(3, scaled(300))),
            open_ms=scaled(20),
            longest_open_ms=scaled(300),
            shortest_try_ms=scaled(30),
            shortest_look_ms=scaled(20),
            shortest_limited_ms=scaled(2),
            longest_own_ms=scaled(600),
            before_outage_ms=scaled(60),
            long_outage_ms=scaled(7_200),
            period_ms=scaled(450),
            spread_ms=scaled(10),
            longest_ms=min(_LONGEST_MS, scaled(900)),
        )


def clamp(value: float, low: float, high: float) -> float:
    """Returns the value, or the bound that it is beyond."""
    return min(max(value, low), high)


@dataclass(frozen=True)
class Row:
    """The row as read. `failed` counts events whose request failed for the first time."""

    since_ms: int | None = None
    failed: int = 0
    open_until_ms: int | None = None
    not_before_ms: int | None = None
    # An operator's pause: why and by whom.
    held: str | None = None
    held_by: str | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any] | None) -> "Row | None":
        """Reads the item of DynamoDB."""
        if not item:
            return None

        def number(name: str) -> int | None:
            return int(item[name]["N"]) if name in item else None

        def text(name: str) -> str | None:
            return str(item[name]["S"]) if name in item else None

        return cls(
            since_ms=number("since"),
            failed=len(item["failed"]["SS"]) if "failed" in item else 0,
            open_until_ms=number("open_until"),
            not_before_ms=number("not_before"),
            held=text("held"),
            held_by=text("held_by"),
        )

    @property
    def until_ms(self) -> int:
        """Nothing is sent before; 0 while the row only counts."""
        return max(self.open_until_ms or 0, self.not_before_ms or 0)

    @property
    def opened(self) -> bool:
        """Returns true if it opened or an operator paused it, and no request succeeded since."""
        return self.open_until_ms is not None or self.held is not None


@dataclass(frozen=True)
class Wait:
    """No requests: PAUSED, BREAKER_OPEN or RATE_LIMITED."""

    reason: str


@dataclass(frozen=True)
class Open:
    """To be written, if the row is still as it was seen; then no requests until then."""

    seen: Row
    until_ms: int


@dataclass(frozen=True)
class Probe:
    """To be written, if the row is still as it was seen; then one request."""

    seen: Row
    until_ms: int


def judge(row: Row | None, now_ms: int, times: Times) -> Wait | Open | Probe | None:
    """Decides by the row and the time. None: requests may be sent."""
    if row is None:
        return None
    if now_ms < row.until_ms:
        return Wait(_reason(row, now_ms))
    lasted_ms = now_ms - row.since_ms if row.since_ms is not None else 0
    if row.until_ms:
        pause_ms = clamp(lasted_ms / 15, times.open_ms, times.longest_open_ms)
        return Probe(row, now_ms + round(pause_ms))
    if any(row.failed >= each.failed and lasted_ms >= each.lasted_ms for each in times.evidence):
        return Open(row, now_ms + times.open_ms)
    return None


def _reason(row: Row, now_ms: int) -> str:
    if row.held is not None and now_ms < (row.not_before_ms or 0):
        return "PAUSED"
    return "BREAKER_OPEN" if now_ms < (row.open_until_ms or 0) else "RATE_LIMITED"


# The requests on the breaker's row.


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


@dataclass(frozen=True)
class Limiter:
    """A limit of requests per minute, at least 10."""

    per_minute: int

    @property
    def quota(self) -> int:
        """The tokens of a slot."""
        return max(1, min(10, self.per_minute // 30), self.per_minute // 60)

    @property
    def slot_ms(self) -> int:
        """The length of a slot: a minute holds all slots it touches, less the first."""
        return ceil(_REACH_MS / max(1, self.per_minute // self.quota - 1))

    def slot_at(self, now_ms: int) -> int:
        """Returns the number of the slot that the moment is in."""
        return now_ms // self.slot_ms

    def request_until_ms(self, slot: int) -> int:
        """Returns the time after which no request with a token of the slot may begin."""
        return (slot + 1) * self.slot_ms + _GRACE_MS

    def wait_ms(self, now_ms: int, u: float) -> int:
        """Returns the wait until a moment in the next slot, spread over half of it."""
        ends_ms = (self.slot_at(now_ms) + 1) * self.slot_ms
        return round(ends_ms - now_ms + u * self.slot_ms / 2)


def take_token(table: str, slot: int, quota: int, now_ms: int) -> Request:
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
            ":expires": {"N": str(now_ms // 1000 + _SLOT_KEPT_SECONDS)},
            ":one": {"N": "1"},
            ":quota": {"N": str(quota)},
        },
    }


def retry_in_seconds(
    reason: str, since_ms: int, row: Row | None, now_ms: int, u: float, times: Times
) -> int:
    """Returns the delay of the put-back message. `since_ms` is since when the event waits, `u` a
    random number from 0 to 1."""
    delay_ms = _delay_ms(reason, since_ms, row, now_ms, u, times)
    return int(clamp(ceil(delay_ms / _SECOND_MS), 1, times.longest_ms // _SECOND_MS or 1))


def _delay_ms(
    reason: str, since_ms: int, row: Row | None, now_ms: int, u: float, times: Times
) -> float:
    pause_ms = max(0, row.until_ms - now_ms) if row else 0
    if row and row.opened and row.since_ms is not None:
        later_ms = since_ms - row.since_ms
        if later_ms >= -times.before_outage_ms:
            lasted_ms = now_ms - row.since_ms
            if lasted_ms > times.long_outage_ms:
                return _in_the_next_period(max(0, later_ms) / lasted_ms, now_ms, times.period_ms)
            # The order in which the events arrived, behind the probe.
            ordered_ms = lasted_ms / 100 + max(0, later_ms) / _FASTER
            return pause_ms + ordered_ms + u * times.spread_ms
    age_ms = max(0, now_ms - since_ms)
    if reason == "LIMITED":
        own_ms = clamp(age_ms / 4, times.shortest_limited_ms, times.longest_own_ms)
    elif reason == "CALL_FAILED":
        own_ms = clamp(age_ms, times.shortest_try_ms, times.longest_own_ms)
    else:
        own_ms = clamp(age_ms / 5, times.shortest_look_ms, times.longest_own_ms)
    return max(pause_ms + u * times.spread_ms if pause_ms else 0, (0.5 + u) * own_ms)


def _in_the_next_period(place: float, now_ms: int, period_ms: int) -> float:
    """Places one look into each period, at the event's own moment: its place in the outage.

    So the period in which the destination is back sees the events in order, but for one cut:
    those whose moment was before the repair come in the next.
    """
    return period_ms - now_ms % period_ms + place * period_ms
