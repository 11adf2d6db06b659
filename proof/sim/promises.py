"""Promises, judged by what really happened at the destination, in the queues and to the rows:
never by a key, a row or a record of ours alone."""

import json
from collections import defaultdict, deque
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from proof.asl.errors import NO_CHOICE, QUERY, RUNTIME
from proof.asl.machine import Call
from proof.asl.position import Ended
from proof.sim.events import DAY_MS, HOUR_MS, MINUTE_MS, Event, Message, unwrapped
from proof.sim.function import Invocation, Raised, Returned
from proof.sim.table import Key, Row

if TYPE_CHECKING:
    from proof.sim.world import Run, World

WAIT_DAYS = 10
# Clocks differ by up to 300 ms, twice.
_CLOCKS_MS = 700
# A request begins at most 4 s after its row was read, by a clock that runs evenly.
_PAUSE_BEGINS_MS = 4_000
_SLOWEST_MS = 4_000
_MOST_STATES = 16
_PUT_BACK = {"firstMessageId", "firstSentAtMs", "waitsSinceMs", "reason"}
_PARKED = {"firstMessageId", "firstSentAtMs", "reason", "key", "parkedAtMs"}


class BrokenError(Exception):
    """A promise that a step has broken."""

    def __init__(self, promise: str, sentence: str) -> None:
        super().__init__(f"{promise}: {sentence}")


def copies(state: Any) -> dict[str, Any]:
    """Copies the containers of a state, but not their values, which never change."""
    containers = (dict, list, set, deque)
    return {name: copy(v) for name, v in vars(state).items() if isinstance(v, containers)}


class Known(NamedTuple):
    """Counts what happened to one event so far."""

    keys: frozenset[str] = frozenset()
    requests: int = 0
    acts: int = 0
    deaths: int = 0  # leases that ended in progress
    # Executions that have heard of an act, and have not written it down.
    in_hand: frozenset[str] = frozenset()
    completed_by: str = ""
    parked: bool = False
    ignored: bool = False
    stale: bool = False
    unchanged: bool = False
    claimed: bool = False
    took_turn: bool = False
    is_purged: bool = False
    # Purged on its way back from the dead-letter queue: its claim keeps the key for its days.
    is_dropped: bool = False
    first_ids: frozenset[str] = frozenset()
    messages: int = 0  # of the queue
    dead_letters: int = 0
    most_allowed: int = 0
    faults: int = 0
    looks: int = 0
    began_ms: int = 0

    @property
    def has_outcome(self) -> bool:
        return bool(self.acts or self.stale or self.unchanged or self.ignored or self.is_purged)


class Seen(NamedTuple):
    """A state that the row of a subject has seen."""

    at_ms: int
    is_wanted: bool
    facts: str
    owner: str
    event: str


class Life(NamedTuple):
    """Notes what one execution did."""

    acted: bool = False
    put_back: bool = False
    parked: bool = False
    is_recorded: bool = False
    states: tuple[str, ...] = ()


