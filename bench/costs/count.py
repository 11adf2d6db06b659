"""Counts what executions need, one by one, and what that costs: the deployed definition and
functions and the real enrichment in the simulator, with production's times.

Prices and quotas, with their sources, are beside this file; times that no price list says are
assumed in prices.toml.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench import product, sources
from proof.asl.errors import Failure
from proof.asl.machine import Machine, State
from proof.asl.position import Ended, Position
from proof.sim import deployed
from proof.sim.function import Invocation, Step
from proof.sim.world import Tape

COSTS = Path(__file__).parent
PRICES = tomllib.loads((COSTS / "prices.toml").read_text())
QUOTAS = tomllib.loads((COSTS / "quotas.toml").read_text())
ASSUMED = {name: assumed["value"] for name, assumed in PRICES["assumed"].items()}
GB = 1_000_000_000
ENRICHMENT_MB, ACTION_MB = 512, 128
LEVELS = ("ERROR", "ALL")
# Each event of a log counts for so much more than its text, when it is put and when it is kept.
OVERHEAD_BYTES = 26

Units = Counter[str]  # amounts by what is counted

# What is paid for: an item, its price in prices.toml, and the unit that the price is for.
CHARGES = (
    ("EventBridge: the events", "eventbridge.events_per_million", "arrived"),
    ("SQS", "sqs.requests_per_million", "queueRequests"),
    ("Pipes", "pipes.requests_per_million", "executions"),
    ("Lambda: enrichment", "lambda.requests_per_million", "executions"),
    ("Lambda: enrichment", "lambda.gb_second", "enrichmentGbSeconds"),
    ("Step Functions", "step_functions.express_requests_per_million", "executions"),
    ("Step Functions", "step_functions.express_gb_second", "machineGbSeconds"),
    ("Lambda: data action", "lambda.requests_per_million", "invocations"),
    ("Lambda: data action", "lambda.gb_second", "actionGbSeconds"),
    ("data transfer out", "transfer.out_gb", "sentBytes"),
    ("DynamoDB: writes and reads", "dynamodb.write_units_per_million", "writeUnits"),
    ("DynamoDB: writes and reads", "dynamodb.read_units_per_million", "readUnits"),
    ("DynamoDB: claims kept", "dynamodb.storage_gb_month", "claimBytes"),
    ("DynamoDB: claims kept", "dynamodb.recovery_gb_month", "claimBytes"),
    ("Logs: outcomes", "logs.ingestion_gb", "outcomeBytes"),
    ("Logs: executions", "logs.ingestion_gb", "machineBytes"),
    ("Logs: kept and queried", "logs.storage_gb_month", "keptBytes"),
    ("Logs: kept and queried", "logs.scanned_gb", "scannedBytes"),
)


# How much one price is for, by the end of its name.
_UNITS = {"_per_million": 1_000_000, "_gb": GB, "_gb_month": GB}


class NotingMachine(Machine):
    """Counts the states that an execution passes through without a call."""

    def __init__(self) -> None:
        definition = deployed.machine().definition
        super().__init__(definition, deployed.ENGINE, draw=lambda: 0.5)
        self.passed: Counter[str] = Counter()

    def _through(self, at: Position, state: State, clock_ms: int) -> Position | Ended:
        self.passed[at.execution.id.rpartition(":")[2]] += 1
        return super()._through(at, state, clock_ms)


class Counted:
    """A site whose executions are counted one by one."""

    def __init__(self, tempers: Mapping[str, Any], **options: Any) -> None:
        assumed = {
            "aws": ASSUMED["store_ms"],
            "function": ASSUMED["store_ms"],
            "cold": ASSUMED["call_ms"],
            "request": ASSUMED["action_ms"],
        }
        self._speed = sources.read("speed")
        self.machine = NotingMachine()
        self.site = product.Site(
            tempers,
            latency_ms=lambda kind: assumed.get(kind, 0),
            machine=self.machine,
            **options,
        )

    def units(self) -> dict[str, Units]:
        """Counts what each execution needs, with its messages and its functions."""
        invoked: dict[str, list[tuple[Invocation, int]]] = {}
        for invocation, ended_ms in self.site.witness.invocations:
            invoked.setdefault(invocation.by, []).append((invocation, ended_ms))
        tapes = self.site.world.tapes or {}
        return {name: self._execution(name, tape, invoked) for name, tape in tapes.items()}

    def _execution(
        self, name: str, tape: Tape, invoked: Mapping[str, list[tuple[Invocation, int]]]
    ) -> Units:
        speed = self._speed
        units = Units(executions=1, queueRequests=2)  # received and deleted
        enriching_s = _function_s(speed["enrichment"]["medianMs"], ENRICHMENT_MB)
        units["enrichmentGbSeconds"] = enriching_s * ENRICHMENT_MB / 1024
        for answered in tape.answers:
            if answered.call is None:
                raise TypeError("an answer without a call")
            operation = answered.call.resource.rpartition(":")[2]
            _count_request(units, operation, answered.call.arguments)
            if "pace" in str(answered.call.arguments.get("Key", "")):
                # Environments of the function read the row once a second, which is far less.
                units["breakerReadUnits"] += 0.5
        tasks = len(tape.answers)
        failed = sum(isinstance(answered.answer, Failure) for answered in tape.answers)
        states = self.machine.passed[name] + tasks
        ended_ms = tape.answers[-1].answered_ms + ASSUMED["state_ms"] * states
        step_ms = PRICES["step_functions"]["express_rounds_to_ms"]
        billed_s = math.ceil((ended_ms - tape.began_ms) / step_ms) * step_ms / 1_000
        units["machineGbSeconds"] = billed_s * PRICES["step_functions"]["express_memory_mb"] / 1024
        units["seconds"] = (ended_ms - tape.began_ms) / 1_000
        # It begins and ends, each state is entered and left, a task is scheduled, started and ends.
        lines = 2 + 2 * states + 3 * tasks - failed
        units["machineBytesERROR"] = failed * ASSUMED["log_failure_bytes"]
        units["machineBytesALL"] = units["machineBytesERROR"] + lines * ASSUMED["log_line_bytes"]
        for invocation, action_ended_ms in invoked.get(name, []):
            own_s = _function_s(speed["dataAction"]["processorMs"], ACTION_MB)
            lasts_s = (action_ended_ms - invocation.began_ms) / 1_000 + own_s
            units["invocations"] += 1
            units["actionGbSeconds"] += lasts_s * ACTION_MB / 1024
            for n in range(len(invocation.heard)):
                before = invocation._replace(heard=invocation.heard[:n])
                step, _ = self.site.world.function.reached(before)
                if isinstance(step, Step):
                    _count_request(units, f"{step.verb}Item", step.request)
                else:
                    sent = speed["dataAction"]["sentBytes"]
                    units["sentBytes"] += sent + ASSUMED["call_overhead_bytes"]
        return units


def _function_s(ms_here: float, memory_mb: int) -> float:
    """Converts processor time measured here to that of a function, which has a part of one."""
    return float(ms_here * ASSUMED["mb_per_vcpu"] / memory_mb + ASSUMED["runtime_ms"]) / 1_000


def _count_request(units: Units, operation: str, request: Mapping[str, Any]) -> None:
    match operation:
        case "getItem" | "readItem":
            units["readUnits"] += 1 if request.get("ConsistentRead") else 0.5
        case "putItem" | "updateItem" | "deleteItem":  # a refused write costs as much
            units["writeUnits"] += 1
        case "sendMessage":
            units["queueRequests"] += 1
        case "putLogEvents":
            (line,) = request["LogEvents"]
            units["outcomeBytes"] += len(line["Message"].encode()) + OVERHEAD_BYTES


def dollars(units: Units, level: str) -> dict[str, float]:
    """Returns what units cost, by item."""
    counted = Units(units)
    counted["machineBytes"] = units[f"machineBytes{level}"]
    logged = counted["outcomeBytes"] + counted["machineBytes"]
    counted["keptBytes"] = logged * ASSUMED["log_compressed"]
    counted["scannedBytes"] = logged / 30 * ASSUMED["queries"]
    costs: Counter[str] = Counter()
    for item, path, unit in CHARGES:
        service, _, name = path.partition(".")
        unit_size = next((n for end, n in _UNITS.items() if name.endswith(end)), 1)
        costs[item] += counted[unit] * PRICES[service][name] / unit_size
    return dict(costs)
