"""Says what the faults of a run explain: acts that were repeated, events that were given up."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from once.genesys.server import Received
from once.run.report import ActionReport, LineReport
from proof.chaos.faults import Draws, Happened
from proof.definition.asl import states

_HIDE = ("data_action.killed", "destination.answer_lost", "execution.killed")
# With order changes a claim says that it replaced a settled one, and the newest time whose it was:
# without these answers, or if the claim is not closed, an unchanged state acts again.
_SAY_IT_WAS_SETTLED = ("ClaimKey", "AdvanceLatest")
# How often each is tried in one execution; less than so many faults do not fail it.
_ATTEMPTS: dict[str, int] = {
    name: 1 + sum(retrier["MaxAttempts"] for retrier in states()[name]["Retry"])
    for name in ("AdvanceLatest", "ReadLatest", "CloseClaim", "Processed")
}
_ANSWERED = {422: "refused", 429: "rate_limited", 500: "failing"}


@dataclass(frozen=True)
class RepeatedAct:
    """A destination acted twice; without a fault that hid the first act we are at fault."""

    idempotency_key: str
    acts: int
    because: Sequence[str]


@dataclass(frozen=True)
class Ended:
    """A line did not act and is not tried again, with the faults that met its event."""

    line: int
    reason: str | None
    met: Mapping[str, int]


@dataclass(frozen=True)
class FaultsReport:
    """The injected faults, and their effects."""

    happened: Mapping[str, int]
    repeated_acts: Sequence[RepeatedAct]
    dead_letters: Sequence[Ended]
    given_up: Sequence[Ended]
    unsettled: Mapping[str, int] = field(default_factory=dict)
    """Counts for each event the faults that may have hidden that its state was settled."""


def faults_report(
    draws: Draws,
    received: Iterable[Received],
    actions: Iterable[ActionReport],
    dead: Iterable[LineReport],
    given_up: Iterable[LineReport],
) -> FaultsReport:
    requests = [one for one in received if one.facts]
    happened = [*draws.happened, *_of_the_destination(requests)]
    met: dict[str, list[Happened]] = defaultdict(list)
    for one in happened:
        for name in one.about:
            met[name].append(one)

    def ended(lines: Iterable[LineReport]) -> list[Ended]:
        return [
            Ended(
                line=line.line,
                reason=line.reason,
                met=Counter(one.fault for one in met[_idempotency_key(line)]),
            )
            for line in lines
        ]

    acts: dict[str, list[Received]] = defaultdict(list)
    for request in requests:
        if request.acted:
            acts[request.facts["idempotencyKey"]].append(request)
    return FaultsReport(
        happened=dict(sorted(Counter(one.fault for one in happened).items())),
        repeated_acts=[
            RepeatedAct(
                idempotency_key=(key := action.idempotency_key),
                acts=len(acts[key]),
                because=_hidden(met[event_of(key)], len(acts[key])),
            )
            for action in actions
            if len(acts[action.idempotency_key]) > 1
        ],
        dead_letters=ended(dead),
        given_up=ended(given_up),
        unsettled={event: _unsettled(faults) for event, faults in met.items()},
    )


def _of_the_destination(requests: Iterable[Received]) -> Iterator[Happened]:
    """Its script draws for itself, so that its faults are read off what it answered."""
    for request in requests:
        if request.answer == "send":
            fault = _ANSWERED.get(request.status or 0)
        elif request.acted:
            fault = "answer_lost"
        else:
            fault = "silent" if request.answer == "none" else "hung_up"
        if fault:
            key = event_of(request.facts["idempotencyKey"])
            yield Happened(fault=f"destination.{fault}", about=[key])


def _hidden(faults: Sequence[Happened], acts: int) -> list[str]:
    """Lists the faults that may have hidden acts; none if there are too few."""
    hid = Counter(one.fault for one in faults if one.fault in _HIDE)
    marks = sum(one.fault == "table.throttled" and one.state == "Processed" for one in faults)
    hid["table.throttled"] = marks // _ATTEMPTS["Processed"]
    return sorted(+hid) if hid.total() >= acts - 1 else []


def _unsettled(faults: Sequence[Happened]) -> int:
    hid = sum(one.fault in _HIDE for one in faults)
    hid += sum(
        one.fault == "table.answer_lost" and one.state in _SAY_IT_WAS_SETTLED for one in faults
    )
    throttled = Counter(one.state for one in faults if one.fault == "table.throttled")
    return hid + sum(throttled[state] // attempts for state, attempts in _ATTEMPTS.items())


def event_of(idempotency_key: str) -> str:
    """Cuts the occurrence off, which stands behind a full stop."""
    return idempotency_key.partition(".")[0]


def _idempotency_key(line: LineReport) -> str:
    if line.key is None:
        return ""
    return hashlib.sha256(f"{line.key.pk}\n{line.key.sk}".encode()).hexdigest()
