"""Pictures of the console for the documents, light and dark: python -m bench.screenshots

The example story as a stack would have recorded it: each event is judged by the claim rule, one
request was rejected, and three events wait for the destination. It needs Chromium (make browser).
"""

import sys
from typing import Any

from once_enrichment.handler import normalise

from once.lines import Captured, find_sources, read_records
from once.model.rule import Event, Rows
from once.project import EXAMPLE, ROOT
from once.stack.facade import read_clock_ms
from proof.console import browsing, chromium
from tests.console.stacks import TOKEN, PagesStack, id_of, served

_APART_MS = 3_700
_SIZE = {"width": 1280, "height": 720}
_ACTED = {"requests": 1, "status": 200, "durationMs": 95, "ageMs": 480}
_ENDS: dict[int, tuple[str, dict[str, Any]]] = {
    19: ("PARKED", {"reason": "REJECTED", "cause": "HTTP 400 bad.request", "requests": 1}),
    **{
        number: ("RETRY", {"reason": "CALL_FAILED", "cause": "HTTP 503", "tries": 1, "requests": 1})
        for number in (54, 56, 57)
    },
}
"""By line: what the claim rule does not know, since it is about requests."""


def _make_stack(story: list[Captured]) -> PagesStack:
    stack, rows = PagesStack(), Rows()
    stack.is_local = True
    elements = [normalise(captured.record) for captured in story]
    names: dict[str, str] = {}
    for number, element in enumerate(elements, 1):
        ago_ms = (len(elements) - number) * _APART_MS
        verdict = rows.settle(Event.of(element), element["occurredAtMs"])
        names[element["firstMessageId"]] = id_of(0x681E3548 + number * 0x1F3D5B)
        outcome, fields = verdict.outcome.value, {"reason": verdict.reason}
        if verdict.reason == "ACTED":
            outcome, fields = _ENDS.get(number, (outcome, fields | _ACTED))
        if "broken" in element:
            fields["cause"] = element["detail"]
        if verdict.because:
            fields["because"] = f"run#{names[verdict.because]}"
        stack.add(
            number,
            outcome,
            ago_ms,
            firstMessageId=names[element["firstMessageId"]],
            run=f"run#{names[element['firstMessageId']]}",
            pk=element["key"]["pk"],
            sk=element["key"]["sk"],
            family=element["family"],
            source=element["trace"].get("source", "").rpartition("/")[2],
            envelopeId=element["trace"].get("envelopeId"),
            occurredAtMs=read_clock_ms() - ago_ms - 900,
            **fields,
        )
    stack.sqs.put("dead-letters", "{}")
    stack.sqs.delayed = sum(outcome == "RETRY" for outcome, _ in _ENDS.values())
    return stack


def main() -> int:
    program = chromium()
    if program is None:
        print("There is no Chromium. Install one with: make browser")
        return 1
    stack = _make_stack(list(read_records(find_sources([EXAMPLE])[0])))
    with served(stack) as address, browsing(program) as browser:
        for scheme in ("light", "dark"):
            options: Any = {"color_scheme": scheme, "viewport": _SIZE}
            page = browser.new_page(**options)
            page.goto(f"{address}/?token={TOKEN}")
            page.wait_for_timeout(3_500)  # so that nothing is still shown as new
            path = ROOT / "docs" / f"console-{scheme}.png"
            page.screenshot(path=path)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")
            page.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
