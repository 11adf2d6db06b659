"""What a call can end in. The state machine reads the class names, and the facts in the messages.

ActionError
├── Failed         the call got no answer, or one that passes: the queue asks again, same key
├── Transient      the same where a second call is allowed at once, and this was the first
├── RateLimited    nobody is to call for `retryAfterSeconds`
├── Rejected       refused for good: parked
├── Uncertain      Genesys began the action and failed in it: parked as done, it may have acted
├── NotAuthorised  credentials or permissions: a fault of the set-up, the event waits
├── NotConfigured  settings, mapping, secret, address: a fault of the set-up, the event waits
└── TooLate        the time for a call was over: nothing was sent, nor before, or it is Failed
"""

# ruff: noqa: N818 — the names are the contract with the state machine

_LONGEST = 300
# JSON writes these with a backslash or the state machine looks for them behind the sentence.
_PLAIN = str.maketrans({'"': "'", "\\": "/", "[": "(", "]": ")"})


class ActionError(Exception):
    """Its text never holds a secret, an address' path, a payload or a word of the destination."""

    def __init__(
        self, sentence: str, *, status: int | None = None, retry_after_seconds: int | None = None
    ) -> None:
        self.sentence = sentence
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        # Said by whoever knows of all the calls made for the event in this execution.
        self.calls = 0
        self.started_ms: int | None = None
        self.ended_ms: int | None = None

    def __str__(self) -> str:
        """Our own sentence, then the facts that apply: `it failed [calls=1 status=502]`."""
        plain = "".join(
            character if " " <= character <= "~" else "?"
            for character in self.sentence.translate(_PLAIN)
        )
        facts = {
            "calls": self.calls,
            "status": self.status,
            "startedMs": self.started_ms,
            "endedMs": self.ended_ms,
            "retryAfterSeconds": self.retry_after_seconds,
        }
        said = " ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        return f"{plain[:_LONGEST]} [{said}]"


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


class NotAuthorised(ActionError):
    pass


class NotConfigured(ActionError):
    pass


class TooLate(ActionError):
    pass
