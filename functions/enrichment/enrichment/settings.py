"""The environment of the function."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What the template sets."""

    overflow_bucket: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        return cls(overflow_bucket=environment.get("OVERFLOW_BUCKET", ""))
