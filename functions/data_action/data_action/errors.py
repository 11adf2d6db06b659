"""What a call can end in. The state machine's Catch reads the class names, operators the message.

ActionError
├── Transient      nobody can say what happened, or it passes: asked again, with the same key
├── RateLimited    asked again after `retryAfterSeconds`
├── Rejected       refused for good: parked
├── Uncertain      Genesys began the action and failed in it: parked as done, it may have acted
├── NotAuthorised  credentials or permissions: a fault of the set-up, the event waits
├── NotConfigured  settings, mapping, secret, address: a fault of the set-up, the event waits
└── TooLate        the time for a call was over: nothing was sent
"""

# ruff: noqa: N818 — the names are the contract with the state machine

import json


class ActionError(Exception):
    """Its text is one line of JSON and never holds a secret, an address' path or a payload."""

    def __init__(
        self, detail: str, *, status: int | None = None, retry_after_seconds: int | None = None
    ) -> None:
        message: dict[str, str | int] = {"detail": detail[:300]}
        if status is not None:
            message["status"] = status
        if retry_after_seconds is not None:
            message["retryAfterSeconds"] = retry_after_seconds
        super().__init__(json.dumps(message))


class Transient(ActionError):
    pass


class RateLimited(ActionError):
    pass


class Rejected(ActionError):
    pass


class Uncertain(ActionError):
    pass


class NotAuthorised(ActionError):
    pass


class NotConfigured(ActionError):
    pass


class TooLate(ActionError):
    pass
