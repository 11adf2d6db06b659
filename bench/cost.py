"""Prices a million events: counts what each path of an event asks of AWS, in the simulator, and
multiplies by list prices.

Run: python -m bench.cost. Writes bench/results/cost.json.
"""

import math
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import machine_log, records
from proof.asl.errors import Failure
from proof.asl.machine import Machine
from proof.asl.position import Ended, Position
from proof.sim import deployed
from proof.sim.events import START_MS, Event
from proof.sim.hours import Load, run
from proof.sim.script import Script

PRICES = Path(__file__).with_name("prices.toml")
TEMPLATE = records.ROOT / "template.yaml"
MILLION, GB = 1_000_000, 1_000_000_000
ENRICHMENT_MB, ACTION_MB = 512, 128
POLLERS, MONTH_SECONDS = 5, 30 * 86_400
# Metrics that a healthy stack sends: four outcomes, and the seconds to the action.
METRICS = 5
LEVELS = ("ERROR", "ALL")

Counts = Counter[Any]
A = Event("a")
ON = Event("on", START_MS, "on", order="changes", noise="1")
OFF = replace(ON, name="off", at_ms=START_MS + 20_000, state="off", noise="2")
UNWANTED = replace(ON, name="unwanted", wanted=False)


class _Counting(Machine):
    """Notes each state that an execution passes through; the calls of tasks are on its tape."""

    def __init__(self) -> None:
        machine = deployed.machine()
        super().__init__(machine.definition, deployed.EXPRESSIONS, draw=lambda: 0.5)
        self.counts: Counts = Counter()

    def _through(self, at: Position, state: Mapping[str, Any], clock_ms: int) -> Position | Ended:
        self.counts["state", state["Type"], at.top.state] += 1
        return super()._through(at, state, clock_ms)


def counted(prepare: Callable[[Script], Script], per_minute: int = 0, hours: float = 1) -> Counts:
    """Counts all that a script asks of AWS."""
    machine = _Counting()
    script = Script(machine, deployed.functions(per_minute), per_minute=per_minute)
    script.world.counts, script.world.tapes = Counter(), {}
    prepare(script).plays(hours)
    counts = machine.counts
    counts.update(script.world.counts)
    for tape in script.world.tapes.values():
        for answered in tape.answers:
            if answered.call is None:
                continue
            is_refused = isinstance(answered.answer, Failure)
            counts["state", "Task", answered.call.state] += 1
            counts["task", answered.call.resource, is_refused] += 1
            if "LogEvents" in answered.call.arguments:
                line = answered.call.arguments["LogEvents"][0]["Message"]
                counts["record bytes"] += len(line.encode()) + machine_log.OVERHEAD_BYTES
                counts["records"] += 1
    return counts


def paths() -> dict[str, Counts]:
    """Counts each path of one event: a script with it, less one without."""

    def less(first: Counts, second: Counts) -> Counts:
        return Counter({name: n - second[name] for name, n in first.items() if n > second[name]})

    one = counted(lambda s: s.arrives(A))
    first_state = counted(lambda s: s.arrives(ON))
    quiet = replace(OFF, at_ms=START_MS + 300_000)
    again = replace(ON, name="again", at_ms=START_MS + 300_000, noise="3")
    paused = [
        counted(lambda s, d=d: s.pauses(0, 9_000).arrives(A, 1), hours=d / 3_600)  # type: ignore[misc]
        for d in (600, 1_000)
    ]
    waiting = [
        counted(lambda s: s.weather("500", 0, 9_000).arrives(A), hours=d / 3_600) for d in (20, 60)
    ]
    return {
        "acts, without an order": one,
        "acts, ordered": less(counted(lambda s: s.arrives(ON).arrives(quiet, 300)), first_state),
        "acts, ordered, soon after another": less(
            counted(lambda s: s.arrives(ON).arrives(OFF, 20)), first_state
        ),
        "acts, with a limit": counted(lambda s: s.arrives(A), per_minute=60),
        "a copy of a settled event": less(counted(lambda s: s.arrives(A).arrives(A, 60)), one),
        "a copy of an event in work": less(counted(lambda s: s.arrives(A).arrives(A, 0.02)), one),
        "stale": less(counted(lambda s: s.arrives(OFF).arrives(ON, 60)), first_state),
        "unchanged": less(counted(lambda s: s.arrives(ON).arrives(again, 300)), first_state),
        "unwanted": counted(lambda s: s.arrives(replace(A, wanted=False))),
        "unwanted, ordered": counted(lambda s: s.arrives(UNWANTED)),
        "a look with its claim": less(waiting[1], waiting[0]),
        "a short look": less(paused[1], paused[0]),
    }


