"""The words of the contract that code decides by: versions, marks, and reasons in closed lists."""

from enum import StrEnum

VERSION = "2"
KEY_VERSION = "v2"

UNREADABLE = "UNREADABLE"
"""The reason with which the state machine parks a message that holds no event."""

CANARY = "GenesysOnceCanary"
"""Message attribute of an event that `once check` sends.

No event from a bus has it: a rule sets no message attributes (SqsParameters in the EventBridge API
Reference has MessageGroupId only). Who may send to the queue can set it.
"""


class Unfit(StrEnum):
    """Why a message holds no event that could be decided on; the first word of `detail`."""

    BODY_MISSING = "BODY_MISSING"
    NOT_JSON = "NOT_JSON"
    TOO_DEEP = "TOO_DEEP"
    NUMBER_OUT_OF_RANGE = "NUMBER_OUT_OF_RANGE"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    NOT_AN_EVENT = "NOT_AN_EVENT"
    UNKNOWN_SHAPE = "UNKNOWN_SHAPE"
    NO_SUBJECT = "NO_SUBJECT"
    NO_TIME = "NO_TIME"


class IgnoredReason(StrEnum):
    """Why no request is sent for an event."""

    NO_ROUTE_MATCHED = "NO_ROUTE_MATCHED"
    ROUTE_IS_NONE = "ROUTE_IS_NONE"
