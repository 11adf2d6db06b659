"""`once cost`: what a month costs at list price, from measured counts, and what each setting saves.

The counts are those of bench/cost.py and bench/data_action.py (bench/results), the prices those of
prices.toml, the batches and what becomes of copies those of pollers.py.
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

from once.plan.pollers import FIRST_POLLERS, Flow, Pipe, flow
from once.project import ROOT, TEMPLATE

PRICES = Path(__file__).with_name("prices.toml")
RESULTS = ROOT / "bench" / "results"

# As template.yaml has them; tests/bench holds them together.
ENRICHMENT_MB = 512
ACTION_MB = 128
PACING_MB = 128
AT_ONCE = 5
LOOKS_S = (1.0, 4.0, 10.0)  # after waits of 1, 3 and 6 s
SLOW_MS = 1_000  # after an answer that took longer the breaker's row is deleted, should it be there
LOG_DAYS = 30

MILLION = 1_000_000
GB = 1_000_000_000
MONTH_SECONDS = 30 * 86_400
BUCKET_DAYS = 60  # as template.yaml lets an object of the bucket live


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


@dataclass(frozen=True)
class Traffic:
    """A month of it, and the parameters of the stack that change its cost."""

    events: float
    per_second: float | None = None  # while they come; None: evenly, all month
    backlog: bool = False  # more waits than the pipe has taken, so batches are full
    copies: float = 0.2
    apart_ms: float = 50  # a copy comes 1 ms to this long after its first
    batch_size: int = 10
    window_s: int = 0
    log_level: LogLevel = LogLevel.ALL
    log_class: LogClass = LogClass.STANDARD
    claim_days: int = 30
    limited: bool = False
    target: Target = Target.genesys
    action_ms: float = 200
    overflow: float = 0  # the share of events whose body goes through the bucket

    @property
    def rate(self) -> float:
        return self.per_second or self.events / MONTH_SECONDS


@dataclass(frozen=True)
class Measured:
    """Counts a batch, an event that acts, a copy of a settled one, of one in work, of its batch."""

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

    def enrichment_of(self, batch: float) -> float:
        """Milliseconds of a batch, between those measured for one message and for ten."""
        one, ten = self.enrichment_ms["1"], self.enrichment_ms["10"]
        return one + (ten - one) * (batch - 1) / 9


Prices = Mapping[str, Any]


def prices() -> Prices:
    """What is assumed without its source, which is for readers of the file."""
    found = tomllib.loads(PRICES.read_text())
    return found | {"assumed": {name: one["value"] for name, one in found["assumed"].items()}}


def _event_s(
    part: Mapping[str, float], assumed: Prices, called_ms: float = 0, machine_calls: float = 0
) -> float:
    """How long the machine takes for one part of its work."""
    return (
        float(
            part["storeCalls"] * assumed["store_ms"]
            + part["states"] * assumed["state_ms"]
            + machine_calls * assumed["call_ms"]
            + called_ms
        )
        / 1000
    )


def function_seconds(ms_here: float, memory_mb: int, assumed: Prices) -> float:
    """What takes `ms_here` on a whole processor, in a function that has less of one."""
    return float(ms_here * assumed["mb_per_vcpu"] / memory_mb + assumed["runtime_ms"]) / 1000


def is_slow(traffic: Traffic) -> bool:
    """Whether each answer costs a write: of a row that is not there while the destination is well,
    and DynamoDB bills a refused write as well."""
    return traffic.action_ms > SLOW_MS


def acting_seconds(traffic: Traffic, measured: Measured, assumed: Prices) -> float:
    """How long a function works for one call."""
    noting_ms = assumed["store_ms"] if is_slow(traffic) else 0
    own = function_seconds(measured.action_added_ms, ACTION_MB, assumed)
    return float(traffic.action_ms + noting_ms) / 1000 + own


def pipe_of(traffic: Traffic, measured: Measured, price: Prices) -> Pipe:
    """What the pollers need to know of the stack."""
    assumed, parts = price["assumed"], measured.parts
    enriching = function_seconds(measured.enrichment_of(1), ENRICHMENT_MB, assumed)
    acting = 1000 * acting_seconds(traffic, measured, assumed)
    return Pipe(
        batch_size=traffic.batch_size,
        window_s=traffic.window_s,
        most_pollers=assumed["most_pollers"],
        at_once=AT_ONCE,
        around_s=enriching + assumed["call_ms"] / 1000,
        # The call beside the events is that of the outcome log.
        machine_s=_event_s(parts["batch"], assumed, machine_calls=1),
        event_s=_event_s(parts["unique"], assumed, acting, machine_calls=1),
        copy_s=_event_s(parts["copy"], assumed),
        looks_s=LOOKS_S,
        bills_s=price["step_functions"]["express_rounds_to_ms"] / 1000,
    )


def flow_of(traffic: Traffic, measured: Measured, price: Prices) -> Flow:
    pipe = pipe_of(traffic, measured, price)
    if traffic.backlog:
        return pipe.backlog(traffic.copies, price["assumed"]["same_batch"])
    return flow(traffic.rate, traffic.copies, traffic.apart_ms, pipe)


@dataclass(frozen=True)
class Volume:
    """How often a month has each thing that is counted."""

    batches: float
    unique: float
    copies: float
    held: float
    collapsed: float
    parts: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, traffic: Traffic, measured: Measured, flow: Flow) -> "Volume":
        copies = traffic.events * traffic.copies
        again = copies * flow.handed_back  # comes once more, and is settled then
        return cls(
            batches=(traffic.events + again) / flow.batch,
            unique=traffic.events - copies,
            copies=copies * flow.settled + again,
            held=copies * flow.held + again,
            collapsed=copies * flow.collapsed,
            parts=measured.parts,
        )

    def of_all(self, name: str) -> float:
        return (
            self.batches * self.parts["batch"][name]
            + self.unique * self.parts["unique"][name]
            + self.copies * self.parts["copy"][name]
            + self.held * self.parts["held"][name]
            + self.collapsed * self.parts["collapsed"][name]
        )


def monthly(traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    """Dollars a month by what they are paid for. The last two do not depend on the events."""
    assumed = price["assumed"]
    comes = flow_of(traffic, measured, price)
    volume = Volume.of(traffic, measured, comes)
    chunks = math.ceil(comes.batch * measured.event_bytes / price["pipes"]["chunk_bytes"])
    per_request = price["lambda"]["requests_per_million"] / MILLION
    gb_second = price["lambda"]["gb_second"]

    enriching = function_seconds(measured.enrichment_of(comes.batch), ENRICHMENT_MB, assumed)
    acting = acting_seconds(traffic, measured, assumed)
    step = price["step_functions"]

    # With a limit a batch asks pacing for its tokens, and one with copies gives theirs back: one
    # call and one write each. Without one, and while the destination is well, pacing is not called.
    paced = 0.0
    if traffic.limited:
        copies = volume.copies + volume.held + volume.collapsed
        paced = volume.batches + min(volume.batches, copies)
    called = volume.of_all("actionCalls")
    writes = volume.of_all("writeUnits") + paced + (called if is_slow(traffic) else 0)
    pacing = (assumed["store_ms"] + assumed["runtime_ms"]) / 1000
    kept = volume.unique * (measured.row_bytes + price["dynamodb"]["item_overhead_bytes"]) / GB

    logs = price["logs"]
    ingested = {
        "outcomes": volume.of_all("outcomeLogBytes") / GB,
        "functions": volume.of_all("functionLogBytes") / GB,
        "executions": {
            LogLevel.ALL: volume.of_all("machineLogBytesAll"),
            LogLevel.ERROR: volume.of_all("machineLogBytesError"),
            LogLevel.OFF: 0.0,
        }[traffic.log_level]
        / GB,
    }
    infrequent = traffic.log_class == LogClass.INFREQUENT_ACCESS
    executions_gb = logs["infrequent_ingestion_gb" if infrequent else "ingestion_gb"]
    logged = sum(ingested.values())
    large = traffic.events * traffic.overflow
    call_bytes = measured.call_bytes[traffic.target] + assumed["call_overhead_bytes"]
    # Five pollers wait for events all month, those that were added as long as events come.
    while_they_come = traffic.events / traffic.rate
    added = (comes.pollers - FIRST_POLLERS) * while_they_come / assumed["long_poll_s"]
    polls = FIRST_POLLERS * MONTH_SECONDS / assumed["long_poll_s"]
    watching = price["cloudwatch"]
    return {
        "EventBridge: the events": traffic.events
        * price["eventbridge"]["events_per_million"]
        / MILLION,
        "SQS: send, receive, delete": (traffic.events + 2 * volume.batches + added)
        * price["sqs"]["requests_per_million"]
        / MILLION,
        "Pipes": volume.batches * chunks * price["pipes"]["requests_per_million"] / MILLION,
        "Lambda: enrichment": volume.batches
        * (per_request + enriching * ENRICHMENT_MB / 1024 * gb_second),
        "Step Functions": volume.batches
        * (
            step["express_requests_per_million"] / MILLION
            + comes.billed_s * step["express_memory_mb"] / 1024 * step["express_gb_second"]
        ),
        "Lambda: the calls": called * (per_request + acting * ACTION_MB / 1024 * gb_second),
        "Lambda: pacing": paced * (per_request + pacing * PACING_MB / 1024 * gb_second),
        "the calls' way out": called * call_bytes / GB * price["transfer"]["out_gb"],
        "DynamoDB: claims": (
            writes * price["dynamodb"]["write_units_per_million"]
            + volume.of_all("readUnits") * price["dynamodb"]["read_units_per_million"]
        )
        / MILLION,
        "DynamoDB: claims kept": kept
        * traffic.claim_days
        / 30
        * (price["dynamodb"]["storage_gb_month"] + price["dynamodb"]["recovery_gb_month"]),
        "S3: large bodies": large
        * (price["s3"]["puts_per_thousand"] + price["s3"]["gets_per_thousand"])
        / 1000
        + large * assumed["large_bytes"] / GB * BUCKET_DAYS / 30 * price["s3"]["storage_gb_month"],
        "Logs: outcomes": ingested["outcomes"] * logs["ingestion_gb"],
        "Logs: functions": ingested["functions"] * logs["ingestion_gb"],
        "Logs: executions (estimate)": ingested["executions"] * executions_gb,
        "Logs: kept": logged * assumed["log_compressed"] * LOG_DAYS / 30 * logs["storage_gb_month"],
        "Logs: queries": (ingested["outcomes"] + ingested["executions"])
        / 30
        * assumed["queries"]
        * logs["scanned_gb"],
        "waiting for events": polls * price["sqs"]["requests_per_million"] / MILLION,
        "alarms, metrics, dashboard": measured.alarm_metrics * watching["alarm_month"]
        + measured.metrics_well * watching["metric_month"]
        + measured.dashboards * watching["dashboard_month"],
    }


FIXED = ("waiting for events", "alarms, metrics, dashboard")


def troubled(measured: Measured, price: Prices) -> float:
    """What a month costs beside the fixed part if every trouble is counted in each of its hours."""
    more = measured.metrics_most - measured.metrics_well
    return float(more * price["cloudwatch"]["metric_month"])


def per_million(costs: Mapping[str, float], events: float) -> float:
    """What grows with the events, for a million of them."""
    return sum(v for name, v in costs.items() if name not in FIXED) * MILLION / events


def alternatives(traffic: Traffic) -> dict[str, Traffic]:
    """Each setting that changes the cost, turned one step."""
    levels = [level for level in LogLevel if level != traffic.log_level]
    found = {f"LogLevel={level}": replace(traffic, log_level=level) for level in levels}
    if traffic.log_class == LogClass.STANDARD:
        rarely = replace(traffic, log_class=LogClass.INFREQUENT_ACCESS)
        found["ExecutionLogClass=INFREQUENT_ACCESS"] = rarely
    for window_s in (1, 5):
        if traffic.window_s != window_s:
            found[f"BatchWindowSeconds={window_s}"] = replace(traffic, window_s=window_s)
    return found | {
        "ClaimDays=7": replace(traffic, claim_days=7),
        ("no MaxActionsPerMinute" if traffic.limited else "a MaxActionsPerMinute"): replace(
            traffic, limited=not traffic.limited
        ),
    }


def cost(
    events_per_month: Annotated[float, typer.Option(min=1, help="Received, copies included.")],
    per_second: Annotated[
        float | None,
        typer.Option(min=0.001, help="While they come. Default: evenly, all month."),
    ] = None,
    copies: Annotated[float, typer.Option(min=0, max=0.99, help="The share of copies.")] = 0.2,
    apart_ms: Annotated[
        float, typer.Option(min=1, help="Copies come up to this long after their first.")
    ] = 50,
    batch_size: Annotated[int, typer.Option(min=1, max=10, help="As the stack's BatchSize.")] = 10,
    window: Annotated[
        int, typer.Option("--window", min=0, max=30, help="As the stack's BatchWindowSeconds.")
    ] = 0,
    log_level: Annotated[LogLevel, typer.Option(help="As the stack's LogLevel.")] = LogLevel.ALL,
    log_class: Annotated[
        LogClass, typer.Option(help="As the stack's ExecutionLogClass.")
    ] = LogClass.STANDARD,
    claim_days: Annotated[int, typer.Option(min=1, help="As the stack's ClaimDays.")] = 30,
    limited: Annotated[
        bool, typer.Option("--limited", help="With a MaxActionsPerMinute that is not reached.")
    ] = False,
    target: Annotated[Target, typer.Option(help="As the stack's ActionTarget.")] = Target.genesys,
    action_ms: Annotated[
        float, typer.Option(min=0, help="How long the destination takes to answer.")
    ] = 200,
    overflow: Annotated[
        float,
        typer.Option(min=0, max=1, help="The share of events too large for a batch of theirs."),
    ] = 0,
) -> None:
    """Print what a month costs at list price, what dominates, and what each setting saves."""
    traffic = Traffic(
        events=events_per_month,
        per_second=per_second,
        copies=copies,
        apart_ms=apart_ms,
        batch_size=batch_size,
        window_s=window,
        log_level=log_level,
        log_class=log_class,
        claim_days=claim_days,
        limited=limited,
        target=target,
        action_ms=action_ms,
        overflow=overflow,
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
        if dollars:
            table.add_row(name, f"{dollars:,.2f}", f"{dollars / total:.0%}")
    table.add_section()
    table.add_row("together", f"{total:,.2f}", "")
    Console().print(table)
    rate = per_million(costs, traffic.events)
    fixed = sum(costs[name] for name in FIXED)
    most = fixed + troubled(measured, price)
    comes = flow_of(traffic, measured, price)
    typer.echo(
        f"\n{rate:.2f} a million events, and {fixed:.2f} however many come; {most:.2f} at most, if "
        "every trouble\nthat a metric tells of is there in each hour of the month."
    )
    typer.echo(
        f"At {traffic.rate:,.3g} a second the pipe hands on {comes.batch:.1f} at a time. "
        f"Of the copies {comes.collapsed:.0%} come in the\nbatch of their first, "
        f"{comes.held:.0%} while it is in work, {comes.settled:.0%} after it."
    )
    typer.echo("\nSettings, by what they change:")
    for name, other in alternatives(traffic).items():
        change = sum(monthly(other, measured, price).values()) - total
        verb = "saves" if change < 0 else "adds"
        typer.echo(f"  {name} {verb} {abs(change):,.2f}{_delay(other, measured, price)}")
    typer.echo(
        f"\nList prices of {price['region']}, {price['read_on']}, before what is free of charge, "
        "and what is assumed:\nonce/plan/prices.toml. Requests, units and log bytes are measured "
        "(bench/results); the log of\nexecutions is an estimate from its documented form."
    )


def _delay(traffic: Traffic, measured: Measured, price: Prices) -> str:
    """What a batching window costs in time."""
    if not traffic.window_s:
        return ""
    comes = flow_of(traffic, measured, price)
    most = max(traffic.window_s, price["assumed"]["window_wait_s"])
    return (
        f", with batches of {comes.batch:.1f}; an event waits {comes.queued_s:.1f} s on average, "
        f"and up to {most} s where little comes"
    )
