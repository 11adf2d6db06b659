"""The passage of time: executions end, leases and claims run out, the table sweeps."""

from collections.abc import Iterator

from proof.explorer.clock import aged, aged_ms, expires_in
from proof.explorer.moves import Move, paid
from proof.explorer.pacing import BREAKER, in_conversation
from proof.explorer.promises import Promises
from proof.explorer.scenario import Fault, Scenario
from proof.explorer.state import Held, State, unmarked


class Passage:
    def __init__(self, scenario: Scenario, promises: Promises) -> None:
        self._scenario = scenario
        self._promises = promises

    def moves(self, state: State) -> Iterator[Move]:
        later = self._ticked(state)
        if later:
            yield Move("clock", "ticks", f"{self._scenario.tick_seconds} s pass", (), later)
        ahead = [expires_in(held.text) for held in state.rows]
        left = [seconds for seconds in ahead if seconds >= 0]
        if state.expiries and left and not state.runs and not state.flying:
            seconds = min(left) + 1
            expired = self.passed(state, seconds)._replace(expiries=state.expiries - 1)
            said = f"{seconds} s pass"
            yield Move("clock", "jumps", said, (), expired)
        for held, seconds in zip(state.rows, ahead, strict=True):
            if seconds < 0:
                rest = tuple(other for other in state.rows if other != held)
                yield Move("table", "sweeps", held.key[1], (), state._replace(rows=rest))

    def _ticked(self, state: State) -> State | None:
        """Time passes while somebody's time is running. Beyond its life only a zombie goes on."""
        over, seconds = self._scenario.over, self._scenario.tick_seconds
        running = state.flying or any(run.age < over for run in state.runs)
        rows = (*state.rows, *state.pace)
        if any(in_conversation(run.text) for run in state.runs):
            return None  # pacing answers within its 20 s, or is given up
        if not running and all(aged(row.text, seconds, False) == row.text for row in rows):
            return None
        after: State | None = state
        for run in state.runs:
            if after and run.age == over - 1:
                after = paid(self._scenario, unmarked(after, run.name), Fault.ZOMBIE)
        # Nothing stays on the network that long: what has not landed by now never will.
        return self.passed(after._replace(flying=()), seconds) if after else None

    def passed(self, state: State, seconds: int) -> State:
        far = bool(self._scenario.expiries)
        over = self._scenario.over
        later = state._replace(
            rows=tuple(_aged_row(held, seconds, far) for held in state.rows),
            runs=tuple(
                run._replace(text=aged(run.text, seconds, far), age=min(run.age + 1, over))
                for run in state.runs
            ),
            # Nobody takes from a slot that is over.
            pace=tuple(
                row._replace(text=aged(row.text, seconds, far))
                for row in state.pace
                if row.key == BREAKER
            ),
            calls=0,
            probes=0,
        )
        return self._promises.forgotten(later) if far else later


def _aged_row(held: Held, seconds: int, far: bool) -> Held:
    kept_until_ms = aged_ms(held.kept_until_ms, seconds, far)
    return held._replace(text=aged(held.text, seconds, far), kept_until_ms=kept_until_ms)
