"""The scenarios: what is sent, and what may go wrong with it."""

from dataclasses import replace

from tests.explorer.scenario import Fault, Scenario, Sent

_ORDINARY = frozenset({Fault.CRASH, Fault.ACTION, Fault.TWICE_AT_ONCE})

# Where one tick is 320 s, an execution and its lease are over at the same time.
COPIES = Scenario(
    "two copies of an event", (Sent("A"), Sent("A")), kinds=_ORDINARY, tick_seconds=320
)
OCCURRENCES = replace(
    COPIES,
    name="a state that comes twice",
    messages=(Sent("A", 1000), Sent("B", 5000)),
    window_ms=500,
    latest=True,
)
WINDOWED_COPIES = replace(
    OCCURRENCES,
    name="two copies that only a window tells",
    messages=(Sent("A", 1000), Sent("A", 1400)),
)
SAME_EVENT_ID = replace(
    OCCURRENCES,
    name="two copies far apart, with the publisher's id",
    messages=(Sent("A", 1000, "e1"), Sent("A", 2500, "e1")),
    latest=False,
)
STATES = replace(
    COPIES,
    name="two states, of which the newest counts",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 2000, state="y")),
    latest=True,
)
SAME_TIME = replace(
    STATES,
    name="two states in the same millisecond",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 1000, state="y")),
)


def with_faults(scenario: Scenario, *kinds: Fault, faults: int = 2, **changes: int) -> Scenario:
    """The scenario with more that may go wrong, but not as often."""
    limits = {
        name: 1
        for kind, name in (
            (Fault.ZOMBIE, "zombies"),
            (Fault.LATE, "lates"),
            (Fault.DEFER, "deferrals"),
        )
        if kind in kinds
    }
    return replace(
        scenario, kinds=scenario.kinds | set(kinds), faults=faults, **{**limits, **changes}
    )
