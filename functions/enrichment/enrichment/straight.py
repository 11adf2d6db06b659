"""The short way for what most messages are: one whole step of a conversation, from EventBridge.

It answers what `normalise` would the long way, in less time (bench/enrichment.py), or None where
anything is unusual. The tests hold both to the same answers.
"""

from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from enrichment import topics
from enrichment.envelope import LONGEST_TOPIC, organization_of
from enrichment.families import BY_TOPIC
from enrichment.identity import ids_of
from enrichment.keys import is_plain, partition
from enrichment.reader import Read, reader
from enrichment.times import AHEAD_MS, as_iso, iso
from enrichment.words import KEY_VERSION, VERSION


class Plan(NamedTuple):
    """What is known of a topic before any of its events."""

    family: str
    subject_type: str
    subject_field: str
    state: str
    read: Read
    key: str  # a format of the subject, a slash, and all that follows the prefix in the sk
    slashes: int
    prefix: str
    at_time: int


@lru_cache(maxsize=256)
def _plan(template: str) -> Plan | None:
    """The plan of a topic whose key is made of ids, a time and states alone."""
    declared = BY_TOPIC.get(template)
    if declared is None or not declared.word or declared.content:
        return None
    subject_type, subject_field = declared.subject
    required = (subject_field, *declared.identity, declared.time)
    key = "/".join(["%s"] * len(required) + [f"{path}=%s" for path in declared.state])
    family = topics.family_name(template)
    return Plan(
        family,
        subject_type,
        subject_field,
        declared.word,
        reader(declared.body, required, declared.state),
        key,
        key.count("/"),
        f"{KEY_VERSION}/{family}/",
        len(required) - 1,
    )


@lru_cache(maxsize=256)
def _partition(source: str, subject_type: str) -> tuple[str | None, str]:
    organization_id = organization_of(source)
    return organization_id, partition(organization_id, subject_type)


def straight(message_id: str, event: Any, sent_ms: int | None) -> dict[str, Any] | None:
    """The element of a parsed event, where it is of the usual kind."""
    try:
        plan = _plan(event["detail-type"])
        if plan is None or sent_ms is None:
            return None
        detail, envelope_id, source = event["detail"], event["id"], event["source"]
        body, topic, published = detail["eventBody"], detail["topicName"], detail["timestamp"]
        correlation_id = detail["metadata"]["CorrelationId"]
        values = plan.read(body)
        ms = values[plan.at_time]
        organization_id, prefix = _partition(source, plan.subject_type)
        if ms > sent_ms + AHEAD_MS or len(topic) > LONGEST_TOPIC:
            return None
    except (LookupError, TypeError, ValueError):
        return None
    published_at = as_iso(published)
    ids = ids_of(body)
    text = plan.key % values
    if (
        not is_plain(text, plan.slashes)
        or organization_id is None
        or published_at is None
        or None in values
        or plan.subject_field not in ids
        or "id" in ids
        or "replay-name" in event
        or not correlation_id
        or not type(envelope_id) is type(correlation_id) is type(topic) is str
    ):
        return None
    subject_id, _, rest = text.partition("/")
    pk = prefix + subject_id
    sk = plan.prefix + rest
    return {
        "messageId": message_id,
        "kind": "event",
        "lane": pk,
        "version": VERSION,
        "family": plan.family,
        "topic": topic,
        "organizationId": organization_id,
        "subject": {"type": plan.subject_type, "id": subject_id},
        "state": plan.state,
        "occurredAt": iso(ms),
        "occurredAtMs": ms,
        "publishedAt": published_at,
        "ids": ids,
        "key": {"pk": pk, "sk": sk},
        "idempotencyKey": sha256(f"{pk}\n{sk}".encode()).hexdigest(),
        "policy": {"windowMs": 0, "order": "none"},
        "body": body,
        "trace": {
            "envelopeId": envelope_id,
            "correlationId": correlation_id,
            "source": source,
        },
    }
