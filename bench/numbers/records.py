"""Lists the records: how each is made, when it was made, and from what."""

from bench import recorded
from bench.numbers.tables import table
from bench.sources import SOURCES, combined

# The others are made by `make bench`.
TARGETS = {"explorer": "make explore", "jsonata": "make differential"} | {
    name: f"make {name}" for name in ("chaos", "compare", "waiting")
}


def made() -> str:
    rows = []
    for name in SOURCES:
        record = recorded.read(name)
        command = TARGETS.get(name, f"python -m bench.{name}")
        rows.append([name, f"`{command}`", record["date"], f"`{combined(record['madeFrom'])}`"])
    return table(["record", "made by", "date", "hash of its sources"], rows).replace("--:", "---")
