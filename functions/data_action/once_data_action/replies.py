"""The error of each HTTP status, the wait that a Retry-After asks for, and the JSON of a reply."""

import json
import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from .errors import ActionError, Failed, NotAuthorised, NotConfigured, RateLimited, Rejected

# Above any daily limit.
_LONGEST_RETRY_AFTER_SECONDS = 86_400

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_PASSING = {408, 409, 423, 425}
_NO_ADDRESS = {404, 405, 410}


def retry_after_seconds(header: str | None, now: datetime) -> int | None:
    """Seconds to wait, 0 to 86400; None when the header is missing or cannot be read."""
    text = (header or "").strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            when = parsedate_to_datetime(text)
        except (ValueError, OverflowError):  # a date of numbers that no calendar has
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - now).total_seconds()
    return math.ceil(min(max(seconds, 0), _LONGEST_RETRY_AFTER_SECONDS))


def error_of(status: int, retry_after: str | None, said: str = "") -> ActionError:
    """The error of a status that is not a success. `said` is what may be told of the answer."""
    wait = retry_after_seconds(retry_after, datetime.now(UTC))
    answered = f"the destination answered {status}{said}"
    if status == 429 or (status == 503 and wait is not None):
        asked = "" if wait is None else f": asked to wait {wait} s"
        return RateLimited(f"{answered}{asked}", status=status, retry_after_seconds=wait)
    if status in (401, 403):
        return NotAuthorised(
            f"{answered}: check the credentials in the secret and what they are allowed to do",
            status=status,
        )
    if status in _PASSING or status >= 500:
        return Failed(answered, status=status)
    if status >= 400 and status not in _NO_ADDRESS:
        return Rejected(f"{answered}: it refuses this event", status=status)
    return NotConfigured(
        f"{answered}: check its address, since redirects are not followed", status=status
    )


def json_object(text: Any) -> dict[str, Any]:
    """Returns the object of a JSON text; an empty one for anything else."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError):  # absent, not JSON, or of brackets alone
        return {}
    return value if isinstance(value, dict) else {}
