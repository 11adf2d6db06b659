"""Run: python -m bench (`make bench`). Measures what the documents say, but for the simulator's
campaign (`make simulate`), and writes it there."""

import importlib
import sys

from bench import numbers

BENCHES = ("enrichment", "data_action", "cost", "compare.__main__", "audit")


def main() -> int:
    failed = [name for name in BENCHES if importlib.import_module(f"bench.{name}").main()]
    numbers.main()
    for name in failed:
        print(f"bench.{name} was not recorded: a bound did not hold", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
