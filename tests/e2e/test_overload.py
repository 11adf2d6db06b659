"""Ten times more events at once than the limit lets through: all act once, and none dies of it."""

import re
from pathlib import Path

import pytest
from once_pacing.limiter import Limiter

from once.outcomes import Outcome
from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.operate.conftest import once, up
from tests.operate.support import parameters, until

pytestmark = pytest.mark.local

LIMIT, EVENTS = 360, 60
ON_ITS_WAY_MS = 1_000
SAID = re.compile(r"Limited to 360 per minute, (\d+) wait, about (\d+) minute")


def most_calls_in(span_ms: int) -> int:
    """Computes what the limiter allows in any span: the tokens of the slots that touch it."""
    limiter = Limiter(LIMIT)
    over_ms = limiter.request_until_ms(0) + ON_ITS_WAY_MS
    return limiter.quota * ((span_ms + over_ms) // limiter.slot_ms + 1)


def a_third_waits_for_a_minute() -> bool:
    found = SAID.search(once("status").out)
    return found is not None and int(found[1]) > EVENTS / 3 and int(found[2]) == 1


def test_a_peak_is_stretched_to_the_limit_and_loses_nothing(
    local: DeployedStack, tmp_path: Path
) -> None:
    with parameters(local, MaxActionsPerMinute=str(LIMIT)), up(local, tmp_path):
        lines = local.send(*(customer_start(f"peak-{number}") for number in range(EVENTS)))
        until(a_third_waits_for_a_minute)
        reports = local.wait(lines)

    assert {report.outcome for report in reports} == {Outcome.PROCESSED}
    calls = [
        call
        for call in local.destination.received("execute")
        if call.facts.get("conversationId", "").startswith("peak-")
    ]
    assert len({call.facts["conversationId"] for call in calls if call.acted}) == EVENTS
    assert len(calls) == EVENTS, "a call was refused or repeated"
    at_ms = sorted(call.at_ms for call in calls)
    for first in range(EVENTS):
        for last in range(first, EVENTS):
            assert last - first + 1 <= most_calls_in(at_ms[last] - at_ms[first])
