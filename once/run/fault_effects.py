"""What the faults of a run explain: acts that were asked for again, events that were given up."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from once.faults import Draws, Happened
from once.genesys.server import Received
from once.run.report import ActionReport, Ended, FaultsReport, LineReport, RepeatedAct

# How often the mark is tried in one execution; less than so many faults do not lose it.
_MARK_ATTEMPTS = 4
_HIDE = ("data_action.killed", "destination.answer_lost", "execution.killed")
_ANSWERED = {422: "refused", 429: "rate_limited", 500: "failing"}


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
        seed=draws.faults.seed,
        happened=dict(sorted(Counter(one.fault for one in happened).items())),
        repeated_acts=[
            RepeatedAct(
                idempotency_key=(key := action.idempotency_key),
                line=action.line,
                acts=len(acts[key]),
                because=_hidden(met[_event_of(key)], len(acts[key])),
            )
            for action in actions
            if len(acts[action.idempotency_key]) > 1
        ],
        dead_letters=ended(dead),
        given_up=ended(given_up),
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
            key = _event_of(request.facts["idempotencyKey"])
            yield Happened(fault=f"destination.{fault}", about=[key])


def _hidden(faults: Sequence[Happened], acts: int) -> list[str]:
    """Which faults may have kept from us that it had acted; none if there are too few of them."""
    hid = Counter(one.fault for one in faults if one.fault in _HIDE)
    marks = sum(one.fault == "table.throttled" and one.state == "CompleteClaim" for one in faults)
    hid["table.throttled"] = marks // _MARK_ATTEMPTS
    return sorted(+hid) if hid.total() >= acts - 1 else []


def _event_of(idempotency_key: str) -> str:
    """A windowed family has the occurrence behind a full stop."""
    return idempotency_key.partition(".")[0]


def _idempotency_key(line: LineReport) -> str:
    if line.key is None:
        return ""
    return hashlib.sha256(f"{line.key.pk}\n{line.key.sk}".encode()).hexdigest()
