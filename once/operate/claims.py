"""The claim table as an operator sees it: what was decided about a subject, and what holds it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from once.operate.stack import Stack

LATEST = "latest/"


class Status(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    FAILED = "FAILED"


class Claim(BaseModel):
    """The row of one logical event."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)

    pk: str
    sk: str
    status: Status
    owner: str
    message_id: str
    event_id: str = ""
    event_time: int
    occurrence: int
    claimed_at: int
    lease_until: int
    expires_at: int
    family: str
    topic: str
    copies: int = 0
    outcome: str | None = None
    done_at: int | None = None
    tries: int = 0
    failed_at: int = 0
    cause: str = ""
    dropped_at: int | None = None

    @property
    def key(self) -> str:
        """How a person names it, e.g. to `once forget`."""
        return f"{self.pk}/{self.sk}"

    @property
    def forgotten(self) -> bool:
        """`once forget` opened it; the next copy of the event acts again, as a new occurrence."""
        return self.status is Status.FAILED and self.occurrence < 0

    @property
    def forgotten_at_ms(self) -> int | None:
        """When `once forget` opened it, however it ended since."""
        return -self.occurrence if self.occurrence < 0 else None

    @property
    def dropped_at_ms(self) -> int | None:
        """When a person deleted it where it was parked. Whoever takes it over writes it afresh."""
        return self.dropped_at if self.outcome == "PARKED" else None

    def held(self, now_ms: int) -> bool:
        return self.status is Status.IN_PROGRESS and self.lease_until >= now_ms


class Latest(BaseModel):
    """The row of the newest state that passed of one family of a subject."""

    pk: str
    sk: str
    event_time: int
    owner: str
    message_id: str


def of_subject(stack: Stack, pk: str) -> tuple[list[Claim], list[Latest]]:
    """Every row of one subject, in the order of its events."""
    claims, latest = [], []
    for item in _query(stack, pk):
        if item["sk"].startswith(LATEST):
            latest.append(Latest.model_validate(item))
        else:
            claims.append(Claim.model_validate(item))
    return sorted(claims, key=lambda claim: claim.event_time), latest


def expires(stack: Stack, now_ms: int) -> dict[str, str]:
    """When a row goes that is written now, as DynamoDB wants it."""
    days = int(stack.parameters.get("ClaimDays", "30"))
    return {"N": str(now_ms // 1000 + days * 86_400)}


def plain(item: dict[str, Any]) -> dict[str, Any]:
    """An item without DynamoDB's types; numbers stay text, which the models read."""
    return {name: next(iter(value.values())) for name, value in item.items()}


def _query(stack: Stack, pk: str) -> Iterator[dict[str, Any]]:
    pages = (
        stack.client("dynamodb")
        .get_paginator("query")
        .paginate(
            TableName=stack.outputs["ClaimTableName"],
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
        )
    )
    for page in pages:
        for item in page["Items"]:
            yield plain(item)
