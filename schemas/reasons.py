"""Writes the tables of reasons and of errors into the documents.

docs/runbook.md has all reasons, from once/model/reasons.py; docs/data-action.md the errors of a
request, from the classes of the data action.
"""

import inspect
import re
from collections.abc import Iterable, Iterator

from once_data_action.errors import ActionError, GaveUp

from once.model.reasons import REASONS


def runbook(page: str) -> str:
    """Returns the runbook with the table as the reasons have it."""
    return _with_table(page, "reasons", _reason_rows())


def data_action(page: str) -> str:
    """Returns the page of the data action with the table as the errors have it."""
    return _with_table(page, "errors", _error_rows())


def _with_table(page: str, name: str, rows: Iterable[str]) -> str:
    begin, end = f"<!-- {name}: make schemas -->\n", f"<!-- end of {name} -->"
    table = "".join(f"{row}\n" for row in rows)
    return re.sub(f"(?<={begin}).*(?={end})", lambda _: table, page, flags=re.DOTALL)


def _error_rows() -> Iterator[str]:
    yield "| error | outcome, reason | meaning |"
    yield "|---|---|---|"
    kinds: list[type[ActionError]] = [*ActionError.__subclasses__(), GaveUp]
    for kind in kinds:
        outcome = REASONS[kind.reason].outcome
        meaning = " ".join((inspect.getdoc(kind) or "").split())
        yield f"| `{kind.__name__}` | `{outcome}`, `{kind.reason}` | {meaning} |"


def _reason_rows() -> Iterator[str]:
    yield "| reason | outcome | meaning | may it have acted? | do |"
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
