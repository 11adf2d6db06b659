"""The scenarios: what is sent, what may go wrong with it, and how much of it is walked through."""

from dataclasses import replace

from proof.explorer.clock import NOW_MS
from proof.explorer.scenario import SENT_MS, Fault, Paced, Scenario, Sent

_ORDINARY = frozenset({Fault.CRASH, Fault.ACTION, Fault.TWICE_AT_ONCE})
# What a destination may do.
_TROUBLE = frozenset({Fault.ACTION, Fault.ASKED_TO_WAIT})
# These need the destination to ask for patience, or large bodies, and are walked through on their
# own.
_PATIENCE = (Fault.ASKED_TO_WAIT, Fault.OVERFLOW, Fault.PACING, Fault.UNREAD)
_EVERYTHING_ELSE = tuple(fault for fault in Fault if fault not in _PATIENCE)
_WITHOUT_LIMIT = tuple(
    fault for fault in _EVERYTHING_ELSE if fault not in (Fault.ZOMBIE, Fault.LATE)
)

_NO_ROUTE = "NO_ROUTE_MATCHED"

# Where one tick is 320 s, an execution and its lease are over at the same time.
COPIES = Scenario(
    "two copies of an event", (Sent("A"), Sent("A")), kinds=_ORDINARY, tick_seconds=320
)
OCCURRENCES = replace(
    COPIES,
    name="a state that comes twice",
    messages=(Sent("A", 1000), Sent("B", 5000)),
    window_ms=500,
    order="latest",
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
    order="latest",
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
UNORDERED_STATES = replace(STATES, name="two states, in no order", order="none")
RETURNING = replace(
    STATES,
    name="a state that leaves and returns",
    messages=(Sent("A", 1000), Sent("B", 2000, state="off"), Sent("A again", 3000)),
    order="changes",
    deliveries=1,
)
REPEATED = replace(
    RETURNING,
    name="a state, the same again, and another one late",
    messages=(Sent("A", 1000), Sent("A again", 3000), Sent("B", 2000, state="off")),
)
UNSURE = replace(
    RETURNING,
    name="two states within what two clocks differ, and the second again",
    messages=(Sent("A", 1000), Sent("B", 900, state="off"), Sent("B again", 3000, state="off")),
)
COPIED = replace(
    RETURNING,
    name="a state with its copy, and the same again",
    messages=(Sent("A", 1000), Sent("A", 1000), Sent("A again", 3000)),
)
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
    EXPIRING, name="a state after the claim's days", messages=STATES.messages, order="latest"
)
REPLAYED = replace(COPIES, name="a parked event is replayed", replays=1, deliveries=1)

# Batches of another shape.
TWO_SUBJECTS = Scenario(
    "two events of two subjects, side by side",
    (Sent("A"), Sent("B", subject="user/2")),
    kinds=_ORDINARY,
    tick_seconds=320,
    side_by_side=True,
)
TWO_EVENTS = replace(
    UNORDERED_STATES, name="two events of one subject, in rounds", side_by_side=True
)
ROUNDS = replace(
    TWO_SUBJECTS,
    name="two events of one subject and one of another",
    messages=(
        Sent("X", 1000, state="x"),
        Sent("Y", 2000, state="y"),
        Sent("B", subject="user/2"),
    ),
    batch_size=3,
)
MIXED = replace(
    TWO_SUBJECTS,
    name="an event, its copy, and one that is broken",
    messages=(Sent("A"), Sent("A"), Sent("broken", broken=True)),
    batch_size=3,
)
OLD = replace(
    COPIES,
    name="two copies that have waited for too long",
    messages=(Sent("A", sent_ms=1000), Sent("A", sent_ms=1000)),
)
IGNORED = replace(
    COPIES,
    name="two copies of an event that no route wants",
    messages=(Sent("A", ignored=_NO_ROUTE), Sent("A", ignored=_NO_ROUTE)),
)
IGNORED_STATE = replace(
    STATES,
    name="two states, of which no route wants the newer",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 2000, state="y", ignored=_NO_ROUTE)),
)
EXPIRED = replace(
    COPIES,
    name="two copies of an event that is older than its route allows",
    messages=(Sent("A", ignored="EXPIRED"), Sent("A", ignored="EXPIRED")),
)
EXPIRED_STATE = replace(
    IGNORED_STATE,
    name="two states, of which the newer is older than its route allows",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 2000, state="y", ignored="EXPIRED")),
)
SLOW_SUBJECTS = replace(
    TWO_SUBJECTS,
    name="two events of two subjects, in slow executions",
    tick_seconds=105,
    side_by_side=False,
)

