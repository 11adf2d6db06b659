"""Pictures of the console for the documents, light and dark: python -m bench.screenshots

A stack of its own is sent the example stream, an event that its destination refuses, and some
while the destination is down. It needs Chromium (make browser).
"""

import sys
import time
from typing import Any

from playwright.sync_api import Browser, Page

from once.console import sandbox
from once.operate import explain, log
from once.outcomes import Outcome
from once.project import EXAMPLE, ROOT
from proof.console import Served, browsing, chromium, served, stack_of
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from proof.story import CALL

_SIZE = {"width": 1280, "height": 720}
_WAITING = 3


def _tell(local: DeployedStack) -> str:
    """Lets the stack live through it; answers a message of the event to look at."""
    lines = EXAMPLE.read_text("utf-8").splitlines()
    now_ms = log.now_ms()
    times = [sandbox.normalised(line, now_ms).get("occurredAtMs", 0) for line in lines]
    call = {"match": {"conversationId": CALL, "family": "conversation.acd.end"}}
    local.destination.script.add({**call, "replies": ["reset"]})
    for line in lines:
        local.settle(sandbox.shifted(line, now_ms - max(times)))
    local.destination.script.add(
        {"match": {"conversationId": "refused"}, "replies": [{"status": 400}]}
    )
    local.settle(customer_start("refused", eventTime=log.now_ms()))
    message_id = _tried_twice(local)
    always = {"match": {"family": "conversation.customer.start"}, "replies": ["reset"] * 200}
    local.destination.script.add(always)
    for _ in range(_WAITING):
        local.send(customer_start(eventTime=log.now_ms()))
    time.sleep(4)
    return message_id


def _tried_twice(local: DeployedStack) -> str:
    """The event of which the first call was hung up on."""
    for subject in explain.read_explanation(stack_of(local), CALL, 1).subjects:
        for event in subject.events:
            own = [one for one in event.messages if one.outcome is Outcome.PROCESSED]
            if own and own[0].deliveries[-1].requests > 1:
                return own[0].message_id
    raise SystemExit("No event of the story was called twice: look at its destination.")


def _taken(browser: Browser, console: Served, paths: dict[str, str]) -> None:
    for scheme in ("light", "dark"):
        options: Any = {"color_scheme": scheme, "viewport": _SIZE}
        page = browser.new_page(**options)
        page.goto(console.url("/"))
        for name, path in paths.items():
            _shot(page, console.address + path, f"{name}-{scheme}", whole=path != "/")
        page.close()


def _shot(page: Page, address: str, name: str, whole: bool) -> None:
    page.goto(address)
    page.wait_for_timeout(3_000)  # so that nothing is still marked as fresh
    path = ROOT / "docs" / f"{name}.png"
    page.screenshot(path=path, full_page=whole)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


def main() -> int:
    program = chromium()
    if program is None:
        print("There is no Chromium. Install one with: make browser")
        return 1
    with deployed() as local:
        message_id = _tell(local)
        with served(stack_of(local)) as console, browsing(program) as browser:
            paths = {"console": "/", "console-event": f"/event?of={message_id}"}
            _taken(browser, console, paths)
    return 0


if __name__ == "__main__":
    sys.exit(main())
