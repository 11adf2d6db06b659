"""The form of a scenario file (README.md shows it by example), and the events in it."""

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from proof.definition.asl import SUBSTITUTIONS, states

CASES = Path(__file__).parent / "cases"
TASKS = frozenset(name for name, state in states().items() if state["Type"] == "Task")
_THEIR_FAULTS = ("Transient", "Failed", "RateLimited", "Rejected", "Uncertain")
_OUR_FAULTS = ("NotAuthorised", "NotConfigured", "TooLate", "crash")
ANSWERS = frozenset(("ok", "observes", *_THEIR_FAULTS, *_OUR_FAULTS))
_UNITS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def _milliseconds(value: object) -> object:
    """A number is seconds; `400ms`, `5min`, `31d` say their unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(value * 1_000)
    if isinstance(value, str) and (found := re.fullmatch(r"(-?[\d.]+) ?(ms|s|min|h|d)", value)):
        return round(float(found[1]) * _UNITS[found[2]])
    raise ValueError(f"{value!r} is no time: write seconds, or 400ms, 5min, 2h, 31d")


def _answer(value: object) -> object:
    words = str(value).removeprefix("acts then ").split()
    number = len(words) == 2 and words[0] == "RateLimited" and words[1].isdigit()
    if words and words[0] in ANSWERS and (len(words) == 1 or number):
        return value
    raise ValueError(f"{value!r} is no answer of a destination: {', '.join(sorted(ANSWERS))}")


def _task(value: object) -> object:
    if value in TASKS:
        return value
    raise ValueError(f"{value!r} is no task of the state machine: {', '.join(sorted(TASKS))}")


Ms = Annotated[int, BeforeValidator(_milliseconds)]
Answer = Annotated[str, BeforeValidator(_answer)]
Task = Annotated[str, BeforeValidator(_task)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Message(Strict):
    """One element of a batch, as the enrichment would answer it for one message."""

    message: str
    like: str | None = None
    key: str | None = None
    subject: str = "c1"
    family: str = "conversation.user.end"
    at: Ms = 0
    event_id: str | None = None
    window: Ms = 0
    order: Literal["none", "latest", "changes"] = "none"
    body: dict[str, Any] = {}
    body_bytes: int = 0
    body_ref: str | None = None
    copy_of: str | None = None
    parked: str | None = None
    unready: str | None = None
    receives: int = 1
    sent: Ms | None = None
    without: str | None = None
    ignored: str | None = None
    max_age: Ms | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "Message":
        kinds = [self.key or self.like, self.copy_of, self.parked, self.unready]
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError(
                f"message {self.message} needs exactly one of key, like, copy_of, parked, unready"
            )
        return self

    def element(self, organisation: str, zero_ms: int) -> dict[str, Any]:
        whole = self._whole_element(organisation, zero_ms) | {
            "receiptHandle": f"receipt-of-{self.message}",
            "receives": self.receives,
            "sentAtMs": zero_ms + (self.sent or 0),
        }
        return {name: value for name, value in whole.items() if name != self.without}

    def _whole_element(self, organisation: str, zero_ms: int) -> dict[str, Any]:
        if self.copy_of is not None:
            return {
                "messageId": self.message,
                "kind": "copy",
                "subjectKey": f"{organisation}/conversation/{self.subject}",
                "copyOf": self.copy_of,
                "occurredAtMs": zero_ms + self.at,
                "trace": {},
            }
        if self.parked is not None or self.unready is not None:
            return {
                "messageId": self.message,
                "kind": "parked" if self.parked else "retry",
                "subjectKey": self.message,
                "reason": self.parked or self.unready,
                "detail": "as the scenario says",
            } | ({"raw": "not an event"} if self.parked else {})
        pk, sk = self.row_key(organisation)
        occurred_ms = zero_ms + self.at
        policy: dict[str, Any] = {"windowMs": self.window, "order": self.order}
        if self.order != "none":
            policy["latest"] = f"latest/{self.family}"
        body = (
            {"bodyRef": {"bucket": "overflow", "key": self.body_ref}}
            if self.body_ref
            else {"body": self.body | ({"text": "x" * self.body_bytes} if self.body_bytes else {})}
        )
        return {
            "messageId": self.message,
            "kind": "event",
            "subjectKey": pk,
            "version": "1",
            "family": self.family,
            "topic": f"v2.detail.events.{self.family}",
            "organizationId": organisation,
            "subject": {"type": "conversation", "id": self.subject},
            "state": str(self.key),
            "occurredAt": _iso(occurred_ms),
            "occurredAtMs": occurred_ms,
            "ids": {"conversationId": self.subject},
            "key": {"pk": pk, "sk": sk},
            "idempotencyKey": idempotency_key(pk, sk),
            "policy": policy,
            "route": {"name": "all", "action": "none" if self.ignored else "send"}
            | ({"ignored": self.ignored} if self.ignored else {}),
            **({"expiresAtMs": occurred_ms + self.max_age} if self.max_age is not None else {}),
            **body,
            "trace": {"eventId": self.event_id} if self.event_id else {},
        }

    def row_key(self, organisation: str) -> tuple[str, str]:
        return f"{organisation}/conversation/{self.subject}", f"v1/{self.family}/{self.key}"


class Fault(Strict):
    """A fault, or something meanwhile, at a call of the machine."""

    state: Task
    message: str | None = None
    from_call: int = 1
    calls: int = 1
    takes: Ms = 0
    rewrites: "dict[str, Row]" = {}
    meanwhile: "Delivery | None" = None
    fails: str | None = None
    afterwards: "Delivery | None" = None
    answer_lost: str | None = None
    dies: Literal["before", "after"] | None = None


class Delivery(Strict):
    """One batch as the pipe hands it to one execution, and what is to become of it."""

    name: str = ""
    clock: Ms = 0
    batch: list[Message | str]
    faults: list[Fault] = []
    expect: dict[str, str] | Literal["died"]
    returned: list[str] = []
    returns: dict[str, Ms] = {}


class Row(Strict):
    """Any row of the table; of an expected one only the fields that are named count."""

    status: Literal["IN_PROGRESS", "DONE", "FAILED"] | None = None
    outcome: str | None = None
    owner: str | None = None
    message_id: str | None = None
    event_id: str | None = None
    event_time: Ms | None = None
    state: str | None = None
    occurrence: Ms | None = None
    forgotten_at: Ms | None = None
    claimed_at: Ms | None = None
    lease_until: Ms | None = None
    done_at: Ms | None = None
    expires_at: Ms | None = None
    copies: int | None = None
    tries: int | None = None
    failed_at: Ms | Literal["never"] | None = None
    cause: str | None = None
    since: Ms | None = None
    failed: int | None = None
    open_until: Ms | None = None
    not_before: Ms | None = None
    held: str | None = None
    used: int | None = None


class Request(Strict):
    key: str
    occurrence: Ms | None = None
    by: str | None = None
    at: Ms | None = None
    deadline: Ms | None = None
    allowed: int | None = None
    retry: int | None = None
    body: dict[str, Any] | None = None
    answer: str


class Parked(Strict):
    message: str
    reason: str
    by: str | None = None
    kind: str | None = None


class Settings(Strict):
    """The deployment's settings that matter to the scenario."""

    max_actions_per_minute: int = 0
    max_tries: int = 20
    own_action: bool = False

    def substitutions(self) -> dict[str, str]:
        return {
            **SUBSTITUTIONS,
            "MaxActionsPerMinute": str(self.max_actions_per_minute),
            "MaxTries": str(self.max_tries),
            "OwnAction": str(self.own_action).lower(),
        }


