"""Writes the measured numbers into the documents: what stands between `<!-- numbers:NAME -->` and
`<!-- /numbers:NAME -->`, and the charts, comes from bench/results and from nowhere else.

Run: python -m bench.numbers [--check]. With --check nothing is written, and it fails where a
document says something else than the recorded results.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import charts, pictures, recorded
from bench.compare.verdict import Verdict
from bench.machine_log import compared
from bench.overload import SCENARIOS
from bench.rival_costs import GROUPS, RIVALS, as_standard, grouped, rival
from once.plan import capacity, cost
from once.plan.cost import LogLevel, Measured, Traffic

ROOT = Path(__file__).parents[1]
CHARTS = ROOT / "docs" / "charts"
DOCUMENTS = ("README.md", "docs/*.md")
BLOCK = re.compile(r"(<!-- numbers:([a-z-]+) -->\n).*?(<!-- /numbers:\2 -->)", re.DOTALL)

MILLION = 1_000_000
MINUTE_MS = 60_000
TARGET_DOLLARS = 3.0
RATES = (10, 100, 1_000, 10_000)
REGIONS = ("eu-central-1", "us-east-1")
ANY_DESTINATION = 1e9

FAULTS = {
    "lost": "lost",
    "acted_twice": "acted twice",
    "wrongly_skipped": "wrongly skipped",
    "stale_overwrites": "stale over newer",
}

FAULTS_IN_WORDS = ("lost", "acted twice", "skipped by mistake", "old state over a newer one")

# The rows that the README has room for, in words that anyone understands.
SHORT = {
    "b": "a key in Redis, with a time to live",
    "d": "DynamoDB: only if newer than the conversation",
    "g": "Powertools' idempotency",
    "i": "an SQS FIFO queue",
    "j": "**genesys-once**",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("---" if at == 0 else "--:" for at, _ in enumerate(head)) + "|"
    return "\n".join([row(head), rule, *map(row, rows)]) + "\n"


# The comparison


class Comparison:
    def __init__(self) -> None:
        self.result = recorded.read("compare")
        self.open = [s["name"] for s in self.result["streams"] if s["saidOpenly"]]
        self.kept = [s["name"] for s in self.result["streams"] if not s["saidOpenly"]]

    def contestants(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for contestant in self.result["contestants"]:
            title = f"({contestant['letter']}) {contestant['title']}"
            yield title, contestant

    def total(self, contestant: Mapping[str, Any], streams: Sequence[str]) -> Verdict:
        return sum((Verdict(**contestant["streams"][name]) for name in streams), Verdict())

    def calls(self, contestant: Mapping[str, Any]) -> float:
        calls: float = sum(contestant["storeCalls"].values())
        return calls / float(self.result["messages"])

    def table(self, streams: Sequence[str]) -> str:
        names = (
            "lost",
            "acted_twice",
            "acted_twice_told_apart",
            "wrongly_skipped",
            "stale_overwrites",
            "stale_overwrites_compared",
        )
        totals = [(title, self.total(c, streams), self.calls(c)) for title, c in self.contestants()]
        best = {name: min(getattr(verdict, name) for _, verdict, _ in totals) for name in names}
        rows = []
        for title, verdict, calls in totals:
            cells = [
                f"**{value}**" if (value := getattr(verdict, name)) == best[name] else str(value)
                for name in names
            ]
            ours = totals[-1][0] == title
            rows.append([f"**{title}**" if ours else title, *cells, f"{calls:.1f}"])
        head = (
            "",
            "lost",
            "acted twice",
            "…that remembers keys",
            "wrongly skipped",
            "stale over newer",
            "…that compares times",
            "store calls an event",
        )
        return table(head, rows)

    def short(self) -> str:
        """One way of each kind that people take, for readers who have no time for all of them."""
        by_letter = {c["letter"]: c for c in self.result["contestants"]}
        events = sum(s["happenings"] for s in self.result["streams"] if s["name"] in self.kept)
        rows = []
        for letter, title in SHORT.items():
            verdict = self.total(by_letter[letter], self.kept)
            counts = [getattr(verdict, name) for name in FAULTS]
            rows.append([title, *(str(count) if count else "**0**" for count in counts)])
        return table([f"of {events:,} events", *FAULTS_IN_WORDS], rows)

    def matrix(self) -> str:
        names = {**FAULTS, "acted_twice": "twice", "wrongly_skipped": "skipped"}
        names["stale_overwrites"] = "stale"

        def cell(verdict: Mapping[str, int]) -> str:
            return ", ".join(f"{verdict[n]} {names[n]}" for n in FAULTS if verdict[n]) or "·"

        head = ["", *(c["letter"] for _, c in self.contestants())]
        rows = [
            [
                f"{stream['name']} ({stream['happenings']})",
                *(cell(c["streams"][stream["name"]]) for _, c in self.contestants()),
            ]
            for stream in self.result["streams"]
        ]
        return table(head, rows)

    def streams(self) -> str:
        return (
            "\n".join(
                f"- **{s['name']}**: {s['what']}; {s['happenings']} happenings in "
                f"{s['messages']} messages."
                + (f" This project may lose here: {s['saidOpenly']}." if s["saidOpenly"] else "")
                for s in self.result["streams"]
            )
            + "\n"
        )

    def facts(self) -> str:
        r = self.result
        return (
            f"{r['happenings']} happenings in {r['messages']} messages, seed {r['seed']}, "
            f"{r['storeMs']} ms in every store, {r['actionMs']} ms at the destination, "
            f"{r['redis']}.\n"
        )

    def chart(self) -> str:
        def series(streams: Sequence[str]) -> dict[str, dict[str, float]]:
            return {
                title.replace("`", ""): {
                    words: float(getattr(self.total(c, streams), name))
                    for name, words in FAULTS.items()
                }
                for title, c in self.contestants()
            }

        return charts.bars(
            f"Of {self.result['happenings']} events: what went wrong",
            {
                f"{len(self.kept)} streams of copies, crashes, failures": series(self.kept),
                f"{len(self.open)} streams that this project says it loses": series(self.open),
            },
            dict(
                zip(
                    FAULTS.values(),
                    (charts.RED, charts.ORANGE, charts.PURPLE, charts.GREY),
                    strict=True,
                )
            ),
        )


# Cost


class Costs:
    def __init__(self) -> None:
        self.measured, self.price = Measured.read(), cost.prices()
        self.traffic = Traffic(MILLION, log_level=LogLevel.ERROR)

    def of(self, **change: Any) -> float:
        return cost.per_million(
            cost.monthly(replace(self.traffic, **change), self.measured, self.price), MILLION
        )

    def line(self) -> str:
        costs = cost.monthly(self.traffic, self.measured, self.price)
        error, every = round(self.of(), 2), self.of(log_level=LogLevel.ALL)
        calls = round(costs["Lambda: the calls"], 2)
        kept = round(costs["DynamoDB: claims kept"], 2)
        outcomes, functions = costs["Logs: outcomes"], costs["Logs: functions"]
        fixed = sum(costs[name] for name in cost.FIXED)
        return (
            f"A million received events, a fifth of them copies, in batches of ten: "
            f"**${error:.2f}** at `LogLevel=ERROR`, **${every:.2f}** at `ALL`, which the console "
            f"needs to show single executions. Of that, ${calls:.2f} are the calls' own function, "
            f"which waits 200 ms for each answer, and ${kept:.2f} the claims, kept for 30 days. "
            f"Our aim was ${TARGET_DOLLARS:.2f} without these two; it is "
            f"${error - calls - kept:.2f}, since every event's outcome is logged "
            f"(${outcomes:.2f}), and every call (${functions:.2f}). Alarms, metrics, dashboard and "
            f"an idle pipe are ${fixed:.2f} a month, whatever comes.\n"
        )

    def items(self) -> str:
        settings = {
            "`ERROR`": self.traffic,
            "`ALL`": replace(self.traffic, log_level=LogLevel.ALL),
            "`ERROR`, one a batch": replace(self.traffic, batch_size=1),
            "`ERROR`, limited": replace(self.traffic, limited=True),
        }
        columns = [cost.monthly(t, self.measured, self.price) for t in settings.values()]
        names = [name for name in columns[0] if name not in cost.FIXED]
        rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in names]
        rows.append(["**together**", *(f"**{cost.per_million(c, MILLION):.2f}**" for c in columns)])
        rows += [[f"{name}, a month", *(f"{c[name]:.2f}" for c in columns)] for name in cost.FIXED]
        return table(["US dollars a million", *settings], rows)

    def rivals(self) -> str:
        cases = {
            "no copies": {"copies": 0.0},
            "20 %": {"copies": 0.2},
            "50 %": {"copies": 0.5},
            "20 %, one a batch": {"copies": 0.2, "batch_size": 1},
        }

        def row(title: str, priced: Callable[[Traffic], Mapping[str, float]]) -> list[str]:
            cells = []
            for change in cases.values():
                traffic = replace(self.traffic, **change)  # type: ignore[arg-type]
                cells.append(f"{cost.per_million(priced(traffic), MILLION):.2f}")
            return [title, *cells]

        def ours(level: LogLevel) -> Callable[[Traffic], Mapping[str, float]]:
            return lambda t: cost.monthly(replace(t, log_level=level), self.measured, self.price)

        rows = [row(f"this project, `{level}`", ours(level)) for level in LogLevel]
        rows += [
            row(
                f"{asked.title}{f' ({asked.beside})' if asked.beside else ''}",
                lambda t, asked=asked: rival(asked, t, self.measured, self.price),  # type: ignore[misc]
            )
            for asked in RIVALS
        ]
        rows.append(
            row(
                "this workflow as Standard, one event at a time",
                lambda t: as_standard(t, self.measured, self.price),
            )
        )
        return table(["US dollars a million", *cases], rows)

    def chart(self) -> str:
        def ours(level: LogLevel) -> dict[str, float]:
            traffic = replace(self.traffic, log_level=level)
            return grouped(cost.monthly(traffic, self.measured, self.price), MILLION)

        rows = {
            f"this project, LogLevel={level}": ours(level)
            for level in (LogLevel.ERROR, LogLevel.ALL)
        }
        for asked in RIVALS:
            priced = rival(asked, self.traffic, self.measured, self.price)
            rows[asked.title] = grouped(priced, MILLION)
        return charts.bars(
            "US dollars a million events: 20 % copies, batches of ten, 200 ms a call",
            {"": rows},
            dict(
                zip(
                    GROUPS,
                    (charts.GREY, charts.BLUE, charts.GREEN, charts.PURPLE, charts.ORANGE),
                    strict=True,
                )
            ),
            panel_width=520,
            form="{:,.2f}",
        )


def machine_log() -> str:
    """What an event asks for, with its share of the batch, before the redesign and after it."""

    def said(value: float | None) -> str:
        return "" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"

    rows = [
        [f"{event}: {words}", *map(said, values)]
        for event, words, values in compared()
        if any(value and value > 0.05 for value in values)
    ]
    return table(
        ["", "one a batch, before", "one a batch", "ten a batch, before", "ten a batch"], rows
    )


# Scale and capacity


def scale_line() -> str:
    result = recorded.read("scale")
    first, last = result["points"][0], result["points"][-1]
    return (
        f"{first['events']:,} events drain in {first['seconds']:.1f} s and {last['events']:,} in "
        f"{last['seconds']:.1f} s on this machine's embedded AWS: a straight line "
        f"(R² = {result['rSquared']:.3f}), {result['eventsPerSecond']:.0f} events a second. It "
        "shows that nothing grows faster than the events, not how fast AWS is.\n"
    )


def scale_chart() -> str:
    points = [(p["events"], p["seconds"]) for p in recorded.read("scale")["points"]]
    return charts.points("Draining a full queue", points, "events", "seconds")


class Capacity:
    def __init__(self) -> None:
        self.quota = capacity.quotas()
        self.load = capacity.Load.of(Traffic(0), Measured.read(), cost.prices())

    def limits(self, region: str, destination: float | None) -> list[capacity.Limit]:
        return capacity.limits(self.load, self.quota, region, destination, limited=False)

    def table(self) -> str:
        rows = []
        for rate in RATES:
            for region in REGIONS:
                found = self.limits(region, ANY_DESTINATION)
                short = [limit.name for limit in found if limit.events_per_second < rate]
                course = capacity.simulate(rate, self.load, found, self.quota)
                after = course.caught_up_after_seconds
                rows.append(
                    [
                        f"{rate:,}",
                        region,
                        ", ".join(short) or "none",
                        f"{course.most_waiting:,.0f}" if after is not None else "grows",
                        f"{after:,} s" if after is not None else "never",
                        course.held_back_by if after else "",
                    ]
                )
        head = ["events a second", "region", "quotas too low", "most waiting"]
        return table([*head, "caught up after", "held back by"], rows)

    def line(self) -> str:
        genesys = self.limits(REGIONS[0], None)[0]
        aws = self.limits(REGIONS[0], ANY_DESTINATION)
        return (
            f"The destination binds first: {genesys.quota} calls of one Genesys Cloud token are "
            f"{genesys.events_per_second:.0f} events a second. With a destination that keeps up, "
            f"{aws[0].name} does, at {aws[0].events_per_second:,.0f} events a second in "
            f"{REGIONS[0]}; then {aws[1].name}, at {aws[1].events_per_second:,.0f}.\n"
        )

    def chart(self) -> str:
        allowed = {
            f"{limit.name} ({limit.quota})": limit.events_per_second
            for limit in self.limits(REGIONS[0], None)
        }
        title = f"Events a second that each default quota allows ({REGIONS[0]})"
        return charts.ranges(title, allowed, max(RATES))


# What goes wrong


def overload() -> str:
    """Each trouble as it was before messages waited on the queue, where that was measured, and as
    it is."""
    result = recorded.read("overload")
    before = result["before"]
    runs = {
        f"{name}{when}": known[name]
        for name in SCENARIOS
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
        row("always failing", "{}", "poison"),
        row("given up", "{}", "givenUp"),
        row("p99 from sent to called, of the others", "{:.1f} s", "secondsToActP99"),
        count("acted twice", "actedTwice"),
        [
            "lost",
            *(f"{run['sent'] - run['acted'] - run.get('poison', 0)}" for run in runs.values()),
        ],
        count("dead letters", "deadLetters"),
    ]
    return table(["", *runs], rows)


def chaos() -> str:
    run = recorded.read("chaos")
    faults = run["faults"]["happened"]
    return (
        f"{run['happenings']:,} happenings in {run['lines']:,} events, seed {run['seed']}, and "
        f"{sum(faults.values()):,} faults of {len(faults)} kinds: {run['acted']:,} acted, "
        f"{run['stale']} were stale and {run['parked']} parked. {run['hangingCalls']} calls hung "
        f"in a row; {run['givenUp']} events were given up after {run['maxTries']} tries, among "
        f"them the {run['poison']} that the destination fails each time. "
        f"**Lost {len(run['lost'])}, acted twice {len(run['actedTwice'])}, older after newer "
        f"{len(run['staleOverNewer'])}**; "
        f"{run['askedAgainAfterALostAnswer']} were asked for once more under the same "
        "Idempotency-Key, since a fault had hidden that they acted.\n"
    )


def explorer() -> str:
    run = recorded.read("explorer")
    cut = [f'"{one["name"]}"' for one in run["scenarios"] if not one["complete"]]
    led = run["walks"]
    return (
        f"{run['states']:,} distinct states in {len(run['scenarios'])} scenarios, by "
        f"{run['moves']:,} moves: **{len(run['broken'])} promises broken**. "
        + (f"Not walked through to the end: {', '.join(cut)}. " if cut else "")
        + f"Of {run['mutants']} machines broken on purpose {run['mutantsCaught']} were caught; "
        f"{run['mutantsImplied']} break no promise, since another precaution gives the same. "
        f"{led['walks']} random walks of {led['moves']:,} moves were led through the embedded "
        f"AWS: {len(led['disagreements'])} disagreements.\n"
    )


# Speed


def speed() -> str:
    measured, action = recorded.read("enrichment"), recorded.read("data_action")
    every, steps = measured["all"], measured["steps_of_conversations"]
    call = action["warm_call"]["genesys"]
    return (
        f"The enrichment takes {every['enrichment_us']:.1f} µs an event on this machine, "
        f"{every['times_parse_and_hash']:.2f} times `json.loads` and SHA-256 of the same event, "
        f"and {every['times_powertools']:.2f} times Powertools' EventBridge parser with its "
        f"idempotency key ({steps['times_parse_and_hash']:.2f} and "
        f"{steps['times_powertools']:.2f} for the steps of conversations). Importing it takes "
        f"{measured['import']['ratio']:.2f} times `import pydantic`, and its package is "
        f"{measured['package']['zipped_bytes'] / MILLION:.1f} MB. The data action adds "
        f"{call['added_median_ms']:.1f} ms to a call.\n"
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


def audit_line() -> str:
    result = recorded.read("audit")
    return (
        f"{result['events']:,} events, {result['megabytes']:,} MB of them, took "
        f"{result['wallSeconds']:.0f} s on two cores that other work shared (load "
        f"{result['loadAtTheEnd']}),\n{result['processorSeconds']:.0f} s of processor time, and "
        f"{result['peakMegabytes']} MB of memory in all processes together. On "
        f"{result['streams']:,}\nrandom streams {result['disagreements']} verdicts differed from "
        "the definition's.\n"
    )


def blocks() -> dict[str, Callable[[], str]]:
    """By name; computed only where a document has it."""
    compared, costs, quotas = Comparison(), Costs(), Capacity()
    return {
        "pair": pictures.pair,
        "comparison-short": compared.short,
        "comparison": lambda: compared.table(compared.kept),
        "comparison-open": lambda: compared.table(compared.open),
        "comparison-streams": compared.streams,
        "comparison-matrix": compared.matrix,
        "comparison-facts": compared.facts,
        "cost": costs.line,
        "cost-items": costs.items,
        "cost-rivals": costs.rivals,
        "machine-log": machine_log,
        "speed": speed,
        "overload": overload,
        "waiting": waiting,
        "chaos": chaos,
        "explorer": explorer,
        "scale": scale_line,
        "audit": audit_line,
        "capacity": quotas.line,
        "capacity-rates": quotas.table,
    }


def drawings() -> dict[str, str]:
    return {
        "explained.svg": pictures.shown(),
        "comparison.svg": Comparison().chart(),
        "cost.svg": Costs().chart(),
        "scale.svg": scale_chart(),
        "capacity.svg": Capacity().chart(),
        **{f"waiting-{name}.svg": waiting_chart(name) for name in WAITING},
    }


def documents() -> list[Path]:
    return sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))


def filled(document: str, known: Mapping[str, Callable[[], str]], name: str) -> str:
    def fill(match: re.Match[str]) -> str:
        begin, block, end = match.groups()
        if block not in known:
            raise SystemExit(f"{name} has numbers:{block}. There are {', '.join(sorted(known))}.")
        return f"{begin}{known[block]()}{end}"

    return BLOCK.sub(fill, document)


def wanted() -> dict[Path, str]:
    """Every file that holds numbers, as it should be."""
    known = blocks()
    files = {path: filled(path.read_text(), known, path.name) for path in documents()}
    return files | {CHARTS / name: drawing for name, drawing in drawings().items()}


def write() -> None:
    CHARTS.mkdir(exist_ok=True)
    for path, text in wanted().items():
        path.write_text(text)


def outdated() -> list[Path]:
    return [
        path for path, text in wanted().items() if not path.is_file() or path.read_text() != text
    ]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    if not arguments.parse_args().check:
        write()
        return 0
    found = outdated()
    for path in found:
        print(f"{path.relative_to(ROOT)} differs from bench/results.", file=sys.stderr)
    if found:
        print("Write it again: python -m bench.numbers", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
