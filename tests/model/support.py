"""Records and claims as data."""

from typing import Any

from once.model.records import Claim, Record

NOW_MS = 1_800_000_000_000
PK = "org/conversation/c0de"
SK = "v2/conversation.acd.start/p1/s1"
DIGEST = "a" * 64


def record(message: str, outcome: str, reason: str, ago_ms: int = 60_000, **fields: Any) -> Record:
    known = {"pk": PK, "sk": SK, "family": "conversation.acd.start", "run": f"run#{message}"}
    known |= {"occurred_at_ms": NOW_MS - 600_000, **fields}
    return Record(
        first_message_id=message,
        outcome=outcome,
        reason=reason,
        recorded_at_ms=NOW_MS - ago_ms,
        **known,
    )


def claim(
    owner: str, status: str = "DONE", outcome: str | None = "PROCESSED", **fields: Any
) -> Claim:
    known = {
        "pk": PK,
        "sk": SK,
        "status": status,
        "outcome": outcome,
        "owner": f"run#{owner}",
        "event_time": NOW_MS - 600_000,
        "occurrence": NOW_MS - 600_000,
        "claimed_at": NOW_MS - 60_000,
        "lease_until": NOW_MS - 30_000,
        "expires_at": NOW_MS // 1000,
        "family": "conversation.acd.start",
        "topic": "t",
    }
    return Claim.model_validate({**known, **fields})
