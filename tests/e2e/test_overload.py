"""Ten times more events at once than the limit lets through: all act once, and none dies of it."""

import re
import time
from pathlib import Path

import pytest

from once.report import Outcome
from tests.embedded import deployed
from tests.events import customer_start
from tests.operate.conftest import once, up
from tests.statemachine.test_limiter import ON_ITS_WAY_MS, slots, token_ends_ms

pytestmark = pytest.mark.embedded

LIMIT, EVENTS = 360, 60
ARRIVALS_A_SECOND = 10 * LIMIT / 60


def most_calls_in(span_ms: int) -> int:
    """What the limiter allows in any span of time: the tokens of the slots that touch it."""
    quota, slot_ms = slots(LIMIT)
    over_ms = token_ends_ms(0, slot_ms) + ON_ITS_WAY_MS
    return quota * ((span_ms + over_ms) // slot_ms + 1)


def test_a_peak_is_stretched_to_the_limit_and_loses_nothing(tmp_path: Path) -> None:
    with deployed(MaxActionsPerMinute=str(LIMIT)) as embedded, up(embedded, tmp_path):
        lines = []
        for number in range(EVENTS):
            lines += embedded.send(customer_start(f"peak-{number}"))
            time.sleep(1 / ARRIVALS_A_SECOND)
        told = once("status").out
        reports = embedded.wait(lines)
        calls = embedded.destination.received("execute")
        acts = [record.acts for record in embedded.destination.keys.values()]
        dead = list(embedded.take("EventDeadLettersUrl"))
        drained = once("status").out

    assert {report.outcome for report in reports} == {Outcome.PROCESSED}
    assert acts == [1] * EVENTS
    assert dead == []
    at_ms = sorted(call.at_ms for call in calls)
    assert len(at_ms) == EVENTS, "no call was refused or repeated"
    for first in range(EVENTS):
        for last in range(first, EVENTS):
            assert last - first + 1 <= most_calls_in(at_ms[last] - at_ms[first])
    found = re.search(
        r"limited to 360 a minute, (\d+) waiting, drained in about 1 minute$", told, re.M
    )
    assert found, told
    assert EVENTS / 3 < int(found[1]) <= EVENTS
    assert "limited to 360 a minute, nothing waiting" in drained
