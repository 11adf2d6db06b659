"""Works out what events ask of AWS: batches, requests, bytes and seconds.

The counts are those of bench/cost.py and bench/data_action.py (bench/results), the times those of
prices.toml, the batches and what becomes of copies those of batches.json.
"""

import json
import math
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from once.project import ROOT, TEMPLATE

PRICES = Path(__file__).with_name("prices.toml")
BATCHES = Path(__file__).with_name("batches.json")  # written by proof/pollers.py
RESULTS = ROOT / "bench" / "results"

# As template.yaml has them; tests/bench holds them together.
ENRICHMENT_MB = 512
ACTION_MB = 128
PACING_MB = 128
AT_ONCE = 5
BATCH_SIZE = 10
FIRST_POLLERS = 5
LOOKS_S = (1.0, 4.0, 10.0)  # after waits of 1, 3 and 6 s
SLOW_MS = 1_000  # a slower response deletes the breaker's row, should it be there

MONTH_SECONDS = 30 * 86_400

Prices = Mapping[str, Any]


class LogLevel(StrEnum):
    ALL = "ALL"
    ERROR = "ERROR"
    OFF = "OFF"


class LogClass(StrEnum):
    STANDARD = "STANDARD"
    INFREQUENT_ACCESS = "INFREQUENT_ACCESS"


class Target(StrEnum):
    genesys = "genesys"
    webhook = "webhook"
    eventbridge = "eventbridge"


# Options that `once cost` and `once capacity` share.
CopiesOption = Annotated[float, typer.Option(min=0, max=0.99, help="The share of copies.")]
WindowOption = Annotated[
    int, typer.Option("--window", min=0, max=30, help="As the stack's BatchWindowSeconds.")
]
TargetOption = Annotated[Target, typer.Option(help="As the stack's ActionTarget.")]
ActionOption = Annotated[
    float, typer.Option(min=1, help="How long the destination takes to respond.")
]


@dataclass(frozen=True)
class Traffic:
    """A month of it, and the parameters of the stack that change its cost."""

    events: float
    per_second: float | None = None  # while they come; None: evenly, all month
    backlog: bool = False  # more waits than the pipe has taken, so batches are full
    copies: float = 0.2
    window_s: int = 0
    log_level: LogLevel = LogLevel.ALL
    log_payloads: bool = False
    log_class: LogClass = LogClass.STANDARD
    claim_days: int = 30
    limited: bool = False
    target: Target = Target.genesys
    action_ms: float = 200

    @property
    def rate(self) -> float:
        return self.per_second or self.events / MONTH_SECONDS

    @property
    def is_slow(self) -> bool:
        """Tells that each response costs a write of a row that a healthy destination has not:
        DynamoDB bills a refused write as well."""
        return self.action_ms > SLOW_MS


@dataclass(frozen=True)
class Measured:
    """Counts by part: a batch, an event that acts, a copy of a settled one, of one in work, of its
    batch."""

    parts: Mapping[str, Mapping[str, float]]
    row_bytes: float
    event_bytes: float
    enrichment_ms: Mapping[str, float]
    action_added_ms: float
    call_bytes: Mapping[str, float]
    metrics_well: int  # that a stack writes while nothing is wrong
    metrics_most: int  # with one for every trouble that it can tell of
    alarm_metrics: int  # each alarm with every metric that it reads
    dashboards: int

    @classmethod
    def read(cls, folder: Path = RESULTS) -> "Measured":
        template = TEMPLATE.read_text()
        counted = json.loads((folder / "cost.json").read_text())
        calls = json.loads((folder / "data_action.json").read_text())["warm_call"]
        return cls(
            parts=counted["parts"],
            row_bytes=counted["rowBytes"],
            event_bytes=counted["eventBytes"],
            enrichment_ms=counted["enrichmentMs"],
            action_added_ms=calls["genesys"]["processor_ms"],
            call_bytes={target: one["sent_bytes"] for target, one in calls.items()},
            metrics_well=counted["customMetrics"]["well"],
            metrics_most=counted["customMetrics"]["most"],
            alarm_metrics=template.count(" MetricName: "),
            dashboards=template.count("Type: AWS::CloudWatch::Dashboard"),
        )


def prices() -> Prices:
    """Reads prices.toml; the source of an assumption is for readers of the file."""
    found = tomllib.loads(PRICES.read_text())
    return found | {"assumed": {name: one["value"] for name, one in found["assumed"].items()}}


def function_seconds(ms_here: float, memory_mb: int, assumed: Prices) -> float:
    """Converts processor time measured here to that of a function, which has a part of one."""
    return float(ms_here * assumed["mb_per_vcpu"] / memory_mb + assumed["runtime_ms"]) / 1000


def enriching_seconds(batch: float, measured: Measured, assumed: Prices) -> float:
    """Returns the time of a batch, between those measured for one message and for ten."""
    one, ten = measured.enrichment_ms["1"], measured.enrichment_ms["10"]
    ms = one + (ten - one) * (batch - 1) / (BATCH_SIZE - 1)
    return function_seconds(ms, ENRICHMENT_MB, assumed)


