"""What the faults of a run explain: acts that were asked for again, events that were given up."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable

from once.faults import Dice, Happened
from once.genesys import Received
from once.report import ActionReport, DeadLetter, FaultsReport, LineReport, RepeatedAct

# How often the mark is tried in one execution; less than so many faults do not lose it.
_MARK_ATTEMPTS = 4


def faults_report(
    dice: Dice,
    received: Iterable[Received],
    actions: Iterable[ActionReport],
    dead: Iterable[LineReport],
) -> FaultsReport:
    met: dict[str, list[Happened]] = defaultdict(list)
    for one in dice.happened:
        for name in one.about:
            met[name].append(one)
    acts: dict[str, list[Received]] = defaultdict(list)
    for request in received:
        if request.acted:
            acts[request.facts["idempotencyKey"]].append(request)
    return FaultsReport(
        seed=dice.faults.seed,
        happened=dict(sorted(Counter(one.fault for one in dice.happened).items())),
        repeated_acts=[
            RepeatedAct(
                idempotency_key=(key := action.idempotency_key),
                line=action.line,
                acts=len(acts[key]),
                # A windowed family has the occurrence behind a full stop.
                because=_hidden(met[key.partition(".")[0]], acts[key]),
            )
            for action in actions
            if len(acts[action.idempotency_key]) > 1
        ],
        dead_letters=[
            DeadLetter(
                line=line.line,
                reason=line.reason,
                met=Counter(one.fault for one in met[_idempotency_key(line)]),
            )
            for line in dead
        ],
    )


def _hidden(faults: Iterable[Happened], acts: Iterable[Received]) -> list[str]:
    """Which faults may have kept from us that it had acted."""
    deaths = {one.fault for one in faults if one.fault.endswith(".killed")}
    marks = sum(one.fault.startswith("table.") and one.state == "CompleteClaim" for one in faults)
    return [
        *(["destination.answer_lost"] if any(act.status is None for act in acts) else []),
        *sorted(deaths),
        *(["table.throttled"] if marks >= _MARK_ATTEMPTS else []),
    ]


def _idempotency_key(line: LineReport) -> str:
    if line.key is None:
        return ""
    return hashlib.sha256(f"{line.key.pk}\n{line.key.sk}".encode()).hexdigest()
