"""What `once check` says of one thing that can fail."""

from pydantic import Field

from once.operate.model import Model


class Edge(Model):
    """One way that an event can take, and whether it works."""

    edge: str
    works: bool | None = Field(description="Null where it was not tried, or only others can.")
    said: str
