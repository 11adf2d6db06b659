"""The things that `once check` looks at and tries."""

from pydantic import Field

from once.operate.model import Answer, Model
from once.outcomes import Outcome


class Check(Model):
    """One thing that an event needs, and its state."""

    name: str
    works: bool | None = Field(description="Null if it was not tried, or only others can.")
    said: str


class Probe(Model):
    """The event of the caller that was sent to the destination, and what it answered."""

    message_id: str
    event: str = Field(description="The event in words.")
    outcome: Outcome | None = Field(default=None, description="Null if none was recorded in time.")
    reason: str | None = None
    requests: int = Field(default=0, description="Requests to the destination, in this delivery.")
    status: int | None = Field(
        default=None, description="The destination's HTTP status, if it gave one."
    )
    duration_ms: int | None = Field(default=None, description="Of the request that was acted on.")
    idempotency_keys: list[str] = Field(default=[], description="Those that the requests carried.")
    returns_at_ms: int | None = Field(
        default=None, description="When it is tried again; null if it is not."
    )


class Checked(Answer):
    """Holds what was seen of the path to the queue, and the ends of what was sent."""

    run: str | None = Field(
        description="Tells the canaries of this check from others; null where none were sent."
    )
    checks: list[Check]
    probe: Probe | None = Field(
        default=None, description="Only with --destination: what became of the event."
    )
