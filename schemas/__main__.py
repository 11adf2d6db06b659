"""`python -m schemas` writes what follows from the models; `--check` tells what does not."""

import argparse
import sys
from pathlib import Path

from schemas import checks

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m schemas", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail on any difference"
    )
    options = parser.parse_args()
    if not options.check:
        checks.write(ROOT)
    findings = checks.find(ROOT)
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"schemas: {len(findings) or 'no'} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
