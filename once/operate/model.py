"""What every answer of a command has in common: its names in JSON."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """Written in camel case, like everything that leaves a stack."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