@dataclass
class Promises:
    events: Mapping[str, Event]
    per_minute: int = 0
    most_tries: int = 3
    known: dict[str, Known] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    seen: dict[Key, tuple[Seen, ...]] = field(default_factory=dict)
    settled: set[str] = field(default_factory=set)  # owners whose state is delivered
    users: dict[str, str] = field(default_factory=dict)  # Idempotency-Key: event
    under_way: dict[str, Invocation] = field(default_factory=dict)
    requests_ms: tuple[int, ...] = ()
    pauses: tuple[tuple[int, int], ...] = ()
    unread_ms: int = -DAY_MS
    outcomes: list[tuple[str, str, str]] = field(default_factory=list)
    acts_in_order: list[str] = field(default_factory=list)
    # Events by the row of their subject, and by their key.
    of_row: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))
    of_key: dict[Key, list[Event]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        if not self.of_row:
            for event in self.events.values():
                self.add(event)

    def add(self, event: Event) -> None:
        """Makes an event known that is not among the first ones."""
        self.of_row[event.row].append(event)
        self.of_key[event.key].append(event)

    def fork(self) -> "Promises":
        return replace(self, **copies(self))

    def fingerprint(self) -> Any:
        return (
            tuple(self.known.items()),
            tuple(self.lives.items()),
            tuple(self.seen.items()),
            frozenset(self.settled),
            tuple(self.under_way),
            self.requests_ms,
        )

    def of(self, event: str) -> Known:
        return self.known.get(self.events[event].identity, Known())

    def _note(self, event: str, **changes: Any) -> None:
        self.known[self.events[event].identity] = self.of(event)._replace(**changes)

    def _life(self, run: str) -> Life:
        return self.lives.get(run, Life())

    def _live(self, run: str, **changes: Any) -> None:
        self.lives[run] = self._life(run)._replace(**changes)

    # The queues.

    def sent(self, world: "World", message: Message) -> None:
        event, known = self.events[message.event], self.of(message.event)
        if not message.sender:
            once, _ = unwrapped(message.body)
            known = known._replace(
                first_ids=known.first_ids | {once.get("firstMessageId", message.id)},
                most_allowed=known.most_allowed + 1,
                parked=known.parked and "parkedAtMs" not in once,
                began_ms=known.began_ms or world.now_ms,
            )
        known = known._replace(messages=known.messages + 1)
        self.known[event.identity] = known
        # An execution may still write its record while the message that it put back is put back.
        if known.messages > 2 * known.most_allowed + 2 * known.faults + 2:
            raise BrokenError(
                "one message per event",
                f"{event.name} has {known.messages} messages at the same time, "
                f"after {known.most_allowed} from outside and {known.faults} faults",
            )

    def faulted(self, event: str) -> None:
        known = self.of(event)
        self._note(event, faults=known.faults + 1)

    def purged(self, message: Message) -> None:
        """An operator has removed a message from the queue."""
        known = self.of(message.event)
        self._note(
            message.event,
            messages=known.messages - 1,
            is_purged=True,
            is_dropped=known.is_dropped or "parkedAtMs" in unwrapped(message.body)[0],
        )

    def died(self, message: Message) -> None:
        """A message went to the dead-letter queue by its receives."""
        known = self.of(message.event)
        dead_letters = known.dead_letters + 1
        self._note(message.event, messages=known.messages - 1, dead_letters=dead_letters)

    def redriven(self, message: Message) -> None:
        """A message has left the dead-letter queue."""
        self._note(message.event, dead_letters=self.of(message.event).dead_letters - 1)

    def replayed(self, name: str) -> None:
        """All of the day came again, also what was purged."""
        self._note(name, is_purged=self.of(name).is_dropped)

    def forget(self, name: str) -> None:
        """The days of an event's claim are over, so it may act again."""
        known = self.of(name)
        self.known[self.events[name].identity] = Known(first_ids=known.first_ids, acts=known.acts)

    def deleted(self, run: "Run", message: Message) -> None:
        event, known = self.events[message.event], self.of(message.event)
        self._note(message.event, messages=known.messages - 1)
        life = self._life(run.name)
        if not life.is_recorded and not run.faulted and not life.put_back:
            raise BrokenError("each deletion has its record", f"{run.name} leaves no record")
        self.check_lost(event.name)
        self.lives.pop(run.name, None)

    def check_lost(self, name: str) -> None:
        known = self.of(name)
        if not known.has_outcome and not known.messages and not known.dead_letters:
            raise BrokenError("nothing is lost", f"{name} is in no queue and has no outcome")

    def put_back(self, world: "World", run: "Run", request: Mapping[str, Any]) -> None:
        life, name = self._life(run.name), run.event
        if life.acted:
            raise BrokenError("acts once", f"{run.name} puts back {name}, which acted")
        delay = request["DelaySeconds"]
        if type(delay) is not int or not 0 <= delay <= 900:
            raise BrokenError("nothing is lost", f"{run.name} sends with DelaySeconds {delay}")
        once = self._checked_body(world, run, request["MessageBody"], _PUT_BACK)
        if once["waitsSinceMs"] != run.given["waitsSinceMs"]:
            raise BrokenError("ten days", f"{name} waits since another time")
        self._live(run.name, put_back=True)
        known = self.of(name)
        hours = (world.now_ms - known.began_ms) / HOUR_MS
        allowed = max(1, known.most_allowed) * (60 + 30 * hours) + 3 * known.faults
        if known.looks > allowed:
            raise BrokenError("looks are bounded", f"{name}: {known.looks} looks in {hours:.1f} h")

    def parked(self, world: "World", run: "Run", parked: Message) -> None:
        event, known = self.events[run.event], self.of(run.event)
        life = self._life(run.name)
        if life.acted:
            raise BrokenError("acts once", f"{run.name} parks {event.name}, which acted")
        self._live(run.name, parked=True)
        once = self._checked_body(world, run, parked.body, _PARKED)
        match once["reason"]:
            case "GAVE_UP" if known.requests + known.deaths < self.most_tries:
                sentence = f"{known.requests} requests and {known.deaths} deaths"
                raise BrokenError("tries", f"{event.name} is given up after {sentence}")
            case "WAITED_TOO_LONG":
                waited_ms = world.now_ms - run.given["waitsSinceMs"]
                if waited_ms < WAIT_DAYS * DAY_MS - 2 * _CLOCKS_MS:
                    raise BrokenError("ten days", f"{event.name} has waited {waited_ms} ms")
        dead_letters, most_allowed = known.dead_letters + 1, known.most_allowed + 1
        self._note(run.event, dead_letters=dead_letters, most_allowed=most_allowed)

    def _checked_body(
        self, world: "World", run: "Run", body: str, names: set[str]
    ) -> Mapping[str, Any]:
        name = run.event
        once, raw = unwrapped(body)
        message = world.queue.get(run.message)
        if message is not None and raw != unwrapped(message.body)[1]:
            raise BrokenError("the message as it came", f"{run.name} sends another text")
        if set(once) - {"cause", "after", "canary", "dueAtMs"} != names:
            raise BrokenError("the message as it came", f"{run.name} sends {sorted(once)}")
        if once["firstMessageId"] not in self.of(name).first_ids:
            raise BrokenError("the message as it came", f"{name} has another first id")
        if once["firstSentAtMs"] != run.given["firstSentAtMs"]:
            raise BrokenError("the message as it came", f"{name} has another first time")
        return once

    # Executions.

    def begun(self, run: "Run") -> None:
        self._note(run.event, looks=self.of(run.event).looks + 1)
        self._live(run.name)

    def entered(self, world: "World", run: "Run", call: Call) -> None:
        states = (*self._life(run.name).states, call.state)
        self._live(run.name, states=states)
        if states.count(call.state) > _MOST_STATES:
            raise BrokenError("executions end", f"{run.name} enters {call.state} again and again")
        if call.resource.endswith("putLogEvents"):
            for line in call.arguments["LogEvents"]:
                self._decided(world, run, json.loads(line["Message"]))

    def ended(self, run: "Run", end: Ended) -> None:
        failure = end.failure
        if failure and (failure.error in (QUERY, NO_CHOICE, RUNTIME) or not run.faulted):
            cause = failure.cause[:400]
            raise BrokenError("executions end", f"{run.name} fails: {failure.error} {cause}")
        in_hand = run.name in self.of(run.event).in_hand
        if in_hand and not run.faulted and not failure:
            sentence = f"{run.name} ends, and no row says that {run.event} acted"
            raise BrokenError("acts once", sentence)

    def over(self, world: "World", run: "Run") -> None:
        """An execution is over: what it has in hand is explained by its fault."""
        known = self.of(run.event)
        if run.name in known.in_hand:
            self._note(run.event, in_hand=known.in_hand - {run.name})
        row = world.rows.get(self.events[run.event].key)
        if _s(row, "status") == "IN_PROGRESS" and _s(row, "owner").startswith(f"{run.name}#"):
            # Its successor cannot know if the function ran: the lease counts as a death.
            self._note(run.event, deaths=known.deaths + 1)

    def recorded(self, world: "World", run: "Run", record: Mapping[str, Any]) -> None:
        outcome, reason = record["outcome"], record["reason"]
        self._live(run.name, is_recorded=True)
        self.outcomes.append((run.event, outcome, reason))
        world.say(run.name, "RECORDS", run.event, outcome, reason)

    def _decided(self, world: "World", run: "Run", record: Mapping[str, Any]) -> None:
        """Judges an outcome, whether or not the log takes it."""
        event = self.events[run.event]
        outcome, reason = record["outcome"], record["reason"]
        first_id = run.given["firstMessageId"]
        if record["firstMessageId"] != first_id:
            raise BrokenError("each deletion has its record", f"{run.name} names another message")
        if outcome == "STALE":
            self._judge_stale(event)
        if outcome == "IGNORED":
            self._note(run.event, ignored=True)
            has_expired = event.expires_ms is not None and (
                event.expires_ms < world.now_ms + _CLOCKS_MS and reason == "EXPIRED"
            )
            if event.wanted and not has_expired:
                raise BrokenError("wanted events", f"{event.name} is wanted and ignored")
            if event.order == "changes":
                self._see_break(event)
        if reason == "UNCHANGED":
            self._judge_unchanged(event, f"{run.name}#{first_id}")
        is_own = str(record.get("because", "")).startswith(f"{run.name}#")
        if reason == "HELD" and is_own and not run.faulted:
            raise BrokenError("executions end", f"{run.name} is held by itself")

    # The table.

    def wrote(
        self, world: "World", run: str, event: str, key: Key, old: Row | None, new: Row, late: bool
    ) -> None:
        if "expires_at" not in new:
            raise BrokenError("rows expire", f"{run} writes a row that stays for ever")
        if key[1].startswith("latest/"):
            return self._wrote_latest(world, run, event, old or {}, new)
        if key[0] == "pace":
            return None
        self._wrote_claim(world, run, event, old, new, late)
        return None

    def _wrote_claim(
        self, world: "World", run: str, name: str, old: Row | None, new: Row, late: bool
    ) -> None:
        event, known = self.events[name], self.of(name)
        owner, status = _s(new, "owner"), _s(new, "status")
        outcome, old_status = _s(new, "outcome"), _s(old, "status")
        shown = f"{status} {outcome}".strip()
        world.say(run, "claims" if _s(old, "owner") != owner else shown, name, new)
        if not event.wanted and event.temper != "broken":
            raise BrokenError("unwanted events pass nobody", f"{run} claims {name}")
        if not owner.startswith(f"{run}#"):
            raise BrokenError("owners", f"{run} changes the claim of {owner}")
        if old is None or _s(old, "owner") != owner:
            self._claimed(run, event, old, new)
        elif old_status == "DONE" or (old_status == "FAILED" and status == "IN_PROGRESS"):
            raise BrokenError("owners", f"{run} changes its claim, which it has closed")
        elif status == "IN_PROGRESS":
            for name_of in ("tries", "deaths", "occurrence", "event_time"):
                if _n(old, name_of) != _n(new, name_of):
                    raise BrokenError("owners", f"{run} changes {name_of} by a put of before")
        life = self._life(run)
        if status == "FAILED" and not life.put_back and not late:
            raise BrokenError("nothing is lost", f"{run} releases {name} before it is put back")
        if status != "DONE":
            return
        match outcome:
            case "PROCESSED":
                if not known.acts and event.temper != "broken" and not life.acted:
                    raise BrokenError("acts once", f"{name} is completed, and did not act")
                self.settled.add(owner)
                in_hand = known.in_hand - {run}
                self._note(name, completed_by=known.completed_by or run, in_hand=in_hand)
            case "PARKED":
                # An operator may have redriven it in between.
                if not late and not life.parked and not known.dead_letters:
                    raise BrokenError("nothing is lost", f"{name} is closed before it is parked")
                self._note(name, parked=bool(known.dead_letters))
            case "STALE":
                self._judge_stale(event)
            case "DUPLICATE":
                self.settled.add(owner)
                self._note(name, unchanged=True)
            case _:
                raise BrokenError("outcomes", f"{run} closes {name} as {outcome}")

    def _claimed(self, run: str, event: Event, old: Row | None, new: Row) -> None:
        """A claim has a new owner."""
        known = self.of(event.name)
        self._note(event.name, claimed=True)
        if old is None:
            return
        before = _s(old, "owner")
        if any(invocation.owner == before for invocation in self.under_way.values()):
            sentence = f"{run} takes the claim of {before}, whose request is under way"
            raise BrokenError("one request at a time", sentence)
        same_occurrence = _n(old, "occurrence") == _n(new, "occurrence")
        parked = _s(old, "outcome") == "PARKED"
        if same_occurrence and not parked and known.parked and not known.acts:
            raise BrokenError("parked events", f"{event.name} goes on though it is parked")
        if parked and same_occurrence and (_n(new, "tries") or _n(new, "deaths")):
            raise BrokenError("tries", f"{event.name} was replayed and keeps its tries")
        if same_occurrence and not parked and _s(old, "status") != "DONE":
            for counter in ("tries", "failed_at", "deaths"):
                if _n(new, counter) < _n(old, counter):
                    raise BrokenError("tries", f"{run} forgets {counter} of {event.name}")

    def _wrote_latest(self, world: "World", run: str, name: str, old: Row, new: Row) -> None:
        event = self.events[name]
        world.say(run, "writes latest", name, new)
        for time in ("event_time", "unwanted_time"):
            if _n(new, time) < _n(old, time):
                raise BrokenError("order of a subject", f"{run} moves {time} back")
        taken = [n for n in ("event_time", "owner", "turn_until", "claim", "facts")
                 if new.get(n) != old.get(n)]  # fmt: skip
        has_expired = event.expires_ms is not None and (
            event.expires_ms < world.now_ms + _CLOCKS_MS
        )
        if not taken:
            if new.get("unwanted_time") == old.get("unwanted_time"):
                return
            if event.wanted and event.order != "every" and not has_expired:
                raise BrokenError("unwanted events pass nobody", f"{name} is wanted and a break")
            self._see_break(event)
            return
        if not event.wanted or event.order == "every":
            raise BrokenError("unwanted events pass nobody", f"{name} takes a turn: {taken}")
        owner = _s(new, "owner")
        self._note(name, took_turn=True)
        if not any(seen.owner == owner for seen in self.seen.get(event.row, ())):
            self._see(event, Seen(event.at_ms, True, event.state, owner, name))

    def _see_break(self, event: Event) -> None:
        """Notes an unwanted state, unless it is a copy of a wanted one that came too late."""
        is_copy = any(
            seen.is_wanted and (seen.at_ms, seen.facts) == (event.at_ms, event.state)
            for seen in self.seen.get(event.row, ())
        )
        if not is_copy:
            self._see(event, Seen(event.at_ms, False, event.state, "", event.name))

    def _see(self, event: Event, seen: Seen) -> None:
        self.seen[event.row] = (*self.seen.get(event.row, ()), seen)

    def _judge_stale(self, event: Event) -> None:
        if event.order == "every":
            raise BrokenError("stale", f"{event.name} wants every change and is called stale")
        for other in [*self.of_row[event.row], *self.of_key[event.key]]:
            known = self.known.get(other.identity, Known())
            passed = other.is_ordered and event.is_ordered and other.row == event.row
            passed = passed and other.at_ms > event.at_ms + event.span_ms and known.took_turn
            newer = other.key == event.key and other.at_ms > event.at_ms and known.claimed
            if other.name != event.name and (passed or newer) and other.wanted:
                self._note(event.name, stale=True)
                return
        if not self.of(event.name).acts:
            sentence = f"{event.name} is called stale, and no newer wanted state took the turn"
            raise BrokenError("stale", sentence)

    def _judge_unchanged(self, event: Event, owner: str) -> None:
        """Compares with the newest state before it, as the row had seen them at its turn."""
        self._note(event.name, unchanged=True)
        name = f"{event.name} is called unchanged"
        if event.order == "every":
            raise BrokenError("unchanged", f"{name}, and wants every change")
        seen = self.seen.get(event.row, ())
        place = next((i for i, state in enumerate(seen) if state.owner == owner), None)
        if place is None:
            raise BrokenError("unchanged", f"{name} without its turn")
        before = [state for state in seen[:place] if state.at_ms <= event.at_ms]
        if not before:
            raise BrokenError("unchanged", f"{name}, and nothing was before it")
        newest_ms = max(state.at_ms for state in before)
        newest = [state for state in before if state.at_ms == newest_ms]
        for state in newest:
            if not state.is_wanted:
                raise BrokenError("unchanged", f"{name}, but {state.event} came between")
        last = newest[-1]
        if last.facts != event.state:
            raise BrokenError("unchanged", f"{name}, but {last.event} had other facts")
        if last.owner not in self.settled:
            raise BrokenError("unchanged", f"{name} from {last.event}, which is not settled")

    # The destination.

    def request_begins(self, world: "World", invocation: Invocation) -> None:
        event, known = self.events[invocation.event], self.of(invocation.event)
        name, by, key = event.name, invocation.by, invocation.payload["idempotencyKey"]
        for other in (self.events[begun.event] for begun in self.under_way.values()):
            is_lane = event.is_ordered and other.is_ordered and other.row == event.row
            if other.identity == event.identity or is_lane:
                sentence = f"{name} begins, by {by}, while {other.name} is under way"
                raise BrokenError("one request at a time", sentence)
        if known.completed_by:
            sentence = f"{name} is asked again by {by}, though {known.completed_by} completed it"
            raise BrokenError("acts once", sentence)
        if known.in_hand - {by}:
            raise BrokenError("acts once", f"{name} is asked again, and no fault explains it")
        if known.parked and not known.acts:
            raise BrokenError("parked events", f"{name} is asked by {by}, and was not replayed")
        if not event.wanted:
            raise BrokenError("unwanted events pass nobody", f"{name} is asked by {by}")
        if known.keys and key not in known.keys:
            raise BrokenError("one key per occurrence", f"{name} is asked with another key")
        user = self.users.setdefault(key, event.identity)
        if user != event.identity:
            raise BrokenError("one key per occurrence", f"{name} has the key of {user}")
        for other_event in self.of_row[event.row] if event.is_ordered else ():
            is_newer = other_event.at_ms > event.at_ms + event.span_ms and other_event.is_ordered
            if is_newer and self.known.get(other_event.identity, Known()).requests:
                sentence = f"{name} begins after the newer {other_event.name} began"
                raise BrokenError("order of a subject", sentence)
        self._check_pace(world, name)
        self.under_way[invocation.name] = invocation
        self._note(name, keys=known.keys | {key}, requests=known.requests + 1)

    def _check_pace(self, world: "World", name: str) -> None:
        now_ms = world.now_ms
        for begins_ms, ends_ms in self.pauses:
            is_paused = begins_ms + _PAUSE_BEGINS_MS < now_ms < ends_ms - _CLOCKS_MS
            # A row that cannot be read stops no event; the next step may take some seconds.
            if is_paused and now_ms - self.unread_ms > 2 * _SLOWEST_MS:
                raise BrokenError("a pause holds", f"{name} is asked in a pause")
        if self.per_minute:
            within = [ms for ms in self.requests_ms if ms > now_ms - MINUTE_MS]
            self.requests_ms = (*within, now_ms)
            if len(self.requests_ms) > self.per_minute:
                sentence = f"{name} is request {len(self.requests_ms)} of a minute"
                raise BrokenError("the limit", sentence)

    def acts(self, invocation: Invocation, *, heard: bool) -> None:
        known = self.of(invocation.event)
        in_hand = known.in_hand | {invocation.by} if heard and invocation.run else known.in_hand
        self._note(invocation.event, acts=known.acts + 1, in_hand=in_hand)
        self.acts_in_order.append(invocation.event)

    def request_ends(self, name: str) -> None:
        self.under_way.pop(name, None)

    def function_ended(self, invocation: Invocation, end: Returned | Raised | None) -> None:
        name, known = invocation.event, self.of(invocation.event)
        has_acted = isinstance(end, Returned) and end.value.get("result") == "ACTED"
        if has_acted and invocation.run:
            self._live(invocation.run, acted=True)
        elif has_acted or end is None:
            self._note(name, in_hand=known.in_hand - {invocation.by})

    # The end.

    def quiet(self) -> None:
        """Nothing is left to do, and no fault is left to excuse it."""
        for event in self.events.values():
            known = self.known.get(event.identity, Known())
            if not known.began_ms and not known.messages and not known.looks:
                continue
            self.check_lost(event.name)
            self._check_settled(event, known)
        rows = {event.row for event in self.events.values() if event.is_ordered}
        for row in sorted(rows):
            self._check_newest([e for e in self.events.values() if e.is_ordered and e.row == row])

    def _check_settled(self, event: Event, known: Known) -> None:
        is_ignored = known.ignored and event.expires_ms is not None
        is_excused = known.parked or is_ignored or known._replace(ignored=False).has_outcome
        if event.wanted and event.temper == "well" and not is_excused:
            raise BrokenError("nothing is lost", f"{event.name} never acted, nothing passed it")

    def _check_newest(self, events: list[Event]) -> None:
        wanted = [e for e in events if e.wanted and self.known.get(e.identity, Known()).looks]
        newest = max(wanted, key=lambda e: e.at_ms, default=None)
        names = {e.name for e in events}
        acts = [name for name in self.acts_in_order if name in names]
        if newest is None or newest.temper != "well" or not acts:
            return
        known = self.known[newest.identity]
        last = self.events[acts[-1]]
        is_excused = known.ignored or known.is_purged or (known.parked and not known.acts)
        if is_excused or last.identity == newest.identity:
            return
        close = newest.at_ms - last.at_ms <= newest.span_ms
        if not close and not (known.unchanged and last.state == newest.state):
            sentence = f"the last act is {last.name}, and the newest state is {newest.name}"
            raise BrokenError("order of a subject", sentence)


def _s(row: Row | None, name: str) -> str:
    return str(row[name]["S"]) if row and name in row else ""


def _n(row: Row | None, name: str) -> int:
    return int(row[name]["N"]) if row and name in row else 0
