"""Many copies at once, delivered side by side: exactly one act for each event."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from proof.scenarios.emulator_machine import EmulatorMachine
from proof.scenarios.scenario import Message

EVENTS, COPIES, SUBJECTS, BATCH = 200, 32, 100, 10
IN_A_BATCH = 2  # so many copies of an event, of which the enrichment keeps one
DELIVERERS = COPIES // IN_A_BATCH


class CountingAction:
    """A destination slow enough for copies to come while it acts."""

    def __init__(self) -> None:
        self.acts: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.in_work: Counter[str] = Counter()  # executions that have a copy of the event
        self.lock = threading.Lock()

    def invoke(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(0.3)
        key = payload["idempotencyKey"]
        with self.lock:
            self.acts[key] += 1
            self.met[key] = self.in_work[key] - 1
        return {"version": "2", "result": "ACTED", "requests": 1, "status": 200, "durationMs": 300}


def copies(first: int, deliverer: int) -> list[Message]:
    """A batch with two copies each of some events, collapsed as the enrichment does."""
    batch = []
    for number in range(first, first + BATCH // IN_A_BATCH):
        kept, subject = f"m{number}-{deliverer}", f"c{number % SUBJECTS}"
        batch.append(Message(message=kept, key=f"e{number}", subject=subject))
        batch.append(Message(message=f"{kept}-copy", copy_of=kept, subject=subject))
    return batch


@pytest.mark.local
def test_32_copies_of_each_of_200_events_at_once_act_once(
    emulator_machine: EmulatorMachine,
) -> None:
    action = CountingAction()
    zero_ms = int(time.time()) * 1_000

    def deliver(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One execution; answers what it handed back."""
        keys = [element["idempotencyKey"] for element in batch if element["kind"] == "event"]
        with action.lock:
            action.in_work.update(keys)
        ended = emulator_machine.execute(f"load-{time.time_ns()}-{threading.get_ident()}", batch)
        with action.lock:
            action.in_work.subtract(keys)
        assert ended["status"] == "SUCCEEDED", ended
        back = {failure["itemIdentifier"] for failure in ended["output"]["batchItemFailures"]}
        return [element for element in batch if element["messageId"] in back]

    def deliver_copies_of_every_event(deliverer: int) -> None:
        for first in range(0, EVENTS, BATCH // IN_A_BATCH):
            left = [message.element("load", zero_ms) for message in copies(first, deliverer)]
            while left:
                left = deliver(left)

    with emulator_machine.playing(action), ThreadPoolExecutor(DELIVERERS) as deliverers:
        list(deliverers.map(deliver_copies_of_every_event, range(DELIVERERS)))

    rows = emulator_machine.rows()
    assert len(action.acts) == EVENTS
    assert set(action.acts.values()) == {1}
    assert len(rows) == EVENTS
    assert {row["status"]["S"] for row in rows} == {"DONE"}
    met = sum(others > 0 for others in action.met.values())
    assert met > EVENTS / 2, "hardly a copy met another at work: this proves nothing"
