"""The constants of the breaker and of next attempts, in one place."""

from dataclasses import dataclass

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
DAY_MS = 24 * 60 * MINUTE_MS

# After this an event is claimed and parked in place of being called: it needs no leave to.
LONGEST_WAIT_MS = 10 * DAY_MS


@dataclass(frozen=True)
class Times:
    """Production's, or all of them shorter by one factor where nobody wants to wait for minutes."""

    # A call may take 8 s. Sooner, one that is slow and healthy can have given no evidence.
    evidence_ms: int
    open_ms: int
    longest_open_ms: int
    # Between tries of an event whose call failed: its age, so that it doubles by itself.
    shortest_try_ms: int
    longest_try_ms: int
    # Between looks of what could not be called for another reason: a fifth of its age at first, and
    # later a tenth. So the first hour sees fewer than 30 looks, and what two hours were lost for
    # acts within 20 minutes of the repair.
    shortest_look_ms: int
    early_look_ms: int
    # What should be parked by now and cannot be. A dead letter is deleted 14 days after it was
    # sent: at this pace the 1,000 receives are used up a long weekend before that.
    last_look_ms: int
    # What was sent shortly before the first failure belongs to the outage too.
    before_outage_ms: int
    # Beyond this, the order of an outage no longer fits into the longest look.
    long_outage_ms: int
    # Spreads what is due at the same moment.
    spread_ms: int
    longest_hold_ms: int
    shortest_spread_ms: int

    @classmethod
    def of(cls, call_ms: int = 8_000, scale: float = 1.0) -> "Times":
        def scaled(milliseconds: int) -> int:
            return round(milliseconds * scale)

        return cls(
            evidence_ms=call_ms + SECOND_MS,
            open_ms=scaled(20 * SECOND_MS),
            longest_open_ms=scaled(5 * MINUTE_MS),
            shortest_try_ms=scaled(30 * SECOND_MS),
            longest_try_ms=scaled(30 * MINUTE_MS),
            shortest_look_ms=scaled(20 * SECOND_MS),
            early_look_ms=scaled(12 * MINUTE_MS),
            last_look_ms=scaled(2 * MINUTE_MS),
            before_outage_ms=scaled(MINUTE_MS),
            long_outage_ms=scaled(360 * MINUTE_MS),
            spread_ms=scaled(10 * SECOND_MS),
            longest_hold_ms=scaled(30 * SECOND_MS),
            shortest_spread_ms=scaled(2 * SECOND_MS),
        )


def clamp(value: float, low: float, high: float) -> float:
    """The value, or the bound that it is beyond."""
    return min(max(value, low), high)
