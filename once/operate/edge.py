"""What `once check` says of one thing that can fail."""

from pydantic import Field

from once.operate.model import Model


class Edge(Model):
    edge: str
    works: bool | None = Field(description="Null where it was not tried, or only others can.")
    said: str
