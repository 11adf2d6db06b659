"""Judges a run with faults by what really happened, and by what the destination really did."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import permutations

from once.genesys.server import Received
from once.outcomes import Outcome
from once.run.report import Report
from proof.chaos.effects import FaultsReport, event_of
from proof.chaos.events import Happening, Stream
from proof.chaos.faults import OrderCheck
from proof.definition.asl import states
from proof.template import RESOURCES, TEMPLATE

# From asking for a newer state to the request: the task, and the function that it began at its end.
UNDER_WAY_MS = 1_000 * (
    states()["RunAction"]["TimeoutSeconds"] + TEMPLATE["Mappings"]["Durations"]["fast"]["Action"]
)
MAX_RECEIVES: int = RESOURCES["EventQueue"]["Properties"]["RedrivePolicy"]["maxReceiveCount"]


@dataclass
class Verdict:
    """Names of happenings. All lists but `parked` and `waiting` should be empty."""

    acted: int = 0
    stale: int = 0
    parked: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # failing, with nobody left to act beside it
    dead: list[str] = field(default_factory=list)
    repeated: int = 0  # asked once more under the same key, for a fault had hidden that it acted
    unchanged: int = 0  # acted again, for a fault had hidden that this state was settled
    lost: list[str] = field(default_factory=list)
    acted_twice: list[str] = field(default_factory=list)
    stale_over_newer: list[str] = field(default_factory=list)
    stale_for_nothing: list[str] = field(default_factory=list)
    parked_for_nothing: list[str] = field(default_factory=list)
    dead_for_nothing: list[str] = field(default_factory=list)

    @property
    def faultless(self) -> bool:
        return not (
            self.lost
            or self.acted_twice
            or self.stale_over_newer
            or self.stale_for_nothing
            or self.parked_for_nothing
            or self.dead_for_nothing
        )


def judge(
    stream: Stream,
    report: Report,
    faults: FaultsReport,
    requests: Iterable[Received],
    order_checks: Iterable[OrderCheck],
    max_tries: int,
) -> Verdict:
    """Judges a run in which an event is given up after `max_tries` failed tries."""
    verdict = Verdict()
    requests = [one for one in requests if one.facts]
    effects, keys = _effects(stream, requests)
    twice = {happening for happening, count in effects.items() if count > 1}
    unchanged = {one for one in twice if _is_unchanged(one, keys[one], faults)}
    verdict.unchanged = len(unchanged)
    twice -= unchanged
    refused = {_said(stream, one) for one in requests if one.status == 422}
    failures = Counter(_said(stream, one) for one in requests if _failed(one))
    for one in faults.given_up:  # the function may have ended before it sent a request
        # The destination saw the requests to which it was silent: they are counted already.
        unseen = one.met.get("data_action.timed_out", 0) - one.met.get("destination.silent", 0)
        killed = one.met.get("data_action.killed", 0)
        failures[stream.said[one.line - 1]] += killed + max(0, unseen)
    # An event that always fails may have failed more often than the destination saw: on a busy
    # machine some requests never arrive.
    given_up = {one for one, count in failures.items() if count >= max_tries or one.poison}
    unexcused = {act.idempotency_key for act in faults.repeated_acts if not act.because}
    verdict.repeated = len(faults.repeated_acts) - len(unexcused)
    twice |= {_said(stream, one) for one in requests if one.facts["idempotencyKey"] in unexcused}
    verdict.acted_twice = sorted(happening.name for happening in twice)
    verdict.stale_over_newer = list(_stale_over_newer(stream, requests, order_checks))

    outcomes: dict[Happening, set[Outcome]] = defaultdict(set)
    reasons: dict[Happening, set[str]] = defaultdict(set)
    for happening, line in zip(stream.said, report.events, strict=True):
        outcomes[happening].add(line.outcome)
        if line.outcome is Outcome.PARKED:
            reasons[happening].add(str(line.reason))
    for happening, found in outcomes.items():
        if effects[happening]:
            verdict.acted += 1
        elif Outcome.PARKED in found:
            verdict.parked.append(happening.name)
            if not happening.broken and happening not in refused | given_up:
                why = ", ".join(sorted(reasons[happening]))
                seen = failures[happening]
                verdict.parked_for_nothing.append(f"{happening.name}: {why}, {seen} failures seen")
        elif Outcome.STALE in found:
            verdict.stale += 1
            if not stream.overtaken(happening):
                verdict.stale_for_nothing.append(happening.name)
        elif found != {Outcome.RETRY}:
            verdict.lost.append(happening.name)
    _look_at_the_rest(verdict, stream, report, faults, effects)
    return verdict


def _failed(request: Received) -> bool:
    return request.status is None or request.status >= 500


def _said(stream: Stream, request: Received) -> Happening:
    sent = request.body.get("detail", request.body)  # of a bus, what is around it comes along
    return stream.about(sent["topic"], sent["body"])


def _effects(
    stream: Stream, requests: Iterable[Received]
) -> tuple[Counter[Happening], dict[Happening, list[str]]]:
    """Counts the acts of each event at a destination that stores keys, and lists the keys."""
    effects: Counter[Happening] = Counter()
    keys: dict[Happening, list[str]] = defaultdict(list)
    for request in requests:
        if request.acted and not request.repeated:
            effects[_said(stream, request)] += 1
            keys[_said(stream, request)].append(request.facts["idempotencyKey"])
    return effects, keys


def _is_unchanged(happening: Happening, keys: list[str], faults: FaultsReport) -> bool:
    """A state that is published again may be a change back, unless it is known to be settled.

    Each act beyond the first is another occurrence of the same event, and needs a fault.
    """
    events = {event_of(key) for key in keys}
    return (
        happening.returns
        and len(events) == 1
        and faults.unsettled.get(events.pop(), 0) >= len(keys) - 1
    )


@dataclass(frozen=True)
class _Act:
    """An act of an ordered event, and the check before its request."""

    happening: Happening
    at_ms: int
    check: OrderCheck


def _stale_over_newer(
    stream: Stream, requests: Iterable[Received], order_checks: Iterable[OrderCheck]
) -> Iterator[str]:
    """Names states that acted although a newer one had passed when they checked for it.

    Two that checked before either had passed may act in either order.
    """
    checks: dict[str, list[OrderCheck]] = defaultdict(list)
    for check in order_checks:
        checks[check.owner].append(check)
    acts: dict[str, list[_Act]] = defaultdict(list)
    for request in requests:
        happening = _said(stream, request)
        # A bus passes on no headers.
        if not request.acted or happening.latest_by is None or request.endpoint == "bus":
            continue
        asked = [
            check
            for check in checks[request.headers.get("x-once-execution", "")]
            if check.asked_ms < request.at_ms + 1  # which is in whole milliseconds
        ]
        if asked:
            last = max(asked, key=lambda check: check.asked_ms)
            acts[happening.latest_by].append(_Act(happening, request.at_ms, last))
        else:
            yield f"{happening.name}: without asking for a newer state"
    for of_one_subject in acts.values():
        for older, newer in permutations(of_one_subject, 2):
            if newer.happening.at_ms <= older.happening.at_ms:
                continue
            after_ms = older.check.asked_ms - newer.check.passed_ms
            if after_ms > 0:
                what = f"asked {after_ms / 1_000:.3f} s after {newer.happening.name} had passed"
                yield f"{older.happening.name}: {what}"
            elif older.at_ms > newer.at_ms and older.at_ms - older.check.asked_ms > UNDER_WAY_MS:
                yield f"{older.happening.name}: under way too long, after {newer.happening.name}"


def _look_at_the_rest(
    verdict: Verdict,
    stream: Stream,
    report: Report,
    faults: FaultsReport,
    effects: Counter[Happening],
) -> None:
    """Judges the events that were never settled: each must be a dead letter, after 1,000 receives.

    An event that always fails and is alone is excused: it looks like an outage, which gives up no
    event.
    """
    letters = {letter.line: letter for letter in faults.dead_letters}
    left: list[tuple[Happening, str | None]] = []
    for line, happening in enumerate(stream.said, 1):
        letter = letters.get(line)
        if letter is not None:
            verdict.dead.append(f"{happening.name}: {letter.reason}")
            # Each of its receives needs a fault that ended it.
            if sum(letter.met.values()) < MAX_RECEIVES:
                verdict.dead_for_nothing.append(happening.name)
        elif report.events[line - 1].outcome is Outcome.RETRY and not effects[happening]:
            left.append((happening, report.events[line - 1].reason))
    alone = all(happening.poison for happening, _ in left)
    for happening, reason in left:
        kept = reason not in (None, "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME")
        (verdict.waiting if alone and kept else verdict.lost).append(happening.name)
