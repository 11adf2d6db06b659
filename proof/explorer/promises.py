"""The promises: each thing that happens is entered into the state, or breaks one of them."""

import json
from typing import Any

from once.outcomes import Outcome
from once.reasons import REASONS
from proof.explorer.clock import NOW_MS, expires_in
from proof.explorer.outcomes import Act, Called, Paced, Parking, Record, Report, Written
from proof.explorer.pacing import BREAKER, is_younger, until_ms
from proof.explorer.scenario import Fault, Scenario
from proof.explorer.state import (
    ANSWERED_SINCE,
    FAILED,
    FORGOTTEN,
    MARKED,
    NEVER_FAILED,
    NOBODY,
    UNMARKED,
    Broken,
    Deed,
    Held,
    Newest,
    Parked,
    Passed,
    Run,
    State,
    held_under,
    pace_under,
    place_of,
    with_pace,
    with_row,
    with_run,
)

_DAY_MS = 86_400_000
# How many events make an outage, and how long the slowest call may take.
_ENOUGH_FAILED = 20
_A_CALL_MS = 9_000
# A copy of a returned event is returned with it, and an earlier delivery may have settled it.
_RETURNED = {code for code, one in REASONS.items() if one.outcome in (Outcome.RETRY, None)}


_CLAIMS_ARE_LOST = {
    Fault.ANSWER_LOST,
    Fault.CRASH,
    Fault.ERROR,
    Fault.LATE,
    Fault.ZOMBIE,
}


