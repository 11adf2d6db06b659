"""Runs every stream through every contestant, on one emulator."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bench import stack as bench_stack
from bench.compare.contestants import OURS, RIVALS, Rival
from bench.compare.destination import Destination
from bench.compare.feed import WORKERS, Feed
from bench.compare.function import Function, Trouble, World
from bench.compare.rivals import fifo
from bench.compare.store import Meter, redis_server, version
from bench.compare.streams import (
    DIES_AFTER_ACT,
    DIES_BEFORE_ACT,
    FIFO_SECONDS,
    STORE_ANSWER_LOST,
    Happening,
    Message,
    Stream,
    streams,
)
from bench.compare.verdict import judge
from bench.events import START_MS, Centre, text
from once.local.aws import Emulator
from once.local.pipe import PipeRunner
from once.local.stack import LocalStack
from once.run.local import destination_parameters

STORE_MS = 5
ACTION_MS = 50
MAX_RECEIVES = 5
VISIBILITY_SECONDS = 22  # as the template's Timing=fast
PATIENCE_SECONDS = 50
TOGETHER = 3  # rivals at a time
AT_ONCE = 5  # that one execution works on at once
WARM_UP = (1, 2, 3, 3)  # batches at once

Result = dict[str, Any]
Show = Callable[[str], None]


def compare(seed: int, show: Show) -> Result:
    sent = streams(seed)
    messages = [message for stream in sent for message in stream.messages]
    with redis_server() as socket, Destination(sent, ACTION_MS) as destination:
        with bench_stack.probed_stack(
            lambda aws: {
                **destination_parameters(aws, destination),
                "ActionTarget": "webhook",
            },
            step=show,
            PROBE_STORE_MS=str(STORE_MS),
            PROBE_FIFO_SECONDS=str(FIFO_SECONDS),
        ) as stack:
            show(f"({OURS[0]}) {OURS[1]}")
            ours = _run_ours(stack, sent, destination, seed)
            with ThreadPoolExecutor(TOGETHER) as pool:
                run = partial(_run_rival, stack.aws, socket, sent, seed, show)
                rivals = list(pool.map(run, RIVALS))
        server = version(socket)
    return {
        "seed": seed,
        "messages": len(messages),
        "happenings": sum(len(stream.happenings) for stream in sent),
        "storeMs": STORE_MS,
        "actionMs": ACTION_MS,
        "redis": server,
        "streams": [_described(stream) for stream in sent],
        "contestants": [*rivals, ours],
    }


def _described(stream: Stream) -> Result:
    return {
        "name": stream.name,
        "what": stream.what,
        "messages": len(stream.messages),
        "happenings": len(stream.happenings),
        "saidOpenly": stream.said_openly,
    }


def _run_rival(
    aws: Emulator, socket: str, sent: Sequence[Stream], seed: int, show: Show, rival: Rival
) -> Result:
    show(f"({rival.letter}) {rival.title}")
    name = f"rival-{rival.letter}"
    aws.client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    url = _queue(aws, name, rival.fifo)
    sqs = aws.client("sqs")

    def queued(message: Message) -> dict[str, str]:
        if not rival.fifo:
            return {"MessageBody": message.body}
        body, group = fifo.queued(message.event)
        return {"MessageBody": body, "MessageGroupId": group}

    known = _known(sent, lambda message: queued(message)["MessageBody"])
    meter = Meter(STORE_MS)
    trouble = Trouble(list(known.values()))
    with Destination(sent, ACTION_MS) as destination:
        world = partial(World, aws, name, socket, destination.webhook_url, meter, trouble, known)
        function = Function(lambda: rival.build(world()), partial(_delete, sqs, url), WORKERS)
        feed = Feed(sqs, url, function, known, seed=seed, fifo=rival.fifo)
        began = time.monotonic()
        kept = feed.run(_messages(sent), queued, lambda *_: None, PATIENCE_SECONDS)
        seconds = time.monotonic() - began
    return {
        "letter": rival.letter,
        "title": rival.title,
        "storeCalls": dict(meter.calls),
        "seconds": round(seconds, 1),
        "streams": {s.name: judge(s, destination.acts, kept, feed.troubled).counts() for s in sent},
    }


def _run_ours(
    stack: LocalStack, sent: Sequence[Stream], destination: Destination, seed: int
) -> Result:
    stack.pipe.stop()
    sqs, url = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    pipe = PipeRunner(stack.client, stack.outputs["PipeName"])
    known = _known(sent, lambda message: message.body)

    def deliver(messages: Sequence[dict[str, Any]]) -> frozenset[str]:
        return pipe.run_batch(messages).deleted

    _warm_up(stack, deliver, seed)
    before = len(bench_stack.Seen.read(stack.aws).store)
    struck: dict[str, list[str]] = {
        fault: [] for fault in (DIES_BEFORE_ACT, DIES_AFTER_ACT, STORE_ANSWER_LOST)
    }
    lock = threading.Lock()

    def said(message: Message, message_id: str) -> None:
        fault = message.happening.fault
        if fault in struck:
            with lock:
                struck[fault].append(message_id)
                bench_stack.cause_faults(stack.aws, struck)

    feed = Feed(sqs, url, deliver, known, seed=seed)
    began = time.monotonic()
    left = feed.run(_messages(sent), lambda m: {"MessageBody": m.body}, said, PATIENCE_SECONDS)
    seconds = time.monotonic() - began
    pipe.stop()
    store = bench_stack.Seen.read(stack.aws).store[before:]
    kept = left | _parked(stack, destination)
    return {
        "letter": OURS[0],
        "title": OURS[1],
        "storeCalls": dict(Counter(call["operation"] for call in store)),
        "seconds": round(seconds, 1),
        "streams": {s.name: judge(s, destination.acts, kept, feed.troubled).counts() for s in sent},
    }


def _warm_up(
    stack: LocalStack, deliver: Callable[[Sequence[dict[str, Any]]], object], seed: int
) -> None:
    """Waits until the environments of the functions have started: a few at a time, since each is
    a process here and takes seconds.
    """
    sqs, url = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    centre = Centre(seed + 1)
    for workers in WARM_UP:
        events = (centre.conversation("acd.start", START_MS) for _ in range(workers * AT_ONCE))
        bench_stack.send(sqs, url, [text(event) for event in events])
        batches = [
            sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=AT_ONCE)["Messages"]
            for _ in range(workers)
        ]
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(deliver, batches))
    sqs.purge_queue(QueueUrl=url)


def _messages(sent: Sequence[Stream]) -> list[Message]:
    return [message for stream in sent for message in stream.messages]


def _known(sent: Sequence[Stream], body: Callable[[Message], str]) -> dict[str, Happening]:
    return {body(message): message.happening for message in _messages(sent)}


def _queue(aws: Emulator, name: str, is_fifo: bool) -> str:
    """With a dead letter queue behind it."""
    sqs = aws.client("sqs")
    ending = ".fifo" if is_fifo else ""
    attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"} if is_fifo else {}
    dead = sqs.create_queue(QueueName=f"{name}-dead{ending}", Attributes=attributes)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]
    redrive = {"deadLetterTargetArn": arn["QueueArn"], "maxReceiveCount": str(MAX_RECEIVES)}
    url: str = sqs.create_queue(
        QueueName=f"{name}{ending}",
        Attributes={
            **attributes,
            "VisibilityTimeout": str(VISIBILITY_SECONDS),
            "RedrivePolicy": json.dumps(redrive),
        },
    )["QueueUrl"]
    return url


def _delete(sqs: Any, url: str, messages: Sequence[dict[str, Any]]) -> None:
    if messages:
        sqs.delete_message_batch(
            QueueUrl=url,
            Entries=[
                {"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]}
                for at, message in enumerate(messages)
            ],
        )


def _parked(stack: LocalStack, destination: Destination) -> set[str]:
    sqs, url = stack.client("sqs"), stack.outputs["ParkingQueueUrl"]
    parked = set()
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        for message in found:
            element = json.loads(message["Body"])["element"]
            happening = destination.happening(
                element["topic"], element["body"], element["occurredAtMs"]
            )
            if happening is not None:
                parked.add(happening.name)
    return parked
