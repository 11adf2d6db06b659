"""Does the pipe go on as it began while many messages wait, and come back again and again?"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from statistics import quantiles
from typing import Any

from once.operate import log
from once.operate.canaries import ATTRIBUTES, Canaries, send_canary
from once.records import OutcomeRecord, settled
from proof.prove.messages import (
    LATE_MS,
    PipeStopped,
    end_of,
    patience_seconds,
    records_since,
    settle,
    silence_seconds,
)
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed

Json = Any
# A returned message comes back after half a minute at first; on the emulator after a tenth of it.
_BROKEN_SECONDS, _BROKEN_SECONDS_LOCAL = 300, 15
_STOPPED_SECONDS, _STOPPED_SECONDS_LOCAL = 120, 20
_BETWEEN_SECONDS = 300
_FAILING_AT_ONCE = 3
_IN_FLIGHT, _IN_FLIGHT_LOCAL = 10_000, 200
_SQS_BATCH = 10
_FAILS_MS = 20_000


def questions(stack: Deployed, hours: float) -> Iterator[Question]:
    yield Question(
        name="deployed: many in flight",
        guards="the pipe goes on polling while many messages wait for their return time",
        ask=partial(_in_flight, stack),
        expected={"acts": "at once"},
    )
    yield Question(
        name=f"deployed: {hours:g} hours of returned messages",
        guards="batchItemFailures do not make the pipe poll more slowly",
        ask=partial(_returned, stack, hours),
        expected={"kept up": True},
    )

    yield Question(
        name="deployed: returned messages beside good ones",
        guards="20 returned messages a second do not delay 20 good ones",
        ask=partial(_beside, stack),
        expected={"kept up": True},
    )


def _in_flight(stack: Deployed, site: Site, broken: bool) -> Json:
    """Others hold many messages when one more comes. Broken, the pipe is stopped."""
    number = _IN_FLIGHT_LOCAL if site.place.is_local else _IN_FLIGHT
    with PipeStopped(stack, site):
        held = [] if broken else _take(stack, _fill(stack, site, number), site)
        if broken:
            return _fresh(stack, silence_seconds(site))
    try:
        return _fresh(stack, patience_seconds(stack))
    finally:
        _delete(stack, held)


def _fresh(stack: Deployed, seconds: float) -> Json:
    sent_ms = log.now_ms()
    message_id = send_canary(stack, Canaries.create(fails_for_ms=0).good.body)
    end = end_of(stack, sent_ms, seconds, message_id=message_id)
    if end is None:
        return {"acts": "not in time"}
    late_ms = end.recorded_at_ms - sent_ms
    return {"acts": "at once" if late_ms <= LATE_MS else f"after {late_ms} ms"}


def _fill(stack: Deployed, site: Site, number: int) -> int:
    for sent in range(0, number, _SQS_BATCH):
        site.step(f"sending what is to be in flight, {sent} of {number}")
        stack.client("sqs").send_message_batch(
            QueueUrl=stack.outputs["EventQueueUrl"],
            Entries=[
                {"Id": str(at), "MessageBody": f"{site.run}: in flight, never handled"}
                for at in range(_SQS_BATCH)
            ],
        )
    return number


def _take(stack: Deployed, number: int, site: Site) -> list[str]:
    held: list[str] = []
    empty = 0
    while len(held) < number and empty < 10:
        site.step(f"holding them, {len(held)} of {number}")
        messages = (
            stack.client("sqs")
            .receive_message(
                QueueUrl=stack.outputs["EventQueueUrl"],
                MaxNumberOfMessages=_SQS_BATCH,
                VisibilityTimeout=900,
                WaitTimeSeconds=1,
            )
            .get("Messages", [])
        )
        empty = 0 if messages else empty + 1
        held += [message["ReceiptHandle"] for message in messages]
    if len(held) < number * 0.9:
        raise UnansweredError(f"only {len(held)} of {number} messages could be held")
    return held


def _delete(stack: Deployed, handles: Sequence[str]) -> None:
    for start in range(0, len(handles), _SQS_BATCH):
        batch = handles[start : start + _SQS_BATCH]
        stack.client("sqs").delete_message_batch(
            QueueUrl=stack.outputs["EventQueueUrl"],
            Entries=[{"Id": str(at), "ReceiptHandle": one} for at, one in enumerate(batch)],
        )


def _returned(stack: Deployed, hours: float, site: Site, broken: bool) -> Json:
    """Some fail all the time. Broken, the pipe stops for a while, which must be seen."""
    is_local = site.place.is_local
    stopped_seconds = _STOPPED_SECONDS_LOCAL if is_local else _STOPPED_SECONDS
    seconds = hours * 3_600
    if broken:
        seconds = min(seconds, _BROKEN_SECONDS_LOCAL if is_local else _BROKEN_SECONDS)
    between_seconds = min(_BETWEEN_SECONDS, seconds / 4)
    began = time.monotonic()
    began_ms = log.now_ms()
    ours: list[str] = []
    while (past := time.monotonic() - began) < seconds:
        site.step(f"returning messages, {past / 60:.0f} of {seconds / 60:.0f} minutes")
        left_seconds = seconds - past
        for _ in range(_FAILING_AT_ONCE):
            canary = Canaries.create(fails_for_ms=round(left_seconds * 1_000)).failing
            ours.append(send_canary(stack, canary.body))
        time.sleep(min(between_seconds, left_seconds))
    if broken:
        with PipeStopped(stack, site):
            time.sleep(stopped_seconds)
    time.sleep(LATE_MS / 1_000)
    records = records_since(stack, began_ms)
    late = sorted(
        (then.recorded_at_ms, then.recorded_at_ms - before.returns_at_ms)
        for message_id in ours
        for before, then in _pairs(records.get(message_id, ()))
        if before.returns_at_ms is not None
    )
    if len(late) < 4:
        raise UnansweredError(f"only {len(late)} messages came back in that time")
    quarter = max(2, len(late) // 4)
    first, last = _p90(late[:quarter]), _p90(late[-quarter:])
    said = {"kept up": last <= max(LATE_MS, 2 * first)}
    return said | {"came back": len(late), "late ms": {"at first": first, "at last": last}}


def _beside(stack: Deployed, site: Site, broken: bool) -> Json:
    """Sends as many messages that fail at first as good ones. Broken, the pipe stops half-way."""
    is_local = site.place.is_local
    each_second, seconds = (2, 28) if is_local else (20, 900)
    seconds = min(seconds, _BROKEN_SECONDS) if broken else seconds
    sent_ms: dict[str, int] = {}
    returning: list[str] = []
    began = time.monotonic()
    began_ms = log.now_ms()
    with ExitStack() as stopped:
        for second in range(seconds):
            site.step(f"sending good and failing messages, {second} of {seconds} s")
            if broken and second == seconds // 2:
                stopped.enter_context(PipeStopped(stack, site))
            created = [Canaries.create(fails_for_ms=_FAILS_MS) for _ in range(each_second)]
            for message_id in _send_all(stack, [one.good.body for one in created]):
                sent_ms[message_id] = log.now_ms()
            returning += _send_all(stack, [one.failing.body for one in created])
            time.sleep(max(0.0, began + second + 1 - time.monotonic()))
    records = settle(stack, site, began_ms, list(sent_ms))
    late = sorted(
        (at, end.recorded_at_ms - at)
        for message_id, at in sent_ms.items()
        if (end := settled(message_id, records)) is not None
    )
    if len(late) < len(sent_ms):
        return {"kept up": False, "not settled": len(sent_ms) - len(late)}
    quarter = len(late) // 4
    first, last = _p90(late[:quarter]), max(_p90(late[quarter:-quarter]), _p90(late[-quarter:]))
    returned = sum(len(records.get(message_id, ())) > 1 for message_id in returning)
    said = {"kept up": last <= max(LATE_MS, 2 * first), "returned": returned}
    return said | {"late ms": {"at first": first, "at last": last}} | _concurrency(stack, began_ms)


def _send_all(stack: Deployed, bodies: Sequence[str]) -> list[str]:
    found: list[str] = []
    for start in range(0, len(bodies), _SQS_BATCH):
        answer = stack.client("sqs").send_message_batch(
            QueueUrl=stack.outputs["EventQueueUrl"],
            Entries=[
                {"Id": str(at), "MessageBody": body, "MessageAttributes": ATTRIBUTES}
                for at, body in enumerate(bodies[start : start + _SQS_BATCH])
            ],
        )
        found += [str(one["MessageId"]) for one in answer["Successful"]]
    return found


def _concurrency(stack: Deployed, since_ms: int) -> dict[str, Json]:
    """Returns the least and the most executions of pipes at the same time, minute by minute. AWS
    counts them for the account: eb-pipes-monitoring.html."""
    points = stack.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/EventBridge/Pipes",
        MetricName="Concurrency",
        Dimensions=[
            {"Name": "AwsAccountId", "Value": stack.outputs["StateMachineArn"].split(":")[4]}
        ],
        StartTime=since_ms / 1_000,
        EndTime=time.time(),
        Period=60,
        Statistics=["Maximum"],
    )["Datapoints"]
    most = [point["Maximum"] for point in points]
    return {"concurrency": [min(most), max(most)]} if most else {}


def _pairs(story: Sequence[OutcomeRecord]) -> Iterator[tuple[OutcomeRecord, OutcomeRecord]]:
    yield from pairwise(story)


def _p90(late: Sequence[tuple[int, int]]) -> int:
    values = [ms for _, ms in late]
    return round(quantiles(values, n=10)[-1]) if len(values) > 1 else values[0]
