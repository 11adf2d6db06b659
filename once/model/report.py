"""Models the file of `once run --report`: an entry per line sent."""

from pydantic import Field

from once.model.base import Model
from once.model.outcomes import SETTLED, Outcome


class Key(Model):
    """The identity of an event: the primary key of its claim."""

    pk: str = Field(examples=["3c6e7a80-0000-4000-8000-000000000001/conversation/9f0c…"])
    sk: str = Field(examples=["v2/conversation.customer.start/…/1794996000000"])


class LineReport(Model):
    """The outcome of one line of the file."""

    line: int = Field(ge=1, description="Number of the line in the file, from 1.")
    outcome: Outcome
    key: Key | None = Field(description="Null for a line that could not be read as an event.")
    reason: str | None = Field(
        description="Why, as the outcome log has it.", examples=["ACTED", "SAME_KEY", "NOT_JSON"]
    )
    because_of_line: int | None = Field(
        default=None, description="For a skipped line, the line whose claim or turn it met."
    )


class Report(Model):
    """The whole of a run."""

    received: int = Field(ge=0, description="Lines sent.")
    outcomes: dict[Outcome, int] = Field(
        description="Lines per outcome; an outcome that did not occur is left out.",
        examples=[{"PROCESSED": 41, "DUPLICATE": 16, "STALE": 2, "PARKED": 1}],
    )
    events: list[LineReport]
    seconds: float = Field(ge=0, description="From the first line sent to the last one settled.")

    @property
    def settled(self) -> bool:
        return set(self.outcomes) <= SETTLED

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=2) + "\n"
