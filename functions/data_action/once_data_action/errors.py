"""The errors a request can end in. The state machine reads the class, and the facts in the message.

ActionError
├── Failed         no response, or one that passes: the event is sent again later, same key
├── Transient      the same, if a second request may follow immediately
├── RateLimited    nothing may be sent for `retryAfterSeconds`
├── Rejected       permanently rejected: parked
├── Uncertain      Genesys began the action and failed in it: parked as done, it may have acted
├── Paused         an operator, the destination or the breaker stopped requests: nothing was sent
├── NotAuthorised  credentials or permissions: a configuration error, the event waits
├── NotConfigured  settings, mapping, secret, address: a configuration error, the event waits
└── TooLate        no time was left to begin: nothing was sent

After a failed request Paused and TooLate are raised as Failed.
"""

# ruff: noqa: N818 — the names are the contract with the state machine

import json

MARKER = "1"
_LONGEST = 300


class ActionError(Exception):
    """Holds no secret, no path of an address, no payload and no word of the destination.

    `for_all` says that any other event would have met the same.
    """

    def __init__(
        self,
        sentence: str,
        *,
        status: int | None = None,
        retry_after_seconds: int | None = None,
        for_all: bool = False,
    ) -> None:
        self.sentence = sentence
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.for_all = for_all
        # Set by the handler, which knows all requests of the event in this execution.
        self.requests = 0
        self.ended_ms: int | None = None
        self.duration_ms: int | None = None

    def __str__(self) -> str:
        """Writes what the state machine reads: one JSON object in ASCII."""
        plain = "".join(
            character if " " <= character <= "~" else "?" for character in self.sentence
        )
        facts = {
            "once": MARKER,
            "sentence": plain[:_LONGEST],
            "requests": self.requests,
            "status": self.status,
            "retryAfterSeconds": self.retry_after_seconds,
            "endedMs": self.ended_ms,
            "durationMs": self.duration_ms,
        }
        known = {name: value for name, value in facts.items() if value is not None}
        return json.dumps(known, separators=(",", ":"))


class Failed(ActionError):
    pass


class Transient(ActionError):
    pass


class RateLimited(ActionError):
    pass


class Rejected(ActionError):
    pass


class Uncertain(ActionError):
    pass


class Paused(ActionError):
    pass


class NotAuthorised(ActionError):
    pass


class NotConfigured(ActionError):
    pass


class TooLate(ActionError):
    pass
