"""The breaker decides if requests flow, if none is sent, and if one probes."""

import pytest
from once_data_action.breaker import Open, Probe, Row, Times, Wait, judge

TIMES = Times.of()
SINCE = 1_777_888_800_000


def test_no_row_lets_requests_flow() -> None:
    assert judge(None, SINCE, TIMES) is None


@pytest.mark.parametrize(
    ("failed", "lasted_ms", "opens"),
    [
        (2, 3_600_000, False),  # two events that always fail are no outage
        (3, 299_999, False),
        (3, 300_000, True),  # three of 20 events per hour
        (19, 299_999, False),
        (20, 11_999, False),  # a slow response may still succeed
        (20, 12_000, True),  # 20 of 50 events per second
    ],
)
def test_breaker_opens_by_failed_events_and_time_without_success(
    failed: int, lasted_ms: int, opens: bool
) -> None:
    row, now_ms = Row(SINCE, failed), SINCE + lasted_ms
    assert judge(row, now_ms, TIMES) == (Open(row, now_ms + 20_000) if opens else None)


@pytest.mark.parametrize(
    ("lasted_ms", "pause_ms"),
    [(32_000, 20_000), (600_000, 40_000), (4_500_000, 300_000), (86_400_000, 300_000)],
)
def test_pause_between_probes_is_a_fifteenth_of_the_outage_within_bounds(
    lasted_ms: int, pause_ms: int
) -> None:
    row, now_ms = Row(SINCE, failed=20, open_until_ms=SINCE + 32_000), SINCE + lasted_ms
    assert judge(row, now_ms, TIMES) == Probe(row, now_ms + pause_ms)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (Row(SINCE, not_before_ms=SINCE + 9), "RATE_LIMITED"),
        (Row(SINCE, not_before_ms=SINCE + 9, held="repair", held_by="ada"), "PAUSED"),
        (Row(SINCE, 3, SINCE + 9, SINCE + 9, "repair", "ada"), "PAUSED"),
        (Row(SINCE, 3, SINCE + 9, SINCE + 1, "repair", "ada"), "BREAKER_OPEN"),
        (Row(SINCE, 3, SINCE + 1, SINCE + 9), "RATE_LIMITED"),
    ],
)
def test_wait_names_its_reason_until_the_later_time_and_then_one_probes(
    row: Row, reason: str
) -> None:
    assert judge(row, SINCE + 8, TIMES) == Wait(reason)
    assert isinstance(judge(row, SINCE + 9, TIMES), Probe)


def test_faster_stack_still_opens_no_sooner_than_a_request_may_take() -> None:
    fast, row = Times.of(call_ms=2_000, scale=0.1), Row(SINCE, failed=20)
    assert judge(row, SINCE + 5_999, fast) is None
    assert judge(row, SINCE + 6_000, fast) == Open(row, SINCE + 8_000)
