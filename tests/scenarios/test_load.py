"""Many copies at once, delivered side by side: exactly one act for each event."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.scenarios.embedded_machine import EmbeddedMachine
from tests.scenarios.scenario import Message

EVENTS, COPIES, SUBJECTS, BATCH = 200, 32, 100, 10
HOLDER_WAIT_SECONDS = 2


class CountingAction:
    """A destination slow enough for copies to come while it acts."""

    def __init__(self) -> None:
        self.acts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def act(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(0.3)
        with self._lock:
            self.acts[payload["idempotencyKey"]] += 1
        return {"version": "1", "result": "ACTED"}


@pytest.mark.embedded
def test_32_copies_of_each_of_200_events_at_once_act_once(
    embedded_machine: EmbeddedMachine,
) -> None:
    action = CountingAction()
    zero_ms = int(time.time()) * 1_000
    seen: Counter[str] = Counter()

    def deliver(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One execution; answers what it handed back."""
        started = time.monotonic()
        ended = embedded_machine.execute(f"load-{time.time_ns()}-{threading.get_ident()}", batch)
        assert ended["status"] == "SUCCEEDED", ended
        seen["waited for a holder"] += time.monotonic() - started > HOLDER_WAIT_SECONDS
        back = {failure["itemIdentifier"] for failure in ended["output"]["batchItemFailures"]}
        return [element for element in batch if element["messageId"] in back]

    def deliver_a_copy_of_every_event(number: int) -> None:
        for start in range(0, EVENTS, BATCH):
            batch = [
                Message(message=f"m{n}-{number}", key=f"e{n}", subject=f"c{n % SUBJECTS}")
                for n in range(start, start + BATCH)
            ]
            left = [message.element("load", zero_ms) for message in batch]
            while left:
                left = deliver(left)

    with embedded_machine.playing(action), ThreadPoolExecutor(COPIES) as deliverers:
        list(deliverers.map(deliver_a_copy_of_every_event, range(COPIES)))

    rows = embedded_machine.rows()
    assert len(action.acts) == EVENTS
    assert set(action.acts.values()) == {1}
    assert len(rows) == EVENTS
    assert {row["status"]["S"] for row in rows} == {"DONE"}
    assert seen["waited for a holder"] > 0, "no copy met another at work: this proves nothing"
