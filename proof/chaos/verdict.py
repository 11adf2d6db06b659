"""Judges a run with faults by what really happened, and by what the destination really did."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from once.genesys.server import Received
from once.outcomes import Outcome
from once.run.report import Report
from proof.chaos.events import Happening, Stream

# With Timing=fast no execution begins a call later than 8 s after it began itself.
IN_WORK_MS = 10_000
MAX_RECEIVES = 1_000  # SQS's largest, as template.yaml has it


@dataclass
class Verdict:
    """Names of happenings. All lists but `parked` and `waiting` should be empty."""

    acted: int = 0
    stale: int = 0
    parked: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # failing, with nobody left to act beside it
    dead: list[str] = field(default_factory=list)
    repeated: int = 0  # asked once more under the same key, for a fault had hidden that it acted
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


def judge(stream: Stream, report: Report, requests: Iterable[Received], max_tries: int) -> Verdict:
    """`max_tries` is after how many failed tries an event is given up."""
    assert report.faults is not None
    verdict = Verdict()
    requests = [one for one in requests if one.facts]
    effects, twice = _effects(stream, requests)
    refused = {_said(stream, one) for one in requests if one.status == 422}
    failures = Counter(_said(stream, one) for one in requests if _failed(one))
    for one in report.faults.given_up:  # killed, it may have died before it called
        failures[stream.said[one.line - 1]] += one.met.get("data_action.killed", 0)
    # What always fails may have failed more often than was seen: a busy machine makes calls that
    # never arrive.
    given_up = {one for one, count in failures.items() if count >= max_tries or one.poison}
    unexcused = {act.idempotency_key for act in report.faults.repeated_acts if not act.because}
    verdict.repeated = len(report.faults.repeated_acts) - len(unexcused)
    twice |= {_said(stream, one) for one in requests if one.facts["idempotencyKey"] in unexcused}
    verdict.acted_twice = sorted(happening.name for happening in twice)
    verdict.stale_over_newer = sorted({h.name for h in _stale_over_newer(stream, requests)})

    outcomes: dict[Happening, set[Outcome]] = defaultdict(set)
    for happening, line in zip(stream.said, report.events, strict=True):
        outcomes[happening].add(line.outcome)
    for happening, found in outcomes.items():
        if effects[happening]:
            verdict.acted += 1
        elif Outcome.PARKED in found:
            verdict.parked.append(happening.name)
            if not happening.broken and happening not in refused | given_up:
                verdict.parked_for_nothing.append(happening.name)
        elif Outcome.STALE in found:
            verdict.stale += 1
            if not stream.overtaken(happening):
                verdict.stale_for_nothing.append(happening.name)
        elif found != {Outcome.RETRY}:
            verdict.lost.append(happening.name)
    _look_at_the_rest(verdict, stream, report, effects)
    return verdict


def _failed(request: Received) -> bool:
    return request.status is None or request.status >= 500


def _said(stream: Stream, request: Received) -> Happening:
    return stream.about(request.body["topic"], request.body["body"])


def _effects(
    stream: Stream, requests: Iterable[Received]
) -> tuple[Counter[Happening], set[Happening]]:
    """How often each acted at a destination that knows its keys; those that did so twice."""
    effects: Counter[Happening] = Counter()
    for request in requests:
        if request.acted and not request.repeated:
            effects[_said(stream, request)] += 1
    return effects, {happening for happening, count in effects.items() if count > 1}


def _stale_over_newer(stream: Stream, requests: Iterable[Received]) -> Iterator[Happening]:
    """Older states that acted so long after a newer one that both cannot have been in work."""
    acts: dict[str, list[tuple[Happening, int]]] = defaultdict(list)
    for request in sorted(requests, key=lambda one: one.at_ms):
        happening = _said(stream, request)
        if not request.acted or happening.latest_by is None:
            continue
        for other, at_ms in acts[happening.latest_by]:
            if other.at_ms > happening.at_ms and request.at_ms - at_ms > IN_WORK_MS:
                yield happening
        acts[happening.latest_by].append((happening, request.at_ms))


def _look_at_the_rest(
    verdict: Verdict, stream: Stream, report: Report, effects: Counter[Happening]
) -> None:
    """What was never settled must be a dead letter, and a message is one after 1,000 receives.

    Or it always fails and is left alone: then it looks like an outage, which gives nobody up.
    """
    assert report.faults is not None
    letters = {letter.line: letter for letter in report.faults.dead_letters}
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
