"""Writes the measured numbers into the documents: the text between `<!-- numbers:NAME -->` and
`<!-- /numbers:NAME -->`. They come from bench/results alone.

Run: python -m bench.numbers [--check]. With --check it writes nothing, and ends with 1 if a
document differs from the records.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from bench.sources import ROOT, read

DOCUMENTS = ("README.md", "docs/*.md")
BLOCK = re.compile(r"(<!-- numbers:([a-z-]+) -->\n).*?(<!-- /numbers:\2 -->)", re.DOTALL)
COLUMNS = {
    "lost": "lost",
    "twice": "acted twice",
    "skipped": "skipped by mistake",
    "oldOverNew": "old state over a newer one",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """Returns a table of Markdown: the first columns hold words, the others figures."""
    rule = ["---"] * words + ["--:"] * (len(head) - words)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))


def comparison() -> str:
    record = read("compare")
    totals = [sum(map(Counter, each["streams"].values()), Counter[str]())
              for each in record["contestants"]]  # fmt: skip
    best = {column: min(total[column] for total in totals) for column in COLUMNS}
    happenings, messages = (
        sum(stream[name] for stream in record["streams"]) for name in ("happenings", "messages")
    )
    rows = []
    for each, total in zip(record["contestants"], totals, strict=True):
        title = f"({each['letter']}) {each['title']}"
        counts = [f"**{total[c]:,}**" if total[c] == best[c] else f"{total[c]:,}" for c in COLUMNS]
        rows.append([f"**{title}**" if each is record["contestants"][-1] else title, *counts])
    return table([f"{happenings:,} events in {messages:,} messages", *COLUMNS.values()], rows)


def streams() -> str:
    record = read("compare")
    rows = []
    for stream in record["streams"]:
        letters = [c["letter"] for c in record["contestants"] if c["streams"].get(stream["name"])]
        sent = f"{stream['happenings']:,} in {stream['messages']:,}"
        rows.append([stream["name"], stream["what"], sent, " ".join(letters)])
    head = ["stream", "what is sent", "events in messages", "goes wrong with"]
    first, last = record["seeds"]
    return f"Seeds {first} to {last}:\n\n{table(head, rows, words=4)}"


def comparison_open() -> str:
    ours = read("compare")["contestants"][-1]["streams"]
    lost, back = (ours.get(n, {}) for n in ("act's response lost", "there and back"))
    return (
        f"In *act's response lost* genesys-once acts twice {lost.get('twice', 0)} times, and "
        f"{lost.get('twiceToldApart', 0)} times if the destination stores the\nIdempotency-Key. "
        f"In *there and back* it skips {back.get('skipped', 0)} events by mistake, and sends "
        f"{back.get('oldOverNew', 0)} older states after newer ones.\n"
        "In the other streams nothing goes wrong.\n"
    )


def cost() -> str:
    costs = read("cost")["dollars"]
    rows = [[item, *(f"{costs[level][item]:.2f}" for level in costs)] for item in costs["ALL"]]
    sums = [f"**{sum(items.values()):.2f}**" for items in costs.values()]
    head = ["dollars per million events", *(f"`{level}`" for level in costs)]
    return table(head, [*rows, ["**sum**", *sums]])


def paths() -> str:
    rows = [[name, *(f"{dollars[level]:.2f}" for level in ("ERROR", "ALL"))]
            for name, dollars in read("cost")["paths"].items()]  # fmt: skip
    return table(["dollars per million", "`ERROR`", "`ALL`"], rows)


def fixed() -> str:
    parts = read("cost")["fixed"]
    rows = [[name, f"{dollars:.2f}"] for name, dollars in parts.items()]
    return table(["dollars per month", ""], [*rows, ["**sum**", f"**{sum(parts.values()):.2f}**"]])


def outages() -> str:
    rows = []
    for outage in read("cost")["outages"]:
        for rate, figures in outage["rates"].items():
            quota, share = max(figures["quotas"].items(), key=lambda item: item[1])
            rows.append(
                [
                    f"{outage['hours']} h, {rate}/s",
                    f"{figures['events']:,}",
                    f"{outage['looksPerEvent']:.0f} ({outage['looksOfTheFirst']})",
                    f"{figures['peakExecutionsPerSecond']:,}",
                    f"{figures['dollars']['ERROR']:,.0f}",
                    f"{figures['dollars']['ALL']:,.0f}",
                    f"{share:.0%} of {quota}",
                ]
            )
    head = [
        "outage",
        "events that wait",
        "looks per event (first)",
        "executions per second at its end",
    ]
    return table([*head, "$, `ERROR`", "$, `ALL`", "nearest quota"], rows)


def quotas() -> str:
    allowed = sorted(read("cost")["quotas"].items(), key=lambda item: item[1])
    return table(["quota", "events per second"], [[name, f"{n:,.0f}"] for name, n in allowed])


def backlog() -> str:
    waited = read("cost")["backlogSeconds"].items()
    times = ", ".join(f"{int(events):,} events after {seconds} s" for events, seconds in waited)
    return f"It has taken {times}, if the destination keeps up.\n"


def breaker() -> str:
    record = read("breaker")
    rows = [
        [
            row["events"],
            row["failure"],
            " / ".join(f"{opened:g}" for opened in row["openedPerHour"]),
            f"{row['opensAfterSeconds']} s",
            str(row["failedEvents"]),
        ]
        for row in record["rows"]
    ]
    shares = " / ".join(f"{share:.0%}" for share in record["shares"])
    some = f"opened per hour if {shares} of the requests fail"
    head = ["events", "a failure is", some, "if all fail, it opens after", "so many failed events"]
    return table(head, rows, words=2)


def cost_short() -> str:
    record = read("cost")
    error, every = (sum(record["dollars"][level].values()) for level in ("ERROR", "ALL"))
    month = sum(record["fixed"].values())
    return (
        f"${error:.2f} per million events, or ${every:.2f} with each state of each execution in "
        f"the log (`LogLevel` `ALL`), plus a\nfixed ${month:.2f} per month. "
        "[How that is counted](docs/numbers.md#cost), and what an outage costs.\n"
    )


def speed() -> str:
    record = read("speed")
    own, action = record["enrichment"], record["dataAction"]
    sizes = ", ".join(f"{ms:.1f} ms at {size}" for size, ms in own["snapshotsMs"].items())
    return (
        f"- **The enrichment** takes {own['medianMs']:.2f} ms (median) and {own['p99Ms']:.2f} ms "
        f"(p99) of processor time for an event; a\n  snapshot {sizes}. Its import takes "
        f"{own['importRatio']:.1f} times\n  as long as that of pydantic with one model.\n"
        f"- **The data action** adds {action['addedMedianMs']:.1f} ms to a request to "
        f"Genesys Cloud, the mock's own work included. Its import\n  takes "
        f"{action['importRatio']:.1f} times as long as that of boto3.\n"
    )


def audit() -> str:
    record = read("audit")
    return (
        f"{record['events']:,} events ({record['megabytes']:,} MB) took "
        f"{record['processorSeconds']:.0f} s of processor time and {record['peakMegabytes']} MB "
        "of memory.\n"
    )


def simulated() -> str:
    record = read("simulator")
    walks, search, mutants = (record[name] for name in ("walks", "search", "mutants"))
    hours = read("outage")
    return (
        f"- **{walks['broken']} promises broken** in {walks['count']:,} walks of "
        f"{walks['moves']:,} moves, under {sum(walks['faults'].values()):,} faults.\n"
        f"- **{len(search['broken'])} broken** in {search['states']:,} states of "
        f"{search['cases']} small worlds, searched exhaustively up to a bound.\n"
        f"- Of {mutants['count']} definitions and functions that were broken on purpose, "
        f"{mutants['noticed']} are noticed; {mutants['equivalent']} are equivalent.\n"
        f"- {hours['events']:,} events at {hours['perSecond']} per second, with an outage of "
        f"{hours['outageHours']} h: **{hours['lost']} lost**, {hours['second_acts']}\n"
        f"  acted on twice. The last acted {hours['drained_minutes']} minutes after the outage.\n"
    )


REGIONS: Mapping[str, Callable[[], str]] = {
    "audit": audit,
    "backlog": backlog,
    "breaker": breaker,
    "comparison": comparison,
    "comparison-open": comparison_open,
    "comparison-streams": streams,
    "cost": cost,
    "cost-fixed": fixed,
    "cost-outages": outages,
    "cost-paths": paths,
    "cost-short": cost_short,
    "quotas": quotas,
    "simulated": simulated,
    "speed": speed,
}


def filled(document: str, name: str = "a document") -> str:
    def fill(match: re.Match[str]) -> str:
        begin, region, end = match.groups()
        if region not in REGIONS:
            raise SystemExit(f"{name} has numbers:{region}. There are {', '.join(REGIONS)}.")
        return f"{begin}{REGIONS[region]()}{end}"

    return BLOCK.sub(fill, document)


def outdated() -> dict[str, str]:
    """Returns the documents that differ from the records, each with its right text."""
    paths = [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]
    texts = {path: path.read_text("utf-8") for path in paths}
    right = {path: filled(text, path.name) for path, text in texts.items()}
    return {str(p.relative_to(ROOT)): right[p] for p in paths if right[p] != texts[p]}


def write() -> None:
    for name, text in outdated().items():
        (ROOT / name).write_text(text, "utf-8")


def main() -> int:
    if "--check" not in sys.argv:
        write()
        return 0
    names = outdated()
    for name in names:
        print(f"{name} differs from bench/results. Run: python -m bench.numbers", file=sys.stderr)
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
