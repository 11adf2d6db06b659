"""How far apart copies are: exact to two digits, in a few hundred counters."""

from collections import Counter

STEPS = {
    "same ms": 1,
    "to 10 ms": 11,
    "to 100 ms": 101,
    "to 1 s": 1_001,
    "to 10 s": 10_001,
    "to 1 min": 60_001,
    "to 5 min": 300_001,
    "to 1 h": 3_600_001,
    "to 1 day": 86_400_001,
}
LONGER = "longer"


class Histogram:
    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self.longest_ms = 0

    def add(self, ms: int) -> None:
        self._counts[_rounded(ms)] += 1
        self.longest_ms = max(self.longest_ms, ms)

    def __len__(self) -> int:
        return self._counts.total()

    def quantile(self, share: float) -> int:
        """The distance that so many copies do not exceed."""
        left = share * len(self)
        for ms in sorted(self._counts):
            left -= self._counts[ms]
            if left <= 0:
                return ms
        return self.longest_ms

    def by_step(self) -> dict[str, int]:
        found = dict.fromkeys([*STEPS, LONGER], 0)
        for ms, count in self._counts.items():
            found[next((name for name, end in STEPS.items() if ms < end), LONGER)] += count
        return found


def _rounded(ms: int) -> int:
    digits = len(str(ms))
    return ms if digits <= 2 else round(ms, 2 - digits)
