"""The ways in which a request fails, and what the state machine reads of them.

A target raises a direct subclass of `ActionError`, which says all that follows from it. A user's
function raises the same by name, and `make schemas` writes them into docs/data-action.md. `act`
turns the error of an event into a `Verdict`, which the state machine catches.
"""

# ruff: noqa: N818 - the names are the contract with the state machine and with users' functions

import json
from collections.abc import Mapping
from typing import Any, ClassVar

LONGEST_CAUSE = 300
ENDED = "the function ended without an answer during a request of this event"


class NotNow(Exception):
    """No request began: PAUSED, RATE_LIMITED, LIMITED, BREAKER_OPEN or TOO_LATE."""

    def __init__(self, sentence: str, why: str = "TOO_LATE") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.why = why


class ActionError(Exception):
    """A failure in a sentence of ours: no secret, no payload, no word of the destination.

    `for_all` says that any other event would have met the same; `repeatable`, that a second
    request may follow immediately; `is_sent`, that the destination may have got the request.
    """

    reason: ClassVar[str]
    is_parked: ClassVar[bool] = False
    """A person decides what follows; otherwise the event comes back by itself."""
    is_try: ClassVar[bool] = False
    """It counts for the breaker and towards MaxTries."""
    closes_breaker: ClassVar[bool] = False
    """It proves that the destination responds."""

    def __init__(
        self,
        sentence: str,
        *,
        status: int | None = None,
        retry_after_seconds: float | None = None,
        for_all: bool = False,
        repeatable: bool = True,
        is_sent: bool = True,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.for_all = for_all
        # What refused a connection does so a second later, too.
        self.repeatable = repeatable and is_sent
        self.is_sent = is_sent
        # When its request began; set by the driver. None: nothing was sent.
        self.started_ms: int | None = None

    def verdict(self, **facts: Any) -> "Verdict":
        """Returns what the state machine catches. Without facts, the event comes back unsent."""
        kind = Parked if self.is_parked else PutBack
        known = {"reason": self.reason, "cause": plain(self.sentence), "requests": 0}
        return kind({**known, "retryInSeconds": 60, **facts})


class Failed(ActionError):
    """The request failed, but may succeed later. The event comes back after its age, 30 s to
    10 min."""

    reason = "CALL_FAILED"
    is_try = True


class RateLimited(ActionError):
    """The destination asked to wait. The event comes back when the time is over; meanwhile no
    request is sent, except one every 3 min."""

    reason = "RATE_LIMITED"


class NotAuthorised(ActionError):
    """Credentials or permissions are wrong. The event comes back after a fifth of its age, 20 s to
    10 min."""

    reason = "SETUP_FAULT"


class NotConfigured(ActionError):
    """A setting, mapping, secret or address is wrong. The event comes back after a fifth of its
    age, 20 s to 10 min."""

    reason = "SETUP_FAULT"


class Rejected(ActionError):
    """The destination permanently rejected the event, which never comes back by itself."""

    reason = "REJECTED"
    is_parked = True
    closes_breaker = True


class Uncertain(ActionError):
    """The destination began to act and failed, so it may have acted. The event never comes back by
    itself."""

    reason = "UNCERTAIN"
    is_parked = True
    closes_breaker = True


class GaveUp(Failed):
    """The last of `MaxTries` failed. The event never comes back by itself."""

    reason = "GAVE_UP"
    is_parked = True


class Verdict(Exception):
    """The error that the state machine catches: its class names the next state, its text has the
    facts."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        super().__init__()
        self.facts = facts

    def __str__(self) -> str:
        """Writes one JSON object in ASCII, below 2 KB."""
        return json.dumps(self.facts, separators=(",", ":"))


class Transient(Verdict):
    """The state machine invokes the function again immediately; a second one is `PutBack`."""


class PutBack(Verdict):
    """The event comes back later."""


class Parked(Verdict):
    """A person decides."""


def plain(sentence: str) -> str:
    """Replaces what is not printable ASCII, and cuts what is too long for a record."""
    return "".join(c if " " <= c <= "~" else "?" for c in sentence)[:LONGEST_CAUSE]
