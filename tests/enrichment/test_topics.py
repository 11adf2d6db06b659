"""What must hold for each topic that Genesys publishes, over bodies that the SDK's models shape."""

import copy
import difflib
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from enrichment import topics
from enrichment.families import BY_TOPIC
from enrichment.snapshots import Snapshot

from tests.enrichment import sdk
from tests.enrichment.sending import changed, element, key, without
from tests.enrichment.topic_models import MODELS

TOPICS = sorted(MODELS)
SEEDS = (1, 2, 3)

# Names of fields that tell when the event itself happened, whatever the family.
BUSINESS_TIMES = {
    *("eventTime", "eventTimeMs", "timestamp", "metricDate", "currentStateStart"),
    *("modifiedDate", "modifyDate", "dateModified", "modifiedDateTime", "invocationTime"),
    *("exportTimestamp", "adherenceChangeTime", "presenceUpdateTime"),
}
# Names that mean state, wherever they are.
STATE = re.compile(
    r"^(.*(status|state|outcome|value|disposition)|action|operation|eventType|disconnectType"
    r"|wrap[uU]p[cC]ode|joined|held|(audio|video)?[mM]uted|exitReason|systemPresence|metric"
    r"|fileState|read|deleted|flowOutcomeValue|errorCode|primary|transferType|version"
    r"|currentOperation|adherenceState|impact|recording|securePause|confined)$",
    re.IGNORECASE,
)
# Ids that tell events apart in the families that do not hash their whole body; other ids there
# (division, external contact, language) describe what these identify.
IDENTITY = {
    *("id", "conversationId", "participantId", "sessionId", "communicationId", "userId"),
    *("queueId", "flowId", "flowOutcomeId", "answeredUserId", "recordId", "messageId", "entityId"),
    *("outboundContactId", "outboundContactListId", "outboundCampaignId", "summaryId"),
    *("statusId", "assigneeId", "customerId", "jobId", "operationId"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "topic" in metafunc.fixturenames:
        metafunc.parametrize("topic", TOPICS)


def body_of(event: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = event["detail"]["eventBody"]
    return body


# Declared topics that the SDK has no model for, each with where it is known from.
NOT_IN_THE_SDK = {
    "v2.conversations.chats.{id}.members": "Genesys' guide to guest chat",
    "v2.conversations.chats.{id}.messages": "Genesys' guide to guest chat",
}


def test_every_declared_topic_is_one_of_the_sdk_or_known_from_elsewhere() -> None:
    assert misspelt({*BY_TOPIC}, NOT_IN_THE_SDK) == []


def misspelt(declared: set[str], elsewhere: dict[str, str]) -> list[str]:
    """What is wrong with the declared topics, in words."""
    found = []
    for topic in sorted(declared - {*MODELS} - {*elsewhere}):
        near = difflib.get_close_matches(topic, MODELS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        found.append(
            f"{topic} is declared in families.py, and Genesys' SDK has no such topic.{meant} If it "
            "is right, add it to NOT_IN_THE_SDK in tests/enrichment/test_topics.py, with where you "
            "know it from."
        )
    for topic in sorted({*elsewhere} & {*MODELS}):
        found.append(f"{topic} is in the SDK by now: take it out of NOT_IN_THE_SDK.")
    for topic in sorted({*elsewhere} - declared):
        found.append(f"{topic} is not declared any more: take it out of NOT_IN_THE_SDK.")
    return found


def test_a_declared_topic_that_nobody_knows_is_named_with_what_to_do() -> None:
    presence = "v2.users.{id}.presence"
    (typo,) = misspelt({presence, "v2.users.{id}.presense"}, {})
    assert "v2.users.{id}.presense is declared" in typo
    assert f"Did you mean {presence}?" in typo
    assert "NOT_IN_THE_SDK" in typo
    assert [line.partition(":")[0] for line in misspelt(set(), {presence: "", "v2.x": ""})] == [
        f"{presence} is in the SDK by now",
        "v2.users.{id}.presence is not declared any more",
        "v2.x is not declared any more",
    ]


def test_normalises(topic: str) -> None:
    for seed in SEEDS:
        one = element(sdk.event(topic, seed))
        assert one["kind"] == "event", one["detail"]
        assert "note" not in one, "a full event needs no fall-back"
        assert one["subject"]["id"]
        assert one["body"] == body_of(sdk.event(topic, seed))


def shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {name: shuffled(value[name], random) for name in names}
    return [shuffled(part, random) for part in value] if isinstance(value, list) else value


def test_a_copy_has_the_same_key(topic: str) -> None:
    for seed in SEEDS:
        event = sdk.event(topic, seed)
        other = shuffled(copy.deepcopy(event), Random(seed))  # noqa: S311
        other["id"] = "6efd5506-3fd6-09a1-5599-09ae48bd6dd8"
        other["time"] = "2025-03-12T10:00:01Z"
        other["source"] = event["source"].replace("/first", "/second")
        other["detail"]["metadata"]["CorrelationId"] = "another-archival"
        other["detail"]["timestamp"] = "2025-03-12T10:00:00.999Z"
        assert key(other) == key(event)


def test_another_business_time_is_another_event(topic: str) -> None:
    event = sdk.event(topic, 1)
    for name, kind in sdk.fields(MODELS[topic]).items():
        if name in BUSINESS_TIMES and sdk.is_time(name, kind):
            value = body_of(event)[name]
            later = value + 1 if isinstance(value, int) else "2025-03-12T09:59:59.998Z"
            assert key(changed(event, name, to=later)) != key(event), name


def test_another_id_is_another_event(topic: str) -> None:
    event = sdk.event(topic, 1)
    for name, value in body_of(event).items():
        if (name == "id" or name.endswith("Id")) and isinstance(value, str):
            if name not in IDENTITY and topic in BY_TOPIC and not BY_TOPIC[topic].whole:
                continue
            assert key(changed(event, name, to=f"{value}x")) != key(event), name


def test_another_state_is_another_event(topic: str) -> None:
    event = sdk.event(topic, 1)
    for path, value in paths(body_of(event)):
        if STATE.match(str(path[-1])):
            other = (not value) if isinstance(value, bool) else f"{value}x"
            assert key(changed(event, *path, to=other)) != key(event), path


# What a snapshot says beside the state of its participants.
BESIDE = {"initialState", "errorInfo", "voicemail", "journeyContext", "recentTransfers"}
SNAPSHOT_TIME = re.compile(r"^(connected|disconnected|end|startHold|startAcw|endAcw)Time$")


def test_another_state_deep_in_a_snapshot_is_another_event() -> None:
    seen = set()
    for topic in BY_TOPIC:
        if BY_TOPIC[topic].body is not Snapshot or "queues" in topic:  # read alike
            continue
        event = sdk.event(topic, 1)
        for path, value in deep_paths(body_of(event)):
            name = str(path[-1])
            if BESIDE.isdisjoint(path) and (STATE.match(name) or SNAPSHOT_TIME.match(name)):
                other = (not value) if isinstance(value, bool) else f"{value}x"
                assert key(changed(event, *path, to=other)) != key(event), (topic, path)
                seen.add(name)
    assert {"state", "held", "muted", "recordingState", "adhocState", "endAcwTime"} <= seen


def deep_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Paths of the plain values at any depth, of a list those of its first part."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from deep_paths(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value[:1]:
            yield from deep_paths(inner, (*path, 0))
    else:
        yield path, value


def paths(value: Any) -> Any:
    """Paths of the plain values at the top and one step below."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from (((name, n), v) for n, v in inner.items() if not isinstance(v, dict | list))
        elif not isinstance(inner, list):
            yield (name,), inner


def test_with_neither_time_nor_unique_id_it_is_windowed(topic: str) -> None:
    timeless = sdk.event(topic, 1)
    strip(timeless["detail"]["eventBody"])
    policy = element(timeless)["policy"]
    assert policy["windowMs"] in (500, 1500)


def strip(value: Any) -> None:
    """Takes away all times and what is unique to one event."""
    if isinstance(value, dict):
        for name in list(value):
            lowered = name.lower()
            if re.search("time|date|timestamp|created|start", lowered) or name == "version":
                del value[name]
            else:
                strip(value[name])
    elif isinstance(value, list):
        for part in value:
            strip(part)


def test_nothing_is_keyed_on_a_null(topic: str) -> None:
    event = sdk.event(topic, 1)
    for name in body_of(event):
        null, missing = changed(event, name, to=None), without(event, name)
        assert key(null) == key(missing), name
        assert not re.search(r"None|null", "/".join(key(null)))


HOSTILE = (
    "a/b",
    "#",
    "%2F",
    "~",
    "x" * 5000,
    "ä/ö",
    "\U0001f512" * 80,
    "\u0000\u001f",
    " ",
    "\u202e",
    "-",
)


def test_hostile_ids_fit_dynamodb_and_stay_apart(topic: str) -> None:
    event = sdk.event(topic, 1)
    names = [n for n, v in body_of(event).items() if n == "id" or n.endswith("Id")]
    keys = set()
    for hostile in HOSTILE:
        other = copy.deepcopy(event)
        for name in names:
            body_of(other)[name] = hostile
        other["detail"]["topicName"] = topic.replace("{id}", hostile[:100])
        pk, sk = key(other)
        assert 0 < len(pk.encode()) <= 2048
        assert 0 < len(sk.encode()) <= 1024
        assert pk.count("/") == 2
        keys.add((pk, sk))
    assert len(keys) == len(HOSTILE) or not (names or "{id}" in topic)


def test_an_empty_id_is_a_missing_one(topic: str) -> None:
    event = sdk.event(topic, 1)
    for name in body_of(event):
        if name == "id" or name.endswith("Id"):
            one = element(changed(event, name, to=""))
            assert one["kind"] == "event"
            assert one["subject"]["id"]


def test_without_its_envelope_it_is_the_same_event(topic: str) -> None:
    event = sdk.event(topic, 1)
    web_socket = {k: v for k, v in event["detail"].items() if k != "timestamp"}
    body = body_of(event) | {"organizationId": "1f0e6a52-7d3c-4c1b-9a55-0c9d8e7f6a5b"}
    assert key({**event, "detail": {**event["detail"], "eventBody": body}}) == key(
        {**web_socket, "eventBody": body}
    )


def test_the_ids_of_a_topic_are_what_a_regular_expression_would_find() -> None:
    def lazily(template: str, topic: str) -> tuple[str, ...]:
        *before, last = map(re.escape, template.split(topics.SLOT))
        found = re.fullmatch("(.+?)".join([*before, last]), topic, re.DOTALL)
        return found.groups() if found else ()

    words = ("", "a", "aa", "b", ".", "a.b")
    for template in (f"{x}{{id}}{y}{{id}}{z}" for x in words for y in words for z in words):
        for topic in ("a", "aab", "a.b.a", "aaaa.b", "b.a.a.b", "a.bb.a.b", ""):
            assert topics.slots(template, topic) == lazily(template, topic), (template, topic)
