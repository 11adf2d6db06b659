"""Writes the measured numbers into the documents: the text between `<!-- numbers:NAME -->` and
`<!-- /numbers:NAME -->`, and the charts. They come from bench/results only.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import pictures
from bench.numbers import records, speed, troubles
from bench.numbers.comparison import Comparison

ROOT = Path(__file__).parents[2]
CHARTS = ROOT / "docs" / "charts"
DOCUMENTS = ("README.md", "docs/*.md", "proof/README.md")
BLOCK = re.compile(r"(<!-- numbers:([a-z-]+) -->\n).*?(<!-- /numbers:\2 -->)", re.DOTALL)


def blocks() -> dict[str, Callable[[], str]]:
    """Lists the blocks by name; each is computed only if a document has it."""
    compared = Comparison()
    return {
        "records": records.made,
        "comparison-short": compared.short,
        "comparison": compared.table,
        "comparison-open": compared.ours_in_the_open,
        "comparison-streams": compared.streams,
        "speed": lambda: "".join(
            part() for part in (speed.speed, troubles.to_the_request, speed.copies, speed.answers)
        ),
        "waiting": lambda: f"{troubles.order()}\n{troubles.waiting()}",
        "hanging": troubles.hanging,
        "chaos": troubles.chaos,
        "explorer": lambda: f"{troubles.explorer()}\n{troubles.jsonata()}",
        "audit": speed.audit,
    }


def drawings() -> dict[str, str]:
    return {
        "explained.svg": pictures.shown(),
        "comparison.svg": Comparison().chart(),
    }


def documents() -> list[Path]:
    return sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern))


def filled(document: str, known: Mapping[str, Callable[[], str]], name: str) -> str:
    def fill(match: re.Match[str]) -> str:
        begin, block, end = match.groups()
        if block not in known:
            raise SystemExit(f"{name} has numbers:{block}. There are {', '.join(sorted(known))}.")
        return f"{begin}{known[block]()}{end}"

    return BLOCK.sub(fill, document)


def wanted() -> dict[Path, str]:
    """Returns each file that holds numbers, with its right text."""
    known = blocks()
    files = {path: filled(path.read_text(), known, path.name) for path in documents()}
    return files | {CHARTS / name: drawing for name, drawing in drawings().items()}


def write() -> None:
    CHARTS.mkdir(exist_ok=True)
    for path, text in wanted().items():
        path.write_text(text)


def outdated() -> list[Path]:
    return [
        path for path, text in wanted().items() if not path.is_file() or path.read_text() != text
    ]
