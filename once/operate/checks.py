"""The things that `once check` looks at and tries."""

from pydantic import Field

from once.operate.model import Answer, Model


class Check(Model):
    """One thing that an event needs, and its state."""

    name: str
    works: bool | None = Field(description="Null if it was not tried, or only others can.")
    said: str


class Checked(Answer):
    """Holds what was seen of the path to the queue, and the ends of what was sent."""

    run: str | None = Field(
        description="Tells the canaries of this check from others; null where none were sent."
    )
    checks: list[Check]
