"""Notes in the breaker's row what the requests of this function say about the destination.

It never opens the breaker and never fails a request: a note that cannot be written is left out.
"""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from . import breaker_row
from .errors import ActionError, Failed, Paused, RateLimited, Rejected, Uncertain
from .request import ActionRequest

# What a batch read of the row is good for so long: a pause stops its requests after that.
FRESH_MS = 5_000
# Enough to tell 20 events apart.
_KEY_DIGITS = 16


class Breaker:
    def __init__(self, table: str, client: Any, now_ms: Callable[[], int]) -> None:
        self._table = table
        self._client = client
        self._now_ms = now_ms

    def refresh(self, request: ActionRequest) -> ActionRequest:
        """Reads the row again if the batch read it seconds ago; raises Paused if it says wait."""
        pace, now_ms = request.pace, self._now_ms()
        if pace.read_ms is not None and now_ms - pace.read_ms < FRESH_MS:
            return request
        try:
            row = self._client.get_item(**breaker_row.read(self._table)).get("Item", {})
        except (BotoCoreError, ClientError):
            return request  # the breaker protects the destination, never an event
        # A probe has moved open_until on itself.
        stops = ("not_before",) if pace.probe_ms else ("not_before", "open_until")
        if any(name in row and now_ms < int(row[name]["N"]) for name in stops):
            raise Paused("requests were paused after this batch began: nothing was sent")
        since_ms = int(row["since"]["N"]) if "since" in row else None
        return replace(request, pace=replace(pace, since_ms=since_ms))

    def note(self, request: ActionRequest, started_ms: int, error: ActionError | None) -> bool:
        """Returns true if so many events have failed that no second request should follow."""
        now_ms = self._now_ms()
        if error is not None and (error.for_all or isinstance(error, Failed)):
            keys = [] if request.failed_before else [request.idempotency_key[:_KEY_DIGITS]]
            noted = breaker_row.note_failure(self._table, started_ms, keys, now_ms)
            return self._is_full(noted)
        if isinstance(error, RateLimited):
            until_ms = breaker_row.rate_limited_until_ms(now_ms, error.retry_after_seconds)
            limited = breaker_row.note_rate_limited(self._table, started_ms, until_ms, now_ms)
            # Refused if a later time is in the row.
            with contextlib.suppress(BotoCoreError, ClientError):
                self._client.update_item(**limited)
        # A request of this event has failed before, or responses are slow: they come too late from
        # a batch that could have read the row.
        there = request.pace.since_ms is not None or request.retry > 0
        there = there or now_ms - started_ms > breaker_row.SLOW_MS
        if there and (error is None or isinstance(error, Rejected | Uncertain)):
            # Refused if a request failed since, or if a 429 or a pause is not over.
            with contextlib.suppress(BotoCoreError, ClientError):
                self._client.delete_item(**breaker_row.clear(self._table, started_ms))
        return False

    def _is_full(self, noted: breaker_row.Request) -> bool:
        try:
            row = self._client.update_item(**noted).get("Attributes", {})
        except ClientError as error:
            return bool(error.response["Error"]["Code"] == "ConditionalCheckFailedException")
        except BotoCoreError:
            return False
        return len(row.get("failed", {}).get("SS", [])) >= breaker_row.MOST_FAILED
