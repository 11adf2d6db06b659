"""What a call says about the destination, noted at once for everybody who would call it next.

It never opens the breaker and never fails a call: a note that cannot be made is not made.
"""

import contextlib
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from . import breaker_row
from .errors import ActionError, Failed, RateLimited, Rejected, Uncertain
from .request import ActionRequest

# Enough to tell 20 events apart.
_KEY_DIGITS = 16


class Breaker:
    def __init__(self, table: str, client: Any, now_ms: Callable[[], int]) -> None:
        self._table = table
        self._client = client
        self._now_ms = now_ms

    def note(self, request: ActionRequest, started_ms: int, error: ActionError | None) -> bool:
        """Whether so many events failed that nobody should call again at once."""
        now_ms = self._now_ms()
        if isinstance(error, Failed):
            keys = [] if request.failed_before else [request.idempotency_key[:_KEY_DIGITS]]
            noted = breaker_row.note_failure(self._table, started_ms, keys, now_ms)
            return self._is_full(noted)
        if isinstance(error, RateLimited):
            until_ms = breaker_row.rate_limited_until_ms(now_ms, error.retry_after_seconds)
            limited = breaker_row.note_rate_limited(self._table, started_ms, until_ms, now_ms)
            # Refused where a later time stands already.
            with contextlib.suppress(BotoCoreError, ClientError):
                self._client.update_item(**limited)
        # Where answers are slow, a batch that could have read the row answers too late.
        there = request.row.there or now_ms - started_ms > breaker_row.SLOW_MS
        if there and (error is None or isinstance(error, Rejected | Uncertain)):
            # Refused where it failed since, or where a wait or a hold is not over.
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
