"""Small worlds that are searched through. Each has the faults that its promise has to stand."""

from dataclasses import replace

from proof.sim.events import START_MS, Event
from proof.sim.search import Case

A = Event("a")
OLD = Event("old", START_MS, "x", order="latest")
NEW = replace(OLD, name="new", at_ms=START_MS + 2_000, state="y")
NEWEST = replace(OLD, name="newest", at_ms=START_MS + 4_000, state="z")
ON = Event("on", START_MS, "on", order="changes", noise="1")
ON_AGAIN = replace(ON, name="on again", at_ms=START_MS + 5_000, noise="2")
OFF = replace(ON, name="off", at_ms=START_MS + 2_500, state="off")
MEAL = replace(OFF, name="meal", wanted=False)
EACH = replace(OFF, name="each", order="every")
IN_WINDOW = Event("w1", START_MS, "w", order="latest", window_ms=500, name_of_copy="w")
IN_WINDOW_TOO = replace(IN_WINDOW, name="w2", at_ms=START_MS + 400)
LATER = replace(IN_WINDOW, name="later", at_ms=START_MS + 5_000, name_of_copy="later")
REJECTED = Event("rejected", temper="rejected")

MACHINE = frozenset({"error", "down", "lost", "late", "crash", "twice", "undeleted"})
FUNCTION = frozenset({"function", "unseen", "table"})
DESTINATION = frozenset({"destination", "unheard"})
ALL = MACHINE | FUNCTION | DESTINATION

CASES = (
    Case("one event, each fault", (A,), ALL),
    Case("two copies, each fault", (A, A), ALL, deliveries=2),
    Case("a death and a lost response", (A,), frozenset({"crash", "lost", "twice"}), 2),
    Case("late writes", (A,), frozenset({"late", "crash", "destination"}), 2),
    Case("a destination that fails", (A,), frozenset({"destination", "lost", "crash"}), 3, 2),
    Case("a rejected event", (REJECTED, REJECTED), MACHINE, 1, 2),
    Case("two states, the newest counts", (OLD, NEW), ALL, 1, 2),
    Case("three states", (OLD, NEW, NEWEST), frozenset({"lost", "crash"}), 1, 2),
    Case("a state again, with the same facts", (ON, ON_AGAIN), ALL, 1, 2),
    Case("a change and back", (ON, OFF, ON_AGAIN), frozenset({"lost"}), 1, 1),
    Case("an unwanted state between", (ON, MEAL, ON_AGAIN), frozenset({"lost", "down"}), 1, 2),
    Case("a state of each change between", (ON, EACH, ON_AGAIN), frozenset({"down"}), 1, 2),
    Case("copies that a window tells", (IN_WINDOW, IN_WINDOW_TOO), ALL, 1, 2),
    Case("a state that comes again", (IN_WINDOW, LATER), frozenset({"lost", "crash"}), 1, 2),
)
