"""Run: python -m bench.numbers [--check]. With --check it writes nothing, and fails if a document
differs from the records.
"""

import argparse
import sys

from bench.numbers import ROOT, outdated, write


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true")
    if not arguments.parse_args().check:
        write()
        return 0
    found = outdated()
    for path in found:
        print(f"{path.relative_to(ROOT)} differs from bench/results.", file=sys.stderr)
    if found:
        print("Write it: python -m bench.numbers", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
