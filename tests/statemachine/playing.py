"""Plays one event through the deployed definition, with the answers that its tasks get."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from proof.asl.errors import Failure
from proof.asl.jsonata import Library
from proof.asl.machine import Machine
from proof.asl.services import REFUSED, function_error, function_result
from proof.definition.asl import definition
from tests.asl import playing as asl

Json = Any
NOW_MS = 1_777_888_800_000
SENT_MS = NOW_MS - 1_000
ME = "uuid#m1"
OTHER = "other#m0"
DOWN = Failure("DynamoDB.AmazonDynamoDBException", "throttled")
ACTED = function_result(
    {"result": "ACTED", "reason": "ACTED", "requests": 1, "status": 200, "ageMs": 1_500}
)


@cache
def machine() -> Machine:
    return Machine(definition(), Library(), draw=lambda: 1.0)


def element(**more: Json) -> dict[str, Json]:
    """Returns the enrichment's element of an event that happens once."""
    return {
        "version": "2",
        "firstMessageId": "m1",
        "firstSentAtMs": SENT_MS,
        "waitsSinceMs": SENT_MS,
        "receives": 1,
        "raw": '{"detail": {"eventBody": {"id": 12345678901234567890}}}',
        "bodyPath": ["detail", "eventBody"],
        "family": "v2.users.station",
        "topic": "v2.users.u1.station",
        "occurredAtMs": SENT_MS,
        "key": {"pk": "org/user/u1", "sk": "v2/station/on"},
        "keyHash": "a" * 64,
        "policy": {"windowMs": 0, "order": "none"},
        "route": {"name": "all", "action": "act"},
        "trace": {"envelopeId": "e1", "source": "aws.partner/genesys.com/cloud/org/main"},
        **more,
    }


def changing(**more: Json) -> dict[str, Json]:
    """Returns the element of a state whose changes count."""
    policy = {"windowMs": 0, "order": "changes", "latest": "latest/station"}
    return element(**{"policy": policy, "facts": "facts-on", **more})


def returning(reason: str = "BREAKER_OPEN", **more: Json) -> dict[str, Json]:
    """Returns the element of a message that was put back and is due."""
    return element(
        **{
            "waitsSinceMs": NOW_MS - 60_000,
            "after": OTHER,
            "dueAtMs": NOW_MS - 1_000,
            "lastReason": reason,
            **more,
        }
    )


def row(**fields: str | int) -> Json:
    """Returns what GetItem says of a row."""
    return {"Item": attributes(**fields)}


def attributes(**fields: str | int) -> Json:
    return {
        name: {"N": str(value)} if isinstance(value, int) else {"S": value}
        for name, value in fields.items()
    }


def claim(**fields: str | int) -> Json:
    """Returns another execution's claim of the same key, which is done."""
    usual: dict[str, str | int] = {
        "status": "DONE",
        "outcome": "PROCESSED",
        "owner": OTHER,
        "event_id": "",
        "event_time": SENT_MS,
        "occurrence": SENT_MS,
        "tries": 0,
        "failed_at": 0,
        "deaths": 0,
        "claimed_at": NOW_MS - 200_000,
        "lease_until": NOW_MS - 60_000,
        "expires_at": NOW_MS // 1000 + 86_400,
    }
    return row(**{**usual, **fields})


def raised(name: str, **facts: Json) -> Failure:
    """Returns an error of the data action function."""
    return function_error(name, json.dumps(facts))


class Play(asl.Play):
    """One event from start to end. A task without an answer gets an empty one."""

    usual: Mapping[str, Json] = {"PutBack": {"MessageId": "m3"}}

    def __init__(
        self,
        given: Json,
        answers: Mapping[str, Sequence[Json]] | None = None,
        played: Machine | None = None,
    ) -> None:
        super().__init__(played or machine(), given, answers, started_ms=NOW_MS)

    @property
    def path(self) -> list[str]:
        """The tasks in their order, without their retries."""
        states = [call.state for call in self.calls]
        return [name for place, name in enumerate(states) if states[place - 1 : place] != [name]]

    def asked(self, state: str) -> Json:
        """Returns the arguments of the last call of a state."""
        return [call for call in self.calls if call.state == state][-1].arguments

    def body(self, state: str) -> Json:
        return json.loads(self.asked(state)["MessageBody"])

    def written(self, state: str) -> dict[str, str]:
        """Returns the values that a state wrote, or compared with, by their names."""
        values = self.asked(state)["ExpressionAttributeValues"]
        return {name: next(iter(value.values())) for name, value in values.items()}

    @property
    def record(self) -> dict[str, Json]:
        assert self.output == {"batchItemFailures": []}
        (event,) = self.asked("RecordOutcome")["LogEvents"]
        record = json.loads(event["Message"])
        assert isinstance(record, dict)
        return record

    @property
    def outcome(self) -> tuple[str, str]:
        return self.record["outcome"], self.record["reason"]


_LATEST = row(owner=OTHER, claim="v2/x", event_time=NOW_MS, turn_until=NOW_MS + 9_000, facts="x")
PLAYS: dict[str, tuple[Json, dict[str, list[Json]]]] = {
    "acted": (element(), {"RunAction": [ACTED]}),
    "unsure": (
        changing(occurredAtMs=NOW_MS - 400),
        {
            "AdvanceLatest": [REFUSED, {}],
            "ReadLatest": [_LATEST],
            "ReadPredecessor": [claim(status="IN_PROGRESS"), claim()],
            "RunAction": [ACTED],
        },
    ),
    "unwanted": (changing(expiresAtMs=1), {"NoteBreak": [DOWN] * 3}),
    "copy": (element(), {"ClaimKey": [REFUSED], "ReadClaim": [claim()]}),
    "held": (
        element(),
        {"ClaimKey": [REFUSED], "ReadClaim": [claim(status="IN_PROGRESS", lease_until=NOW_MS * 2)]},
    ),
    "failed": (element(), {"RunAction": [raised("PutBack", reason="CALL_FAILED", requests=1)]}),
    "rejected": (element(), {"RunAction": [raised("Parked", reason="REJECTED")]}),
    "short look": (
        returning("CALL_FAILED"),
        {"ReadBreaker": [row(since=NOW_MS - 9_000, open_until=NOW_MS + 9_000)]},
    ),
}
"""An event and the answers of its tasks, for each stretch of the definition."""
