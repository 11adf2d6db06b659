"""Models the answer of `once audit`: `--json` writes it, page and terminal show nothing else."""

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
    """The ends of the events of one family or source."""

    name: str
    received: int
    outcomes: Outcomes
    windowed: int = Field(description="Without a time and an id of their own.")
    late: int = Field(description="Came after a newer event of their subject.")


class Distances(_Model):
    """The time from the first message to its copies."""

    clock: Literal["arrival", "publication"] = Field(
        description="The capture notes when each event arrived, or only when it was published."
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


class Candidate(_Model):
    """Fields that alone told states of a family from the ones before them."""

    family: str
    fields: list[str] = Field(description="As ignored.toml names them.")
    count: int = Field(description="States that differed in these fields only.")


class Note(_Model):
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


class OnlyCopies(_Model):
    """A topic of a source that brought nothing new: all of its events were copies."""

    source: str
    topic: str
    received: int


class Plan(_Model):
    """The capture's traffic, and the settings to deploy with."""

    events_per_month: int
    peak_per_minute: int
    acts_per_minute: int = Field(description="Requests to the destination in the busiest minute.")
    parameters: dict[str, str] = Field(description="To deploy with.")
    because: dict[str, str]


class AuditReport(_Model):
    """The whole of an audit."""

    model_config = ConfigDict(title="once audit report")

    received: int = Field(ge=0, description="Records read.")
    outcomes: Outcomes = Field(
        description="Records per outcome; an outcome that did not occur is left out."
    )
    began: str | None = Field(description="The earliest time in it, ISO 8601.")
    ended: str | None
    seconds: float = Field(description="How long it covers.")
    conclusions: list[str] = Field(description="What was found, the verdict first.")
    advice: list[str] = Field(description="What to do about it.")
    files: list[FileReport]
    families: list[Share]
    sources: list[Share]
    copies: int
    unchanged: int = Field(description="States that were the same as the newest before them.")
    ignored: dict[str, int] = Field(description="Events that no request is made for, by reason.")
    distances: Distances | None
    copy_kinds: list[CopyKind]
    differences: dict[str, int] = Field(description="In what copies differ from the first.")
    candidates: list[Candidate] = Field(description="Fields to ignore if they mean nothing.")
    late: int = Field(description="Events that came after a newer one of their subject.")
    late_examples: list[str] = Field(description="The first of them, each with the newer event.")
    longest_late_ms: int
    windows: list[Window]
    notes: list[Note] = Field(description="Where Genesys sent another form than is declared.")
    broken: list[Broken]
    only_copies: list[OnlyCopies]
    plan: Plan | None

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2) + "\n"