class Scenario(Strict):
    title: str
    why: str
    settings: Settings = Settings()
    answers: dict[str, list[Answer]] = {}
    given: dict[str, Row] = {}
    deliveries: list[Delivery] = Field(min_length=1)
    rows: dict[str, Row] = {}
    requests: list[Request] = []
    parked: list[Parked] = []
    repeated: list[str] = []

    def messages(self) -> dict[str, Message]:
        """Every message by id, `like` filled in. A repeated id is the same message again.

        It may come back as a copy of another that is kept in its place this time.
        """
        known: dict[str, Message] = {}
        for delivery in self.all_deliveries():
            for entry in delivery.batch:
                if isinstance(entry, str):
                    if entry not in known:
                        raise ValueError(f"{entry} is delivered again before it was described")
                elif entry.message in known:
                    if entry.copy_of is None:
                        raise ValueError(f"{entry.message} is described twice; write its id alone")
                elif entry.like is None:
                    sent = delivery.clock if entry.sent is None else entry.sent
                    known[entry.message] = entry.model_copy(update={"sent": sent})
                else:
                    own = {name: getattr(entry, name) for name in entry.model_fields_set}
                    own.setdefault("sent", delivery.clock)
                    known[entry.message] = known[entry.like].model_copy(update=own | {"like": None})
        return known

    def all_deliveries(self) -> Iterator[Delivery]:
        yield from _flatten(self.deliveries)

    def names(self) -> dict[int, str]:
        """Returns each delivery's name, by its identity: its own, or first, second, …"""
        return {
            id(delivery): delivery.name or ordinal
            for delivery, ordinal in zip(self.all_deliveries(), _ORDINALS, strict=False)
        }


def _flatten(deliveries: list[Delivery]) -> Iterator[Delivery]:
    for delivery in deliveries:
        yield delivery
        for fault in delivery.faults:
            yield from _flatten([d for d in (fault.meanwhile, fault.afterwards) if d])


@cache
def load(path: Path) -> Scenario:
    return Scenario.model_validate(yaml.safe_load(path.read_text("utf-8")))


def idempotency_key(pk: str, sk: str) -> str:
    return hashlib.sha256(f"{pk}\n{sk}".encode()).hexdigest()


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"
