"""The breaker decides if requests flow, if none is sent, and if one probes."""

import pytest
from once_pacing.breaker import Flow, Open, Probe, Row, Wait, judge
from once_pacing.times import Times

TIMES = Times.of()
SINCE = 1_777_888_800_000


def test_without_a_row_calls_flow() -> None:
    assert judge(None, SINCE, TIMES) == Flow()


def test_failures_of_nineteen_events_stop_nobody() -> None:
    assert judge(Row(SINCE, failed=19), SINCE + 3_600_000, TIMES) == Flow()


def test_twenty_failures_open_only_after_longer_than_a_call_may_take() -> None:
    row = Row(SINCE, failed=20)
    assert judge(row, SINCE + 8_999, TIMES) == Flow()
    assert judge(row, SINCE + 9_000, TIMES) == Open(row, SINCE + 29_000)


def test_no_request_is_made_while_the_breaker_is_open() -> None:
    row = Row(SINCE, failed=20, open_until_ms=SINCE + 29_000)
    assert judge(row, SINCE + 28_999, TIMES) == Wait("BREAKER_OPEN")


@pytest.mark.parametrize(
    ("lasted_ms", "pause_ms"),
    [(29_000, 20_000), (600_000, 40_000), (4_500_000, 300_000), (86_400_000, 300_000)],
)
def test_the_pause_between_probes_is_a_fifteenth_of_the_outage_within_bounds(
    lasted_ms: int, pause_ms: int
) -> None:
    row = Row(SINCE, failed=20, open_until_ms=SINCE + 29_000)
    now_ms = SINCE + lasted_ms
    assert judge(row, now_ms, TIMES) == Probe(row, now_ms + pause_ms)


def test_a_429_stops_everybody_until_its_time_and_then_one_probes() -> None:
    row = Row(SINCE, not_before_ms=SINCE + 30_000)
    assert judge(row, SINCE + 29_999, TIMES) == Wait("RATE_LIMITED")
    assert isinstance(judge(row, SINCE + 30_000, TIMES), Probe)


def test_a_hold_stops_everybody_until_its_time_and_then_one_probes() -> None:
    row = Row(SINCE, not_before_ms=SINCE + 1_800_000, held="ada: repairing the CRM")
    assert judge(row, SINCE + 1_799_999, TIMES) == Wait("BREAKER_OPEN")
    assert isinstance(judge(row, SINCE + 1_800_000, TIMES), Probe)


def test_while_both_a_429_and_the_breaker_stop_calls_the_later_one_ends_it() -> None:
    row = Row(SINCE, 20, open_until_ms=SINCE + 20_000, not_before_ms=SINCE + 60_000)
    assert judge(row, SINCE + 20_000, TIMES) == Wait("RATE_LIMITED")
    assert judge(row, SINCE + 19_999, TIMES) == Wait("BREAKER_OPEN")


def test_a_faster_stack_still_opens_no_sooner_than_a_call_may_take() -> None:
    fast = Times.of(call_ms=3_000, scale=0.1)
    row = Row(SINCE, failed=20)
    assert judge(row, SINCE + 3_999, fast) == Flow()
    assert judge(row, SINCE + 4_000, fast) == Open(row, SINCE + 6_000)
