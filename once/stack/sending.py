"""Sends lines into a stack: to its queue in the form the rule delivers, or through its bus."""

import json
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from os.path import commonprefix
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from once.errors import OnceError
from once.lines import Line, parse, read_element
from once.model.report import Via

Client = Callable[[str], Any]
"""Gives the client of a service by its name."""

_BATCH = 10
_BATCH_BYTES = 900_000


class Sent(NamedTuple):
    """A line on its way: under the id of its message, or of the envelope that a bus gave it."""

    line: Line
    id: str
    via: Via


def send_to_queue(
    client: Client, outputs: Mapping[str, str], lines: Iterable[Line]
) -> Iterator[Sent]:
    """Sends lines in the form in which the rule delivers events."""
    for batch in _batches(lines):
        entries = [{"Id": str(n), "MessageBody": line.text} for n, line in enumerate(batch)]
        try:
            answer = client("sqs").send_message_batch(
                QueueUrl=outputs["EventQueueUrl"], Entries=entries
            )
        except ClientError as error:
            raise _refused(batch[0], batch[-1], str(error)) from error
        for entry in answer.get("Successful", []):
            yield Sent(batch[int(entry["Id"])], entry["MessageId"], "queue")
        for failed in answer.get("Failed", []):
            line = batch[int(failed["Id"])]
            raise _refused(line, line, failed.get("Message", failed["Code"]))


def chain_by_claim(lines: Iterable[Line]) -> list[deque[Line]]:
    """Returns copies, and the states of one thing, one by one: no other line depends on them."""
    chains: dict[object, deque[Line]] = defaultdict(deque)
    for line in lines:
        sent = {"SentTimestamp": str(time.time_ns() // 1_000_000)}
        element = read_element({"messageId": "-", "body": line.text, "attributes": sent})
        key = element["key"]
        chains[key["pk"], element["policy"].get("latest", key["sk"])].append(line)
    return list(chains.values())


def send_to_bus(
    client: Client, outputs: Mapping[str, str], lines: Iterable[Line], source_prefix: str
) -> Iterator[Sent]:
    """Sends lines through the bus; to the queue what a bus cannot carry or no rule would take."""
    rest = []
    for line in lines:
        entry = None if line.problem else bus_entry(line.text)
        if entry is None or not entry["Source"].startswith(source_prefix):
            rest.append(line)
            continue
        entries = [{**entry, "EventBusName": outputs["EventBusName"]}]
        answer = client("events").put_events(Entries=entries)
        if answer["FailedEntryCount"]:
            rest.append(line)
        else:
            yield Sent(line, answer["Entries"][0]["EventId"], "bus")
    yield from send_to_queue(client, outputs, rest)


def bus_entry(text: str) -> dict[str, Any] | None:
    """Returns the text as an entry of PutEvents; None if a bus cannot carry it."""
    event = parse(text)
    if not isinstance(event, dict):
        return None
    source, detail_type, detail = (event.get(k) for k in ("source", "detail-type", "detail"))
    # AWS keeps sources that begin with "aws." to itself, its partners' among them.
    if not isinstance(source, str) or not source or source.startswith("aws."):
        return None
    if not isinstance(detail_type, str) or not detail_type or not isinstance(detail, dict):
        return None
    entry = {"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail)}
    with suppress(KeyError, TypeError, ValueError):  # EventBridge then notes when it came
        return {**entry, "Time": datetime.fromisoformat(event["time"])}
    return entry


def source_prefix(sources: Sequence[str]) -> str:
    """Returns the prefix for a rule that takes as many of these sources as one prefix can."""
    # A prefix has at least one character: sources that begin differently cannot all pass.
    firsts = [source[0] for source in sources]
    alike = [s for s in sources if s[0] == max(firsts, key=firsts.count)]
    return commonprefix(alike)  # noqa: RUF071 - by character is how a rule compares, too


def _batches(lines: Iterable[Line]) -> Iterator[Sequence[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.text.encode())
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch


def _refused(first: Line, last: Line, why: str) -> OnceError:
    lines = f"line {first.number}" if first is last else f"lines {first.number} to {last.number}"
    return OnceError(
        f"SQS refused {lines}: {why}\n"
        "A message is at most 1 MiB and has no control characters but tab and line ends. Lines "
        "before it, and some after it, are sent; sent again, they are skipped as copies."
    )
