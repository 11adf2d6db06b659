"""The sandbox foretells the outcome of an event, by the rows that it would meet."""

from typing import Any

import pytest

from once.console.sandbox import _meets
from once.operate.claims import Claim, Latest

NOW_MS = 1_795_000_000_000
SECOND_MS = 1_000
PK, SK, OTHER = "-/user/u1", "v1/user.activity/~a", "v1/user.activity/~b"


def element() -> dict[str, Any]:
    return {
        "messageId": "m2",
        "key": {"pk": PK, "sk": SK},
        "occurredAtMs": NOW_MS,
        "policy": {"order": "changes", "windowMs": 0, "latest": "latest/user.activity"},
        "trace": {},
    }


def claim(before_ms: int, status: str = "DONE", outcome: str = "PROCESSED") -> Claim:
    row = {"status": status, "owner": "run#m1", "message_id": "m1", "outcome": outcome}
    times = {"event_time": NOW_MS - before_ms, "occurrence": 1, "claimed_at": NOW_MS}
    until = {"lease_until": NOW_MS, "expires_at": NOW_MS // 1000 + 60}
    kind = {"family": "user.activity", "topic": "v2.users.u1.activity"}
    none = {"event_id": "", "tries": 0, "failed_at": 0, "copies": 0}
    return Claim.model_validate({"pk": PK, "sk": SK, **row, **times, **until, **kind, **none})


def latest(before_ms: int, state: str) -> Latest:
    return Latest(
        pk=PK,
        sk="latest/user.activity",
        event_time=NOW_MS - before_ms,
        state=state,
        owner="run#m1",
        expires_at=NOW_MS // 1000 + 60,
    )


@pytest.mark.parametrize(
    ("own", "newest", "said"),
    [
        (None, None, "it would be acted on"),
        (claim(0), latest(0, SK), "a DUPLICATE"),
        (claim(9 * SECOND_MS), latest(9 * SECOND_MS, SK), "UNCHANGED"),
        (claim(9 * SECOND_MS), latest(5 * SECOND_MS, OTHER), "it would be acted on"),
        (None, latest(-9 * SECOND_MS, OTHER), "STALE"),
        (None, latest(-300, OTHER), "it would be acted on"),
        (claim(-9 * SECOND_MS), latest(-9 * SECOND_MS, SK), "STALE"),
        (claim(0, "FAILED"), None, "released: it would be acted on"),
        (claim(9 * SECOND_MS, outcome="PARKED"), latest(9 * SECOND_MS, SK), "be acted on"),
        (claim(0, outcome="PARKED"), latest(0, SK), "PARKED at"),
    ],
)
def test_a_state_that_returns_is_foretold(
    own: Claim | None, newest: Latest | None, said: str
) -> None:
    assert said in _meets(element(), own, newest, NOW_MS)
