"""The world around the state machine: a queue, a pipe, and executions side by side."""

from collections.abc import Iterator
from itertools import permutations

from proof.asl.machine import Machine
from proof.explorer.clock import NOW_MS, aged
from proof.explorer.moves import Move, Names, paid
from proof.explorer.outcomes import (
    Act,
    Answered,
    Called,
    Effect,
    Failed,
    Launched,
    Outcome,
    Paced,
    Parking,
    Refusal,
    Report,
    Standing,
    Then,
    Written,
)
from proof.explorer.pacing import BREAKER, PACE, row_of
from proof.explorer.passage import Passage
from proof.explorer.promises import Promises
from proof.explorer.scenario import Fault, Scenario
from proof.explorer.state import (
    NEVER_FAILED,
    NOBODY,
    Broken,
    Flying,
    Held,
    Message,
    Pace,
    Run,
    State,
    held_under,
    message_id,
    pace_under,
    with_run,
    without_run,
)
from proof.explorer.symmetry import fresh_name
from proof.explorer.tasks import Tasks

# The message of the scenario and its id in the queue, for each of a batch.
Sent = tuple[tuple[int, str], ...]
Unready = frozenset[str]


class World:
    def __init__(self, machine: Machine, scenario: Scenario) -> None:
        self.scenario = scenario
        self._begins: dict[tuple[Sent, Unready, int], list[Then]] = {}
        self._tasks = Tasks(machine, scenario)
        claim_days = int(scenario.filled_in()["ClaimDays"])
        self._promises = Promises(scenario, claim_days, self._tasks.pacing.quota)
        self.passage = Passage(scenario, self._promises)

    def start(self) -> State:
        plan = self.scenario
        return State(
            rows=(),
            queue=tuple(Message(sent) for sent in range(len(plan.messages))),
            runs=(),
            deeds=tuple(None for _ in plan.occurrences()),
            parked=(),
            stale=(),
            unchanged=(),
            newest=(),
            flying=(),
            pace=self._pace(),
            failing=tuple(NEVER_FAILED for _ in plan.occurrences()),
            calls=0,
            probes=0,
            faults=plan.faults,
            zombies=plan.zombies,
            lates=plan.lates,
            expiries=plan.expiries,
            replays=plan.replays,
        )

    def _pace(self) -> tuple[Pace, ...]:
        plan = self.scenario.paced
        if plan is None or plan.since_ago_ms is None:
            return ()
        times = {"since": NOW_MS - plan.since_ago_ms, "open_until": plan.open_until_ms}
        return (Pace(BREAKER, row_of(times, plan.failed)),)

    def moves(self, state: State) -> Iterator[Move]:
        """Everything that may happen next, the good cases first."""
        for run in state.runs:
            yield from self.steps(state, run)
        yield from self._deliveries(state)
        yield from self._crashes(state)
        yield from self._landings(state)
        yield from self._replays(state)
        yield from self.passage.moves(state)

    def steps(self, state: State, run: Run) -> Iterator[Move]:
        for place, task, key in self._tasks.about(run.text):
            if key and key[0] == PACE:
                held, row = None, pace_under(state, key)
            else:
                held = held_under(state, key)
                row = held.text if held else ""
            names = (run.name, *run.met, held.owner if held else NOBODY)
            owner = names.index(held.owner) if held else NOBODY
            for outcome in self._tasks.outcomes(run.text, place, row, owner, run.skew_ms):
                yield from self._moved(state, run, task, names, outcome)

    def _moved(
        self, state: State, run: Run, task: str, names: Names, outcome: Outcome
    ) -> Iterator[Move]:
        after = self._paid(state, outcome.fault)
        if after is None:
            return
        said = outcome.said
        try:
            for effect in outcome.effects:
                after = self._entered(after, run, task, names, effect)
        except Broken as broken:
            yield Move(run.name, task, said, names, broken, outcome.fault)
            return
        if isinstance(outcome.then, Failed):
            failed = Broken(f"run{run.name} fails: {outcome.then.why}")
            yield Move(run.name, task, said, names, failed)
        elif isinstance(outcome.then, Report):
            for deleted, then in self._ends(after, run, outcome.then):
                ended = f"{said}; {deleted}"
                yield Move(run.name, task, ended, names, then, outcome.fault, outcome.then)
        else:
            met = tuple(names[number] for number in outcome.then.met)
            now = next(one for one in after.runs if one.name == run.name)
            moved = with_run(after, now._replace(text=outcome.then.text, met=met))
            yield Move(run.name, task, said, names, moved, outcome.fault)

    def _entered(self, state: State, run: Run, task: str, names: Names, effect: Effect) -> State:
        """The state with what an outcome leaves behind, or the promise it breaks."""
        match effect:
            case Written() as write:
                owner = names[write.owner] if write.owner >= 0 else NOBODY
                return self._promises.written(state, run.name, owner, write)
            case Paced() as write:
                return self._promises.paced(state, run, write)
            case Refusal(key, own):
                self._promises.refused(held_under(state, key), run.name, own)
            case Launched(by_put, key, request, met):
                known = tuple(names[number] for number in met)
                flying = Flying(run.name, task, by_put, key, request, known)
                return state._replace(flying=tuple(sorted({*state.flying, flying})))
            case Called() as called:
                return self._promises.called(state, run, called)
            case Act() as act:
                return self._promises.acted(state, run, act)
            case Answered():
                return self._promises.answered(state)
            case Parking() as parking:
                return self._promises.parked(state, run.name, parking)
        return state

    def _ends(self, state: State, run: Run, report: Report) -> Iterator[tuple[str, State | Broken]]:
        """The pipe deletes what was not handed back, unless it dies before that, or in between."""
        try:
            self._promises.ended(state, run, report)
        except Broken as broken:
            yield "the pipe has its report", broken
            return
        over = without_run(state, run.name)
        done = [
            place
            for place, identifier in run.batch
            if identifier not in report.handed_back
            and identifier == _identifier(state, place)
            and not state.queue[place].deleted
        ]
        yield self._deleted(over, run, report, done)
        died = self._paid(over, Fault.PIPE) if done else None
        if died:
            yield "the pipe dies before it deletes anything", died
            for place in done if len(done) > 1 else ():
                said, then = self._deleted(died, run, report, [place])
                yield f"{said} and dies", then

    def _deleted(
        self, state: State, run: Run, report: Report, done: list[int]
    ) -> tuple[str, State | Broken]:
        names = " and ".join(_identifier(state, place) for place in done) or "nothing"
        said = f"the pipe deletes {names}"
        try:
            return said, self._promises.settled(state, set(done), run.batch, report)
        except Broken as broken:
            return said, broken

    def _deliveries(self, state: State) -> Iterator[Move]:
        plan = self.scenario
        left = [
            place
            for place, message in enumerate(state.queue)
            if message.deliveries < plan.deliveries
        ]
        for size in range(1, plan.batch_size + 1):
            for places in permutations(left, size):
                yield from self._delivery(state, places)

    def _delivery(self, state: State, places: tuple[int, ...]) -> Iterator[Move]:
        busy = {place for run in state.runs for place, _ in run.batch}
        after: State | None = state
        for place in places:
            if after and state.queue[place].deleted:
                after = self._paid(after, Fault.AFTER_DELETE)
            elif after and place in busy:
                after = self._paid(after, Fault.TWICE_AT_ONCE)
        if after is None:
            return
        for skew_ms in self.scenario.skews_ms:
            yield from self.deliver(after, places, skew_ms)
        unready = self._paid(after, Fault.OVERFLOW)
        if unready:
            for place in places:
                yield from self.deliver(unready, places, unready=frozenset({place}))
        if not any(
            place in busy or state.queue[place].deleted or state.queue[place].generation
            for place in places
        ):
            redriven = self._paid(after, Fault.REDRIVE)
            if redriven:
                yield from self.deliver(_with_new_ids(redriven, places), places)

    def deliver(
        self,
        state: State,
        places: tuple[int, ...],
        skew_ms: int = 0,
        unready: frozenset[int] = frozenset(),
    ) -> Iterator[Move]:
        """A batch goes to a new execution, which takes its first step at once. One that is slow to
        take it started earlier: nobody can tell before that step."""
        plan = self.scenario
        queue = list(state.queue)
        for place in places:
            queue[place] = queue[place]._replace(deliveries=queue[place].deliveries + 1)
        given = state._replace(queue=tuple(queue))
        batch = tuple((place, _identifier(state, place)) for place in places)
        sent = tuple((queue[place].sent, identifier) for place, identifier in batch)
        said = " and ".join(identifier for _, identifier in batch) + " to run0"
        missing = frozenset(_identifier(state, place) for place in unready)
        if missing:
            said += f", without the body of {' and '.join(missing)}"
        if skew_ms:
            said += f", whose clock is {skew_ms} ms off"
        for begun in self._begun(sent, missing, skew_ms):
            if not isinstance(begun, Standing):
                run = Run(fresh_name(state), "", (), batch, 0, skew_ms)
                outcome = Outcome("calls for nothing", begun)
                for step in self._moved(
                    with_run(given, run), run, "RecordOutcomes", (run.name,), outcome
                ):
                    yield step._replace(
                        who="queue", what="delivers", said=f"{said} → {step.what} {step.said}"
                    )
                continue
            for age in range(plan.over):
                seconds = age * plan.tick_seconds
                text = aged(begun.text, seconds, bool(plan.expiries))
                run = Run(fresh_name(state), text, (), batch, age, skew_ms)
                slow = f", {seconds} s ago" if age else ""
                for step in self.steps(with_run(given, run), run):
                    first = f"{said}{slow} → {step.what} {step.said}"
                    fault = step.fault or (Fault.OVERFLOW if missing else None)
                    yield step._replace(who="queue", what="delivers", said=first, fault=fault)

    def _begun(self, sent: Sent, unready: Unready, skew_ms: int) -> list[Then]:
        at = (sent, unready, skew_ms)
        if at not in self._begins:
            self._begins[at] = self._tasks.begin(self.scenario.batch(sent, unready), skew_ms)
        return self._begins[at]

    def _crashes(self, state: State) -> Iterator[Move]:
        after = self._paid(state, Fault.CRASH)
        if after:
            for run in state.runs:
                said = f"before {' and '.join(task for _, task, _ in self._tasks.about(run.text))}"
                dead = without_run(after, run.name)
                yield Move(run.name, "dies", said, (), dead, Fault.CRASH)

    def _landings(self, state: State) -> Iterator[Move]:
        for flying in state.flying:
            rest = tuple(other for other in state.flying if other != flying)
            landed = state._replace(flying=rest)
            held = held_under(state, flying.key)
            names = (flying.run, *flying.met, held.owner if held else NOBODY)
            then, said = self._landed(landed, flying, held, names)
            yield Move("network", flying.task, said, names, then)

    def _landed(
        self, state: State, flying: Flying, held: Held | None, names: Names
    ) -> tuple[State | Broken, str]:
        owner = names.index(held.owner) if held else NOBODY
        row = held.text if held else ""
        write = self._tasks.land(flying.request, flying.by_put, row, owner)
        if write is None:
            return state, "of run0 lands late and is refused"
        put_by = names[write.owner] if write.owner >= 0 else NOBODY
        try:
            return self._promises.written(state, flying.run, put_by, write), "of run0 lands late"
        except Broken as broken:
            return broken, "of run0 lands late"

    def _replays(self, state: State) -> Iterator[Move]:
        """A person, slower than any execution and any late write, sends a parked event again."""
        at_work = {run.name for run in state.runs} | {flying.run for flying in state.flying}
        for parked in state.parked if state.replays else ():
            if parked.owner in at_work:
                continue
            again = Message(state.queue[parked.place].sent, 0, self.scenario.deliveries - 1)
            sent = state._replace(
                queue=(*state.queue, again),
                parked=tuple(other for other in state.parked if other != parked),
                replays=state.replays - 1,
            )
            sent = self._promises.taken_back(sent, parked)
            what = f"{_identifier(state, parked.place)}, parked as {parked.reason},"
            said = f"{what} as m{len(sent.queue)}"
            yield Move("person", "replays", said, (), sent)

    def _paid(self, state: State, fault: Fault | None) -> State | None:
        return paid(self.scenario, state, fault)


def _identifier(state: State, place: int) -> str:
    return message_id(place, state.queue[place].generation)


def _with_new_ids(state: State, places: tuple[int, ...]) -> State:
    queue = list(state.queue)
    for place in places:
        queue[place] = queue[place]._replace(generation=queue[place].generation + 1)
    return state._replace(queue=tuple(queue))
