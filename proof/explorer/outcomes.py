"""The words in which a task says what may become of it."""

from typing import NamedTuple

from proof.explorer.scenario import Fault


class Record(NamedTuple):
    """The log's record of a message."""

    message_id: str
    outcome: str
    reason: str


class Report(NamedTuple):
    """The end of an execution: what it hands back, and what it logged of each message."""

    handed_back: tuple[str, ...]
    records: tuple[Record, ...]


class Failed(NamedTuple):
    """An execution that has failed, which none should."""

    why: str


class Standing(NamedTuple):
    """The position of an execution. Its text calls itself run0 and the others run1, run2; `met`
    has the names of those in the text before."""

    text: str
    met: tuple[int, ...]


class Written(NamedTuple):
    """A row after a write; its text calls its owner run0, whom the writer calls `owner`. `asker` is
    the message that moves its subject's newest time."""

    key: tuple[str, str]
    text: str
    owner: int
    by_put: bool
    asker: str = ""


class Paced(NamedTuple):
    """A write to the breaker's row or to a slot; without text, the row is gone. `counted` are the
    events that it counts as failed, `seen` is when the call began whose answer deletes it, or until
    when the probe has its turn that it ends."""

    key: tuple[str, str]
    text: str
    counted: tuple[str, ...] = ()
    seen: str = ""


class Refusal(NamedTuple):
    """A claim that did not pass; `own` when what refused it is this very claim."""

    key: tuple[str, str]
    own: bool


class Launched(NamedTuple):
    """A write that is given up while it is under way."""

    by_put: bool
    key: tuple[str, str]
    request: str
    met: tuple[int, ...]


class Called(NamedTuple):
    """A call arrives at the destination. `probing` when it is the one that an open breaker allows;
    `shut` is until when nobody was to call by the row that its batch read."""

    message_id: str
    probing: bool
    shut: str


class Act(NamedTuple):
    message_id: str
    key: str
    answered: bool


class Answered(NamedTuple):
    """The destination is healthy: it acted, or permanently rejected the event."""


class Parking(NamedTuple):
    message_id: str
    reason: str


Then = Standing | Report | Failed
Effect = Written | Paced | Refusal | Launched | Called | Act | Answered | Parking


class Outcome(NamedTuple):
    said: str
    then: Then
    effects: tuple[Effect, ...] = ()
    fault: Fault | None = None
