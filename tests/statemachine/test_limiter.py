"""The limiter's slots, for any limit: never above it, close below it, and no wait in lockstep."""

from typing import Any

import jsonata
import pytest

from proof.definition.asl import SUBSTITUTIONS, definition, states

LIMITS = (10, 11, 29, 30, 45, 59, 60, 100, 299, 300, 360, 599, 600, 1_200, 6_000, 100_000)
MINUTE_MS = 60_000
ON_ITS_WAY_MS = 500  # from the function's look at the deadline to the destination
NOW_MS = 1_760_000_000_123


def value(expression: str, now_ms: int = NOW_MS, **variables: Any) -> Any:
    parsed = jsonata.Jsonata(expression[2:-2])
    parsed.register_lambda("millis", lambda: now_ms)
    return parsed.evaluate(None, variables)


def slots(limit: int) -> tuple[int, int]:
    """Tokens a slot, and its milliseconds."""
    machine = definition({**SUBSTITUTIONS, "MaxActionsPerMinute": str(limit)})
    opened = states(machine)["OpenBatch"]["Assign"]
    return value(opened["slotQuota"]), value(opened["slotMs"])


def token_ends_ms(slot: int, slot_ms: int) -> int:
    expression = states()["TakeTokens"]["Assign"]["deadlineMs"]
    ends: int = value(expression, deadlineMs=10**15, slot=slot, slotMs=slot_ms)
    return ends


@pytest.mark.parametrize("limit", LIMITS)
def test_no_minute_can_see_more_calls_than_the_limit(limit: int) -> None:
    quota, slot_ms = slots(limit)
    # The worst minute begins as the last call of a slot's last token arrives.
    begins_ms = token_ends_ms(7, slot_ms) + ON_ITS_WAY_MS - 1
    last_slot = (begins_ms + MINUTE_MS) // slot_ms
    assert (last_slot - 7 + 1) * quota <= limit


@pytest.mark.parametrize("limit", LIMITS)
def test_what_may_flow_is_close_to_the_limit(limit: int) -> None:
    quota, slot_ms = slots(limit)
    least = 0.92 if limit >= 30 else 0.86
    assert quota * MINUTE_MS / slot_ms >= least * limit


def test_a_whole_batch_fits_into_a_slot_of_genesys_own_limit() -> None:
    assert slots(300)[0] == 10


@pytest.mark.parametrize("limit", LIMITS)
def test_a_token_is_good_for_two_seconds_at_least(limit: int) -> None:
    _, slot_ms = slots(limit)
    assert token_ends_ms(7, slot_ms) - 8 * slot_ms >= 2_000


@pytest.mark.parametrize("limit", [10, 60, 300, 6_000])
def test_the_refused_wait_for_the_next_slot_and_not_all_as_long(limit: int) -> None:
    _, slot_ms = slots(limit)
    expression = states()["WaitForSlot"]["Seconds"]
    woken = set()
    for after_ms in range(0, 1_000, 50):
        now_ms = 1_000 * slot_ms + after_ms
        slot = now_ms // slot_ms
        seconds = value(expression, now_ms, slot=slot, slotMs=slot_ms)
        assert isinstance(seconds, int)
        woken_ms = now_ms + seconds * 1_000
        assert (slot + 1) * slot_ms <= woken_ms <= (slot + 2) * slot_ms + 1_000
        woken.add(seconds)
    assert len(woken) > 1
    assert value(expression, (slot + 9) * slot_ms, slot=slot, slotMs=slot_ms) == 0
