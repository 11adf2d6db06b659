"""What the explorer is given to play with: messages, and the faults that may befall them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from proof.definition.asl import SUBSTITUTIONS

PK = "org/user/1"
WITHOUT_END = -1


class Fault(StrEnum):
    """What may go wrong. Each time it does costs one of the scenario's faults."""

    CRASH = "an execution dies"
    ANSWER_LOST = "a write or a parking is done, and its answer never comes"
    LATE = "a write is given up, and lands at some later moment"
    ERROR = "a task is not done, and says so"
    ACTION = "the data action fails, in every way it may"
    ASKED_TO_WAIT = "the destination asks to wait, or nobody may call it just now"
    ZOMBIE = "an execution goes on although its time is over"
    TWICE_AT_ONCE = "SQS hands out a message that is being worked on"
    AFTER_DELETE = "SQS hands out a message that was deleted"
    REDRIVE = "a message comes back from the dead letters with a new id"
    PIPE = "the pipe dies before it has deleted what is done"
    DEFER = "an event waits for the destination as a fresh message"
    GATE = "the destination is, or was, too slow or down, and the gate or the limiter says so"


@dataclass(frozen=True)
class Sent:
    """A message of the queue. Messages of the same occurrence are copies of one event."""

    occurrence: str
    at_ms: int = 1000
    event_id: str = ""
    state: str = "on"


@dataclass(frozen=True)
class Scenario:
    name: str
    messages: tuple[Sent, ...]
    window_ms: int = 0
    latest: bool = False
    deliveries: int = 2
    batch_size: int = 2
    kinds: frozenset[Fault] = frozenset(Fault)
    faults: int = WITHOUT_END
    zombies: int = 0
    lates: int = 0
    deferrals: int = 0
    # Between two ticks anything may happen at no cost of time. With production's numbers and 105 s,
    # an execution claims during its ticks 0 and 1, is past its deadline at 2, and over, like its
    # lease, at 3; with 320 s, it and its lease are over at 1.
    tick_seconds: int = 105
    skews_ms: tuple[int, ...] = (0,)
    expiries: int = 0
    replays: int = 0
    substitutions: Mapping[str, str] = field(default_factory=dict)

    def element(self, sent: Sent, identifier: str) -> dict[str, Any]:
        """What the enrichment makes of a message."""
        family = f"family.{sent.state}"
        policy: dict[str, Any] = {"windowMs": self.window_ms, "order": "none"}
        if self.latest:
            policy |= {"order": "latest", "latest": "latest/family"}
        return {
            "messageId": identifier,
            "kind": "event",
            "lane": PK,
            "family": family,
            "topic": family,
            "occurredAtMs": sent.at_ms,
            "key": {"pk": PK, "sk": f"v1/{family}"},
            "idempotencyKey": family,
            "policy": policy,
            "trace": {"eventId": sent.event_id} if sent.event_id else {},
        }

    @property
    def over(self) -> int:
        """The age, in ticks, at which the machine's timeout has ended an execution."""
        machine_seconds = int({**SUBSTITUTIONS, **self.substitutions}["MachineSeconds"])
        return (machine_seconds - 1) // self.tick_seconds + 1

    def occurrences(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sent.occurrence for sent in self.messages))

    def supersedes(self, newer: str, older: str) -> bool:
        """Whether all of one lies after all of the other, by more than the clock's window."""
        after = min(sent.at_ms for sent in self.messages if sent.occurrence == newer)
        before = max(sent.at_ms for sent in self.messages if sent.occurrence == older)
        return before + self.window_ms < after