class Promises:
    def __init__(self, scenario: Scenario, claim_days: int, quota: int) -> None:
        self._scenario = scenario
        self._claim_ms = claim_days * _DAY_MS
        self._quota = quota
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
            state = with_row(state, Held(write.key, write.text, owner, NOBODY, kept_until_ms))
            if old and not write.asker and _is_same_newest(json.loads(old.text), item):
                return state
            return self._passed(state, run, write)
        if not write.by_put:
            if old is None or old.holder != run:
                raise Broken(f"run{run} changed the claim of {_called(old)}")
        elif old and old.holder != run and self._is_at_work(state, old):
            raise Broken(f"run{run} took the claim that {_called(old)} is working on")
        if item["status"]["S"] == "FAILED" and item["outcome"]["S"] == "PARKED":
            raise Broken(f"{item['message_id']['S']} is parked, and its claim is released")
        if old and self._keeps_tries:
            self._tries_kept(json.loads(old.text), item)
        state = with_row(state, Held(write.key, write.text, owner, run, kept_until_ms))
        state = self._failed(state, json.loads(old.text) if old else {}, item)
        what = self._occurrence_of(state, item["message_id"]["S"])
        if item.get("outcome") == {"S": "IGNORED"}:
            return self._ignored(state, what, item["status"]["S"])
        if item["status"]["S"] != "DONE":
            return state
        if item["outcome"]["S"] == "STALE":
            state = self._stale(state, what)
        if item["outcome"]["S"] == "DUPLICATE":
            return self._unchanged(state, run, what)
        return self._known(state, what, MARKED)

    def _ignored(self, state: State, what: str, status: str) -> State:
        """An ignored state is settled as an unchanged one is: nothing older may follow it."""
        why = self._ignores(what)
        if not why:
            raise Broken(f"{what} is ignored, although a route wants it")
        if (status == "DONE") == (why == "EXPIRED"):
            raise Broken(f"{what} is ignored as {why}, and its claim is {status}")
        return state._replace(unchanged=tuple(sorted({*state.unchanged, what})))

    def _ignores(self, what: str) -> str:
        return next(one.ignored for one in self._scenario.messages if one.occurrence == what)

    def _passed(self, state: State, run: int, write: Written) -> State:
        """The newest time of a subject has moved: for the event that asked, or, late, for none."""
        subject, changes = write.key[0], self._scenario.order == "changes"
        before = next((one for one in state.newest if one.subject == subject), None)
        if not write.asker:
            at_ms = _number(json.loads(write.text), "event_time")
            return _with_newest(state, Newest(subject, at_ms)) if changes else state
        what = self._occurrence_of(state, write.asker)
        sent = next(one for one in self._scenario.messages if one.occurrence == what)
        known = next((one for one in state.runs if one.name == run), None)
        if known:
            seen = next((one for one in known.passed if one.what == what), None)
            # A write of one's own, whose response was lost, says nothing about what was before.
            passed = seen or Passed(what, self.done(state), before)
            others = tuple(one for one in known.passed if one.what != what)
            state = with_run(state, known._replace(passed=(*others, passed)))
        if not changes:
            return state
        if before and before.at_ms > sent.at_ms:
            return _with_newest(state, Newest(subject, before.at_ms))
        return _with_newest(state, Newest(subject, sent.at_ms, what, sent.state))

    def _unchanged(self, state: State, run: int, what: str) -> State:
        """It is the state that was the newest before, and that was settled. A write that lands when
        its execution has ended was decided by it, as one that lands in time."""
        passed = _passed_of(state, run, what)
        has_ended = all(one.name != run for one in state.runs)
        if not has_ended and (passed is None or not self._is_settled(state, passed.before, what)):
            raise Broken(f"{what} is called unchanged, and it is not")
        return state._replace(unchanged=tuple(sorted({*state.unchanged, what})))

    def _is_settled(self, state: State, newest: Newest | None, what: str) -> bool:
        """The newest occurrence has the same state, and acted, or was unchanged itself. A parked
        one waits for a person, so whatever it did, its state is no settled one."""
        sent = next(one for one in self._scenario.messages if one.occurrence == what)
        if newest is None or newest.state != sent.state:
            return False
        if any(parked.what == newest.what for parked in state.parked):
            return False
        deed = state.deeds[self.occurrences.index(newest.what)]
        return newest.what in state.unchanged or bool(deed and deed.known == MARKED)

    def _asked(self, state: State, run: Run, what: str) -> State:
        """Checks that each request of an ordered event asked for a newer state before."""
        if self._scenario.order == "none" or self._scenario.expiries:
            return state
        passed = _passed_of(state, run.name, what)
        if passed is None:
            raise Broken(f"{what} is requested without asking for a newer state")
        for newer in passed.done:
            if self._scenario.supersedes(newer, what):
                raise Broken(f"{what} is requested, although {newer} was done before it asked")
        known = next(one for one in state.runs if one.name == run.name)
        if self._tells_repeats and self._is_settled(state, passed.before, what):
            raise Broken(f"{what} is requested, although it is unchanged")
        others = tuple(one for one in known.passed if one.what != what)
        return with_run(state, known._replace(passed=others))

    @property
    def _tells_repeats(self) -> bool:
        """A claim whose response was lost, or whose execution died, may act on a repeat."""
        return self._scenario.order == "changes" and not self._scenario.kinds & _CLAIMS_ARE_LOST

    @property
    def _keeps_tries(self) -> bool:
        """Another occurrence has tries of its own."""
        returns = self._scenario.window_ms or self._scenario.order == "changes"
        return not (returns or self._scenario.expiries)

    def _tries_kept(self, before: Any, after: Any) -> None:
        """Only a replay begins without tries."""
        if before.get("outcome") == {"S": "PARKED"}:
            return
        tried = _number(after, "tries") - _number(before, "tries")
        if tried < 0:
            raise Broken(f"the tries of {after['message_id']['S']} are forgotten")
        first = _number(after, "failed_at") and not _number(before, "failed_at")
        if first and not tried and Fault.UNREAD not in self._scenario.kinds:
            raise Broken(f"the first failure of {after['message_id']['S']} is no try")

    def _failed(self, state: State, before: Any, after: Any) -> State:
        """A claim says that a call has failed. It was the event's first, or somebody was answered
        since, or it is no try."""
        if not self._judges_tries:
            return state
        what = self._occurrence_of(state, after["message_id"]["S"])
        at = self.occurrences.index(what)
        if _number(after, "tries") > _number(before, "tries") and state.failing[at] == FAILED:
            raise Broken(f"a try of {what} counts, although no request succeeded since its last")
        if after["status"]["S"] == "IN_PROGRESS":
            return state
        if _number(after, "failed_at") == _number(before, "failed_at"):
            return state
        return _with_failing(state, at, FAILED if _number(after, "failed_at") else NEVER_FAILED)

    @property
    def _judges_tries(self) -> bool:
        """Returns true if failures are noted. A function of one's own notes nothing itself, and its
        batch may die before it does."""
        return (
            self._scenario.paced is not None
            and Fault.PACING not in self._scenario.kinds
            and self._scenario.filled_in()["OwnAction"] == "false"
        )

    def answered(self, state: State) -> State:
        """The destination is well. Whatever fails after it fails by itself."""
        failing = tuple(ANSWERED_SINCE if one == FAILED else one for one in state.failing)
        return state._replace(failing=failing)

    def called(self, state: State, run: Run, called: Called) -> State:
        """A request arrives at the destination."""
        state = self._asked(state, run, self._occurrence_of(state, called.message_id))
        if not self._scenario.paced:
            return state
        if self._quota and state.calls == self._quota:
            raise Broken(f"run{run.name} sends more requests than the limit allows")
        if called.probing and state.probes:
            raise Broken(f"run{run.name} sends a second request while one probes")
        shut_ms = until_ms(pace_under(state, BREAKER))
        if shut_ms > NOW_MS and called.shut == str(shut_ms):
            raise Broken(f"run{run.name} sends a request while none may be sent")
        return state._replace(
            calls=min(state.calls + 1, self._quota), probes=state.probes + called.probing
        )

    def paced(self, state: State, run: Run, write: Paced) -> State:
        """A row of pacing's is changed."""
        old = pace_under(state, write.key)
        if not write.text and old and is_younger(old, write.seen):
            raise Broken(f"run{run.name} closes a breaker that is younger than its request")
        for message_id in write.counted:
            what = self._occurrence_of(state, message_id)
            held = held_under(state, self._key_of(what))
            if held and _number(json.loads(held.text), "failed_at"):
                raise Broken(f"a failure of {what} counts once more towards an outage")
        if write.key == BREAKER and write.text:
            _waited_for(run, json.loads(old or "{}"), json.loads(write.text))
            if write.seen and int(write.seen) != _number(json.loads(old or "{}"), "open_until"):
                raise Broken(f"run{run.name} ends the probe of another")
        return with_pace(state, write.key, write.text)

    def done(self, state: State) -> tuple[str, ...]:
        """The occurrences that nothing older may follow, where only the newest counts."""
        return tuple(
            what
            for what, deed in zip(self.occurrences, state.deeds, strict=True)
            if (deed and deed.known == MARKED) or what in state.unchanged
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
        for newer in self.occurrences:
            if self._in_hand(state, run, newer, what):
                raise Broken(f"{what} acted after {newer}, which is newer, in one batch")
        if self._waited_too_long(act.message_id, state):
            raise Broken(f"{what} acted, although it had waited for too long")
        if self._ignores(what):
            raise Broken(f"{what} acted, although no route wants it")
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

    def _in_hand(self, state: State, run: Run, newer: str, older: str) -> bool:
        """Returns true if the same batch has sent a request for a newer state."""
        if not self._scenario.supersedes(newer, older):
            return False
        deed = state.deeds[self.occurrences.index(newer)]
        held = held_under(state, self._key_of(newer))
        marked = deed and deed.known == MARKED and held and held.holder == run.name
        return bool((deed and deed.known == run.name) or marked)

    def _waited_too_long(self, message_id: str, state: State) -> bool:
        sent = self._scenario.messages[state.queue[place_of(message_id)].sent]
        return sent.is_old

    def settled(
        self, state: State, deleted: set[int], batch: tuple[tuple[int, str], ...], report: Report
    ) -> State:
        """Messages leave the queue. No event may leave with them."""
        outcomes = {said.message_id: said.outcome for said in report.records}
        for place, message_id in batch:
            if place in deleted and outcomes.get(message_id) == "STALE":
                state = self._stale(state, self._occurrence_of(state, message_id))
        queue = tuple(
            message._replace(deleted=True) if place in deleted else message
            for place, message in enumerate(state.queue)
        )
        state = state._replace(queue=queue)
        for at, what in enumerate(self.occurrences):
            settled = what in state.stale or what in state.unchanged
            if not (state.deeds[at] or settled or self._is_kept(state, what)):
                raise Broken(f"{what} is lost: no act, not parked, not stale, on no queue")
        return state

    def _stale(self, state: State, what: str) -> State:
        """Whoever is called stale without a newer one is not, and must not be lost."""
        if not any(self._scenario.supersedes(other, what) for other in self.occurrences):
            return state
        return state._replace(stale=tuple(sorted({*state.stale, what})))

    def ended(self, state: State, run: Run, report: Report) -> None:
        """Checks that no event that acted returns to the queue, even without its completion write,
        and that every message has one record with its outcome."""
        records = {said.message_id: said for said in report.records}
        if len(records) < len(report.records):
            raise Broken(f"run{run.name} records one message twice")
        for _, message_id in run.batch:
            deed = state.deeds[self.occurrences.index(self._occurrence_of(state, message_id))]
            if deed and deed.known == run.name and message_id in report.handed_back:
                raise Broken(f"{message_id} is returned, although run{run.name} has acted")
            self._recorded(state, message_id, records.get(message_id), report)

    def _recorded(self, state: State, message_id: str, said: Record | None, report: Report) -> None:
        if said is None:
            raise Broken(f"{message_id} has no record")
        if (said.outcome == "RETRY") != (message_id in report.handed_back):
            raise Broken(
                f"{message_id} is recorded as {said.outcome}, and the report says otherwise"
            )
        if said.outcome == "RETRY" and said.reason not in _RETURNED:
            raise Broken(f"{message_id} is returned for {said.reason}, which no table names")
        what = self._occurrence_of(state, message_id)
        kept = self._scenario.replays or any(parked.what == what for parked in state.parked)
        if said.outcome == "PARKED" and not kept:
            raise Broken(f"{message_id} is recorded as PARKED, and the parking queue has nothing")

    def _is_kept(self, state: State, what: str) -> bool:
        return any(parked.what == what for parked in state.parked) or any(
            not message.deleted and self._scenario.messages[message.sent].occurrence == what
            for message in state.queue
        )

    def parked(self, state: State, run: int, parking: Parking) -> State:
        what = self._occurrence_of(state, parking.message_id)
        at = self.occurrences.index(what)
        if parking.reason == "GAVE_UP" and self._judges_tries and state.failing[at] == FAILED:
            raise Broken(f"{what} is given up, although no request succeeded since its last try")
        entry = Parked(what)
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

    def taken_back(self, state: State, parked: Parked) -> State:
        """A person takes back the claim of a parked event, as `once parked replay` does."""
        held = held_under(state, self._key_of(parked.what))
        if held is None or held.owner != parked.owner:
            return state
        if _word(held.text, "status") != "DONE" or _word(held.text, "outcome") != "PARKED":
            return state
        anew = {"status": {"S": "FAILED"}, "tries": {"N": "0"}, "failed_at": {"N": "0"}}
        item = {**json.loads(held.text), **anew}
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
        if one.broken:
            return "", ""
        key = self._scenario.element(one, "")["key"]
        return key["pk"], key["sk"]

    def _occurrence_of(self, state: State, identifier: str) -> str:
        return self._scenario.messages[state.queue[place_of(identifier)].sent].occurrence


def _called(held: Held | None) -> str:
    return f"run{held.holder}" if held and held.holder != NOBODY else "nobody"


def _word(row: str, attribute: str) -> str:
    return str(json.loads(row)[attribute]["S"])


def _number(item: Any, attribute: str) -> int:
    return int(item[attribute]["N"]) if attribute in item else 0


def _waited_for(run: Run, before: Any, after: Any) -> None:
    """Nobody is to call for some time. There is a reason, and what was asked for holds."""
    if "since" not in after:
        raise Broken(f"run{run.name} opens a breaker that was closed meanwhile")
    if _number(after, "not_before") < _number(before, "not_before"):
        raise Broken(f"run{run.name} shortens the wait that the destination asked for")
    if "open_until" not in after or "open_until" in before or "not_before" in before:
        return
    if len(before["failed"]["SS"]) < _ENOUGH_FAILED:
        raise Broken(f"run{run.name} opens a breaker although too few events failed")
    if _number(before, "since") > NOW_MS - _A_CALL_MS:
        raise Broken(f"run{run.name} opens a breaker sooner than a slow request succeeds")


def _passed_of(state: State, run: int, what: str) -> Passed | None:
    known = next((one for one in state.runs if one.name == run), None)
    return next((one for one in known.passed if one.what == what), None) if known else None


def _is_same_newest(before: Any, after: Any) -> bool:
    """A late write repeats the newest time and state that the row has."""
    return all(before.get(name) == after.get(name) for name in ("event_time", "state"))


def _with_newest(state: State, new: Newest) -> State:
    others = [one for one in state.newest if one.subject != new.subject]
    return state._replace(newest=tuple(sorted([*others, new])))


def _moved_back(row: str, time: str) -> bool:
    return int(json.loads(row)["event_time"]["N"]) > int(time) and expires_in(row) >= 0


def _with_failing(state: State, at: int, known: int) -> State:
    return state._replace(failing=(*state.failing[:at], known, *state.failing[at + 1 :]))


def _with_deed(state: State, at: int, deed: Deed) -> State:
    return state._replace(deeds=(*state.deeds[:at], deed, *state.deeds[at + 1 :]))
