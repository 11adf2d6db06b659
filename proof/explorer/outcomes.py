"""The words in which a task says what may become of it."""

from typing import NamedTuple

from proof.explorer.scenario import Fault


class Report(NamedTuple):
    """The end of an execution: what it hands back, and what it logged of each message."""

    handed_back: tuple[str, ...]
    outcomes: tuple[tuple[str, str], ...]


class Failed(NamedTuple):
    """An execution that has failed, which none should."""

    why: str


class Standing(NamedTuple):
    """Where an execution stands. Its text calls itself run0 and the others run1, run2; `met` says
    what those were called in the text before."""

    text: str
    met: tuple[int, ...]


class Written(NamedTuple):
    """A row after a write; its text calls its owner run0, whom the writer calls `owner`."""

    key: tuple[str, str]
    text: str
    owner: int
    by_put: bool


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


class Act(NamedTuple):
    message_id: str
    key: str
    answered: bool


class Parking(NamedTuple):
    message_id: str
    reason: str


class Deferral(NamedTuple):
    """Fresh messages for these, which wait for the destination."""

    message_ids: tuple[str, ...]


Then = Standing | Report | Failed
Effect = Written | Refusal | Launched | Act | Parking | Deferral | None


class Outcome(NamedTuple):
    """`weather` is what the gate or the limiter said on the way, unless all was well."""

    told: str
    then: Then
    effect: Effect = None
    fault: Fault | None = None
    weather: str = ""
