"""The Lambda's entry: takes the steps against the claim table and the event queue."""

import logging
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from . import breaker_row, payload, slot_row, steps
from .breaker import Open, Probe, Row
from .settings import Settings

_log = logging.getLogger(__name__)
# What one request of ChangeMessageVisibilityBatch takes.
_MESSAGES = 10


@dataclass(frozen=True)
class World:
    """The world that steps act on, with boto3's clients."""

    table: str
    queue_url: str
    dynamodb: Any
    # Never repeats a request; made when needed.
    once_dynamodb: Callable[[], Any]
    sqs: Any
    now_ms: Callable[[], int]
    sleep: Callable[[float], None]

    def run(self, conversation: steps.Steps) -> steps.Answer:
        """Takes every step, and answers with what the conversation comes to."""
        try:
            step = next(conversation)
            while True:
                try:
                    result = self.take(step)
                except (ClientError, BotoCoreError) as error:
                    name = type(step).__name__
                    _log.warning("%s was not answered: %s", name, error)
                    step = conversation.throw(steps.UnansweredError(name))
                else:
                    step = conversation.send(result)
        except StopIteration as stop:
            answer: steps.Answer = stop.value
            return answer

    def take(self, step: Any) -> Any:  # noqa: C901 - a case for each step
        """One step."""
        table, now_ms, dynamodb = self.table, self.now_ms(), self.dynamodb
        match step:
            case steps.ReadRow():
                return _row(dynamodb.get_item(**breaker_row.read(table)).get("Item"))
            case Open(seen, until_ms):
                return _held(
                    dynamodb.update_item, breaker_row.open_(table, seen.since_ms, until_ms, now_ms)
                )
            case Probe(seen, until_ms):
                request = breaker_row.probe(
                    table, seen.since_ms, seen.open_until_ms, seen.not_before_ms, until_ms, now_ms
                )
                return _held(dynamodb.update_item, request)
            case steps.EndProbe(until_ms):
                return _held(dynamodb.update_item, breaker_row.end_probe(table, until_ms, now_ms))
            case steps.NoteFailure(started_ms, keys):
                request = breaker_row.note_failure(table, started_ms, keys, now_ms)
                return _held(dynamodb.update_item, request)
            case steps.NoteRateLimited(started_ms, until_ms):
                request = breaker_row.note_rate_limited(table, started_ms, until_ms, now_ms)
                return _held(dynamodb.update_item, request)
            case steps.Clear(started_ms):
                request = breaker_row.clear(table, started_ms)
                return _held(dynamodb.delete_item, request)
            case steps.TakeTokens(slot, wanted, quota):
                request = slot_row.take(table, slot, wanted, quota, now_ms)
                answer = _held(dynamodb.update_item, request)
                return int(answer["Attributes"]["used"]["N"]) - wanted if answer else None
            case steps.GiveBackTokens(slot, tokens):
                request = slot_row.give_back(table, slot, tokens)
                return _held(self.once_dynamodb().update_item, request)
            case steps.Sleep(milliseconds):
                return self.sleep(milliseconds / 1000)
            case steps.CountMessages():
                return self._count_messages()
            case steps.SetReturns(returns):
                return self._set_returns(returns)
        raise TypeError(f"no step that can be taken: {step}")

    def _count_messages(self) -> int:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.sqs.get_queue_attributes(QueueUrl=self.queue_url, AttributeNames=names)
        return sum(int(answer["Attributes"][name]) for name in names)

    def _set_returns(self, returns: Sequence[steps.Return]) -> set[str]:
        """The receipts that were taken. The others keep the queue's own visibility."""
        taken: set[str] = set()
        for first in range(0, len(returns), _MESSAGES):
            part = {str(at): one for at, one in enumerate(returns[first : first + _MESSAGES])}
            answer = self.sqs.change_message_visibility_batch(
                QueueUrl=self.queue_url,
                Entries=[
                    {"Id": at, "ReceiptHandle": one.receipt, "VisibilityTimeout": one.seconds}
                    for at, one in part.items()
                ],
            )
            for failed in answer.get("Failed", []):
                # Not its message, in which SQS quotes the receipt handle.
                _log.warning("a return time was refused: %s", failed.get("Code"))
            taken |= {part[done["Id"]].receipt for done in answer.get("Successful", [])}
        return taken


def _held(operation: Callable[..., Any], request: breaker_row.Request) -> Any:
    """Returns the response, or None if the condition did not hold."""
    try:
        return operation(**request)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            return None
        raise


def _row(item: Mapping[str, Any] | None) -> Row | None:
    if item is None:
        return None

    def number(name: str) -> int | None:
        return int(item[name]["N"]) if name in item else None

    return Row(
        since_ms=number("since"),
        failed=len(item["failed"]["SS"]) if "failed" in item else 0,
        open_until_ms=number("open_until"),
        not_before_ms=number("not_before"),
        held=item["held"]["S"] if "held" in item else None,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def world(settings: Settings) -> World:
    """The table and the queue of this stack."""

    config = Config(connect_timeout=2, read_timeout=3, retries={"mode": "standard"})
    once = config.merge(Config(retries={"total_max_attempts": 1}))
    return World(
        table=settings.claim_table,
        queue_url=settings.event_queue_url,
        dynamodb=boto3.client("dynamodb", config=config),
        once_dynamodb=cache(lambda: boto3.client("dynamodb", config=once)),
        sqs=boto3.client("sqs", config=config),
        now_ms=_now_ms,
        sleep=time.sleep,
    )


_settings = cache(lambda: Settings.read(os.environ))
_world = cache(lambda: world(_settings()))


def handler(event: Any, _context: object) -> dict[str, Any]:
    """Answers either question of the state machine."""
    ask = payload.read(event)
    if isinstance(ask, payload.Begin):
        conversation = steps.begin(ask, _settings(), _now_ms, random.random)
    else:
        conversation = steps.end(ask, _settings(), _now_ms, random.random)
    return _world().run(conversation)
