"""The base of every answer of a command: it has its names in JSON."""

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Written in camel case, like everything that leaves a stack."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Answer(Model):
    """The whole of what a command answers."""

    stack: str = Field(default="", description="Whose answer it is, in words.")
