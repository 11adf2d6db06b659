"""Run: python -m bench.compare. Plays every stream with every contestant, for some seeds, and
writes bench/results/compare.json.

It ends with 1 if genesys-once does in a stream what it promises not to do there.
"""

import sys
from collections import Counter, defaultdict
from typing import Any

from bench import sources
from bench.compare import judge, ours
from bench.compare.rivals import OURS, RIVALS
from bench.compare.streams import streams
from bench.compare.world import World

SEEDS = range(10)
# docs/promises.md says both: a request whose response is lost is repeated, and two states within
# 500 ms have no sure order.
ADMITTED = {
    "act's response lost": {judge.TWICE},
    "there and back": {judge.SKIPPED, judge.OLD},
}

Counts = dict[str, Counter[str]]  # by stream


def broken(ours: Counts) -> list[str]:
    """Lists the promises that genesys-once did not keep."""
    return [
        f"{stream}: {what}"
        for stream, counts in ours.items()
        for what in counts
        if what not in ADMITTED.get(stream, ())
    ]


def main() -> int:
    titles = {rival.letter: rival.title for rival in RIVALS} | dict([OURS])
    verdicts: dict[str, Counts] = {letter: defaultdict(Counter) for letter in titles}
    sent: dict[str, dict[str, Any]] = {}
    for seed in SEEDS:
        for stream in streams(seed):
            new = {"name": stream.name, "what": stream.what, "happenings": 0, "messages": 0}
            about = sent.setdefault(stream.name, new)
            about["happenings"] += len(stream.happenings)
            about["messages"] += len(stream.messages)
            for rival in RIVALS:
                result = World(rival, stream, seed).play()
                verdicts[rival.letter][stream.name] += judge.judge(stream, result)
            verdicts[OURS[0]][stream.name] += judge.judge(stream, ours.play(stream, seed))
        print(f"seed {seed} played", flush=True)
    contestants = []
    for letter, title in titles.items():
        counts = {name: dict(count) for name, count in verdicts[letter].items() if count}
        contestants.append({"letter": letter, "title": title, "streams": counts})
    record = {
        "seeds": [SEEDS[0], SEEDS[-1]],
        "contestants": contestants,
        "streams": list(sent.values()),
    }
    sources.write("compare", record)
    found = broken(verdicts[OURS[0]])
    for what in found:
        print(f"A promise of ours did not hold: {what}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
