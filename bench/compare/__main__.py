"""Run: python -m bench.compare. Plays every stream with every contestant, for some seeds, and
writes bench/results/compare.json.

It ends with 1 if genesys-once does in a stream what it promises not to do there.
"""

import sys
from collections import Counter

from bench import sources
from bench.compare import judge, ours
from bench.compare.rivals import OURS, RIVALS
from bench.compare.streams import Stream, streams
from bench.compare.world import World

SEEDS = range(10)
# docs/promises.md says both: a request whose response is lost is repeated, and two states within
# 500 ms have no sure order.
ADMITTED = {
    "act's response lost": {judge.TWICE},
    "there and back": {judge.SKIPPED, judge.OLD},
}

Counts = dict[str, Counter[str]]


def play(seed: int) -> dict[str, Counts]:
    """Returns the verdicts by contestant and stream."""
    made = streams(seed)
    verdicts: dict[str, Counts] = {
        rival.letter: {s.name: judge.judge(s, World(rival, s, seed).play()) for s in made}
        for rival in RIVALS
    }
    verdicts[OURS[0]] = {s.name: judge.judge(s, ours.play(s, seed)) for s in made}
    return verdicts


def broken(verdicts: Counts) -> list[str]:
    """Lists the promises that genesys-once did not keep."""
    return [
        f"{stream}: {what}"
        for stream, counts in verdicts.items()
        for what in counts
        if what not in ADMITTED.get(stream, ())
    ]


def main() -> int:
    runs = []
    for seed in SEEDS:
        runs.append(play(seed))
        print(f"seed {seed} played", flush=True)
    titles = {rival.letter: rival.title for rival in RIVALS} | dict([OURS])
    every = [stream for seed in SEEDS for stream in streams(seed)]
    contestants = []
    for letter, title in titles.items():
        counts = {
            name: sum((run[letter][name] for run in runs), Counter[str]())
            for name in runs[0][letter]
        }
        named = {name: dict(count) for name, count in counts.items() if count}
        contestants.append({"letter": letter, "title": title, "streams": named})
    sources.write(
        "compare",
        {
            "seeds": [SEEDS[0], SEEDS[-1]],
            "contestants": contestants,
            "streams": [_described(name, every) for name in runs[0][OURS[0]]],
        },
    )
    found = sorted({what for run in runs for what in broken(run[OURS[0]])})
    for what in found:
        print(f"A promise of ours did not hold: {what}", file=sys.stderr)
    return 1 if found else 0


def _described(name: str, every: list[Stream]) -> dict[str, str | int]:
    own = [stream for stream in every if stream.name == name]
    return {
        "name": name,
        "what": own[0].what,
        "happenings": sum(len(stream.happenings) for stream in own),
        "messages": sum(len(stream.messages) for stream in own),
    }


if __name__ == "__main__":
    sys.exit(main())
