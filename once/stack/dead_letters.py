"""Reads the dead-letter queue, replays and drops its messages.

Three kinds of messages are in it: events that the machine parked, messages that the event queue
gave up after too many receives, and events that the rule could not deliver. What the machine parked
has its reason in its body; the reason of a message that was given up is found by running the
normaliser on it, and in the records.
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from once_enrichment.handler import CANARY, LARGEST_BYTES, normalise, size_of
from once_enrichment.keys import opaque
from pydantic import Field

from once.model import Model, words
from once.model.reasons import describe_end
from once.model.records import Key, row_key
from once.stack import delivery, log
from once.stack.facade import Stack, read_clock_ms

QUEUE = "DeadLetterQueueUrl"
_HIDE_SECONDS = 900  # beside the time that a replay takes
_LONGEST_HIDE_SECONDS = 43_200
_PER_SECOND = 50  # events that a replay sends
_KEPT_MS = 14 * 86_400_000
_UNSURE_MS = 500  # see statemachine/: with order `changes`, two clocks may differ so much
_CARRIED = ("firstMessageId", "firstSentAtMs", "after", "canary")


class DeadLetter(Model):
    """One message of the dead-letter queue."""

    first_message_id: str = Field(description="The first message that carried the event.")
    reason: str
    why: str
    key: str | None
    family: str | None
    source: str | None
    text: str
    parked_at_ms: int
    is_stale: bool = Field(default=False, description="A newer state has passed it.")
    queue_id: str = Field(exclude=True, description="Its message in the dead-letter queue.")
    receipt: str = Field(exclude=True, repr=False)
    event: str = Field(exclude=True, repr=False, description="The event's text as it came.")
    once: dict[str, Any] = Field(exclude=True, description="What our body says beside the event.")
    latest: tuple[str, str] | None = Field(default=None, exclude=True)
    """The row of the newest state of its subject."""
    overtaken_after_ms: int = Field(default=0, exclude=True)
    """If the newest state is later, this event is stale."""
    is_given_up: bool = Field(exclude=True)
    """True if only the records say why it is there."""
    is_deleted: bool = Field(default=False, exclude=True)

    def is_called(self, name: str) -> bool:
        """Returns true for a message, key, subject, family or source of this name."""
        key = Key.parse(self.key) if self.key else None
        # The key of an event of one's own hides an id that may be about a person.
        if key and key.subject.id in (name, opaque(name)):
            return True
        ids = (self.first_message_id, self.queue_id, key.subject.id if key else "")
        is_beginning = len(name) >= 8 and any(known.startswith(name) for known in ids)
        return is_beginning or name in (self.key, self.family, self.source)

    @property
    def group(self) -> str:
        source = f"from {self.source}" if self.source else None
        return ", ".join(filter(None, (self.reason, self.family, source)))


def read_letter(message: dict[str, Any]) -> DeadLetter:
    """Reads one message as SQS returns it."""
    attributes = {
        name: value.get("StringValue", "")
        for name, value in message.get("MessageAttributes", {}).items()
    }
    sent_ms = int(message["Attributes"]["SentTimestamp"])
    once, event = _open(message["Body"])
    if CANARY in attributes:
        once["canary"] = True
    element, problem = _read_element(message)
    key = Key.of_row(**element["key"]) if element else None
    parked_key = Key.parse(str(once.get("key", "")))
    source = (element.get("trace") or {}).get("source") or ""
    # A message that was put back has a reason as well: that of its last wait.
    reason, is_given_up = once.get("reason"), False
    why = describe_end(reason, once.get("cause"))
    if "parkedAtMs" not in once:
        if "ERROR_CODE" in attributes:
            reason = "NOT_DELIVERED"
            why = ": ".join(filter(None, map(attributes.get, ("ERROR_CODE", "ERROR_MESSAGE"))))
        elif problem:
            reason, why = "NOT_READ", describe_end("NOT_READ", problem)
        elif element.get("broken"):
            reason, why = element["broken"], describe_end(element["broken"], element["detail"])
        else:
            is_given_up = True
    policy = element.get("policy") or {}
    # A route with order `every` gives another key than its family: no newer state passes it.
    is_same = parked_key in (None, key)
    is_ordered = is_same and policy.get("order") in ("latest", "changes")
    key = parked_key or key
    unsure_ms = _UNSURE_MS if policy.get("order") == "changes" else policy.get("windowMs", 0)
    return DeadLetter(
        first_message_id=once.get("firstMessageId") or message["MessageId"],
        reason=reason or "NOT_RECORDED",
        why=why or describe_end("NOT_RECORDED", None),
        is_given_up=is_given_up,
        key=str(key) if key else None,
        family=element.get("family"),
        source=source.rpartition("/")[2] or None,
        text=words.describe_event(element.get("family", key.family), element.get("plainState"))
        if key
        else "a message that holds no event",
        parked_at_ms=once.get("parkedAtMs") or sent_ms,
        queue_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        event=event,
        once={"firstMessageId": message["MessageId"], "firstSentAtMs": sent_ms, **once},
        latest=(element["key"]["pk"], policy["latest"]) if is_ordered else None,
        overtaken_after_ms=element.get("occurredAtMs", 0) + unsure_ms,
    )


@contextmanager
def reading(stack: Stack) -> Iterator[list[DeadLetter]]:
    """Yields every message, oldest first, hidden from other readers until the end of the block."""
    sqs, url = stack.client("sqs"), stack.outputs[QUEUE]
    hidden = _HIDE_SECONDS + round(stack.read_depth(QUEUE).total / _PER_SECOND)
    letters: dict[str, DeadLetter] = {}
    while messages := sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        WaitTimeSeconds=1,
        VisibilityTimeout=min(hidden, _LONGEST_HIDE_SECONDS),
        MessageSystemAttributeNames=["SentTimestamp"],
        MessageAttributeNames=["All"],
    ).get("Messages"):
        letters |= {message["MessageId"]: read_letter(message) for message in messages}
    every = sorted(letters.values(), key=lambda letter: letter.parked_at_ms)
    _add_records(stack, [letter for letter in every if letter.is_given_up])
    try:
        yield every
    finally:
        with suppress(ClientError):  # without the permission they return a little later
            for some in batches([letter for letter in every if not letter.is_deleted]):
                entries = [{**_entry(letter), "VisibilityTimeout": 0} for letter in some]
                sqs.change_message_visibility_batch(QueueUrl=url, Entries=entries)


def mark_stale(stack: Stack, letters: Iterable[DeadLetter]) -> None:
    """Marks the events that a newer state has passed: a replay of them ends as STALE."""
    dynamodb, times = stack.client("dynamodb"), dict[tuple[str, str], int]()
    for letter in letters:
        if letter.latest is None:
            continue
        if letter.latest not in times:
            pk, sk = letter.latest
            item = dynamodb.get_item(
                TableName=stack.outputs["ClaimTableName"], Key={"pk": {"S": pk}, "sk": {"S": sk}}
            ).get("Item", {})
            times[letter.latest] = int(item.get("event_time", {"N": "0"})["N"])
        letter.is_stale = times[letter.latest] > letter.overtaken_after_ms


def replay(stack: Stack, letters: Sequence[DeadLetter]) -> dict[str, str]:
    """Sends one of `batches` to the event queue, then deletes them: a crash in between leaves a
    copy, which its claim recognises. Returns why some failed, by their message."""
    entries = []
    for letter in letters:
        once = {name: letter.once[name] for name in _CARRIED if name in letter.once}
        body = json.dumps({"once": once, "event": letter.event})
        entries.append({"Id": letter.queue_id, "MessageBody": body})
    sent = stack.client("sqs").send_message_batch(
        QueueUrl=stack.outputs["EventQueueUrl"], Entries=entries
    )
    failed = _read_failures(sent)
    failed |= delete(stack, [letter for letter in letters if letter.queue_id not in failed])
    time.sleep(len(letters) / _PER_SECOND)
    return failed


def drop(stack: Stack, letters: Sequence[DeadLetter]) -> dict[str, str]:
    """Deletes one of `batches`, and notes it in their claims for `once explain`."""
    failed = delete(stack, letters)
    for letter in letters:
        key, owner = Key.parse(letter.key or ""), letter.once.get("after")
        if letter.queue_id in failed or key is None or owner is None:
            continue
        with suppress(ClientError, BotoCoreError):  # the rest of the row decides who may act
            stack.client("dynamodb").update_item(
                TableName=stack.outputs["ClaimTableName"],
                Key=row_key(key),
                UpdateExpression="SET dropped_at = :now",
                ConditionExpression="outcome = :parked AND #owner = :owner",
                ExpressionAttributeNames={"#owner": "owner"},
                ExpressionAttributeValues={
                    ":now": {"N": str(read_clock_ms())},
                    ":parked": {"S": "PARKED"},
                    ":owner": {"S": owner},
                },
            )
    return failed


def delete(stack: Stack, letters: Sequence[DeadLetter]) -> dict[str, str]:
    if not letters:
        return {}
    deleted = stack.client("sqs").delete_message_batch(
        QueueUrl=stack.outputs[QUEUE], Entries=[_entry(letter) for letter in letters]
    )
    failed = _read_failures(deleted)
    for letter in letters:
        letter.is_deleted = letter.queue_id not in failed
    return failed


def batches(letters: Sequence[DeadLetter]) -> Iterator[Sequence[DeadLetter]]:
    """Yields what one request to SQS takes; as text in JSON an event may grow."""
    return delivery.batches(letters, lambda letter: 2 * len(letter.event.encode()))


def _open(body: str) -> tuple[dict[str, Any], str]:
    """Returns what our body says beside the event, and the event's text."""
    with suppress(ValueError, RecursionError):
        opened = json.loads(body)
        if isinstance(opened, dict) and opened.keys() == {"once", "event"}:
            once, event = opened["once"], opened["event"]
            if isinstance(once, dict) and isinstance(event, str):
                return dict(once), event
    return {}, body


