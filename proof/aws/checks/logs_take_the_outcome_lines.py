"""PutLogEvents takes 10,000 events and 1,048,576 bytes, each event counted with 26 bytes more, in
the order of their times; an event was 256 KB at most until 2025, and is 1 MB now.

What is out of order fails the whole call, and with it the record of a batch. The lines of a batch
have one time, and say of each message only what is short.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed, Edit
from proof.aws.outcome_log import RECORDS, log_events

SOURCES = (
    page(
        "AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html",
        "The limits of a batch, and chronological order.",
    ),
)
_MOST_BYTES, _MOST_OF_ONE, _MOST_EVENTS, _EACH = 1_048_576, 256_000, 10_000, 26
# A key's parts at DynamoDB's limits, and all else that comes from an event.
_LONG = {"pk": "ä" * 1_024, "sk": "ä" * 512, "family": "f" * 400, "cause": "ä" * 300}


def findings(deployed: Deployed) -> Iterator[str]:
    records = [{**record, **_LONG} for record in RECORDS]
    events = log_events(deployed.states["RecordOutcomes"], records)
    sizes = [len(event["Message"].encode()) for event in events]
    if len(events) > _MOST_EVENTS or sum(sizes) + _EACH * len(events) > _MOST_BYTES:
        yield f"{len(events)} events of {sum(sizes):,} bytes"
    if max(sizes) > _MOST_OF_ONE:
        yield f"an event of {max(sizes):,} bytes"
    times = [event["Timestamp"] for event in events]
    if any(type(time) is not int for time in times):
        yield "a Timestamp is no whole number of milliseconds"
    elif times != sorted(times):
        yield "the events are not in the order of their times"


def _line(new: str) -> Edit:
    old = "function($line) { {'Timestamp': $now, 'Message': $string($line)} }"

    def edit(deployed: Deployed) -> None:
        arguments = deployed.states["RecordOutcomes"]["Arguments"]
        assert old in arguments["LogEvents"]
        arguments["LogEvents"] = arguments["LogEvents"].replace(old, new)

    return edit


BROKEN = {
    "the last first": _line(
        "function($line, $at) { {'Timestamp': $now - $at, 'Message': $string($line)} }"
    ),
    "times in ISO 8601": _line(
        "function($line) { {'Timestamp': $fromMillis($now), 'Message': $string($line)} }"
    ),
    "whole payloads": _line(
        "function($line) { {'Timestamp': $now, 'Message': $string($line) & $pad('', 100000)} }"
    ),
}
