"""The ways in which a request fails. The state machine reads the class, and the facts as JSON.

ActionError
├── Failed         no response, or one that passes: the event is sent again later, same key
├── Transient      the same; the state machine invokes the function again immediately
├── RateLimited    nothing may be sent for `retry_after_seconds`
├── NotAuthorised  credentials or permissions: a configuration error, the event waits
├── NotConfigured  settings, mapping, secret, address: a configuration error, the event waits
├── Rejected       permanently rejected: parked
├── Uncertain      the destination began to act and failed in it: parked, it may have acted
├── GaveUp         failed for the last of MaxTries: parked
└── NotNow         no request may be sent now: returned, never raised to the state machine
"""

# ruff: noqa: N818 - the names are the contract with the state machine

import json
from typing import Any, ClassVar

LONGEST_CAUSE = 300
ENDED = "the function ended without an answer during a request of this event"


class ActionError(Exception):
    """A failure in a sentence of ours: no secret, no payload, no word of the destination.

    `for_all` says that any other event would have met the same; `repeatable`, that a second
    request may follow immediately; `is_sent`, that the destination may have got the request.
    """

    reason: ClassVar[str]

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
        self.sentence = sentence
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.for_all = for_all
        # What refused a connection does so a second later, too.
        self.repeatable = repeatable and is_sent
        self.is_sent = is_sent
        # When its request began; set by the driver. None: nothing was sent.
        self.started_ms: int | None = None
        # What the state machine reads beside the reason and the cause. The action sets all of
        # them; an error of a setup that cannot be used at all has only these.
        self.facts: dict[str, Any] = {"requests": 0, "retryInSeconds": 60}

    def __str__(self) -> str:
        """Writes one JSON object in ASCII, below 2 KB, without what is unknown."""
        facts = {"reason": self.reason, "cause": plain(self.sentence)}
        facts |= {name: value for name, value in self.facts.items() if value is not None}
        return json.dumps(facts, separators=(",", ":"))


class Failed(ActionError):
    reason = "CALL_FAILED"


class Transient(Failed):
    pass


class RateLimited(ActionError):
    reason = "RATE_LIMITED"


class NotAuthorised(ActionError):
    reason = "SETUP_FAULT"


class NotConfigured(ActionError):
    reason = "SETUP_FAULT"


class Rejected(ActionError):
    reason = "REJECTED"


class Uncertain(ActionError):
    reason = "UNCERTAIN"


class GaveUp(ActionError):
    reason = "GAVE_UP"


class NotNow(ActionError):
    """PAUSED, RATE_LIMITED, LIMITED, BREAKER_OPEN or TOO_LATE: no request began."""

    def __init__(self, sentence: str, why: str = "TOO_LATE") -> None:
        super().__init__(sentence)
        self.why = why


def plain(sentence: str) -> str:
    """Replaces what is not printable ASCII, and cuts what is too long for a record."""
    return "".join(c if " " <= c <= "~" else "?" for c in sentence)[:LONGEST_CAUSE]
