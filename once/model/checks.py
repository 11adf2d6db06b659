"""The answer of `once check`: what was looked at or tried, and what came of it."""

from pydantic import Field

from once.model.base import Model


class Check(Model):
    """One thing that was checked."""

    name: str
    works: bool | None = Field(description="Null if it could not be tried.")
    detail: str

    @classmethod
    def of(cls, name: str, works: bool | None, detail: str) -> "Check":
        return cls(name=name, works=works, detail=detail)


class Checked(Model):
    """Everything that was checked."""

    run: str | None = Field(description="Part of the ids of the canaries; null if none were sent.")
    checks: list[Check]

    @property
    def has_failed(self) -> bool:
        return any(check.works is False for check in self.checks)
