"""`once cost`: what a month costs at list price, from measured counts, and what each setting saves.

The counts are those of bench/cost.py (bench/results/cost.json), the prices those of prices.toml.
"""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from once.project import ROOT, TEMPLATE

PRICES = Path(__file__).with_name("prices.toml")
RESULTS = ROOT / "bench" / "results"

# As template.yaml has them; tests/bench holds them together.
ENRICHMENT_MB = 512
ACTION_MB = 256
PACING_MB = 256
AT_ONCE = 5

MILLION = 1_000_000
GB = 1_000_000_000
_MONTH_SECONDS = 30 * 86_400
_LONG_POLL_SECONDS = 20


class LogLevel(StrEnum):
    ALL = "ALL"
    ERROR = "ERROR"
    OFF = "OFF"


@dataclass(frozen=True)
class Traffic:
    """A month of it, and the parameters of the stack that change its cost."""

    events: float
    copies: float = 0.2
    batch_size: int = 10
    log_level: LogLevel = LogLevel.ALL
    claim_days: int = 30
    limited: bool = False
    action_ms: float = 200


@dataclass(frozen=True)
class Measured:
    """Counts a batch, an event that acts, a copy of an earlier one, and a copy in one batch."""

    parts: Mapping[str, Mapping[str, float]]
    row_bytes: float
    event_bytes: float
    enrichment_ms: Mapping[str, float]
    action_added_ms: float
    custom_metrics: int
    alarms: int
    dashboards: int

    @classmethod
    def read(cls, folder: Path = RESULTS) -> "Measured":
        template = TEMPLATE.read_text()
        counted = json.loads((folder / "cost.json").read_text())
        action = json.loads((folder / "data_action.json").read_text())
        return cls(
            parts=counted["parts"],
            row_bytes=counted["rowBytes"],
            event_bytes=counted["eventBytes"],
            enrichment_ms=counted["enrichmentMs"],
            action_added_ms=action["warm_call"]["genesys"]["added_median_ms"],
            custom_metrics=counted["customMetrics"],
            alarms=template.count("Type: AWS::CloudWatch::Alarm"),
            dashboards=template.count("Type: AWS::CloudWatch::Dashboard"),
        )


Prices = Mapping[str, Any]


def prices() -> Prices:
    return tomllib.loads(PRICES.read_text())


@dataclass(frozen=True)
class Volume:
    """How often a month has each thing that is counted."""

    batches: float
    unique: float
    copies: float
    collapsed: float
    parts: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, traffic: Traffic, measured: Measured, same_batch: float) -> "Volume":
        copies = traffic.events * traffic.copies
        collapsed = copies * same_batch if traffic.batch_size > 1 else 0
        return cls(
            batches=traffic.events / traffic.batch_size,
            unique=traffic.events - copies,
            copies=copies - collapsed,
            collapsed=collapsed,
            parts=measured.parts,
        )

    def of_all(self, name: str) -> float:
        return (
            self.batches * self.parts["batch"][name]
            + self.unique * self.parts["unique"][name]
            + self.copies * self.parts["copy"][name]
            + self.collapsed * self.parts["collapsed"][name]
        )


def execution_seconds(traffic: Traffic, volume: Volume, assumed: Prices) -> float:
    """One batch in the state machine: so many events at once, each as long as one that acts."""
    turns = math.ceil((volume.unique + volume.copies) / volume.batches / AT_ONCE)
    unique, batch = volume.parts["unique"], volume.parts["batch"]
    event_ms = (
        unique["storeCalls"] * assumed["store_ms"]
        + unique["states"] * assumed["state_ms"]
        + assumed["call_ms"]
        + traffic.action_ms
    )
    around_ms = (
        batch["storeCalls"] * assumed["store_ms"]
        + batch["states"] * assumed["state_ms"]
        + assumed["call_ms"]  # the outcome log
    )
    return float(around_ms + turns * event_ms) / 1000


def function_seconds(ms_here: float, memory_mb: int, assumed: Prices) -> float:
    """What takes `ms_here` on a whole processor, in a function that has less of one."""
    return float(ms_here * assumed["mb_per_vcpu"] / memory_mb + assumed["runtime_ms"]) / 1000


