"""The short way for what most messages are: one whole step of a conversation, from EventBridge.

It answers what `normalise` would the long way, in less time (bench/enrichment.py), or None where
anything is unusual. The tests hold both to the same answers.
"""

from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any, NamedTuple

from enrichment import topics
from enrichment.envelope import LONGEST_TOPIC, organization_of
from enrichment.families import BY_TOPIC
from enrichment.identity import id_names
from enrichment.keys import is_plain, partition
from enrichment.times import AHEAD_MS, EARLIEST_MS, LAST_MS, is_iso, iso
from enrichment.words import KEY_VERSION, VERSION

# Their keys are made of ids, a time and states alone, all at the top of the body.
_STEPS = {topic: family for topic, family in BY_TOPIC.items() if family.word and not family.content}


class Plan(NamedTuple):
    """What is known of a topic's events with the same fields before any of them."""

    family: str
    subject_type: str
    state: str
    ids: tuple[str, ...]
    texts: Callable[[Any], tuple[Any, ...]]  # the ids, then what else must be text
    values: Callable[[Any], tuple[Any, ...]]  # what the key is made of
    key: str  # a format of the subject, a slash, and all that follows the prefix in the sk
    slashes: int
    prefix: str
    time: str


@lru_cache(maxsize=512)
def _plan(template: str, names: tuple[str, ...]) -> Plan | None:
    """The plan of a step whose body has these fields; None where it lacks one or names more."""
    declared = _STEPS[template]
    subject_type, subject_field = declared.subject
    required = (subject_field, *declared.identity, declared.time)
    ids, nested = id_names(names)
    if nested or "id" in ids or not {*required} <= {*names}:
        return None
    states = [path for path in declared.state if path in names]
    texts = dict.fromkeys([*ids, *required, *states])
    del texts[declared.time]
    told = (f"{path}=%s" if path in names else f"{path}=" for path in declared.state)
    key = "/".join([*["%s"] * len(required), *told])
    family = topics.family_name(template)
    return Plan(
        family,
        subject_type,
        declared.word,
        ids,
        itemgetter(*texts),
        itemgetter(*required, *states),
        key,
        key.count("/"),
        f"{KEY_VERSION}/{family}/",
        declared.time,
    )


@lru_cache(maxsize=256)
def _partition(source: str, subject_type: str) -> tuple[str | None, str]:
    organization_id = organization_of(source)
    return organization_id, partition(organization_id, subject_type)


def straight(message_id: str, event: Any, sent_ms: int | None) -> dict[str, Any] | None:
    """The element of a parsed event, where it is of the usual kind."""
    try:
        template = event["detail-type"]
        if template not in _STEPS or sent_ms is None:
            return None
        detail = event["detail"]
        body = detail["eventBody"]
        plan = _plan(template, tuple(body))
        if plan is None:
            return None
        family, subject_type, state, id_fields, texts_of, values_of, form, slashes, stem, time = (
            plan
        )
        envelope_id, source = event["id"], event["source"]
        topic, published = detail["topicName"], detail["timestamp"]
        correlation_id = detail["metadata"]["CorrelationId"]
        texts, ms = texts_of(body), body[time]
        "".join(texts)  # fails where one is no text
        organization_id, prefix = _partition(source, subject_type)
        text = form % values_of(body)
        is_published = is_iso(published)
    except (LookupError, TypeError):
        return None
    if (
        "" in texts
        or type(ms) is not int
        or not EARLIEST_MS <= ms <= sent_ms + AHEAD_MS
        or ms > LAST_MS
        or not is_plain(text, slashes)
        or organization_id is None
        or not is_published
        or "replay-name" in event
        or not correlation_id
        or not type(envelope_id) is type(correlation_id) is type(topic) is str
        or len(topic) > LONGEST_TOPIC
    ):
        return None
    subject_id, _, rest = text.partition("/")
    pk = prefix + subject_id
    sk = stem + rest
    return {
        "messageId": message_id,
        "kind": "event",
        "lane": pk,
        "version": VERSION,
        "family": family,
        "topic": topic,
        "organizationId": organization_id,
        "subject": {"type": subject_type, "id": subject_id},
        "state": state,
        "occurredAt": iso(ms),
        "occurredAtMs": ms,
        "publishedAt": published,
        "ids": dict(zip(id_fields, texts)),  # noqa: B905 - of one length, each time
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
