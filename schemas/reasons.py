"""Writes the table of reasons into docs/runbook.md, from once/model/reasons.py."""

import re
from collections.abc import Iterator

from once.model.reasons import REASONS

_TABLE = re.compile(
    r"(?<=<!-- reasons: make schemas -->\n).*(?=<!-- end of reasons -->)", re.DOTALL
)


def page(runbook: str) -> str:
    """Returns the runbook with the table as the reasons have it."""
    table = "\n".join(_rows())
    return _TABLE.sub(lambda _: f"{table}\n", runbook)


def _rows() -> Iterator[str]:
    yield "| reason | outcome | meaning | acted on? | do |"
    yield "|---|---|---|---|---|"
    for reason in REASONS.values():
        remedy = f"[{reason.remedy}](#{reason.page})" if reason.page and reason.remedy else ""
        if reason.page and not reason.remedy:
            remedy = f"[if it lasts](#{reason.page})"
        cells = (
            f"`{reason.code}`",
            reason.outcome or "as before",
            reason.sentence or "the destination acted",
            reason.acted,
            remedy or "-",
        )
        yield f"| {' | '.join(cells)} |"
