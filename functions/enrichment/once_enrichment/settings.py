"""The environment of the function."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The settings of the template."""

    overflow_bucket: str = ""
    routes_file: str = "routes.toml"

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        return cls(
            overflow_bucket=environment.get("OVERFLOW_BUCKET", ""),
            routes_file=environment.get("ROUTES_FILE", "routes.toml"),
        )
