"""Run: python -m bench (`make bench`). Measures what the documents say, and writes it there."""

import importlib
import sys
import traceback

from bench import numbers

BENCHES = ("speed", "breaker", "cost", "audit", "compare.__main__")


def main() -> int:
    failed = []
    for name in BENCHES:
        print(f"\n== bench.{name}", flush=True)
        try:
            is_broken = importlib.import_module(f"bench.{name}").main()
        except Exception:  # the others still measure
            traceback.print_exc()
            is_broken = True
        if is_broken:
            failed.append(name)
    numbers.write()
    if failed:
        print(f"Not measured, or a bound did not hold: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
