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

EVENTS, COPIES, BATCH, SUBJECTS = 200, 32, 10, 100


class CountingAction:
    """A destination that is slow enough for copies to arrive while it acts."""

    def __init__(self) -> None:
        self.acts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def act(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        time.sleep(0.3)
        with self._lock:
            self.acts[payload["idempotencyKey"]] += 1
        return {"version": "1", "result": "ACTED"}


@pytest.mark.embedded
def test_thirty_two_copies_of_each_event_at_once_act_once(embedded: EmbeddedMachine) -> None:
    action = CountingAction()
    zero_ms = int(time.time()) * 1_000
    started = time.monotonic()

    def deliver_copies(number: int) -> Counter[str]:
        """One of the parallel deliverers: a copy of every event, in the order of the others."""
        verdicts: Counter[str] = Counter()
        for start in range(0, EVENTS, BATCH):
            batch = [
                Message(
                    message=f"m{event}-{number}", key=f"e{event}", subject=f"c{event % SUBJECTS}"
                ).element("load", zero_ms)
                for event in range(start, start + BATCH)
            ]
            while batch:
                ended = embedded.execute(f"load-{number}-{start}-{len(batch)}-{time.time_ns()}", batch)
                assert ended["status"] == "SUCCEEDED", ended
                failures = ended["output"]["batchItemFailures"]
                back = {failure["itemIdentifier"] for failure in failures}
                verdicts["settled"] += len(batch) - len(back)
                verdicts["handed back"] += len(back)
                batch = [element for element in batch if element["messageId"] in back]
        return verdicts

    with embedded.playing(action), ThreadPoolExecutor(COPIES) as deliverers:
        verdicts = sum(deliverers.map(deliver_copies, range(COPIES)), Counter[str]())
    print(verdicts, time.monotonic() - started)
    rows = embedded.rows("load")
    assert verdicts["settled"] == EVENTS * COPIES
    assert len(action.acts) == EVENTS
    assert set(action.acts.values()) == {1}
    assert {row["status"]["S"] for row in rows} == {"DONE"}
    assert len(rows) == EVENTS
