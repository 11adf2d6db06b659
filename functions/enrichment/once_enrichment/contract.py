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


class IgnoredReason(StrEnum):
    """Why no request is sent for an event."""

    NO_ROUTE_MATCHED = "NO_ROUTE_MATCHED"
    ROUTE_IS_NONE = "ROUTE_IS_NONE"
