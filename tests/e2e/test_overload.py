"""Ten times more events at once than the limit lets through: all act once, and none dies of it."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pacing.limiter import Limiter

from once.outcomes import Outcome
from proof.embedded import Embedded
from proof.events import customer_start
from tests.operate.conftest import once, up

pytestmark = pytest.mark.embedded

LIMIT, EVENTS = 360, 60
ON_ITS_WAY_MS = 500
ARRIVALS_A_SECOND = 10 * LIMIT / 60
SAID = re.compile(r"(?i)limited to 360 a minute, (\d+) waiting, drained in about (\d+) minute")


@contextmanager
def limited(embedded: Embedded) -> Iterator[None]:
    """The limit as an operator changes it: one parameter of the deployed stack, and back again."""
    stacks, name = embedded.client("cloudformation"), "MaxActionsPerMinute"
    (stack,) = stacks.describe_stacks(StackName="once")["Stacks"]
    kept = {p["ParameterKey"]: p["ParameterValue"] for p in stack["Parameters"]}

    def update(value: str) -> None:
        stacks.update_stack(
            StackName="once",
            UsePreviousTemplate=True,
            Capabilities=["CAPABILITY_IAM"],
            Parameters=[
                {"ParameterKey": key, "ParameterValue": chosen}
                for key, chosen in {**kept, name: value}.items()
            ],
        )
        stacks.get_waiter("stack_update_complete").wait(
            StackName="once", WaiterConfig={"Delay": 1, "MaxAttempts": 30}
        )

    update(str(LIMIT))
    try:
        yield
    finally:
        update(kept[name])


def most_calls_in(span_ms: int) -> int:
    """What the limiter allows in any span of time: the tokens of the slots that touch it."""
    limiter = Limiter(LIMIT)
    over_ms = limiter.call_until_ms(0) + ON_ITS_WAY_MS
    return limiter.quota * ((span_ms + over_ms) // limiter.slot_ms + 1)


def test_a_peak_is_stretched_to_the_limit_and_loses_nothing(
    embedded: Embedded, tmp_path: Path
) -> None:
    with limited(embedded), up(embedded, tmp_path):
        lines = []
        for number in range(EVENTS):
            lines += embedded.send(customer_start(f"peak-{number}"))
            time.sleep(1 / ARRIVALS_A_SECOND)
        said = once("status").out
        reports = embedded.wait(lines)

    assert {report.outcome for report in reports} == {Outcome.PROCESSED}
    calls = [
        call
        for call in embedded.destination.received("execute")
        if call.facts.get("conversationId", "").startswith("peak-")
    ]
    assert len({call.facts["conversationId"] for call in calls if call.acted}) == EVENTS
    assert len(calls) == EVENTS, "a call was refused or repeated"
    at_ms = sorted(call.at_ms for call in calls)
    for first in range(EVENTS):
        for last in range(first, EVENTS):
            assert last - first + 1 <= most_calls_in(at_ms[last] - at_ms[first])
    found = SAID.search(said)
    assert found, said
    assert int(found[1]) > EVENTS / 3
    assert int(found[2]) == 1