# The breaker's row and the slots as rows.
_A_WHILE_MS = 60_000
PACED = replace(TWO_SUBJECTS, name="two events, a breaker", paced=Paced(), side_by_side=False)
COPIES_PACED = replace(
    COPIES,
    name="two copies, a breaker",
    paced=Paced(),
    kinds=frozenset({Fault.ACTION}),
    batch_size=1,
)
NEARLY_OPEN = replace(
    PACED, name="two events, a breaker that is nearly open", paced=Paced(_A_WHILE_MS, 19)
)
OPENING = replace(
    PACED, name="two events, a breaker that is about to open", paced=Paced(_A_WHILE_MS, 20)
)
YOUNG = replace(
    PACED, name="two events, a breaker with many failures just now", paced=Paced(1_000, 20)
)
PROBING = replace(
    PACED,
    name="two events, a breaker to be probed",
    paced=Paced(_A_WHILE_MS, 20, NOW_MS - 10_000),
)
# Young, so that the turn of a probe is shorter than an execution may last.
SLOW_PROBES = replace(
    PROBING,
    name=f"{PROBING.name}, in slow executions",
    paced=Paced(2_000, 20, NOW_MS - 1_000),
    tick_seconds=105,
    batch_size=1,
)
NEVER_CLOSING = replace(
    PACED,
    name="two events, a breaker that never closes",
    paced=Paced(_A_WHILE_MS, 20, SENT_MS),
    shut="BREAKER_OPEN",
)
OLD_AND_SHUT = replace(
    NEVER_CLOSING,
    name="an event that has waited for too long, a breaker that never closes",
    messages=(Sent("A"), Sent("B", subject="user/2", sent_ms=1000)),
)
SHUT_AND_MUTE = replace(
    OLD_AND_SHUT,
    name=f"{OLD_AND_SHUT.name}, and pacing never answers",
    paced=Paced(_A_WHILE_MS, 20, SENT_MS, mute=True),
    shut="PACING_FAILED",
)
OWN_FUNCTION = replace(PACED, name="two events, a function of one's own, a breaker")
OWN_FUNCTION = OWN_FUNCTION.with_substitutions(OwnAction="true")


def with_faults(scenario: Scenario, *kinds: Fault, faults: int = 2) -> Scenario:
    """The scenario with more that may go wrong, but not as often."""
    return replace(
        scenario,
        name=f"{scenario.name}, with at most {faults} of {len(scenario.kinds.union(kinds))} faults",
        kinds=scenario.kinds.union(kinds),
        faults=faults,
        zombies=int(Fault.ZOMBIE in kinds),
        lates=int(Fault.LATE in kinds),
    )


def skewed(scenario: Scenario) -> Scenario:
    return replace(scenario, name=f"{scenario.name} with wrong clocks", skews_ms=(-3000, 3000))


def limited(scenario: Scenario, per_minute: int = 60) -> Scenario:
    name = f"{scenario.name}, {per_minute} calls a minute"
    limit = {"MaxActionsPerMinute": str(per_minute)}
    paced = scenario.paced or Paced()
    return replace(scenario, name=name, paced=paced).with_substitutions(**limit)


