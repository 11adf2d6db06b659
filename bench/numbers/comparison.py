"""The ways to act once on each event, beside each other: from bench/results/compare.json."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench import charts, recorded
from bench.compare.verdict import Verdict
from bench.numbers.tables import table

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


def most(verdicts: Sequence[Verdict], name: str) -> int:
    return max(getattr(verdict, name) for verdict in verdicts)


def ranged(verdicts: Sequence[Verdict], name: str) -> str:
    """A count, or from where to where it went in several runs."""
    counts = [getattr(verdict, name) for verdict in verdicts]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


class Comparison:
    def __init__(self) -> None:
        self.result = recorded.read("compare")
        self.open = [s["name"] for s in self.result["streams"] if s["saidOpenly"]]
        self.kept = [s["name"] for s in self.result["streams"] if not s["saidOpenly"]]

    def titles(self) -> list[str]:
        return [f"({c['letter']}) {c['title']}" for c in self.result["contestants"]]

    def totals(self, at: int, streams: Sequence[str]) -> list[Verdict]:
        """Of one contestant, run by run."""
        return [
            sum((Verdict(**run[at][name]) for name in streams), Verdict())
            for run in self.result["runs"]
        ]

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
        rows = []
        totals = [self.totals(at, streams) for at, _ in enumerate(self.titles())]
        best = {name: min(most(verdicts, name) for verdicts in totals) for name in names}
        for title, contestant, verdicts in zip(
            self.titles(), self.result["contestants"], totals, strict=True
        ):
            cells = [
                f"**{cell}**" if most(verdicts, name) == best[name] else cell
                for name in names
                for cell in [ranged(verdicts, name)]
            ]
            ours = title == self.titles()[-1]
            calls = f"{self.calls(contestant):.1f}"
            rows.append([f"**{title}**" if ours else title, *cells, calls])
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
        letters = [c["letter"] for c in self.result["contestants"]]
        events = sum(s["happenings"] for s in self.result["streams"] if s["name"] in self.kept)
        rows = []
        for letter, title in SHORT.items():
            verdicts = self.totals(letters.index(letter), self.kept)
            cells = [ranged(verdicts, name) for name in FAULTS]
            rows.append([title, *(cell if cell != "0" else "**0**" for cell in cells)])
        return table([f"of {events:,} events", *FAULTS_IN_WORDS], rows)

    def matrix(self) -> str:
        names = {**FAULTS, "acted_twice": "twice", "wrongly_skipped": "skipped"}
        names["stale_overwrites"] = "stale"

        def cell(verdicts: Sequence[Verdict]) -> str:
            found = [n for n in FAULTS if most(verdicts, n)]
            return ", ".join(f"{ranged(verdicts, n)} {names[n]}" for n in found) or "·"

        head = ["", *(c["letter"] for c in self.result["contestants"])]
        rows = [
            [
                f"{stream['name']} ({stream['happenings']})",
                *(cell(self.totals(at, [stream["name"]])) for at, _ in enumerate(self.titles())),
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
            f"{r['redis']}; {len(r['runs'])} runs.\n"
        )

    def chart(self) -> str:
        def series(streams: Sequence[str]) -> dict[str, dict[str, float]]:
            return {
                title.replace("`", ""): {
                    words: statistics.fmean(getattr(one, name) for one in self.totals(at, streams))
                    for name, words in FAULTS.items()
                }
                for at, title in enumerate(self.titles())
            }

        return charts.bars(
            f"Of {self.result['happenings']} events: what went wrong, in the mean of the runs",
            {
                f"{len(self.kept)} streams of copies, crashes, failures": series(self.kept),
                f"this project may lose here: {', '.join(self.open)}": series(self.open),
            },
            dict(
                zip(
                    FAULTS.values(),
                    (charts.RED, charts.ORANGE, charts.PURPLE, charts.GREY),
                    strict=True,
                )
            ),
        )
