"""The limiter and the gate before the destination, as their rows in the claim table tell."""

import math

from pydantic import Field

from once.operate import phrases as words
from once.operate.claims import plain
from once.operate.model import Model
from once.operate.stack import Stack

_MINUTE_MS = 60_000


class Limit(Model):
    """MaxActionsPerMinute, and how long what waits will take."""

    per_minute: int
    waiting: int

    @property
    def text(self) -> str:
        if not self.waiting:
            return f"limited to {self.per_minute:,} a minute, nothing waiting"
        minutes = math.ceil(self.waiting / self.per_minute)
        return (
            f"limited to {self.per_minute:,} a minute, {self.waiting:,} waiting, drained in about "
            f"{minutes} minute{'s' * (minutes > 1)}"
        )


class Destination(Model):
    """How it does, where that is not simply well."""

    since_ms: int
    failed: int
    acted: int
    next_probe_at_ms: int | None = Field(description="Null while it is still called.")

    def text(self, now_ms: int) -> str:
        if self.next_probe_at_ms is None:
            return f"{self.failed} of {self.failed + self.acted} calls failed in the last minute"
        seconds = math.ceil((self.next_probe_at_ms - now_ms) / 1000)
        probe = f"next probe in {seconds} s" if seconds > 0 else "the next event probes it"
        return f"destination down since {words.moment(self.since_ms)[:19]} UTC, {probe}"


def limit(stack: Stack, waiting: int) -> Limit | None:
    per_minute = int(stack.parameters.get("MaxActionsPerMinute", "0"))
    return Limit(per_minute=per_minute, waiting=waiting) if per_minute else None


def destination(stack: Stack, now_ms: int) -> Destination | None:
    answer = stack.client("dynamodb").get_item(
        TableName=stack.outputs["ClaimTableName"],
        Key={"pk": {"S": "gate"}, "sk": {"S": "health"}},
        ConsistentRead=True,
    )
    if "Item" not in answer:
        return None
    row = plain(answer["Item"])
    since_ms = int(row.get("since", now_ms))
    if "open_until" not in row and since_ms < now_ms - _MINUTE_MS:
        return None  # a count that is over
    return Destination(
        since_ms=since_ms,
        failed=row.get("failed", 0),
        acted=row.get("acted", 0),
        next_probe_at_ms=row.get("open_until"),
    )
