"""Run: python -m bench (`make bench`). Measures what the documents say, but for what has a
target of its own, and writes it there.
"""

import importlib
import sys
import time
import traceback

from bench import numbers

BENCHES = ("enrichment", "data_action", "cost", "copies", "answers", "audit", "pictures")


def main() -> int:
    failed = []
    for name in BENCHES:
        print(f"\n== bench.{name}", flush=True)
        began = time.monotonic()
        if not _holds(name):
            failed.append(name)
        print(f"== bench.{name}: {time.monotonic() - began:.0f} s", flush=True)
    numbers.write()
    counted = [name for name in BENCHES if name not in failed]
    print(f"Measured, and within its bounds: {', '.join(counted) or 'nothing'}")
    if failed:
        print(
            f"Not measured, or a bound did not hold: {', '.join(failed)}.\n"
            "What could not be counted stays as it was recorded before.",
            file=sys.stderr,
        )
    return 1 if failed else 0


def _holds(name: str) -> bool:
    """On a busy machine one may fail to count; the others still measure."""
    try:
        return not importlib.import_module(f"bench.{name}").main()
    except Exception:
        traceback.print_exc()
        return False


if __name__ == "__main__":
    sys.exit(main())
