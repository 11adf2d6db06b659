"""What `once audit` answers: `--json` writes it, page and terminal show nothing else."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once.outcomes import Outcome


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, frozen=True, extra="forbid"
    )


Outcomes = dict[Outcome, int]


class FileReport(_Model):
    """One file of the capture."""

    name: str
    records: int
    broken: int = Field(description="Records that hold no event.")
    trouble: str | None = Field(description="Why it was not read, or not to its end.")


class Share(_Model):
    """What became of the events of one family, source or hour."""

    name: str
    received: int
    outcomes: Outcomes
    windowed: int = Field(default=0, description="Without a time and an id of their own.")
    late: int = Field(default=0, description="Came after a newer event of their subject.")


class Distances(_Model):
    """How long after the first the copies came."""

    clock: Literal["arrival", "publication"] = Field(
        description="Whether the capture notes when each event arrived, or only the events tell "
        "when they were published."
    )
    median_ms: int
    p99_ms: int
    longest_ms: int
    counts: dict[str, int] = Field(description="Copies by distance.")


class CopyKind(_Model):
    """Copies that came about in the same way."""

    kind: str
    what: str
    who: str = Field(description="Who makes such copies.")
    count: int
    median_ms: int | None = Field(description="Half of them came no later after the first.")
    longest_ms: int | None = Field(description="The last of them came so long after the first.")
    examples: list[str]


class Fallback(_Model):
    """Keys that had to be made of something else than their family's identity."""

    family: str
    note: str
    count: int
    examples: list[str]


class Window(_Model):
    """Events that nothing but their distance tells from a copy."""

    window_ms: int
    clock: str
    count: int
    families: list[str]


class Broken(_Model):
    """Records that hold no event, for the same reason."""

    reason: str
    detail: str
    count: int
    examples: list[str]


class RivalReport(_Model):
    """What a usual way of skipping copies would have done on this very stream."""

    letter: str
    title: str
    acted: int
    too_often: int = Field(description="Acts more than one for the same event.")
    more_in_a_race: int = Field(description="More of them where several workers run at once.")
    wrongly_skipped: int = Field(description="Events on which it never acted.")
    overwrote: int = Field(description="Acts for a state older than one it had acted on.")
    unreadable: int = Field(description="Events without the field that it reads.")
    too_often_examples: list[str]
    wrongly_skipped_examples: list[str]


class OnlyCopies(_Model):
    """A topic of a source that brought nothing new: no event of it acted."""

    source: str
    topic: str
    received: int


class Quota(_Model):
    """What a quota of AWS lets through, by default."""

    name: str
    events_per_second: float
    enough: bool
    ask: str


class Plan(_Model):
    """What the traffic of the capture would cost, and whether the default quotas take it."""

    events_per_month: int
    cost_per_month: float | None = Field(description="US dollars at list price.")
    per_million: float | None
    peak_per_second: int
    peak_per_minute: int
    acts_per_minute: int = Field(description="Calls to the destination in the busiest minute.")
    quotas: list[Quota]
    parameters: dict[str, str] = Field(description="To deploy with.")
    because: dict[str, str]


class AuditReport(_Model):
    """The whole of an audit."""

    model_config = ConfigDict(title="once audit report")

    received: int = Field(ge=0, description="Records read.")
    outcomes: Outcomes = Field(
        description="Records per outcome; an outcome that did not occur is left out."
    )
    of: Literal["capture", "outcome log"]
    began: str | None = Field(description="The earliest time in it, ISO 8601.")
    ended: str | None
    seconds: float = Field(description="That it covers.")
    conclusions: list[str] = Field(description="What was found, in sentences.")
    advice: list[str] = Field(description="What to do about it.")
    files: list[FileReport]
    families: list[Share]
    sources: list[Share]
    hours: list[Share]
    copies: int
    distances: Distances | None
    copy_kinds: list[CopyKind]
    differences: dict[str, int] = Field(description="In what copies differ from the first.")
    out_of_order: int = Field(description="Events that came after a newer one of their subject.")
    late_examples: list[str] = Field(description="The first of them, each with the newer event.")
    longest_late_ms: int
    windows: list[Window]
    fallbacks: list[Fallback]
    broken: list[Broken]
    rivals: list[RivalReport]
    only_copies: list[OnlyCopies]
    plan: Plan | None

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2) + "\n"
