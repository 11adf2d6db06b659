"""Pictures of the console for the documents, light and dark: python -m bench.screenshots

A stack of its own is sent the example stream, an event that its destination refuses, and some
while the destination is down. It needs Chromium (make browser).
"""

import sys
import time
from typing import Any

from playwright.sync_api import Browser

from once.console import sandbox
from once.operate import log
from once.project import EXAMPLE, ROOT
from proof.console import Served, browsing, chromium, served, stack_of
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from proof.story import CALL

_SIZE = {"width": 1280, "height": 720}
_WAITING = 3


def _tell(local: DeployedStack) -> None:
    """Lets the stack live through it."""
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
    always = {"match": {"family": "conversation.customer.start"}, "replies": ["reset"] * 200}
    local.destination.script.add(always)
    for _ in range(_WAITING):
        local.send(customer_start(eventTime=log.now_ms()))
    time.sleep(4)


def _taken(browser: Browser, console: Served) -> None:
    for scheme in ("light", "dark"):
        options: Any = {"color_scheme": scheme, "viewport": _SIZE}
        page = browser.new_page(**options)
        page.goto(console.url("/"))
        page.wait_for_timeout(3_000)  # so that nothing is still marked as fresh
        path = ROOT / "docs" / f"console-{scheme}.png"
        page.screenshot(path=path)
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")
        page.close()


def main() -> int:
    program = chromium()
    if program is None:
        print("There is no Chromium. Install one with: make browser")
        return 1
    with deployed() as local:
        _tell(local)
        with served(stack_of(local)) as console, browsing(program) as browser:
            _taken(browser, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
