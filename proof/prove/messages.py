"""The messages of a throwaway stack: sent, and followed by what is recorded of them."""

import time
from collections.abc import Sequence

from once.operate import check
from once.records import OutcomeLog, OutcomeRecord, Records, settled
from proof.prove.site import Site
from proof.prove.throwaway import Deployed

_PATIENCE_SECONDS = 120
# How much later than its time a message may be delivered, and its record be written.
LATE_MS = 8_000
POLL_SECONDS = 1.0


def send(stack: Deployed, body: str) -> str:
    answer = stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventQueueUrl"], MessageBody=body
    )
    return str(answer["MessageId"])


def records_since(stack: Deployed, since_ms: int) -> Records:
    """All that are recorded since then, by message, oldest first."""
    outcomes = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"], since_ms)
    records: dict[str, list[OutcomeRecord]] = {}
    for record in sorted(outcomes.new(), key=lambda one: one.recorded_at_ms):
        records.setdefault(record.message_id, []).append(record)
    return records


def patience_seconds(stack: Deployed) -> float:
    """Returns how long to wait: a message without a time of its own returns after the queue's."""
    return check.read_visibility_seconds(stack) + _PATIENCE_SECONDS


def settle(stack: Deployed, site: Site, since_ms: int, ids: Sequence[str]) -> Records:
    """Returns the records when all these messages are settled, or the time is up."""
    until = time.monotonic() + patience_seconds(stack)
    while True:
        records = records_since(stack, since_ms)
        left = sum(settled(message_id, records) is None for message_id in ids)
        if not left or time.monotonic() > until:
            return records
        site.step(f"waiting until all are settled, {left} of {len(ids)} are not")
        time.sleep(POLL_SECONDS)


def end_of(
    stack: Deployed, since_ms: int, seconds: float | None = None, **ids: str
) -> OutcomeRecord | None:
    """Returns the last record of the message with this id, if one was written in time."""
    until = time.monotonic() + (patience_seconds(stack) if seconds is None else seconds)
    outcomes = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"], since_ms)
    while time.monotonic() < until:
        for record in outcomes.new():
            ours = all(getattr(record, name) == value for name, value in ids.items())
            if ours and settled(record.message_id, {record.message_id: [record]}):
                return record
        time.sleep(POLL_SECONDS / 4)
    return None


def silence_seconds(site: Site) -> float:
    """Returns the time after which a message that was not handled never will be."""
    return 4 if site.place.is_local else 20


class PipeStopped:
    """While the block lasts, if that is wanted."""

    def __init__(self, stack: Deployed, site: Site, wanted: bool = True) -> None:
        self._pipes = stack.client("pipes")
        self._name = stack.outputs["PipeName"]
        self._site = site
        self._wanted = wanted

    def __enter__(self) -> None:
        if self._wanted:
            self._pipes.stop_pipe(Name=self._name)
            self._until("STOPPED")

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            self._pipes.start_pipe(Name=self._name)
            self._until("RUNNING")

    def _until(self, state: str) -> None:
        self._site.step(f"waiting until the pipe is {state}")
        while self._pipes.describe_pipe(Name=self._name)["CurrentState"] != state:
            time.sleep(POLL_SECONDS)
        time.sleep(2 * POLL_SECONDS)  # its pollers end later than it says so
