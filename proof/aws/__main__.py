"""Runs every check on this repository's template and definition.

Run: python -m proof.aws. Lists the checks; ends with 1 if one of them has a finding.
"""

import sys

from proof.aws import check
from proof.aws.deployed import ours


def main() -> int:
    deployments, failed = ours(), False
    for one in check.every():
        found = [
            f"{name}: {finding}"
            for name, deployed in deployments.items()
            for finding in one.findings(deployed)
        ]
        print(f"{'refused' if found else 'ok':8}{one.name}: {one.rule}")
        if found:
            failed = True
            print(*(f"        {finding}" for finding in found), sep="\n")
            print(*(f"        {source.address}" for source in one.sources), sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
