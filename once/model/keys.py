"""The names of an event: its subject, its key, and the message of its claim's owner.

Nothing else cuts one by position.
"""

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

_SPACE = re.compile(r" (?=v[0-9]+/)")


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


def read_message_id(owner: str) -> str:
    """Reads the first message of the chain out of an owner: `execution#message`."""
    return owner.rpartition("#")[2]
