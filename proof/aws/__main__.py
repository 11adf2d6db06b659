"""Runs every check on this repository's template and definition.

Run: python -m proof.aws. Lists the checks; ends with 1 if one of them has a finding, or if
README.md lists others. --write puts the list into README.md.
"""

import argparse
import logging
import re
import sys
from pathlib import Path

from proof.aws import check
from proof.aws.deployed import ours

README = Path(__file__).with_name("README.md")
_LIST = re.compile(r"(<!-- checks -->\n).*(<!-- /checks -->)", re.DOTALL)


def readme(text: str) -> str:
    """The text with the list of checks as it is now."""
    listed = check.index(check.every())
    return _LIST.sub(lambda marks: f"{marks[1]}{listed}\n{marks[2]}", text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.aws", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the list into README.md")
    if parser.parse_args().write:
        README.write_text(readme(README.read_text("utf-8")), "utf-8")
    # It warns of metrics about itself that were not sent.
    logging.getLogger("samtranslator").setLevel(logging.ERROR)
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
    if readme(README.read_text("utf-8")) != README.read_text("utf-8"):
        print("README.md lists other checks. Run: python -m proof.aws --write")
        failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
