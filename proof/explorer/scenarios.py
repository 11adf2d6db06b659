"""The scenarios: what is sent, what may go wrong with it, and how much of it is walked through."""

from dataclasses import replace

from proof.explorer.scenario import Fault, Scenario, Sent

_ORDINARY = frozenset({Fault.CRASH, Fault.ACTION, Fault.TWICE_AT_ONCE})
# These need the destination to ask for patience, and are walked through on their own.
_PATIENCE = (Fault.ASKED_TO_WAIT, Fault.DEFER, Fault.GATE)
_EVERYTHING_ELSE = tuple(fault for fault in Fault if fault not in _PATIENCE)
_WITHOUT_LIMIT = tuple(
    fault for fault in _EVERYTHING_ELSE if fault not in (Fault.ZOMBIE, Fault.LATE)
)

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
IDS = replace(
    OCCURRENCES,
    name="a state that comes twice, with the publisher's ids",
    messages=(Sent("A", 1000, "e1"), Sent("B", 5000, "e2")),
)
WINDOW = replace(
    OCCURRENCES,
    name="two copies that only a window tells",
    messages=(Sent("A", 1000), Sent("A", 1400)),
)
SAME_ID = replace(
    WINDOW,
    name="two copies far apart, with the publisher's id",
    messages=(Sent("A", 1000, "e1"), Sent("A", 2500, "e1")),
)
NEWEST = replace(
    WINDOW,
    name="two copies of a newest state, with other times",
    messages=(Sent("A", 1000), Sent("A", 1150)),
    window_ms=0,
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
CLOSE_STATES = replace(
    STATES,
    name="two states within the window of their clock",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 1300, state="y")),
    window_ms=500,
)
UNORDERED_STATES = replace(STATES, name="two states, in no order", latest=False)
THREE_COPIES = replace(COPIES, name="three copies", messages=(Sent("A"), Sent("A"), Sent("A")))
THREE_IN_A_WINDOW = replace(
    OCCURRENCES,
    name="two copies and a later occurrence",
    messages=(Sent("A", 1000), Sent("A", 1400), Sent("B", 5000)),
)
THREE_STATES = replace(
    STATES,
    name="three states, of which the newest counts",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 2000, state="y"), Sent("Z", 3000, state="z")),
)
SLOW = replace(COPIES, name="two copies, in slow executions", tick_seconds=105, deliveries=1)
EXPIRING = replace(SLOW, name="a copy after the claim's days", expiries=1)
EXPIRING_WINDOW = replace(
    EXPIRING,
    name="a copy in a window after the claim's days",
    messages=WINDOW.messages,
    window_ms=500,
)
EXPIRING_STATES = replace(
    EXPIRING, name="a state after the claim's days", messages=STATES.messages, latest=True
)
REPLAYED = replace(COPIES, name="a parked event is replayed", replays=1, deliveries=1)


def with_faults(scenario: Scenario, *kinds: Fault, faults: int = 2) -> Scenario:
    """The scenario with more that may go wrong, but not as often."""
    return replace(
        scenario,
        name=f"{scenario.name}, with at most {faults} of {len(scenario.kinds.union(kinds))} faults",
        kinds=scenario.kinds.union(kinds),
        faults=faults,
        zombies=int(Fault.ZOMBIE in kinds),
        lates=int(Fault.LATE in kinds),
        deferrals=int(Fault.DEFER in kinds),
    )


def skewed(scenario: Scenario) -> Scenario:
    return replace(scenario, name=f"{scenario.name} with wrong clocks", skews_ms=(-3000, 3000))


def limited(scenario: Scenario) -> Scenario:
    name = f"{scenario.name}, sixty calls a minute"
    return replace(scenario, name=name, substitutions={"MaxActionsPerMinute": "60"})


def unbounded(scenario: Scenario, *kinds: Fault) -> Scenario:
    """The scenario with more that may go wrong, however often."""
    return replace(
        scenario,
        name=f"{scenario.name}, with any number of {len(scenario.kinds.union(kinds))} faults",
        kinds=scenario.kinds.union(kinds),
        zombies=int(Fault.ZOMBIE in kinds),
        lates=int(Fault.LATE in kinds),
    )


