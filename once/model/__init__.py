"""The facts of an event and their meaning, in pure functions: no boto3, nothing printed."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """The base of every model that leaves a stack: its names in JSON are in camel case."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, use_attribute_docstrings=True
    )
