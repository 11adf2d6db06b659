"""The ways to act once on each event, beside each other: from bench/results/compare.json."""

from collections.abc import Iterator, Mapping, Sequence
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
