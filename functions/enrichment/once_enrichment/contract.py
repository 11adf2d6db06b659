"""The words of the contract that code decides by: versions, and reasons in closed lists."""

from enum import StrEnum

VERSION = "1"
KEY_VERSION = "v1"
FIRST_SENT = "FirstSentTimestamp"
"""Message attribute of what a person sends once more: its first SentTimestamp. Where no other clock
dates an event, its copies are told by that one."""

CANARY = "GenesysOnceCanary"
"""Message attribute of an event that `once check` sends.

No event from a bus has it: a rule sets no message attributes (SqsParameters in the EventBridge API
Reference has MessageGroupId only). Who may send to the queue can set it, and so can a subscriber of
the newer Custom Event Bus, whose role may send to the queue.
"""


class ParkedReason(StrEnum):
    """Why a message holds no event that could be decided on."""

    BODY_MISSING = "BODY_MISSING"
    NOT_JSON = "NOT_JSON"
    TOO_DEEP = "TOO_DEEP"
    NUMBER_OUT_OF_RANGE = "NUMBER_OUT_OF_RANGE"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    NOT_AN_EVENT = "NOT_AN_EVENT"
    UNKNOWN_SHAPE = "UNKNOWN_SHAPE"
    NO_SUBJECT = "NO_SUBJECT"
    NO_TIME = "NO_TIME"
    INVALID_REPLAY = "INVALID_REPLAY"
    TOO_SLOW = "TOO_SLOW"
    UNEXPECTED = "UNEXPECTED"


class IgnoredReason(StrEnum):
    """Why an event is claimed but not acted on."""

    NO_ROUTE_MATCHED = "NO_ROUTE_MATCHED"
    ROUTE_IS_NONE = "ROUTE_IS_NONE"


class RetryReason(StrEnum):
    """Why an event could not be prepared now; its message is handed back to the queue."""

    OVERFLOW_NOT_CONFIGURED = "OVERFLOW_NOT_CONFIGURED"
    OVERFLOW_FAILED = "OVERFLOW_FAILED"
    BATCH_TOO_LARGE = "BATCH_TOO_LARGE"
    ROUTES_INVALID = "ROUTES_INVALID"
