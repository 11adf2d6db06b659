"""A Lambda behind an SQS queue, as the rivals are run: batches, partial failures, environments that
live from batch to batch, and workers that die.
"""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import urllib3

from bench.compare.reading import happened_ms
from bench.compare.store import Meter, Redis, dynamodb
from bench.compare.streams import (
    DIES_AFTER_ACT,
    DIES_BEFORE_ACT,
    STORE_ANSWER_LOST,
    Happening,
)
from once.local.aws import Emulator

Event = dict[str, Any]
Message = dict[str, Any]
Answer = dict[str, Any]
Handler = Callable[[Event], Answer]

TIMEOUT_MS = 20_000


class ActionError(Exception):
    """The destination did not answer with success."""


class Killed(BaseException):
    """The process is gone: nothing of the handler runs any more, no except and no finally."""


class Trouble:
    """Which fault strikes where, once each."""

    def __init__(self, happenings: Sequence[Happening]) -> None:
        self._left = {(h.fault, h.name) for h in happenings if h.fault}
        self._lock = threading.Lock()

    def strikes(self, fault: str, happening: Happening | None) -> bool:
        with self._lock:
            entry = (fault, happening.name if happening else "")
            struck = entry in self._left
            self._left.discard(entry)
            return struck


class World:
    """The surroundings of an environment of a rival's Lambda."""

    def __init__(
        self,
        aws: Emulator,
        table: str,
        redis_socket: str,
        url: str,
        meter: Meter,
        trouble: Trouble,
        known: dict[str, Happening],
    ) -> None:
        self.table = table
        self.memory: dict[str, Any] = {}
        self._url = url
        self._trouble = trouble
        self._known = known
        self._current: Happening | None = None
        self._http = urllib3.PoolManager(retries=False)
        self.dynamodb = dynamodb(aws, meter, self._loses_answer)
        self.redis = Redis(redis_socket, meter, self._loses_answer)

    def event(self, record: dict[str, Any]) -> Event:
        """The Genesys event in an SQS record."""
        self._current = self._known.get(record["body"])
        event: Event = json.loads(record["body"])
        return event

    def act(self, event: Event, key: str) -> None:
        """Sends a request for the event to the destination, with `key` as Idempotency-Key."""
        if self._trouble.strikes(DIES_BEFORE_ACT, self._current):
            raise Killed
        detail = event.get("detail", event)
        said = {"topic": detail["topicName"], "body": detail["eventBody"]}
        moment = happened_ms(event)
        if moment is not None:
            said["occurredAtMs"] = moment
        try:
            answer = self._http.request(
                "POST", self._url, json=said, headers={"Idempotency-Key": key}, timeout=10
            )
        except urllib3.exceptions.HTTPError as error:
            raise ActionError(str(error)) from error
        if self._trouble.strikes(DIES_AFTER_ACT, self._current):
            raise Killed
        if answer.status >= 300:
            raise ActionError(f"status {answer.status}")

    def each(self, handle: Callable[[Event], None]) -> Handler:
        """The usual handler: one record after the other, what raised is reported as failed."""

        def handler(batch: Event) -> Answer:
            failures = []
            for record in batch["Records"]:
                try:
                    handle(self.event(record))
                except Exception:
                    failures.append({"itemIdentifier": record["messageId"]})
            return {"batchItemFailures": failures}

        return handler

    def _loses_answer(self) -> bool:
        return self._trouble.strikes(STORE_ANSWER_LOST, self._current)


class Context:
    """The part of Lambda's context that Powertools needs."""

    function_name = "rival"

    def get_remaining_time_in_millis(self) -> int:
        return TIMEOUT_MS


class Function:
    """Hands batches to a rival, each to an environment that is free; warm from the beginning."""

    def __init__(
        self, start: Callable[[], Handler], delete: Callable[[list[Message]], None], number: int
    ) -> None:
        self._start = start
        self._delete = delete
        self._free = [start() for _ in range(number)]

    def __call__(self, messages: Sequence[Message]) -> frozenset[str]:
        """The ids of the messages that were done, and are deleted."""
        batch = {"Records": [_record(message) for message in messages]}
        handler = self._free.pop()
        try:
            answer = handler(batch)
        except Killed:
            handler = self._start()
            return frozenset()
        except Exception:
            return frozenset()
        finally:
            self._free.append(handler)
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        done = [message for message in messages if message["MessageId"] not in failed]
        self._delete(done)
        return frozenset(message["MessageId"] for message in done)


def _record(message: Message) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:000000000000:events",
        "awsRegion": "eu-central-1",
    }
