"""Scenarios of the explorer: messages, and the faults that may happen to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from once_enrichment.collapse import collapse

from proof.definition.asl import SUBSTITUTIONS

ORGANISATION = "org"
USER = "user/1"
WITHOUT_END = -1
# Never old, and no time of the clock: no explored event waits for ten days unless it says so.
SENT_MS = 1_900_000_000_000
# Two clocks of Genesys may differ by as much: within it no state is surely older.
UNSURE_MS = 500


class Fault(StrEnum):
    """A kind of fault. Each time it happens costs one of the scenario's faults."""

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
    OVERFLOW = "the body of a large event cannot be stored, so it is handed over unready"
    PACING = "pacing, or what our data action notes for it, fails"
    UNREAD = "the breaker's row cannot be read"


@dataclass(frozen=True)
class Sent:
    """A message of the queue. Messages of the same occurrence are copies of one event; what is
    broken was parked by the enrichment."""

    occurrence: str
    at_ms: int = 1000
    event_id: str = ""
    state: str = "on"
    subject: str = USER
    broken: bool = False
    sent_ms: int = SENT_MS
    # Why no request is wanted: what its route says, or EXPIRED.
    ignored: str = ""

    @property
    def is_old(self) -> bool:
        """Returns true if the message has waited for ten days."""
        return self.sent_ms < SENT_MS


@dataclass(frozen=True)
class Paced:
    """The breaker's row and the limiter's slots are followed. `since_ago_ms`, with the rest, is a
    row that is there at the start; `open_until_ms` at SENT_MS never passes. `used_up`: whatever the
    slot, others have taken its tokens. `mute`: pacing never answers."""

    since_ago_ms: int | None = None
    failed: int = 0
    open_until_ms: int | None = None
    used_up: bool = False
    mute: bool = False


@dataclass(frozen=True)
class Scenario:
    name: str
    messages: tuple[Sent, ...]
    window_ms: int = 0
    order: str = "none"
    deliveries: int = 2
    batch_size: int = 2
    kinds: frozenset[Fault] = frozenset(Fault)
    faults: int = WITHOUT_END
    zombies: int = 0
    lates: int = 0
    # Between two ticks anything may happen at no cost of time. With production's numbers and 105 s,
    # an execution claims during its ticks 0 and 1, is past its deadline at 2, and over, like its
    # lease, at 3; with 320 s, it and its lease are over at 1.
    tick_seconds: int = 105
    skews_ms: tuple[int, ...] = (0,)
    expiries: int = 0
    replays: int = 0
    # Iterations of a round go side by side. One after the other shows the same of each subject.
    side_by_side: bool = False
    paced: Paced | None = None
    # Why nothing may be called, however long one waits.
    shut: str = ""
    substitutions: Mapping[str, str] = field(default_factory=dict)

    def filled_in(self) -> dict[str, str]:
        """Returns what the template would fill in. Two tries are as good as twenty, and faster."""
        return {**SUBSTITUTIONS, "MaxTries": "2", **self.substitutions}

    def batch(
        self, sent: tuple[tuple[int, str], ...], unready: frozenset[str] = frozenset()
    ) -> list[dict[str, Any]]:
        """Returns the enrichment's batch, by the number of each message and its id."""
        elements = [self.element(self.messages[number], identifier) for number, identifier in sent]
        return [
            self._unready(element) if element["messageId"] in unready else element
            for element in collapse(elements)
        ]

    def element(self, sent: Sent, identifier: str) -> dict[str, Any]:
        """Returns the element that the enrichment makes of a message."""
        if sent.broken:
            return {
                **_delivery(identifier),
                "kind": "parked",
                "subjectKey": identifier,
                "reason": "NOT_JSON",
                "detail": "no event",
                "raw": sent.occurrence,
            }
        pk, family = f"{ORGANISATION}/{sent.subject}", f"family.{sent.state}"
        policy: dict[str, Any] = {"windowMs": self.window_ms, "order": "none"}
        if self.order != "none":
            policy |= {"order": self.order, "latest": "latest/family"}
        return {
            **_delivery(identifier),
            "kind": "event",
            "subjectKey": pk,
            "family": family,
            "topic": family,
            "occurredAtMs": sent.at_ms,
            "sentAtMs": sent.sent_ms,
            "key": {"pk": pk, "sk": f"v1/{family}"},
            "idempotencyKey": f"{family}@{sent.subject}",
            "policy": policy,
            **_unwanted(sent.ignored),
            "trace": {"eventId": sent.event_id} if sent.event_id else {},
        }

    def _unready(self, element: dict[str, Any]) -> dict[str, Any]:
        identifier = element["messageId"]
        return {
            **_delivery(identifier),
            "kind": "retry",
            "subjectKey": identifier,
            "reason": "OVERFLOW_FAILED",
            "detail": "the bucket does not answer",
        }

    @cached_property
    def over(self) -> int:
        """The age, in ticks, at which the machine's timeout has ended an execution."""
        machine_seconds = int(self.filled_in()["MachineSeconds"])
        return (machine_seconds - 1) // self.tick_seconds + 1

    def occurrences(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sent.occurrence for sent in self.messages))

    def supersedes(self, newer: str, older: str) -> bool:
        """Returns true if all of `newer` is after all of `older`, beyond the clock's window."""
        newer_sent = [sent for sent in self.messages if sent.occurrence == newer]
        older_sent = [sent for sent in self.messages if sent.occurrence == older]
        if newer_sent[0].subject != older_sent[0].subject:
            return False
        after = min(sent.at_ms for sent in newer_sent)
        before = max(sent.at_ms for sent in older_sent)
        unsure_ms = self.window_ms
        if self.order == "changes" and newer_sent[0].state != older_sent[0].state:
            unsure_ms = UNSURE_MS
        return before + unsure_ms < after

    def with_substitutions(self, **substitutions: str) -> "Scenario":
        return replace(self, substitutions={**self.substitutions, **substitutions})


def _delivery(identifier: str) -> dict[str, Any]:
    """Returns the fields that every element has of its message."""
    return {
        "messageId": identifier,
        "receiptHandle": f"receipt of {identifier}",
        "receives": 1,
        "sentAtMs": SENT_MS,
    }


def _unwanted(reason: str) -> dict[str, Any]:
    """Returns the fields of an element for which no request is to be sent."""
    if reason == "EXPIRED":
        return {"expiresAtMs": 1000}
    return {"route": {"name": "*", "action": "none", "ignored": reason}} if reason else {}