def monthly(traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    """Dollars a month by what they are paid for. The last two do not depend on the events."""
    assumed = price["assumed"]
    volume = Volume.of(traffic, measured, assumed["same_batch"])
    batch_bytes = traffic.batch_size * measured.event_bytes
    chunks = math.ceil(batch_bytes / price["pipes"]["chunk_bytes"])
    per_request = price["lambda"]["requests_per_million"] / MILLION
    gb_second = price["lambda"]["gb_second"]

    size = "1" if traffic.batch_size == 1 else "10"
    enrichment_ms = measured.enrichment_ms[size] * traffic.batch_size / int(size)
    enriching = function_seconds(enrichment_ms, ENRICHMENT_MB, assumed)
    acting = traffic.action_ms / 1000 + function_seconds(
        measured.action_added_ms, ACTION_MB, assumed
    )
    step = price["step_functions"]
    rounding = step["express_rounds_to_ms"] / 1000
    billed = math.ceil(execution_seconds(traffic, volume, assumed) / rounding) * rounding

    # With a limit a batch asks pacing for its tokens, and one with copies gives theirs back: one
    # call and one write each. Without one, and while the destination is well, pacing is not called.
    paced = 0.0
    if traffic.limited:
        paced = volume.batches + min(volume.batches, volume.copies + volume.collapsed)
    writes = volume.of_all("writeUnits") + paced
    pacing = (assumed["store_ms"] + assumed["runtime_ms"]) / 1000
    stored = volume.unique * (measured.row_bytes + price["dynamodb"]["item_overhead_bytes"]) / GB
    machine_log = {
        LogLevel.ALL: volume.of_all("machineLogBytesAll"),
        LogLevel.ERROR: volume.of_all("machineLogBytesError"),
        LogLevel.OFF: 0.0,
    }[traffic.log_level]
    per_byte = price["logs"]["ingestion_gb"] / GB
    polls = assumed["pollers"] * _MONTH_SECONDS / _LONG_POLL_SECONDS
    watching = price["cloudwatch"]
    return {
        "EventBridge: the events": traffic.events
        * price["eventbridge"]["events_per_million"]
        / MILLION,
        "SQS: send, receive, delete": (traffic.events + 2 * volume.batches)
        * price["sqs"]["requests_per_million"]
        / MILLION,
        "Pipes": volume.batches * chunks * price["pipes"]["requests_per_million"] / MILLION,
        "Lambda: enrichment": volume.batches
        * (per_request + enriching * ENRICHMENT_MB / 1024 * gb_second),
        "Step Functions": volume.batches
        * (
            step["express_requests_per_million"] / MILLION
            + billed * step["express_memory_mb"] / 1024 * step["express_gb_second"]
        ),
        "Lambda: the calls": volume.of_all("actionCalls")
        * (per_request + acting * ACTION_MB / 1024 * gb_second),
        "Lambda: pacing": paced * (per_request + pacing * PACING_MB / 1024 * gb_second),
        "DynamoDB: claims": (
            writes * price["dynamodb"]["write_units_per_million"]
            + volume.of_all("readUnits") * price["dynamodb"]["read_units_per_million"]
        )
        / MILLION,
        "DynamoDB: claims kept": stored
        * traffic.claim_days
        / 30
        * (price["dynamodb"]["storage_gb_month"] + price["dynamodb"]["recovery_gb_month"]),
        "Logs: outcomes": volume.of_all("outcomeLogBytes") * per_byte,
        "Logs: functions": volume.of_all("functionLogBytes") * per_byte,
        "Logs: executions (estimate)": machine_log * per_byte,
        "waiting for events": polls * price["sqs"]["requests_per_million"] / MILLION,
        "alarms, metrics, dashboard": measured.alarms * watching["alarm_month"]
        + measured.custom_metrics * watching["metric_month"]
        + measured.dashboards * watching["dashboard_month"],
    }


FIXED = ("waiting for events", "alarms, metrics, dashboard")


def per_million(costs: Mapping[str, float], events: float) -> float:
    """What grows with the events, for a million of them."""
    return sum(v for name, v in costs.items() if name not in FIXED) * MILLION / events


def alternatives(traffic: Traffic) -> dict[str, Traffic]:
    """Each setting that changes the cost, turned one step."""
    levels = [level for level in LogLevel if level != traffic.log_level]
    return {
        **{f"LogLevel={level}": replace(traffic, log_level=level) for level in levels},
        ("BatchSize=1" if traffic.batch_size > 1 else "BatchSize=10"): replace(
            traffic, batch_size=1 if traffic.batch_size > 1 else 10
        ),
        "ClaimDays=7": replace(traffic, claim_days=7),
        ("no MaxActionsPerMinute" if traffic.limited else "a MaxActionsPerMinute"): replace(
            traffic, limited=not traffic.limited
        ),
    }


def cost(
    events_per_month: Annotated[float, typer.Option(min=1, help="Received, copies included.")],
    copies: Annotated[float, typer.Option(min=0, max=1, help="The share that are copies.")] = 0.2,
    batch_size: Annotated[int, typer.Option(min=1, max=10, help="As the stack's BatchSize.")] = 10,
    log_level: Annotated[LogLevel, typer.Option(help="As the stack's LogLevel.")] = LogLevel.ALL,
    claim_days: Annotated[int, typer.Option(min=1, help="As the stack's ClaimDays.")] = 30,
    limited: Annotated[
        bool, typer.Option("--limited", help="With a MaxActionsPerMinute that is not reached.")
    ] = False,
    action_ms: Annotated[
        float, typer.Option(min=0, help="How long the destination takes to answer.")
    ] = 200,
) -> None:
    """Print what a month costs at list price, what dominates, and what each setting saves."""
    traffic = Traffic(
        events_per_month, copies, batch_size, log_level, claim_days, limited, action_ms
    )
    measured = Measured.read()
    price = prices()
    costs = monthly(traffic, measured, price)
    total = sum(costs.values())
    table = Table(box=None, pad_edge=False)
    table.add_column("a month")
    table.add_column("US dollars", justify="right")
    table.add_column("share", justify="right")
    for name, dollars in sorted(costs.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{dollars:,.2f}", f"{dollars / total:.0%}")
    table.add_section()
    table.add_row("together", f"{total:,.2f}", "")
    Console().print(table)
    rate = per_million(costs, traffic.events)
    fixed = sum(costs[name] for name in FIXED)
    typer.echo(f"\n{rate:.2f} a million events, and {fixed:.2f} whatever comes.")
    typer.echo("\nSettings, by what they change:")
    for name, other in alternatives(traffic).items():
        change = sum(monthly(other, measured, price).values()) - total
        verb = "saves" if change < 0 else "adds"
        typer.echo(f"  {name} {verb} {abs(change):,.2f}")
    typer.echo(
        f"\nList prices of {price['region']}, {price['read_on']} (once/plan/prices.toml). "
        "Requests, units and log bytes are\nmeasured (bench/results/cost.json); the log of "
        "executions is an estimate from its documented form."
    )