IGNORED_AND_SHUT = replace(
    NEVER_CLOSING,
    name="an event that no route wants, a breaker that never closes",
    messages=(Sent("A", ignored=_NO_ROUTE), Sent("B", subject="user/2")),
)
# One call in a slot.
ONE_A_SLOT = limited(PACED, 30)
SLOW_SLOT = replace(limited(SLOW_SUBJECTS, 30), deliveries=1)
LIMITED_AND_MUTE = limited(
    replace(
        SHUT_AND_MUTE,
        name="an event that has waited for too long, and pacing never answers",
        paced=Paced(mute=True),
    )
)
USED_UP = replace(
    ONE_A_SLOT,
    name="two events, a limiter that gives nothing",
    paced=Paced(used_up=True),
    shut="LIMITED",
)


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


# Half a minute of one core, for every run of the tests.
BOUNDED = [
    with_faults(COPIES, *_EVERYTHING_ELSE, faults=1),
    with_faults(WINDOW, *_EVERYTHING_ELSE, faults=1),
    with_faults(OCCURRENCES, faults=1),
    with_faults(IDS, faults=1),
    with_faults(SAME_ID, faults=1),
    with_faults(NEWEST, Fault.ZOMBIE, faults=1),
    with_faults(STATES, *_EVERYTHING_ELSE, faults=1),
    with_faults(SAME_TIME, faults=1),
    with_faults(CLOSE_STATES, faults=1),
    with_faults(RETURNING, Fault.LATE, faults=1),
    with_faults(REPEATED, Fault.ANSWER_LOST, faults=1),
    with_faults(replace(REPEATED, kinds=frozenset({Fault.ACTION, Fault.TWICE_AT_ONCE}))),
    with_faults(UNSURE, faults=1),
    with_faults(replace(COPIED, kinds=frozenset({Fault.ACTION, Fault.TWICE_AT_ONCE}))),
    with_faults(COPIED, Fault.LATE, faults=1),
    with_faults(SLOW, faults=1),
    with_faults(replace(EXPIRING, kinds=frozenset({Fault.CRASH})), faults=1),
    with_faults(REPLAYED, faults=1),
    # Of other shapes.
    with_faults(replace(TWO_SUBJECTS, deliveries=1), Fault.ERROR, faults=1),
    with_faults(replace(TWO_SUBJECTS, kinds=_TROUBLE), faults=1),
    with_faults(TWO_EVENTS, Fault.ERROR, Fault.ANSWER_LOST, Fault.PIPE, faults=1),
    with_faults(replace(ROUNDS, deliveries=1, kinds=frozenset()), faults=1),
    with_faults(replace(MIXED, deliveries=1, kinds=frozenset({Fault.OVERFLOW})), faults=1),
    with_faults(OLD, faults=1),
    with_faults(IGNORED, Fault.ANSWER_LOST, faults=1),
    with_faults(IGNORED_STATE, faults=1),
    with_faults(EXPIRED, Fault.ANSWER_LOST, faults=1),
    with_faults(EXPIRED_STATE, faults=1),
    # With the breaker's row and the slots.
    with_faults(PACED, Fault.ASKED_TO_WAIT, faults=1),
    with_faults(COPIES_PACED),
    with_faults(replace(NEARLY_OPEN, kinds=_TROUBLE), faults=1),
    with_faults(replace(OPENING, deliveries=1), faults=1),
    with_faults(replace(YOUNG, deliveries=1), faults=1),
    with_faults(replace(PROBING, deliveries=1, kinds=_TROUBLE), faults=1),
    with_faults(replace(PACED, deliveries=1), Fault.PACING, Fault.UNREAD, faults=1),
    with_faults(OWN_FUNCTION, faults=1),
    with_faults(replace(ONE_A_SLOT, deliveries=1), *_PATIENCE, faults=1),
    with_faults(SLOW_SLOT, faults=1),
    with_faults(NEVER_CLOSING, faults=1),
    with_faults(OLD_AND_SHUT, faults=1),
    with_faults(IGNORED_AND_SHUT, faults=1),
    with_faults(SHUT_AND_MUTE, faults=1),
    with_faults(LIMITED_AND_MUTE, faults=1),
    with_faults(USED_UP, faults=1),
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
    with_faults(RETURNING, *_EVERYTHING_ELSE, faults=1),
    with_faults(REPEATED, *_EVERYTHING_ELSE, faults=1),
    with_faults(UNSURE, *_EVERYTHING_ELSE, faults=1),
    with_faults(COPIED, *_EVERYTHING_ELSE, faults=1),
    with_faults(replace(THREE_IN_A_WINDOW, deliveries=1), *_EVERYTHING_ELSE, faults=2),
    with_faults(replace(THREE_STATES, deliveries=1), *_EVERYTHING_ELSE, faults=2),
    with_faults(EXPIRING, *_EVERYTHING_ELSE, faults=1),
    with_faults(EXPIRING_WINDOW, *_EVERYTHING_ELSE, faults=1),
    with_faults(EXPIRING_STATES, *_EVERYTHING_ELSE, faults=1),
    with_faults(replace(REPLAYED, deliveries=2), faults=3),
    with_faults(REPLAYED, Fault.LATE, faults=3),
    with_faults(COPIES, *_PATIENCE, faults=2),
    # Of other shapes.
    unbounded(TWO_SUBJECTS),
    with_faults(TWO_SUBJECTS, *_EVERYTHING_ELSE, *_PATIENCE, faults=2),
    unbounded(TWO_EVENTS),
    with_faults(TWO_EVENTS, *_EVERYTHING_ELSE, *_PATIENCE, faults=2),
    with_faults(ROUNDS, *_EVERYTHING_ELSE, Fault.ASKED_TO_WAIT, faults=1),
    with_faults(MIXED, *_EVERYTHING_ELSE, Fault.OVERFLOW, faults=1),
    with_faults(SLOW_SUBJECTS, *_EVERYTHING_ELSE, faults=2),
    with_faults(OLD, *_EVERYTHING_ELSE, faults=2),
    *(
        with_faults(one, *_EVERYTHING_ELSE, faults=2)
        for one in (IGNORED, IGNORED_STATE, EXPIRED, EXPIRED_STATE)
    ),
    # With the breaker's row and the slots.
    with_faults(PACED, Fault.ASKED_TO_WAIT, faults=4),
    with_faults(COPIES_PACED, *_TROUBLE, Fault.TWICE_AT_ONCE, faults=3),
    with_faults(NEARLY_OPEN, Fault.ASKED_TO_WAIT, faults=3),
    with_faults(OPENING, Fault.ASKED_TO_WAIT, faults=3),
    with_faults(YOUNG, Fault.ASKED_TO_WAIT, faults=2),
    with_faults(PROBING, Fault.ASKED_TO_WAIT, faults=4),
    with_faults(replace(SLOW_PROBES, deliveries=1), Fault.ASKED_TO_WAIT, faults=2),
    with_faults(PACED, *_PATIENCE, faults=3),
    with_faults(PROBING, *_PATIENCE, faults=3),
    with_faults(OWN_FUNCTION, *_PATIENCE, faults=2),
    with_faults(ONE_A_SLOT, *_PATIENCE, faults=3),
    with_faults(limited(PACED), *_PATIENCE, faults=3),
    with_faults(SLOW_SLOT, *_PATIENCE, faults=2),
    with_faults(limited(PROBING, 30), *_PATIENCE, faults=2),
    unbounded(NEVER_CLOSING),
    with_faults(OLD_AND_SHUT, *_EVERYTHING_ELSE, faults=2),
    with_faults(SHUT_AND_MUTE, *_EVERYTHING_ELSE, faults=2),
    with_faults(LIMITED_AND_MUTE, *_EVERYTHING_ELSE, faults=2),
    unbounded(USED_UP),
]
