"""The error of each HTTP status, and the wait that a Retry-After asks for."""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from .errors import ActionError, Failed, NotAuthorised, NotConfigured, RateLimited, Rejected

# For all events, then one request probes: longer than Genesys' own clients wait, each by itself.
_DEFAULT_RETRY_AFTER_SECONDS = 30
# Above any daily limit.
_LONGEST_RETRY_AFTER_SECONDS = 86_400

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_PASSING = {408, 409, 423, 425}


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
        wait = _DEFAULT_RETRY_AFTER_SECONDS if wait is None else wait
        return RateLimited(
            f"{answered}: asked to wait {wait} s", status=status, retry_after_seconds=wait
        )
    if status in (401, 403):
        return NotAuthorised(
            f"{answered}: check the credentials in the secret and what they are allowed to do",
            status=status,
        )
    if status in (404, 405, 410) or status < 200:
        return NotConfigured(f"{answered}: check its address", status=status)
    if status in _PASSING or status >= 500:
        return Failed(answered, status=status)
    if status >= 400:
        return Rejected(f"{answered}: it refuses this event", status=status)
    return NotConfigured(
        f"{answered}: redirects are not followed, give its final address", status=status
    )
