"""Shows what becomes of events under faults, and how far that was explored."""

from collections.abc import Mapping
from typing import Any

from bench import recorded
from bench.numbers.tables import table
from proof.asl import differential


def chaos() -> str:
    run = recorded.read("chaos")
    faults = run["faults"]["happened"]
    left = run["waitingAlone"]
    alone = f" ({left} more waited when all others had ended, as in an outage)" if left else ""
    return (
        f"**{len(run['lost'])} lost, {len(run['actedTwice'])} acted twice, "
        f"{len(run['staleOverNewer'])} older states after newer ones**, of {run['happenings']:,} "
        f"events in {run['lines']:,} messages (seed {run['seed']}), under {sum(faults.values()):,} "
        f"faults of {len(faults)} kinds. {run['acted']:,} were acted on, {run['stale']} were "
        f"stale and {run['parked']} parked, {run['givenUp']} of them after {run['maxTries']} "
        f"tries (`MaxTries` of this run){alone}. {run['askedAgainAfterALostAnswer']} requests were "
        "repeated under the same Idempotency-Key, because a fault had hidden that the first one "
        "succeeded; these do not count as acted twice.\n"
    )


def explorer() -> str:
    run = recorded.read("explorer")
    cut = run["cutShort"]
    walks = run["walks"]
    return (
        f"**{len(run['broken'])} promises broken** in {run['states']:,} distinct states of "
        f"{run['scenarios']} scenarios, by {run['moves']:,} moves. "
        + (f"{len(cut)} scenarios were cut short after {min(cut):,} states. " if cut else "")
        + f"Of {run['mutants']} definitions that were broken on purpose, {run['mutantsCaught']} "
        f"were caught; {run['mutantsImplied']} break no promise, because another precaution has "
        f"the same effect. The emulator followed {walks['walks']} random walks, "
        f"{walks['moves']:,} moves in all, with {len(walks['disagreements'])} disagreements.\n"
    )


def jsonata() -> str:
    run = recorded.read("jsonata")
    differ = sum(run["differences"].values())
    return (
        f"Both engines evaluated {run['expressions']} expressions {run['evaluations']:,} times, "
        f"with values from the scenarios and the explorer and with hostile ones: {differ:,} "
        f"results differ, each for one of {len(differential.KNOWN)} listed reasons.\n"
    )


def waiting() -> str:
    """Counts the scenarios, and names each bound that did not hold."""
    scenarios = recorded.read("waiting")["scenarios"]
    groups = {one["group"] for one in scenarios}
    broken = [f"{one['name']}: {bound}" for one in scenarios for bound in one["broken"]]
    verdict = f"**Broken: {'; '.join(broken)}.**" if broken else "Every bound held"
    return f"{verdict} in {len(scenarios)} scenarios of {len(groups)} kinds.\n"


def _simulated(group: str) -> dict[str, Mapping[str, Any]]:
    """Reads the measurements of a group of scenarios, by their names."""
    scenarios = recorded.read("waiting")["scenarios"]
    return {one["name"]: one["measured"] for one in scenarios if one["group"] == group}


def hanging() -> str:
    """Shows what a hanging destination costs."""
    rows = [
        [
            name,
            f"{one['functions at once']}",
            f"{one['open after s']:.0f} s",
            f"{one['acting again after s']:.0f} s",
        ]
        for name, one in _simulated("hanging").items()
        if "up to 10" in name  # the default
    ]
    head = ["hanging for 5 minutes", "most concurrent functions", "breaker open after"]
    return table([*head, "first success after"], rows)


def to_the_request() -> str:
    def times(group: str, *rates: str) -> str:
        return ", ".join(
            f"{one['p50 to the request s']:.2f} s (median) and "
            f"{one['p99 to the request s']:.2f} s (p99) at {rate}"
            for rate, one in _simulated(group).items()
            if rate in rates
        )

    return (
        "- **From the queue to the request**, while the pipe keeps up: "
        f"{times('healthy', '10 events/s', '100 events/s')}. Within a limit of 300 per minute: "
        f"{times('within a limit of 300 per minute', '2 events/s', '4 events/s')}. These are "
        "from the [simulation](../proof/waiting), with assumed times of AWS.\n"
    )


def order() -> str:
    """Says how many pairs of events that were sent in an outage acted in the wrong order."""
    shares: dict[str, list[float]] = {}
    for one in recorded.read("waiting")["scenarios"]:
        if one["group"].startswith("down"):
            wrong, pairs = map(int, one["measured"]["pairs in wrong order"].split(" of "))
            if pairs:
                lasted = one["group"].removeprefix("down ")
                shares.setdefault(lasted, []).append(wrong / pairs)
    said = [
        f"{min(of):.0%} to {max(of):.0%} after {lasted}" if max(of) else f"none after {lasted}"
        for lasted, of in shares.items()
    ]
    return (
        "Of pairs of events that were sent 30 minutes apart, these were acted on in the wrong "
        f"order: {', '.join(said)}.\n"
    )
