"""Sends the example stream to the embedded stack, an event a second, as if it happened now.

`make console` runs it beside the console: python -m once.console.slowly
"""

import time

from once.console import sandbox
from once.operate import log
from once.operate.stack import EMBEDDED, Stack
from once.project import EXAMPLE

_EVERY_SECONDS = 1.0


def main() -> None:
    stack = Stack.find(EMBEDDED, None, None)
    lines = EXAMPLE.read_text("utf-8").splitlines()
    now_ms = log.now_ms()
    times = [sandbox.normalised(line, now_ms).get("occurredAtMs", 0) for line in lines]
    for line in lines:
        # All by as much, so that order and distances stay as they are.
        sandbox.send(stack, sandbox.shifted(line, now_ms - max(times)))
        time.sleep(_EVERY_SECONDS)


if __name__ == "__main__":
    main()
