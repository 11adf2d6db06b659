"""Writes the measured numbers into the documents: what stands between `<!-- numbers:NAME -->` and
`<!-- /numbers:NAME -->`, and the charts, comes from bench/results and from nowhere else.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from bench import pictures
from bench.numbers import costs, scale, speed, troubles
from bench.numbers.comparison import Comparison
from bench.numbers.costs import Costs
from bench.numbers.scale import Capacity

ROOT = Path(__file__).parents[2]
CHARTS = ROOT / "docs" / "charts"
DOCUMENTS = ("README.md", "docs/*.md")
BLOCK = re.compile(r"(<!-- numbers:([a-z-]+) -->\n).*?(<!-- /numbers:\2 -->)", re.DOTALL)


def blocks() -> dict[str, Callable[[], str]]:
    """By name; computed only where a document has it."""
    compared, dollars, quotas = Comparison(), Costs(), Capacity()
    return {
        "pair": pictures.pair,
        "comparison-short": compared.short,
        "comparison": lambda: compared.table(compared.kept),
        "comparison-open": lambda: compared.table(compared.open),
        "comparison-streams": compared.streams,
        "comparison-matrix": compared.matrix,
        "comparison-facts": compared.facts,
        "cost": dollars.line,
        "cost-goals": dollars.goals,
        "cost-why": dollars.why,
        "cost-items": dollars.items,
        "cost-batches": dollars.batches,
        "cost-rivals": dollars.rivals,
        "machine-log": costs.machine_log,
        "speed": speed.speed,
        "speed-parts": speed.parts,
        "copies": speed.copies,
        "overload": troubles.overload,
        "waiting": troubles.waiting,
        "order": troubles.order,
        "hanging": troubles.hanging,
        "to-the-call": troubles.to_the_call,
        "rounds": troubles.rounds,
        "chaos": troubles.chaos,
        "explorer": troubles.explorer,
        "jsonata": troubles.jsonata,
        "scale": scale.scale_line,
        "audit": speed.audit_line,
        "answers": speed.answers_line,
        "capacity": quotas.line,
        "capacity-rates": quotas.table,
        "capacity-rows": quotas.hot,
    }


def drawings() -> dict[str, str]:
    return {
        "explained.svg": pictures.shown(),
        "comparison.svg": Comparison().chart(),
        "cost.svg": Costs().chart(),
        "scale.svg": scale.scale_chart(),
        "capacity.svg": Capacity().chart(),
        **{f"waiting-{name}.svg": troubles.waiting_chart(name) for name in troubles.WAITING},
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
    """Every file that holds numbers, as it should be."""
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
