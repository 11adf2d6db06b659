"""Where copies come from, in words: what was seen, who makes them, and what to do about it."""

from typing import NamedTuple


class Origin(NamedTuple):
    what: str
    who: str
    do: str


ORIGINS = {
    "envelope": Origin(
        "the same envelope id",
        "EventBridge or a queue delivered one event again, or two rules send it to one target",
        "Look whether two rules match the same events and have the same target. What is left is "
        "delivery at least once, which no setting ends: only a claim on the event does.",
    ),
    "published": Origin(
        "another envelope id, the same integration",
        "Genesys Cloud published the event again",
        "Nothing in the envelope tells these copies, so no key may be made of its id, its time or "
        "the CorrelationId. It has to be made of what happened, to whom and when.",
    ),
    "integration": Origin(
        "another integration of the same organisation",
        "two EventBridge integrations in Genesys Cloud send the same topics",
        "Take the topics out of one of the integrations in Genesys Cloud, or let the rule take "
        "one source only. Until then a claim on the event skips them.",
    ),
    "custom": Origin(
        "the shape of a custom event",
        "your own publisher",
        "Let the publisher give each event an id that stays the same when it sends it again.",
    ),
    "replay": Origin(
        "an archive's replay",
        "somebody replayed an EventBridge archive",
        "Nothing: what was settled before is skipped. `once forget` lets it act again on purpose.",
    ),
    "queue": Origin(
        "the same queue message twice",
        "SQS handed one message out again",
        "Nothing: a standard queue delivers at least once, and the claim remembers the message.",
    ),
    "unknown": Origin(
        "no envelope id to compare",
        "unknown: the capture holds events without their envelope",
        "Capture whole events, not only their detail (docs/audit.md), to see who makes the copies.",
    ),
}
