"""What goes wrong, and what becomes of it; how far that was looked into."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bench import charts, recorded
from bench.numbers.tables import table
from bench.overload import SCENARIOS
from once.plan.capacity import Load, fitting_concurrency
from once.plan.cost import Measured, Traffic, prices
from proof.asl import differential

MINUTE_MS = 60_000


def overload() -> str:
    """Each trouble as it was before messages waited on the queue, where that was measured, and as
    it is; in a second table those that are no outage of the destination."""
    result = recorded.read("overload")
    before = result["before"]
    first = [name for name in SCENARIOS if name in before]
    groups = [first, [name for name in SCENARIOS if name not in first]]
    return "\n".join(_troubles(names, before, result) for names in groups)


def _troubles(names: Sequence[str], before: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    runs = {
        f"{name}{when}": known[name]
        for name in names
        for when, known in ((", before", before), ("", result))
        if name in known
    }

    def row(what: str, form: str, name: str) -> list[str]:
        return [what, *(form.format(run[name]) if run.get(name) else "" for run in runs.values())]

    def count(what: str, name: str) -> list[str]:
        return [what, *(f"{run[name]:,}" if name in run else "" for run in runs.values())]

    rows = [
        row("events", "{:,}", "events"),
        row("a second", "{:,.0f}", "perSecond"),
        row("limit a minute", "{}", "limitPerMinute"),
        row("most calls in any minute", "{}", "mostCallsInAnyMinute"),
        row("of the limit, while any waited", "{:.1%}", "utilisation"),
        row("out of order for", "{:.0f} s", "faultSeconds"),
        row("breaker open after", "{:.1f} s", "secondsUntilOpen"),
        row("failed calls until then", "{}", "callsUntilOpen"),
        row("calls while open", "{}", "callsWhileOpen"),
        row("acting again after", "{:.1f} s", "secondsUntilResumed"),
        row("answered with 429", "{}", "refused"),
        row("all acted after", "{:.1f} s", "secondsUntilAllActed"),
        row("always failing", "{}", "poison"),
        row("given up", "{}", "givenUp"),
        count("most tries of an event", "mostTries"),
        count("most deliveries of an event", "mostRounds"),
        row("p99 from sent to called, of the others", "{:.1f} s", "secondsToActP99"),
        ["failed calls in all", *(f"{run['calls'] - run['acted']:,}" for run in runs.values())],
        count("acted twice", "actedTwice"),
        [
            "never acted",
            *(f"{run['sent'] - run['acted'] - run.get('poison', 0)}" for run in runs.values()),
        ],
        count("dead letters", "deadLetters"),
    ]
    return table(["", *runs], [row for row in rows if any(row[1:])])


def chaos() -> str:
    run = recorded.read("chaos")
    faults = run["faults"]["happened"]
    left = run["waitingAlone"]
    alone = f"; {left} of these waited when all others had ended, as in an outage" if left else ""
    return (
        f"{run['happenings']:,} happenings in {run['lines']:,} events, seed {run['seed']}, and "
        f"{sum(faults.values()):,} faults of {len(faults)} kinds: {run['acted']:,} acted, "
        f"{run['stale']} were stale and {run['parked']} parked. {run['hangingCalls']} calls hung "
        f"in a row; {run['givenUp']} events were given up after {run['maxTries']} tries, among "
        f"them {run['poison'] - left} of {run['poison']} that the destination fails each time"
        f"{alone}. "
        f"**Lost {len(run['lost'])}, acted twice {len(run['actedTwice'])}, older after newer "
        f"{len(run['staleOverNewer'])}**; "
        f"{run['askedAgainAfterALostAnswer']} were asked for once more under the same "
        "Idempotency-Key, since a fault had hidden that they acted.\n"
    )


def explorer() -> str:
    run = recorded.read("explorer")
    cut = [one["states"] for one in run["scenarios"] if not one["complete"]]
    led = run["walks"]
    return (
        f"{run['states']:,} distinct states in {len(run['scenarios'])} scenarios, by "
        f"{run['moves']:,} moves: **{len(run['broken'])} promises broken**. "
        + (
            f"{len(cut)} of the scenarios were not at an end after {min(cut):,} states. "
            if cut
            else ""
        )
        + f"Of {run['mutants']} machines broken on purpose {run['mutantsCaught']} were caught; "
        f"{run['mutantsImplied']} break no promise, since another precaution gives the same. "
        f"{led['walks']} random walks of {led['moves']:,} moves were led through the embedded "
        f"AWS: {len(led['disagreements'])} disagreements.\n"
    )


def jsonata() -> str:
    run = recorded.read("jsonata")
    differ = sum(run["differences"].values())
    return (
        f"On {run['date']} each of {run['expressions']} expressions was evaluated by both engines, "
        f"{run['evaluations']:,} times in all, with values as scenarios and the explorer bring "
        f"them about and with hostile ones in their place: {differ:,} answers differ, each for one "
        f"of the {len(differential.KNOWN)} reasons that are listed.\n"
    )


def waiting() -> str:
    def said(measured: Mapping[str, Any]) -> str:
        return ", ".join(
            f"{name} {value:,.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in measured.items()
        )

    return table(
        ("scenario", "must", "measured"),
        [
            [
                f"{one['group']}: {one['name']}",
                ", ".join(f"**not: {m}**" if m in one["broken"] else m for m in one["must"]),
                said(one["measured"]),
            ]
            for one in recorded.read("waiting")["scenarios"]
        ],
    ).replace("|---|--:|--:|", "|---|---|---|")


def _simulated(group: str) -> dict[str, Mapping[str, Any]]:
    """What its scenarios measured, by their names."""
    scenarios = recorded.read("waiting")["scenarios"]
    return {one["name"]: one["measured"] for one in scenarios if one["group"] == group}


def hanging() -> str:
    """Calls that nobody answers, and what MaxConcurrentActions once capacity says for the rate."""
    measured, price = Measured.read(), prices()

    def fitting(name: str) -> str:
        rate = float(name.partition("/")[0])
        return f"{fitting_concurrency(rate, Load.of(Traffic(0, rate), measured, price))}"

    rows = [
        [
            name,
            f"{one['calls begun']}",
            f"{one['functions at once']}",
            f"{one['open after s']:.1f} s",
            f"{one['acting again after s']:.1f} s",
            "its own setting" if "own Lambda" in name else fitting(name),
        ]
        for name, one in _simulated("hanging").items()
    ]
    head = ["hanging for five minutes", "calls begun", "functions at once", "breaker open after"]
    return table([*head, "acting again after", "`MaxConcurrentActions` that fits"], rows)


def to_the_call() -> str:
    said = [
        f"at {rate} half of the events within {one['p50 to the call s']:.2f} s and 99 of 100 "
        f"within {one['p99 to the call s']:.2f} s"
        for rate, one in _simulated("healthy").items()
        if rate in ("10 events/s", "100 events/s")
    ]
    return f"From the queue to the call, while the pipe keeps up: {', '.join(said)}.\n"


def order() -> str:
    """Of pairs sent 30 minutes apart, how many acted in the wrong order."""
    kept = [
        (
            one["group"],
            one["name"],
            *map(int, one["measured"]["pairs in wrong order"].split(" of ")),
        )
        for one in recorded.read("waiting")["scenarios"]
        if one["group"].startswith("down")
    ]
    return table(
        ["sent 30 minutes apart", "in the wrong order"],
        [
            [f"{group}, {name}", f"{wrong / pairs:.0%} of {pairs:,}"]
            for group, name, wrong, pairs in kept
            if pairs > 0
        ],
    )


def rounds() -> str:
    """What rounds cost a drain beside lanes, by how many events follow one of their subject."""
    runs = recorded.read("rounds")["runs"]
    shares = sorted({one["following"] for one in runs})
    return table(
        ["times as long as lanes", *(f"{share:.0%} follow another" for share in shares)],
        [
            [name, *(f"{one['times']:.2f}" for one in runs if one["destination"] == name)]
            for name in dict.fromkeys(one["destination"] for one in runs)
        ],
    )


WAITING = {
    "limit": ("Ten times a limit of 300 a minute for five minutes", MINUTE_MS, "minutes"),
    "outage": ("Down from minute 5 to 9, ten events a second", MINUTE_MS, "minutes"),
    "hang": ("Hanging from minute 5 to 9, 13 events a second", MINUTE_MS, "minutes"),
    "poison": ("5 % of 6,000 events fail for good", 60 * MINUTE_MS, "hours"),
}


def waiting_chart(name: str) -> str:
    title, unit_ms, unit = WAITING[name]
    samples = recorded.read("waiting")["pictures"][name]

    def at(sample: Mapping[str, Any]) -> float:
        return float(sample["ms"]) / unit_ms

    def per_minute(field: str) -> list[tuple[float, float]]:
        return [
            (at(b), (b[field] - a[field]) / (b["ms"] - a["ms"]) * MINUTE_MS)
            for a, b in pairwise(samples)
        ]

    return charts.timeline(
        title,
        {
            "messages on the queue": [(at(one), one["waiting"]) for one in samples],
            "acts a minute": per_minute("acted"),
            "calls a minute": per_minute("calls"),
            "functions at once": [(at(one), one["running"]) for one in samples],
        },
        unit,
        [(at(a), at(b)) for a, b in pairwise(samples) if a["open"]],
        "breaker open",
    )
