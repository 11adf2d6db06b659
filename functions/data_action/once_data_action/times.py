"""The times of the breaker and of the next looks, in one place."""

from dataclasses import dataclass

SECOND_MS = 1_000
LONGEST_MS = 900 * SECOND_MS  # SQS delays a message by 15 minutes at most


@dataclass(frozen=True)
class Evidence:
    """The breaker opens if so many events failed and no request succeeded for so long."""

    failed: int
    lasted_ms: int


@dataclass(frozen=True)
class Times:
    """Production's times, or all of them shorter by one factor on the local stack."""

    # For 50 events per second and for 20 per hour; bench/breaker.py has the table.
    evidence: tuple[Evidence, ...]
    open_ms: int
    longest_open_ms: int
    # Between requests of an event that failed: its age, so that it doubles by itself.
    shortest_try_ms: int
    # Between looks of an event that met another reason: a fifth of its age.
    shortest_look_ms: int
    shortest_limited_ms: int
    longest_own_ms: int
    # An event that was sent shortly before the first failure belongs to the outage too.
    before_outage_ms: int
    # Beyond this, the order of an outage needs more than the longest delay.
    long_outage_ms: int
    period_ms: int
    # Spreads what is due at the same moment.
    spread_ms: int
    longest_ms: int

    @classmethod
    def of(cls, call_ms: int = 8_000, scale: float = 1.0) -> "Times":
        def scaled(seconds: float) -> int:
            return round(seconds * SECOND_MS * scale)

        return cls(
            # A slow response of a healthy destination takes up to a call, and the row is read
            # up to a second later.
            evidence=(Evidence(20, call_ms + 4 * SECOND_MS), Evidence(3, scaled(300))),
            open_ms=scaled(20),
            longest_open_ms=scaled(300),
            shortest_try_ms=scaled(30),
            shortest_look_ms=scaled(20),
            shortest_limited_ms=scaled(2),
            longest_own_ms=scaled(600),
            before_outage_ms=scaled(60),
            long_outage_ms=scaled(7_200),
            period_ms=scaled(450),
            spread_ms=scaled(10),
            longest_ms=min(LONGEST_MS, scaled(900)),
        )


def clamp(value: float, low: float, high: float) -> float:
    """Returns the value, or the bound that it is beyond."""
    return min(max(value, low), high)