def acting_seconds(traffic: Traffic, measured: Measured, assumed: Prices) -> float:
    """Returns how long a function works for one request."""
    noting_ms = assumed["store_ms"] if traffic.is_slow else 0
    own = function_seconds(measured.action_added_ms, ACTION_MB, assumed)
    return float(traffic.action_ms + noting_ms) / 1000 + own


@dataclass(frozen=True)
class Flow:
    """Batches at a rate of events, and what becomes of copies: the shares are of the copies."""

    batch: float
    collapsed: float  # in the batch of its first
    held: float  # while its first is in work
    settled: float  # after its first is done
    pollers: float
    queued_s: float  # mean, until its batch is handed over


@dataclass(frozen=True)
class Times:
    """Mean seconds of a batch, from poll to report, and as Step Functions bills them."""

    batch_s: float
    billed_s: float


@dataclass(frozen=True)
class Pipe:
    """The way in which the pipe cuts batches, and the time that each takes."""

    window_s: float
    most_pollers: int
    at_once: int  # events of a batch
    around_s: float  # of a batch, outside of the machine
    machine_s: float  # of a batch in the machine, without its events
    event_s: float  # of an event that acts
    copy_s: float  # of a copy of a settled event
    looks_s: tuple[float, ...]  # when a copy of an event in work reads the claim again
    bills_s: float  # steps of time that the machine is billed in

    def wait_s(self, work_s: float) -> float:
        """Returns how long a copy waits for an event that is in work for so long."""
        return next((look for look in self.looks_s if look >= work_s), self.looks_s[-1])

    def times(self, comes: Flow, copies: float) -> Times:
        """Returns how long a batch takes; a copy of an event in work prolongs its batch."""
        unique = comes.batch * (1 - copies * comes.collapsed)
        turns_s = math.ceil(round(unique / self.at_once, 1)) * self.event_s
        meets = 1 - (1 - copies * comes.held) ** comes.batch
        waits_s = max(0.0, self.copy_s + self.wait_s(self.event_s) - turns_s)
        quick_s, slow_s = (self.machine_s + turns_s + more for more in (0.0, waits_s))
        return Times(
            batch_s=self.around_s + quick_s + meets * waits_s,
            billed_s=(1 - meets) * self._billed(quick_s) + meets * self._billed(slow_s),
        )

    def _billed(self, machine_s: float) -> float:
        return math.ceil(round(machine_s / self.bills_s, 6)) * self.bills_s


def pipe_of(traffic: Traffic, measured: Measured, price: Prices) -> Pipe:
    """Returns the pipe of a stack, in the times that were measured or are assumed."""
    assumed = price["assumed"]

    def machine_s(name: str, invocations: int = 0) -> float:
        part = measured.parts[name]
        store_ms = part["storeCalls"] * assumed["store_ms"]
        states_ms = part["states"] * assumed["state_ms"]
        return float(store_ms + states_ms + invocations * assumed["call_ms"]) / 1000

    return Pipe(
        window_s=traffic.window_s,
        most_pollers=assumed["most_pollers"],
        at_once=AT_ONCE,
        around_s=enriching_seconds(1, measured, assumed) + assumed["call_ms"] / 1000,
        machine_s=machine_s("batch", invocations=1),  # that of the outcome log
        event_s=machine_s("unique", invocations=1) + acting_seconds(traffic, measured, assumed),
        copy_s=machine_s("copy"),
        looks_s=LOOKS_S,
        bills_s=price["step_functions"]["express_rounds_to_ms"] / 1000,
    )


def flow_of(traffic: Traffic, price: Prices) -> Flow:
    """Returns the simulated flow at a rate, between the two nearest that were simulated."""
    if traffic.backlog:
        same = price["assumed"]["same_batch"]
        return Flow(BATCH_SIZE, same, 1 - same, 0, FIRST_POLLERS, math.inf)
    simulated = json.loads(BATCHES.read_text())
    window_s = max(w for one in simulated if (w := one["windowSeconds"]) <= traffic.window_s)
    chosen = [one for one in simulated if one["windowSeconds"] == window_s]
    flows = {one["perSecond"]: Flow(**one["flow"]) for one in chosen}
    rates = sorted(flows)
    rate = min(max(traffic.rate, rates[0]), rates[-1])
    at = bisect_left(rates, rate)
    below, above = rates[max(0, at - 1)], rates[at]
    share = math.log(rate / below) / math.log(above / below) if above > below else 0.0
    ends = zip(astuple(flows[below]), astuple(flows[above]), strict=True)
    return Flow(*(low + share * (high - low) for low, high in ends))


class Volume:
    """The number of times that each measured part occurs."""

    def __init__(self, traffic: Traffic, measured: Measured, flow: Flow) -> None:
        copies = traffic.events * traffic.copies
        self.batches = traffic.events / flow.batch
        self.unique = traffic.events - copies
        self._times = {
            "batch": self.batches,
            "unique": self.unique,
            "copy": copies * flow.settled,
            "held": copies * flow.held,
            "collapsed": copies * flow.collapsed,
        }
        self._parts = measured.parts

    def sum(self, name: str) -> float:
        """Adds up what is counted under a name, over all parts."""
        return sum(times * self._parts[part][name] for part, times in self._times.items())