def late_puts(scenario: Scenario, faults: int) -> Scenario:
    """The scenario in batches of one, where only executions, and a late write of theirs, fail."""
    return replace(
        scenario,
        name=f"{scenario.name}, with a late write and {faults - 1} deaths",
        kinds=frozenset({Fault.CRASH, Fault.LATE}),
        faults=faults,
        lates=1,
        batch_size=1,
        deliveries=3,
    )


# Under a minute, for every run of the tests.
BOUNDED = [
    unbounded(COPIES),
    with_faults(COPIES, *_EVERYTHING_ELSE, faults=2),
    with_faults(WINDOW, *_EVERYTHING_ELSE, faults=1),
    with_faults(OCCURRENCES, *_EVERYTHING_ELSE, faults=1),
    with_faults(IDS, faults=1),
    with_faults(SAME_ID, faults=2),
    with_faults(NEWEST, Fault.ZOMBIE, faults=1),
    with_faults(STATES, *_EVERYTHING_ELSE, faults=1),
    with_faults(SAME_TIME, faults=1),
    with_faults(CLOSE_STATES, faults=1),
    with_faults(UNORDERED_STATES, *_PATIENCE, faults=1),
    with_faults(THREE_COPIES, faults=1),
    with_faults(replace(THREE_IN_A_WINDOW, deliveries=1), faults=1),
    with_faults(replace(THREE_STATES, deliveries=1), faults=1),
    with_faults(SLOW, *_EVERYTHING_ELSE, faults=1),
    with_faults(skewed(SLOW), faults=1),
    with_faults(EXPIRING, faults=1),
    with_faults(EXPIRING_WINDOW, faults=1),
    with_faults(replace(EXPIRING_STATES, kinds=frozenset({Fault.CRASH})), faults=1),
    unbounded(REPLAYED),
    with_faults(COPIES, *_PATIENCE, faults=1),
    with_faults(limited(COPIES), *_PATIENCE, faults=1),
]

# What one core walks through in a quarter of an hour.
FULL = [
    unbounded(COPIES, *_WITHOUT_LIMIT),
    unbounded(COPIES, Fault.ZOMBIE),
    unbounded(COPIES, Fault.LATE),
    with_faults(COPIES, *_EVERYTHING_ELSE, faults=3),
    unbounded(replace(COPIES, tick_seconds=160)),
    with_faults(THREE_COPIES, *_EVERYTHING_ELSE, faults=2),
    with_faults(replace(SLOW, deliveries=2), faults=2),
    with_faults(SLOW, *_EVERYTHING_ELSE, faults=2),
    with_faults(skewed(replace(SLOW, deliveries=2)), faults=1),
    unbounded(WINDOW),
    with_faults(WINDOW, *_EVERYTHING_ELSE, faults=2),
    unbounded(OCCURRENCES),
    with_faults(OCCURRENCES, *_EVERYTHING_ELSE, faults=2),
    with_faults(IDS, *_EVERYTHING_ELSE, faults=1),
    with_faults(SAME_ID, *_EVERYTHING_ELSE, faults=2),
    with_faults(NEWEST, *_EVERYTHING_ELSE, faults=2),
    late_puts(NEWEST, faults=4),
    unbounded(STATES),
    with_faults(STATES, *_EVERYTHING_ELSE, faults=2),
    with_faults(SAME_TIME, *_EVERYTHING_ELSE, faults=1),
    with_faults(CLOSE_STATES, *_EVERYTHING_ELSE, faults=1),
    with_faults(replace(THREE_IN_A_WINDOW, deliveries=1), *_EVERYTHING_ELSE, faults=2),
    with_faults(replace(THREE_STATES, deliveries=1), *_EVERYTHING_ELSE, faults=2),
    with_faults(EXPIRING, *_EVERYTHING_ELSE, faults=1),
    with_faults(EXPIRING_WINDOW, *_EVERYTHING_ELSE, faults=1),
    with_faults(EXPIRING_STATES, *_EVERYTHING_ELSE, faults=1),
    with_faults(replace(REPLAYED, deliveries=2), faults=3),
    with_faults(REPLAYED, Fault.LATE, faults=3),
    with_faults(COPIES, *_PATIENCE, faults=2),
    with_faults(OCCURRENCES, *_PATIENCE, faults=1),
    with_faults(UNORDERED_STATES, *_PATIENCE, faults=1),
    with_faults(limited(COPIES), *_PATIENCE, faults=2),
]
