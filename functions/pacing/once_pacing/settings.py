"""The environment of the function, read once."""

from collections.abc import Mapping
from dataclasses import dataclass

from .limiter import Limiter
from .times import Times


@dataclass(frozen=True)
class Settings:
    """The settings of one stack, from the template; the defaults are production's."""

    limiter: Limiter | None
    times: Times
    claim_table: str = ""
    event_queue_url: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        per_minute = int(environment.get("MAX_ACTIONS_PER_MINUTE") or 0)  # 0: no limit
        call_ms = round(1000 * float(environment.get("CALL_SECONDS") or 8))
        scale = float(environment.get("PACE_SCALE") or 1)
        return cls(
            limiter=Limiter(per_minute) if per_minute else None,
            times=Times.of(call_ms, scale),
            claim_table=environment.get("CLAIM_TABLE", ""),
            event_queue_url=environment.get("EVENT_QUEUE_URL", ""),
        )