def prices() -> dict[str, Any]:
    read = tomllib.loads(PRICES.read_text())
    return read | {"assumed": {name: one["value"] for name, one in read["assumed"].items()}}


def dollars(name: str, counts: Counts, level: str, price: Mapping[str, Any]) -> dict[str, float]:
    """Returns dollars by item for a million times this path."""
    assumed, units = price["assumed"], 1
    is_look, acts = "look" in name, name.startswith("acts")
    looks = max(1, counts["execution"])
    counts = Counter({key: n / looks for key, n in counts.items()})
    states = _states(counts)
    calls = {key: n for key, n in counts.items() if key[0] == "task"}
    table = {key: n for key, n in calls.items() if "dynamodb" in key[1]}
    reads = sum(n for key, n in table.items() if "getItem" in key[1])
    reads += counts["function read"]
    writes = sum(n for key, n in table.items() if "getItem" not in key[1])
    writes += counts["function update"] + counts["function delete"]
    function_s = counts["function"] * (
        acts * assumed["action_ms"]
        + assumed["store_ms"] * sum(counts[f"function {v}"] for v in ("read", "update", "delete"))
        + assumed["function_ms"] * assumed["mb_per_vcpu"] / ACTION_MB
        + assumed["runtime_ms"]
    ) / 1_000  # fmt: skip
    enriching_s = assumed["enrichment_ms"] * assumed["mb_per_vcpu"] / ENRICHMENT_MB
    enriching_s = (enriching_s + assumed["runtime_ms"]) / 1_000
    waits_s = sum(n for key, n in counts.items() if key[:2] == ("state", "Wait"))
    took_ms = (
        sum(table.values()) * assumed["store_ms"]
        + (sum(calls.values()) - sum(table.values())) * assumed["call_ms"]
        + states * assumed["state_ms"]
        + 1_000 * (function_s + waits_s)
    )
    billed_s = math.ceil(took_ms / 100) / 10
    log_bytes = _log_bytes(counts, level)
    record_bytes = counts["record bytes"] + counts["records"] * assumed["line_bytes"]

    def invoked(times: float, seconds: float, megabytes: int) -> float:
        lambda_, gb_s = price["lambda"], seconds * megabytes / 1_024
        return float(
            times * lambda_["requests_per_million"] + MILLION * gb_s * lambda_["gb_second"]
        )

    machine, logs = price["step_functions"], price["logs"]
    kept = acts * (assumed["row_bytes"] + price["dynamodb"]["item_overhead_bytes"])
    storage = price["dynamodb"]["storage_gb_month"] + price["dynamodb"]["recovery_gb_month"]
    sent = assumed["sent_bytes"] + assumed["call_overhead_bytes"] if acts else 0
    return {
        "EventBridge: the events": 0 if is_look else price["eventbridge"]["events_per_million"],
        "SQS: send, receive, delete": 3 * price["sqs"]["requests_per_million"] * units,
        "Pipes": price["pipes"]["requests_per_million"] * units,
        "Lambda: enrichment": invoked(1, enriching_s, ENRICHMENT_MB),
        "Step Functions": machine["express_requests_per_million"]
        + MILLION * billed_s * machine["express_memory_mb"] / 1_024 * machine["express_gb_second"],
        "Lambda: requests": invoked(counts["function"], function_s, ACTION_MB),
        "data transfer out": MILLION * sent / GB * price["transfer"]["out_gb"],
        "DynamoDB: claims": writes * price["dynamodb"]["write_units_per_million"]
        + reads * price["dynamodb"]["read_units_per_million"],
        "DynamoDB: claims kept": MILLION * kept / GB * storage,
        "Logs: outcomes": MILLION * record_bytes / GB * logs["ingestion_gb"],
        "Logs: executions (estimate)": MILLION * log_bytes / GB * logs["ingestion_gb"],
        "Logs: kept": MILLION * (record_bytes + log_bytes) / GB
        * assumed["log_compressed"] * logs["storage_gb_month"],
    }  # fmt: skip


