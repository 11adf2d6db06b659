"""Writes the measured numbers into the documents: the text between `<!-- numbers:NAME -->` and
`<!-- /numbers:NAME -->`, from bench/results only.

Run: python -m bench.numbers [--check]. With --check it writes nothing, and fails if a document
differs from the records.
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.compare.verdict import Verdict
from bench.records import ROOT, SOURCES, read

DOCUMENTS = ("README.md", "docs/*.md", "proof/README.md")
_BLOCK = re.compile(r"(<!-- numbers:([a-z-]+) -->\n).*?(<!-- /numbers:\2 -->)", re.DOTALL)
FAULTS = {
    "lost": "lost",
    "acted_twice": "acted twice",
    "wrongly_skipped": "skipped by mistake",
    "stale_overwrites": "old state over a newer one",
}
# The rows of the README.
SHORT = {
    "b": "a key in Redis, with a time to live",
    "d": "DynamoDB: only if newer than the conversation",
    "g": "Powertools' idempotency",
    "i": "an SQS FIFO queue",
    "k": "**genesys-once**",
}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table: the first column to the left, figures to the right."""
    rule = "|" + "|".join("---" if place == 0 else "--:" for place, _ in enumerate(head)) + "|"
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


class Comparison:
    """All ways to act once on each event, on all streams."""

    def __init__(self) -> None:
        self.record = read("compare")
        self.contestants = self.record["contestants"]
        self.kept = [s["name"] for s in self.record["streams"] if not s["saidOpenly"]]
        self.open = [s["name"] for s in self.record["streams"] if s["saidOpenly"]]

    def totals(self, place: int, streams: Sequence[str]) -> list[Verdict]:
        """Adds up the verdicts on one contestant, run by run."""
        return [
            sum((Verdict(**run[place][name]) for name in streams), Verdict())
            for run in self.record["runs"]
        ]

    def table(self) -> str:
        rows = []
        for place, contestant in enumerate(self.contestants):
            title = f"({contestant['letter']}) {contestant['title']}"
            is_ours = place == len(self.contestants) - 1
            requests = contestant["storeCalls"] / self.record["messages"]
            cells = [ranged(self.totals(place, self.kept), name) for name in FAULTS]
            rows.append([f"**{title}**" if is_ours else title, *cells, f"{requests:.1f}"])
        return table(["", *FAULTS.values(), "requests to the store per message"], rows)

    def short(self) -> str:
        letters = [contestant["letter"] for contestant in self.contestants]
        events = sum(s["happenings"] for s in self.record["streams"] if s["name"] in self.kept)
        rows = []
        for letter, title in SHORT.items():
            totals = self.totals(letters.index(letter), self.kept)
            cells = [ranged(totals, name) for name in FAULTS]
            rows.append([title, *(cell if cell != "0" else "**0**" for cell in cells)])
        head = f"{events:,} of {self.record['happenings']:,} events"
        return table([head, *FAULTS.values()], rows)

    def streams(self) -> str:
        rows = []
        for stream in self.record["streams"]:
            wrong = [
                contestant["letter"]
                for place, contestant in enumerate(self.contestants)
                if any(
                    getattr(verdict, name)
                    for verdict in self.totals(place, [stream["name"]])
                    for name in FAULTS
                )
            ]
            counts = f"{stream['happenings']} in {stream['messages']}"
            rows.append([stream["name"], stream["what"], counts, " ".join(wrong)])
        record = self.record
        return (
            f"{record['happenings']} events in {record['messages']} messages, seed "
            f"{record['seed']}, {record['storeMs']} ms per request to a store, "
            f"{record['actionMs']} ms at the destination, {len(record['runs'])} runs:\n\n"
        ) + table(["stream", "what is sent", "events in messages", "goes wrong with"], rows)

    def ours_in_the_open(self) -> str:
        ours = self.totals(-1, self.open)
        return (
            f"In these streams genesys-once acts twice {ranged(ours, 'acted_twice')} times "
            f"({ranged(ours, 'acted_twice_told_apart')} if the destination stores the "
            f"Idempotency-Key), skips {ranged(ours, 'wrongly_skipped')} events by mistake, and "
            f"sends {ranged(ours, 'stale_overwrites')} older states after newer ones.\n"
        )


def ranged(verdicts: Sequence[Verdict], name: str) -> str:
    """Shows a count, or its range if the runs differ."""
    counts = [getattr(verdict, name) for verdict in verdicts]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def cost_short() -> str:
    record = read("cost")
    million, fixed = record["perMillion"], sum(record["fixed"].values())
    limit = record["paths"]["acts, with a limit"]["ERROR"]
    limit -= record["paths"]["acts, without an order"]["ERROR"]
    return (
        f"A million messages cost **${million['ERROR']:.2f}** with `LogLevel=ERROR` and "
        f"**${million['ALL']:.2f}** with `ALL`, a fifth of\nthem copies. A limit adds "
        f"${limit:.2f}. Alarms, metrics, dashboard and an idle pipe add ${fixed:.2f} per month.\n"
    )


