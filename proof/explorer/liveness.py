"""Nothing may be stuck: from wherever all is at rest, one fault-free delivery of each message must
clear the queue. Where nobody may be called it must be handed back, and say why; what has waited for
too long is parked all the same."""

from collections.abc import Iterator

from proof.explorer.moves import Move
from proof.explorer.outcomes import Report
from proof.explorer.state import Broken, State, place_of
from proof.explorer.world import World

ENDLESSLY = " is returned each time"
_LONGER_THAN_A_LEASE = 400
_ROUNDS = 2
_MOST_STEPS = 60


Continuation = tuple[str, tuple[Move, ...]]


class Liveness:
    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[tuple[object, ...], bool] = {}

    def holds(self, state: State) -> bool:
        if state.runs or state.flying or all(message.deleted for message in state.queue):
            return True
        what_matters = (
            state.rows,
            state.pace,
            state.failing,
            state.queue,
            state.deeds,
            state.parked,
            state.stale,
            state.unchanged,
        )
        if what_matters not in self._known:
            self._known[what_matters] = not self.complaint(state)[0]
        return self._known[what_matters]

    def complaint(self, state: State) -> Continuation:
        """Why the queue is not cleared, or nothing, and what was tried."""
        moves: list[Move] = []
        waits: set[int] = set()
        for _ in range(_ROUNDS):
            state = self._world.passage.passed(state, _LONGER_THAN_A_LEASE)
            said = f"{_LONGER_THAN_A_LEASE} s pass, and nothing goes wrong any more"
            moves.append(Move("clock", "goes on", said, (), state))
            for place, message in enumerate(state.queue):
                if message.deleted:
                    continue
                moves += self._settling(state, place)
                then = moves[-1].then
                if isinstance(then, Broken):
                    return str(then), tuple(moves)
                state = then
                sent = self._world.scenario.messages[message.sent]
                if not (sent.is_old or sent.ignored) and self._says_why(moves[-1].report, place):
                    waits.add(place)
        left = [
            f"m{place + 1}"
            for place, message in enumerate(state.queue)
            if not message.deleted and place not in waits
        ]
        return " and ".join(left) + ENDLESSLY if left else "", tuple(moves)

    def _says_why(self, report: Report | None, place: int) -> bool:
        shut = self._world.scenario.shut
        return (
            bool(shut)
            and report is not None
            and all(
                said.reason == shut for said in report.records if place_of(said.message_id) == place
            )
        )

    def _settling(self, state: State, place: int) -> Iterator[Move]:
        """Yields the moves that settle one message if nothing fails; tasks list that move first."""
        move = next(self._world.deliver(state, (place,)))
        yield move
        for _ in range(_MOST_STEPS):
            if not isinstance(move.then, State) or not move.then.runs:
                return
            move = next(self._world.steps(move.then, move.then.runs[0]))
            yield move
        run = move.then.runs[0]
        yield move._replace(then=Broken(f"run{run.name} goes round and does not end"))
