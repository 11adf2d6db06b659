"""Says where copies come from: what was seen, who makes them, and what to do about it."""

from typing import NamedTuple


class Origin(NamedTuple):
    what: str
    who: str
    do: str


ORIGINS = {
    "envelope": Origin(
        "the same envelope id",
        "EventBridge or a queue delivered one event again, or two rules send it to one target",
        "Check if two rules match the same events and have the same target. Otherwise this is "
        "at-least-once delivery, which no setting ends: only a claim on the event skips it.",
    ),
    "published": Origin(
        "another envelope id, the same integration",
        "Genesys Cloud published the event again",
        "The ids and times of the envelope differ between such copies, so a key must not contain "
        "them. Make the key from the event's own content, subject and time.",
    ),
    "integration": Origin(
        "another integration of the same organisation",
        "two EventBridge integrations in Genesys Cloud send the same topics",
        "Remove the topics from one of the integrations in Genesys Cloud, or let the rule match "
        "one source only. Until then a claim on the event skips the copies.",
    ),
    "custom": Origin(
        "the shape of a custom event",
        "your own publisher",
        "Let the publisher give each event an id that stays the same when it sends it again.",
    ),
    "replay": Origin(
        "an archive's replay",
        "an EventBridge archive was replayed",
        "Nothing: settled events are skipped. To act on one again on purpose: `once forget`.",
    ),
    "queue": Origin(
        "the same queue message twice",
        "SQS delivered one message again",
        "Nothing: a standard queue delivers at least once, and the claim knows the message.",
    ),
    "unknown": Origin(
        "no envelope id to compare",
        "unknown: the capture has events without their envelope",
        "Capture whole events, not only their detail (docs/audit.md), to see who makes the copies.",
    ),
}
