"""Counts what events need of AWS in runs of the real stack: requests, write units, states and log
bytes; separately for events that act, copies of earlier ones, copies of one in progress, and copies
in one batch.

Run: python -m bench.cost. Writes bench/results/cost.json.
"""

import itertools
import json
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from once_enrichment import handler

from bench import machine_log, recorded
from bench.genesys_mix import MIX, Events
from bench.stack import Seen, probing
from once.local.deploy import STACK_NAME
from once.local.pipe import PipeRunner
from once.local.stack import LocalStack
from once.run.local import local_stack
from proof.aws.metrics import embedded_metrics
from proof.aws.outcome_log import OPEN, RECORDS, Record, log_events
from proof.definition.asl import states
from proof.template import RESOURCES

BATCH = 10
BATCHES = 40
LONELY = 60  # batches of one
WORKERS = 4
LOG_GROUPS = ("OutcomeLogGroup", "EnrichmentLogGroup", "DataActionLogGroup", "PacingLogGroup")
# What the platform writes of an invocation at the level INFO. The emulator knows no levels.
PLATFORM_LINES = ("START RequestId: ", "END RequestId: ", "REPORT RequestId: ")
SEED = 20260504
SLOW_MS = 400  # so that a copy comes while its first is in work
ENRICHMENT_EVENTS = 2_000
MOST_OFF = 0.03  # by which the sum of its parts may miss a mixed run
QUIET = {
    resource["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]
    for resource in RESOURCES.values()
    if resource.get("Properties", {}).get("LoggingConfig", {}).get("SystemLogLevel") == "WARN"
}

Bodies = list[str]
Counts = dict[str, float]


class Run:
    """Batches through the deployed stack, and what was counted meanwhile."""

    def __init__(self, stack: LocalStack) -> None:
        self._stack = stack
        self._pipe = PipeRunner(stack.client, stack.outputs["PipeName"])

    def __call__(self, batches: Sequence[Bodies]) -> Counts:
        seen, logged = self._seen(), self._logged()
        with ThreadPoolExecutor(WORKERS) as pool:
            ended = list(pool.map(self._pipe.run_batch, map(messages, batches)))
        left = sum(len(batch.records) - len(batch.deleted) for batch in ended)
        if left:
            raise RuntimeError(f"{left} messages were handed back: too busy a machine to count on.")
        counts = difference(self._seen(), seen)
        return counts | difference(self._logged(), logged)

    def row_bytes(self) -> float:
        pages = (
            self._stack.client("dynamodb")
            .get_paginator("scan")
            .paginate(TableName=self._stack.outputs["ClaimTableName"])
        )
        rows = [item for page in pages for item in page["Items"]]
        sizes = [sum(len(k) + len(next(iter(v.values()))) for k, v in row.items()) for row in rows]
        return statistics.fmean(sizes)

    def _seen(self) -> Counts:
        seen = Seen.read(self._stack.aws)

        def logged(level: str, payloads: bool = False) -> int:
            return sum(machine_log.size(one, level, payloads)[1] for one in seen.executions)

        called = Counter(function["name"] for function in seen.functions)
        return {
            "storeCalls": len(seen.store),
            "writeUnits": sum(call["write"] for call in seen.store),
            "readUnits": sum(call["read"] for call in seen.store),
            "actionCalls": _of_function(called, "DataAction"),
            "enrichmentCalls": _of_function(called, "Enrichment"),
            "pacingCalls": _of_function(called, "Pacing"),
            "executions": len(seen.executions),
            "states": sum(len(one["states"]) for one in seen.executions),
            "inputBytes": sum(one["inputBytes"] for one in seen.executions),
            "machineLogBytesAll": logged("ALL"),
            "machineLogBytesAllPayloads": logged("ALL", payloads=True),
            "machineLogBytesError": logged("ERROR"),
        }

    def _logged(self) -> Counts:
        outcomes, *functions = (
            sum(len(text.encode()) + machine_log.OVERHEAD_BYTES for text in self._texts(group))
            for group in LOG_GROUPS
        )
        return {"outcomeLogBytes": outcomes, "functionLogBytes": sum(functions)}

    def _texts(self, group: str) -> list[str]:
        resource = self._stack.client("cloudformation").describe_stack_resource(
            StackName=STACK_NAME, LogicalResourceId=group
        )
        pages = (
            self._stack.client("logs")
            .get_paginator("filter_log_events")
            .paginate(logGroupName=resource["StackResourceDetail"]["PhysicalResourceId"])
        )
        texts = [event["message"] for page in pages for event in page["events"]]
        return [text for text in texts if not (group in QUIET and text.startswith(PLATFORM_LINES))]


def _of_function(called: Counter[str], name: str) -> int:
    return sum(number for function, number in called.items() if name in function)


def messages(bodies: Bodies) -> list[dict[str, Any]]:
    """Makes messages as ReceiveMessage returns them."""
    sent = str(time.time_ns() // 1_000_000)
    return [
        {
            "MessageId": str(uuid.uuid4()),
            "ReceiptHandle": str(uuid.uuid4()),
            "MD5OfBody": "0" * 32,
            "Body": body,
            "Attributes": {"SentTimestamp": sent, "ApproximateReceiveCount": "1"},
        }
        for body in bodies
    ]


def difference(now: Counts, was: Counts) -> Counts:
    return {name: now[name] - was[name] for name in now}


def mixed_events(number: int) -> Bodies:
    events = Events(SEED)
    names = itertools.cycle([name for name, share in MIX.items() for _ in range(share)])
    # Spread out, as different conversations overlap.
    ordered = list(itertools.islice(names, number))
    return [events.record(name)["body"] for name in ordered[::3] + ordered[1::3] + ordered[2::3]]


def in_batches(bodies: Bodies, size: int) -> list[Bodies]:
    return [bodies[at : at + size] for at in range(0, len(bodies), size)]


def per(counts: Counts, number: float) -> Counts:
    return {name: value / number for name, value in counts.items()}


def minus(counts: Counts, other: Counts, times: float = 1) -> Counts:
    return {name: counts[name] - times * other[name] for name in counts}


def measure(run: Run, slow: Callable[[], AbstractContextManager[None]]) -> dict[str, Any]:
    fresh = mixed_events(BATCH * BATCHES * 2 + 2 * LONELY + 1)
    warm, fresh = fresh[:1], fresh[1:]
    run([warm])
    take = iter(fresh)

    unique = list(itertools.islice(take, BATCH * BATCHES // 2))
    full = per(run(in_batches(unique, BATCH)), len(unique) / BATCH)
    lonely = per(run(in_batches(list(itertools.islice(take, LONELY)), 1)), LONELY)
    # full = batch + 10 unique, lonely = batch + 1 unique
    of_unique = per(minus(full, lonely), BATCH - 1)
    of_batch = minus(lonely, of_unique)

    again = per(run(in_batches(unique, BATCH)), len(unique) / BATCH)
    of_copy = per(minus(again, of_batch), BATCH)

    halves = in_batches(list(itertools.islice(take, BATCH * BATCHES // 4)), BATCH // 2)
    pairs = per(run([half + half for half in halves]), len(halves))
    of_collapsed = per(minus(minus(pairs, of_batch), of_unique, BATCH / 2), BATCH / 2)

    lonely_too = list(itertools.islice(take, LONELY))
    with slow():
        both = per(run([[body] for body in lonely_too for _ in range(2)]), LONELY)
    of_held = minus(minus(both, of_batch, 2), of_unique)

    parts = {
        "batch": of_batch,
        "unique": of_unique,
        "copy": of_copy,
        "held": of_held,
        "collapsed": of_collapsed,
    }
    mixed, mix = mixed_run(list(take)[: BATCH * BATCHES * 8 // 10])
    return {"parts": parts, "check": check(run(mixed), parts, mix)}


def mixed_run(unique: Bodies) -> tuple[list[Bodies], Counter[str]]:
    """One in five is a copy: one of the same batch, one of a batch that is done."""
    batches: list[Bodies] = []
    mix: Counter[str] = Counter()
    for own in in_batches(unique, BATCH - 2):
        done = [batches[-2 * WORKERS][0]] if len(batches) >= 2 * WORKERS else []
        batches.append([*own, own[0], *done])
        mix.update(batch=1, unique=len(own), collapsed=1, copy=len(done))
    return batches, mix


def check(counted: Counts, parts: dict[str, Counts], mix: Counter[str]) -> dict[str, Any]:
    """Compares the sum of the parts with a run in which all of them occur."""
    summed = {n: sum(mix[part] * parts[part][n] for part in parts) for n in counted}
    return {
        "messages": mix.total() - mix["batch"],
        "counted": counted,
        "summed": {name: round(value, 1) for name, value in summed.items()},
        "off": {n: round(abs(summed[n] / counted[n] - 1), 4) for n in counted if counted[n]},
    }


def enrichment_ms(size: int) -> float:
    """A batch in the enrichment, on this machine."""
    batches = in_batches(mixed_events(ENRICHMENT_EVENTS), size)
    taken = []
    for batch in batches:
        records = [
            {
                "messageId": m["MessageId"],
                "receiptHandle": m["ReceiptHandle"],
                "body": m["Body"],
                "attributes": m["Attributes"],
            }
            for m in messages(batch)
        ]
        started = time.thread_time()
        handler.handler(records, None)
        taken.append((time.thread_time() - started) * 1000)
    return statistics.median(taken)


def custom_metrics() -> dict[str, int]:
    """Counts the metrics that RecordOutcomes writes on a healthy stack, and at most."""
    well = [one for one in RECORDS if one["outcome"] in ("PROCESSED", "DUPLICATE", "STALE")]
    return {"well": _metrics_of(well, {}), "most": _metrics_of(RECORDS, OPEN)}


def _metrics_of(records: Sequence[Record], breaker: Mapping[str, Any]) -> int:
    """Each name with each set of values of its dimensions is a metric."""
    lines = [event["Message"] for event in log_events(states()["RecordOutcomes"], records, breaker)]
    return len(
        {
            (name, *(json.loads(line)[dimension] for dimension in sorted(dimensions)))
            for line in lines
            for _, name, dimensions in embedded_metrics(line)
        }
    )


def main() -> int:
    with probing(), local_stack({"Timing": "production"}) as local:
        stack, destination = local.stack, local.destination
        stack.pipe.stop()
        run = Run(stack)

        @contextmanager
        def slow() -> Iterator[None]:
            destination.script.add({"then": {"status": 200, "delayMs": SLOW_MS}})
            yield
            destination.script.rules.clear()

        result = measure(run, slow)
        result["rowBytes"] = round(run.row_bytes())
    result["customMetrics"] = custom_metrics()
    result["enrichmentMs"] = {str(size): round(enrichment_ms(size), 3) for size in (1, BATCH)}
    result["eventBytes"] = round(statistics.fmean(map(len, mixed_events(sum(MIX.values())))))
    result["parts"] = {
        part: {name: round(value, 3) for name, value in counts.items()}
        for part, counts in result["parts"].items()
    }
    print(json.dumps(result, indent=2))
    worst = max(result["check"]["off"].values())
    broken = [f"the parts miss the mixed run by {worst:.1%}"] if worst > MOST_OFF else []
    return recorded.write_if_it_holds("cost", result, broken)


if __name__ == "__main__":
    sys.exit(main())
