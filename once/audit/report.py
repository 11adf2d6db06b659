"""The answer of `once audit`: `--json` writes it, page and terminal show nothing else.

The tally fills its parts while it counts; the sentences in it are advice.py's.
"""

from bisect import bisect
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, PrivateAttr

from once.lines import Place
from once.model import Model
from once.model.reasons import Outcome

Outcomes = dict[Outcome, int]


class Examples(Model):
    """Counts records, and keeps the first few by their places."""

    most: ClassVar[int] = 3

    count: int = 0
    examples: list[str] = Field(default=[])
    _places: list[Place] = PrivateAttr(default_factory=list)

    def add(self, place: Place, example: str) -> None:
        self.count += 1
        index = bisect(self._places, place)
        self._places.insert(index, place)
        self.examples.insert(index, example)
        del self._places[self.most :]
        del self.examples[self.most :]


class FileReport(Model):
    """One file of the capture."""

    name: str
    records: int
    broken: int = Field(description="Records that hold no event.")
    trouble: str | None = Field(description="Why it was not read, or not to its end.")


class Share(Model):
    """The ends of the events of one family or source."""

    name: str
    received: int = 0
    outcomes: Outcomes = Field(default={})
    windowed: int = Field(default=0, description="Without a time and an id of their own.")
    late: int = Field(default=0, description="Came after a newer event of their subject.")

    def add(self, outcome: Outcome) -> None:
        self.received += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


class Distances(Model):
    """The time from the first message to its copies."""

    clock: Literal["arrival", "publication"] = Field(
        description="The capture notes when each event arrived, or only when it was published."
    )
    median_ms: int
    p99_ms: int
    longest_ms: int
    counts: dict[str, int] = Field(description="Copies by distance.")


class CopyKind(Examples):
    """Copies that came about in the same way."""

    kind: str
    what: str = ""
    who: str = Field(default="", description="Who makes such copies.")
    median_ms: int = Field(default=0, description="Half of them came no later after the first.")
    longest_ms: int = Field(default=0, description="The last of them came so long after the first.")


class Facts(Model):
    """The effect of facts on a family, those of its route or a proposal."""

    family: str
    facts: list[str]
    is_in_use: bool = Field(description="False: a proposal.")
    acts_without: int = Field(default=0, description="Requests if the whole body counts.")
    acts_with: int = 0
    changed_alone: dict[str, int] = Field(
        default={}, description="States that differ from the one before only in these fields."
    )


class Passed(Examples):
    """Stale events of a family, each with the state that passed it."""

    most: ClassVar[int] = 1_000

    family: str
    every_would_act: bool = Field(
        default=True, description='`order = "every"` on its route would have acted.'
    )


class Note(Examples):
    """Keys that had to be made of something else than their family's identity."""

    family: str
    note: str


class Window(Model):
    """Events that nothing but their distance tells from a copy."""

    window_ms: int
    clock: str
    count: int
    families: list[str]


class NoEvent(Examples):
    """Records that hold no event, for the same reason."""

    reason: str
    detail: str


class OnlyCopies(Model):
    """A topic of a source that brought nothing new: all of its events were copies."""

    source: str
    topic: str
    received: int


class Plan(Model):
    """The capture's traffic, and the settings to deploy with."""

    events_per_month: int
    acts_per_minute: int = Field(description="Requests to the destination in the busiest minute.")
    parameters: dict[str, str] = Field(description="To deploy with.")
    because: dict[str, str]


class AuditReport(Model):
    """The whole of an audit."""

    model_config = ConfigDict(title="once audit report")

    received: int = Field(ge=0, description="Records read.")
    outcomes: Outcomes = Field(
        description="Records per outcome; an outcome that did not occur is left out."
    )
    began: str | None = Field(description="The earliest time in it, ISO 8601.")
    ended: str | None
    seconds: float = Field(description="How long it covers.")
    conclusions: list[str] = Field(default=[], description="What was found, the verdict first.")
    advice: list[str] = Field(default=[], description="What to do about it.")
    files: list[FileReport]
    families: list[Share]
    sources: list[Share]
    acted: int
    copies: int
    unchanged: int = Field(description="States with the same facts as the newest before them.")
    ignored: dict[str, int] = Field(description="Events that no request is made for, by reason.")
    distances: Distances | None
    copy_kinds: list[CopyKind]
    differences: dict[str, int] = Field(description="In what copies differ from the first.")
    facts: list[Facts] = Field(description="Families in which fewer fields would count.")
    passed: list[Passed]
    late: int = Field(description="Events that came after a newer one of their subject.")
    longest_late_ms: int
    windows: list[Window]
    notes: list[Note] = Field(description="Where Genesys sent another form than is declared.")
    broken: list[NoEvent]
    only_copies: list[OnlyCopies]
    plan: Plan | None = None