def cost_paths() -> str:
    rows = [
        [name, f"{path['states']:g}", f"{path['tableCalls']:g}", f"{path['ERROR']:.2f}",
         f"{path['ALL']:.2f}"]
        for name, path in read("cost")["paths"].items()
    ]  # fmt: skip
    head = ["US dollars per million", "states", "table requests", "`LogLevel=ERROR`", "`ALL`"]
    return table(head, rows)


def cost_items() -> str:
    items = read("cost")["items"]
    rows = [[name, f"{d:.2f}", f"{items['ALL'][name]:.2f}"] for name, d in items["ERROR"].items()]
    total = [f"**{sum(items[level].values()):.2f}**" for level in ("ERROR", "ALL")]
    return table(
        ["US dollars per million messages", "`ERROR`", "`ALL`"], [*rows, ["**total**", *total]]
    )


def cost_outages() -> str:
    """Prices what one event that waits costs more."""
    record = read("cost")
    full = record["paths"]["a look with its claim"]["ERROR"]
    short = record["paths"]["a short look"]["ERROR"]
    rows = []
    for hours, outage in record["outages"].items():
        dollars = (outage["looks"] - outage["short"]) * full + outage["short"] * short
        cells = [f"{outage['looks']:g}", f"{outage['short']:g}", f"{dollars:.0f}"]
        rows.append([f"{hours} h", *cells, f"{outage['drainedMinutes']:g} min"])
    head = ["outage", "looks per event", "of them short", "$ per million events", "drained after"]
    return table(head, rows)


def speed() -> str:
    enrichment, action = read("enrichment"), read("data_action")
    mixed, call, memory = enrichment["mixed"], action["warm_call"]["genesys"], action["memory"]
    sizes = ", ".join(f"{ms:.1f} ms at {size}" for size, ms in enrichment["snapshots"].items())
    return (
        f"- **The enrichment** takes {mixed['median_ms']:.1f} ms (median) and "
        f"{mixed['p99_ms']:.1f} ms (p99) for ten mixed events. A snapshot takes {sizes}.\n"
        f"- **The data action function** adds {call['added_median_ms']:.1f} ms to a request. It "
        f"needs {memory['with_runtime_mb']} of its 128 MB for the largest body, and "
        f"{memory['start_processor_ms']:.0f} ms of processor time to start.\n"
    )


def audit() -> str:
    record = read("audit")
    return (
        f"{record['events']:,} events ({record['megabytes']:,} MB) took "
        f"{record['wallSeconds']:.0f} s, {record['processorSeconds']:.0f} s of processor\ntime, "
        f"and {record['peakMegabytes']} MB of memory.\n"
    )


def simulator() -> str:
    record = read("simulator")
    walks, mutants, hours = record["walks"], record["mutants"], record["hours"]
    faults = sum(walks["faults"].values())
    return (
        f"**{walks['broken']} promises broken** in {walks['count']:,} walks "
        f"({walks['moves']:,} moves, {faults:,} faults of {len(walks['faults'])} kinds), and in "
        f"{record['search']['states']:,} states of {record['search']['cases']} small worlds. Of "
        f"{mutants['count']} broken definitions and cores, {mutants['noticed']} are noticed and "
        f"{mutants['equivalent']} are equivalent.\n\n"
        f"{hours['events']:,} events at {hours['perSecond']:g} per second, with an outage of "
        f"{hours['outageHours']:g} h: {hours['lost']} lost, {hours['second_acts']} second acts, "
        f"{hours['parked']} parked; all had acted {hours['drained_minutes']:g} minutes after its "
        f"end, after {hours['looks'] / hours['events']:.0f} looks each.\n"
    )


def records() -> str:
    rows = [[name, read(name)["date"], f"`{read(name)['madeFrom']}`"] for name in SOURCES]
    return table(["record", "date", "hash of its sources"], rows).replace("--:", "---")


def blocks() -> dict[str, Callable[[], str]]:
    """Lists the blocks by name; each is computed only if a document has it."""
    compared = Comparison()
    return {
        "comparison": compared.table,
        "comparison-short": compared.short,
        "comparison-streams": compared.streams,
        "comparison-open": compared.ours_in_the_open,
        "cost": cost_paths,
        "cost-short": cost_short,
        "cost-items": cost_items,
        "cost-outages": cost_outages,
        "speed": speed,
        "audit": audit,
        "simulator": simulator,
        "records": records,
    }


def filled(document: str, known: Mapping[str, Callable[[], str]], name: str) -> str:
    def fill(match: re.Match[str]) -> str:
        begin, block, end = match.groups()
        if block not in known:
            raise SystemExit(f"{name} has numbers:{block}. There are {', '.join(sorted(known))}.")
        return f"{begin}{known[block]()}{end}"

    return _BLOCK.sub(fill, document)


def outdated(root: Path = ROOT) -> dict[Path, str]:
    """Returns each document that differs from the records, with its right text."""
    known = blocks()
    paths = sorted(path for pattern in DOCUMENTS for path in root.glob(pattern))
    texts = {path: filled(path.read_text(), known, path.name) for path in paths}
    return {path: text for path, text in texts.items() if path.read_text() != text}


def main() -> int:
    changed = outdated()
    for path, text in changed.items():
        if "--check" in sys.argv:
            print(f"{path.relative_to(ROOT)} differs: python -m bench.numbers", file=sys.stderr)
        else:
            path.write_text(text)
    return 1 if changed and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
