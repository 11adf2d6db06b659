"""Compares the ways to act once on each event, from bench/results/compare.json."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench import charts, recorded
from bench.compare.verdict import Verdict
from bench.numbers.tables import table

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
    "j": "**genesys-once**",
}


def most(verdicts: Sequence[Verdict], name: str) -> int:
    return max(int(getattr(verdict, name)) for verdict in verdicts)


def ranged(verdicts: Sequence[Verdict], name: str) -> str:
    """Shows a count, or its range if the runs differ."""
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
        """Adds up the verdicts on one contestant, run by run."""
        return [
            sum((Verdict(**run[at][name]) for name in streams), Verdict())
            for run in self.result["runs"]
        ]

    def store_requests(self, contestant: Mapping[str, Any]) -> float:
        """Counts the requests to the store per message."""
        requests: float = sum(contestant["storeCalls"].values())
        return requests / float(self.result["messages"])

    def table(self) -> str:
        totals = [self.totals(at, self.kept) for at, _ in enumerate(self.titles())]
        best = {name: min(most(verdicts, name) for verdicts in totals) for name in FAULTS}
        rows = []
        for title, contestant, verdicts in zip(
            self.titles(), self.result["contestants"], totals, strict=True
        ):
            cells = [
                f"**{cell}**" if most(verdicts, name) == best[name] else cell
                for name in FAULTS
                for cell in [ranged(verdicts, name)]
            ]
            is_ours = title == self.titles()[-1]
            requests = f"{self.store_requests(contestant):.1f}"
            rows.append([f"**{title}**" if is_ours else title, *cells, requests])
        return table(["", *FAULTS.values(), "requests to the store per event"], rows)

    def ours_in_the_open(self) -> str:
        """Counts what goes wrong with this project in the streams where it may lose."""
        ours = self.totals(-1, self.open)
        overtaken = most(self.totals(-1, self.kept), "stale_overwrites")
        order = (
            f"In the other streams up to {overtaken} older states arrived after newer ones: of two "
            "that are under way at the same time, [either may arrive first]"
            "(promises.md#not-promised), which happens more often on a busy machine.\n"
        )
        return (
            f"In these two streams genesys-once acts twice {ranged(ours, 'acted_twice')} times "
            f"({ranged(ours, 'acted_twice_told_apart')} if the destination stores the "
            f"Idempotency-Key). It skips {ranged(ours, 'wrongly_skipped')} events by mistake, and "
            f"sends {ranged(ours, 'stale_overwrites')} older states after newer ones "
            f"({ranged(ours, 'stale_overwrites_compared')} do harm if the destination compares "
            "`occurredAtMs`).\n" + (order if overtaken else "")
        )

    def short(self) -> str:
        """Shows one approach of each kind."""
        letters = [c["letter"] for c in self.result["contestants"]]
        events = sum(s["happenings"] for s in self.result["streams"] if s["name"] in self.kept)
        rows = []
        for letter, title in SHORT.items():
            verdicts = self.totals(letters.index(letter), self.kept)
            cells = [ranged(verdicts, name) for name in FAULTS]
            rows.append([title, *(cell if cell != "0" else "**0**" for cell in cells)])
        title = f"{events:,} of {self.result['happenings']:,} events"
        return table([title, *FAULTS.values()], rows)

    def streams(self) -> str:
        """Lists what is sent, and with which letters something goes wrong."""
        rows = []
        for stream in self.result["streams"]:
            wrong = [
                contestant["letter"]
                for at, contestant in enumerate(self.result["contestants"])
                if any(most(self.totals(at, [stream["name"]]), name) for name in FAULTS)
            ]
            counts = f"{stream['happenings']} in {stream['messages']}"
            rows.append([stream["name"], stream["what"], counts, " ".join(wrong)])
        head = ["stream", "what is sent", "events in messages", "goes wrong with"]
        listed = table(head, rows).replace("|---|--:|--:|--:|", "|---|---|--:|---|")
        return f"{self.facts()}{listed}"

    def facts(self) -> str:
        r = self.result
        return (
            f"{r['happenings']} events in {r['messages']} messages, seed {r['seed']}, "
            f"{r['storeMs']} ms per request to a store, {r['actionMs']} ms at the destination, "
            f"{r['redis']}, {len(r['runs'])} runs:\n\n"
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
            f"What went wrong with {self.result['happenings']} events, mean of the runs",
            {
                f"{len(self.kept)} streams of copies, crashes, failures": series(self.kept),
                f"known limits: {', '.join(self.open)}": series(self.open),
            },
            dict(
                zip(
                    FAULTS.values(),
                    (charts.RED, charts.ORANGE, charts.PURPLE, charts.GREY),
                    strict=True,
                )
            ),
        )
