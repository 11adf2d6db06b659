"""The promises: each thing that happens is entered into the state, or breaks one of them."""

import json

from proof.explorer.clock import NOW_MS, expires_in
from proof.explorer.outcomes import Act, Parking, Report, Written
from proof.explorer.scenario import Scenario
from proof.explorer.state import (
    FORGOTTEN,
    MARKED,
    NOBODY,
    UNMARKED,
    Broken,
    Deed,
    Held,
    Parked,
    Run,
    State,
    held_under,
    place_of,
    with_row,
)

_DAY_MS = 86_400_000


class Promises:
    def __init__(self, scenario: Scenario, claim_days: int) -> None:
        self._scenario = scenario
        self._claim_ms = claim_days * _DAY_MS
        self.occurrences = scenario.occurrences()

    def written(self, state: State, run: int, owner: int, write: Written) -> State:
        """A write has passed. Only its own holder may change a claim that is being worked on."""
        old = held_under(state, write.key)
        kept_until_ms = NOW_MS + self._claim_ms if self._scenario.expiries else 0
        item = json.loads(write.text)
        if "expires_at" not in item:
            raise Broken("a row is written that never expires")
        if "status" not in item:
            if old and _moved_back(old.text, item["event_time"]["N"]):
                raise Broken("the latest time moved back")
            return with_row(state, Held(write.key, write.text, owner, NOBODY, kept_until_ms))
        if not write.by_put:
            if old is None or old.holder != run:
                raise Broken(f"run{run} changed the claim of {_called(old)}")
        elif old and old.holder != run and self._is_at_work(state, old):
            raise Broken(f"run{run} took the claim that {_called(old)} is working on")
        state = with_row(state, Held(write.key, write.text, owner, run, kept_until_ms))
        if item["status"]["S"] != "DONE":
            return state
        what = self._occurrence_of(state, item["message_id"]["S"])
        if item["outcome"]["S"] == "STALE":
            state = self._stale(state, what)
        return self._known(state, what, MARKED)

    def done(self, state: State) -> tuple[str, ...]:
        """The occurrences that nothing older may follow, where only the newest counts."""
        if not self._scenario.latest or self._scenario.expiries:
            return ()
        return tuple(
            what
            for what, deed in zip(self.occurrences, state.deeds, strict=True)
            if deed and deed.known == MARKED
        )

    def refused(self, held: Held | None, run: int, own: bool) -> None:
        """A claim, or a newest time, did not pass. It must not have been for a wrong reason."""
        if own:
            raise Broken(f"run{run} was refused by its own claim")
        if held is None or not self._scenario.expiries or held.kept_until_ms >= NOW_MS:
            return
        if json.loads(held.text).get("status") != {"S": "IN_PROGRESS"}:
            raise Broken("a row whose time is over refused its successor")

    def _distinct(self, state: State, what: str, key: str) -> None:
        for other, deed in zip(self.occurrences, state.deeds, strict=True):
            if other != what and deed and deed.key == key:
                raise Broken(f"{what} acted with key {key}, which is that of {other}")

    def acted(self, state: State, run: Run, act: Act) -> State:
        """One act for one event, save where the answer or the mark of the act was lost."""
        what = self._occurrence_of(state, act.message_id)
        for newer in run.began_after:
            if self._scenario.supersedes(newer, what):
                raise Broken(f"{what} acted, although {newer} was done before run{run.name} began")
        self._distinct(state, what, act.key)
        at = self.occurrences.index(what)
        before = state.deeds[at]
        if before and before.known == MARKED:
            raise Broken(f"{what} acted a second time, though its act was marked")
        if before and before.known >= 0:
            raise Broken(f"{what} acted a second time, while run{before.known} had it in hand")
        if before and before.known == UNMARKED and before.key != act.key:
            raise Broken(f"{what} acted with key {act.key}, and before with key {before.key}")
        return _with_deed(state, at, Deed(act.key, run.name if act.answered else UNMARKED))

    def settled(
        self, state: State, deleted: set[int], batch: tuple[tuple[int, str], ...], report: Report
    ) -> State:
        """Messages leave the queue. No event may leave with them."""
        outcomes = dict(report.outcomes)
        for place, message_id in batch:
            if place in deleted and outcomes.get(message_id) == "STALE":
                state = self._stale(state, self._occurrence_of(state, message_id))
        queue = tuple(
            message._replace(deleted=True) if place in deleted else message
            for place, message in enumerate(state.queue)
        )
        state = state._replace(queue=queue)
        for at, what in enumerate(self.occurrences):
            if not (state.deeds[at] or what in state.stale or self._is_kept(state, what)):
                raise Broken(f"{what} is lost: no act, not parked, not stale, on no queue")
        return state

    def _stale(self, state: State, what: str) -> State:
        """Whoever is called stale without a newer one is not, and must not be lost."""
        if not any(self._scenario.supersedes(other, what) for other in self.occurrences):
            return state
        return state._replace(stale=tuple(sorted({*state.stale, what})))

    def ended(self, state: State, run: Run, report: Report) -> None:
        """What answered that it has acted is not handed back, even if it could not be marked."""
        for _, message_id in run.batch:
            deed = state.deeds[self.occurrences.index(self._occurrence_of(state, message_id))]
            if deed and deed.known == run.name and message_id in report.handed_back:
                raise Broken(f"{message_id} is handed back, although run{run.name} has acted")

    def _is_kept(self, state: State, what: str) -> bool:
        return any(parked.what == what for parked in state.parked) or any(
            not message.deleted and self._scenario.messages[message.sent].occurrence == what
            for message in state.queue
        )

    def parked(self, state: State, run: int, parking: Parking) -> State:
        entry = Parked(self._occurrence_of(state, parking.message_id))
        if self._scenario.replays:
            entry = Parked(entry.what, place_of(parking.message_id), parking.reason, run)
        return state._replace(parked=tuple(sorted({*state.parked, entry})))

    def forgotten(self, state: State) -> State:
        """Time has passed; what a claim is not bound to remember any more may act again."""
        for held in state.rows:
            if held.holder != NOBODY and held.kept_until_ms < NOW_MS:
                for what in self.occurrences:
                    if self._key_of(what) == held.key:
                        state = self._known(state, what, FORGOTTEN)
        return state

    def given_up(self, state: State, parked: Parked) -> State:
        """A person takes back the claim of an uncertain event, as `once parked replay` does."""
        held = held_under(state, self._key_of(parked.what))
        if held is None or held.owner != parked.owner:
            return state
        if _word(held.text, "status") != "DONE" or _word(held.text, "outcome") != "PARKED":
            return state
        item = {**json.loads(held.text), "status": {"S": "FAILED"}}
        state = with_row(state, held._replace(text=json.dumps(item)))
        return self._known(state, parked.what, UNMARKED)

    def _is_at_work(self, state: State, held: Held) -> bool:
        return _word(held.text, "status") == "IN_PROGRESS" and any(
            run.name == held.holder and run.age < self._scenario.over for run in state.runs
        )

    def _known(self, state: State, what: str, known: int) -> State:
        at = self.occurrences.index(what)
        deed = state.deeds[at]
        return _with_deed(state, at, Deed(deed.key, known)) if deed else state

    def _key_of(self, what: str) -> tuple[str, str]:
        one = next(sent for sent in self._scenario.messages if sent.occurrence == what)
        key = self._scenario.element(one, "")["key"]
        return key["pk"], key["sk"]

    def _occurrence_of(self, state: State, identifier: str) -> str:
        return self._scenario.messages[state.queue[place_of(identifier)].sent].occurrence


def _called(held: Held | None) -> str:
    return f"run{held.holder}" if held and held.holder != NOBODY else "nobody"


def _word(row: str, attribute: str) -> str:
    return str(json.loads(row)[attribute]["S"])


def _moved_back(row: str, time: str) -> bool:
    return int(json.loads(row)["event_time"]["N"]) > int(time) and expires_in(row) >= 0


def _with_deed(state: State, at: int, deed: Deed) -> State:
    return state._replace(deeds=(*state.deeds[:at], deed, *state.deeds[at + 1 :]))