def _log_bytes(counts: Counts, level: str) -> float:
    states = [(key[1], key[2]) for key, n in counts.items() if key[0] == "state"
              for _ in range(math.ceil(n))]  # fmt: skip
    tasks: list[tuple[str, str, str | None]] = []
    for key, n in counts.items():
        if key[0] == "task":
            ended = ("TaskFailed", key[1], "DynamoDB.ConditionalCheckFailedException")
            ended = ended if key[2] else ("TaskSucceeded", key[1], "")
            tasks += [("TaskScheduled", key[1], None), ended] * math.ceil(n)
    return machine_log.size(states, tasks, level)


def fixed(price: Mapping[str, Any]) -> dict[str, float]:
    """Returns dollars per month that do not depend on events."""
    template = TEMPLATE.read_text()
    watch = price["cloudwatch"]
    polls = POLLERS * MONTH_SECONDS / price["assumed"]["long_poll_s"]
    return {
        "idle pipe": polls / MILLION * price["sqs"]["requests_per_million"],
        "alarms": template.count(" MetricName: ") * watch["alarm_month"],
        "metrics": METRICS * watch["metric_month"],
        "dashboard": template.count("Type: AWS::CloudWatch::Dashboard") * watch["dashboard_month"],
    }


def mixed(of: Mapping[str, Mapping[str, float]], price: Mapping[str, Any]) -> dict[str, float]:
    """Returns dollars by item for a million messages of usual traffic."""
    assumed = price["assumed"]
    acts, copies = 1 - assumed["copies"], assumed["copies"]
    shares = {
        "acts, without an order": acts * (1 - assumed["ordered"]),
        "acts, ordered": acts * assumed["ordered"],
        "a copy of a settled event": copies * (1 - assumed["in_work"]),
        "a copy of an event in work": copies * assumed["in_work"],
    }
    items = next(iter(of.values()))
    return {item: sum(n * of[path][item] for path, n in shares.items()) for item in items}


def outages(price: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Returns what one event that waits costs, by the hours of an outage."""
    costs = {}
    for hours, events in ((1, 120), (6, 60), (24, 30)):
        load = Load(events, 1, outage_hours=hours, ordered=0, copies=0)
        report = run(load, deployed.machine(), deployed.functions(most_tries=20))
        recorded = sum(report.outcomes.values())
        costs[str(hours)] = {
            "looks": round(report.looks / report.events, 1),
            "short": round((report.looks - recorded) / report.events, 1),
            "drainedMinutes": report.drained_minutes,
            "lost": report.lost,
        }
    return costs


def _states(counts: Counts) -> float:
    return sum(n for key, n in counts.items() if key[0] == "state")


def _table_calls(counts: Counts) -> float:
    own = sum(counts[f"function {verb}"] for verb in ("read", "update", "delete"))
    return own + sum(n for key, n in counts.items() if key[0] == "task" and "dynamodb" in key[1])


def main() -> int:
    price, count = prices(), paths()
    by_level = {
        level: {name: dollars(name, counts, level, price) for name, counts in count.items()}
        for level in LEVELS
    }
    result = {
        "paths": {
            name: {
                "states": round(_states(counts) / counts["execution"], 1),
                "tableCalls": round(_table_calls(counts) / counts["execution"], 1),
                **{level: round(sum(by_level[level][name].values()), 2) for level in LEVELS},
            }
            for name, counts in count.items()
        },  # fmt: skip
        "items": {
            level: {item: round(d, 3) for item, d in mixed(by_level[level], price).items()}
            for level in LEVELS
        },
        "perMillion": {
            level: round(sum(mixed(by_level[level], price).values()), 2) for level in LEVELS
        },
        "fixed": {item: round(d, 2) for item, d in fixed(price).items()},
        "outages": outages(price),
        "assumed": price["assumed"],
    }
    records.write("cost", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
