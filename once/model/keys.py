"""The names of an event: its subject, its key, its claim's owner and its Idempotency-Key.

Each parses its text form and writes it again; nothing else cuts one by position.
"""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

from once_enrichment.keys import idempotency_key

_SPACE = re.compile(r" (?=v[0-9]+/)")
_IDEMPOTENCY_KEY = re.compile(r"([0-9a-f]{64})(?:\.([0-9]{1,16}))?")


@dataclass(frozen=True)
class Subject:
    """The thing that an event is about: the partition key of its rows."""

    organisation: str
    kind: str
    id: str

    @classmethod
    def parse(cls, pk: str) -> Self:
        organisation, kind, subject = pk.split("/", 2)
        return cls(organisation, kind, subject)

    def __str__(self) -> str:
        return f"{self.organisation}/{self.kind}/{self.id}"


@dataclass(frozen=True)
class Key:
    """The identity of an event: copies share it."""

    subject: Subject
    sk: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Reads `pk/sk`, or `pk sk` as the body of a parked event has it; returns None for a text
        that names at most a subject."""
        parts = _SPACE.sub("/", text, count=1).split("/", 3)
        return cls(Subject(*parts[:3]), parts[3]) if len(parts) == 4 and parts[3] else None

    @classmethod
    def of_row(cls, pk: str, sk: str) -> Self:
        return cls(Subject.parse(pk), sk)

    def __str__(self) -> str:
        return f"{self.subject}/{self.sk}"

    @property
    def family(self) -> str:
        return unquote(self.sk.split("/")[1])

    @property
    def parts(self) -> list[str]:
        """The parts of the identity, behind the key's version and the family."""
        return [unquote(part) for part in self.sk.split("/")[2:]]

    @property
    def idempotency_key(self) -> "IdempotencyKey":
        return IdempotencyKey(idempotency_key(str(self.subject), self.sk))


@dataclass(frozen=True)
class Owner:
    """The owner of a claim: an execution, for the chain that begins with this message."""

    execution: str
    message_id: str

    @classmethod
    def parse(cls, text: str) -> Self:
        execution, _, message_id = text.rpartition("#")
        return cls(execution, message_id)

    def __str__(self) -> str:
        return f"{self.execution}#{self.message_id}"


@dataclass(frozen=True)
class IdempotencyKey:
    """The identity that a destination sees: the digest of the key, and the occurrence if the key
    can occur more than once."""

    digest: str
    occurrence_ms: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        match = _IDEMPOTENCY_KEY.fullmatch(text)
        return cls(match[1], int(match[2]) if match[2] else None) if match else None

    def __str__(self) -> str:
        return self.digest if self.occurrence_ms is None else f"{self.digest}.{self.occurrence_ms}"
