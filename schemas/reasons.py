"""The table of reasons as a page, docs/reasons.md."""

from once.outcomes import MEANING, Outcome
from once.reasons import REASONS, Acted, Reason
from schemas.families import row_of

_HEAD = (
    "| reason | means | was it acted on? | a try | what to do | alarms |\n|---|---|---|---|---|---|"
)
_SHARED = "The outcome of another message or delivery"
_PAGE = """\
<!-- Written by `make schemas` from once/reasons.py. -->
# Reasons

Each outcome has a reason: in the outcome log, in `once explain`, `once status` and
`once parked list`, in the console and on the dashboard.

- **was it acted on?**: by the destination, in the delivery that ended so. *perhaps*: a request was
  sent, or perhaps sent, and its effect is unknown; the next one carries the same Idempotency-Key.
  If an event is `EXPIRED`, an earlier delivery may have sent one. *rejected*: the response says
  that nothing was done.
- **a try**: the delivery counts towards `MaxTries`, if requests for others succeeded meanwhile.
- **what to do**: empty if it passes by itself.
- **alarms**: those that count this reason. Others count requests or waiting, so they fire with
  several reasons.
"""


def page() -> str:
    """docs/reasons.md"""
    sections = [_PAGE]
    for outcome in (*Outcome, None):
        title = f"{outcome}: {MEANING[outcome]}" if outcome else _SHARED
        rows = [_row(code, one) for code, one in REASONS.items() if one.outcome is outcome]
        sections.append(f"## {title}\n\n{_HEAD}\n" + "\n".join(rows) + "\n")
    return "\n".join(sections)


def _row(code: str, reason: Reason) -> str:
    remedy = reason.remedy
    if reason.runbook:
        remedy = f"[{remedy or 'see the runbook'}](runbook.md#{reason.runbook})"
    return row_of(
        f"`{code}`",
        reason.sentence or "acted on",
        "" if reason.acted is Acted.NO else reason.acted,
        "yes" if reason.is_try else "",
        remedy,
        ", ".join(f"[{alarm}](runbook.md#{alarm})" for alarm in reason.alarms),
    )