def _read_element(message: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Runs the normaliser; returns the element, or what is wrong with the message."""
    record = {
        "messageId": message["MessageId"],
        "body": message["Body"],
        "attributes": {"SentTimestamp": message["Attributes"]["SentTimestamp"]},
        "messageAttributes": {},
    }
    try:
        element = normalise(record)
    except Exception as error:  # the pipe left this message because of it
        return {}, f"{type(error).__name__}: {error}"
    if size_of(element) > LARGEST_BYTES:
        return element, "it is too large for the state machine: its publisher must send less text"
    return element, ""


def _add_records(stack: Stack, letters: Sequence[DeadLetter]) -> None:
    """Adds the last recorded reason to messages that the event queue gave up."""
    if not letters:
        return
    ids = [letter.first_message_id for letter in letters]
    pattern = log.any_of(*ids) if len(ids) <= log.MOST_IDS else "RETRY"
    records = log.search(stack, pattern, since_ms=read_clock_ms() - _KEPT_MS).records
    last = {record.first_message_id: record for record in records if record.reason}
    for letter in letters:
        if record := last.get(letter.first_message_id):
            letter.reason, letter.why = record.reason or letter.reason, record.why


def _entry(letter: DeadLetter) -> dict[str, Any]:
    return {"Id": letter.queue_id, "ReceiptHandle": letter.receipt}


def _read_failures(answer: dict[str, Any]) -> dict[str, str]:
    return {entry["Id"]: entry.get("Message", entry["Code"]) for entry in answer.get("Failed", [])}
