"""`once capacity`: which quota binds first at a rate of events, and what happens from a cold start.

Quotas are AWS's documented defaults (quotas.toml); requests and units per event are measured
(bench/results/cost.json). None of it was tried on an account.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import boto3
import typer
from rich.console import Console
from rich.table import Table

from once.answers import command
from once.errors import OnceError
from once.plan.traffic import (
    BATCH_SIZE,
    MONTH_SECONDS,
    ActionOption,
    CopiesOption,
    Measured,
    Prices,
    Target,
    TargetOption,
    Traffic,
    Volume,
    WindowOption,
    acting_seconds,
    enriching_seconds,
    flow_of,
    pipe_of,
    prices,
)

QUOTAS = Path(__file__).with_name("quotas.toml")
VISIBILITY_SECONDS = 480  # as template.yaml has it; tests/bench holds them together
SIMULATED_SECONDS = 3_600
_LEAST_CONCURRENCY = 10

Quotas = Mapping[str, Any]


def quotas() -> Quotas:
    return tomllib.loads(QUOTAS.read_text())


@dataclass(frozen=True)
class Load:
    """The load of one received event per second, in the batches that a rate makes."""

    batch: float
    full_batch_seconds: float  # from its enrichment to its report
    batches: float
    requests: float
    requests_at_once: float
    functions_at_once: float
    writes: float

    @classmethod
    def of(cls, traffic: Traffic, measured: Measured, price: Prices) -> "Load":
        assumed = price["assumed"]
        comes = flow_of(traffic, price)
        full = flow_of(replace(traffic, backlog=True), price)
        volume = Volume(replace(traffic, events=1), measured, comes)
        requests = volume.sum("actionCalls")
        acting_s = requests * acting_seconds(traffic, measured, assumed)
        enriching_s = volume.batches * enriching_seconds(comes.batch, measured, assumed)
        pipe = pipe_of(traffic, measured, price)
        return cls(
            batch=comes.batch,
            full_batch_seconds=pipe.times(full, traffic.copies).batch_s,
            batches=volume.batches,
            requests=requests,
            requests_at_once=requests * traffic.action_ms / 1000,
            functions_at_once=acting_s + enriching_s,
            writes=volume.sum("writeUnits") + (requests if traffic.is_slow else 0),
        )


@dataclass(frozen=True)
class Limit:
    """A quota, and what one received event per second asks of it."""

    name: str
    ask: str
    allowed: float
    per_event: float
    unit: str = "/s"

    @property
    def quota(self) -> str:
        return f"{self.allowed:,.0f}{self.unit}"

    @property
    def events_per_second(self) -> float:
        return self.allowed / (60 if self.unit == "/min" else 1) / self.per_event


def limits(
    load: Load,
    quota: Quotas,
    region: str,
    destination: float | None,
    limited: bool,
    target: Target = Target.genesys,
) -> list[Limit]:
    """Returns the lowest first. `destination` is requests per minute; None: the target's own."""
    found: list[Limit] = []

    def add(name: str, source: str, per_event: float, key: str = "", unit: str = "/s") -> None:
        of = quota[source]
        allowed = of[key] if key else of.get(region, of["default"])
        found.append(Limit(name, of["ask"], allowed, per_event, unit))

    add("EventBridge to the queue", "eventbridge_invocations", 1)
    pipes = quota["pipe_batches"]
    at_once = min(pipes["of_one_queue"], pipes.get(region, pipes["default"]))
    full = load.full_batch_seconds / BATCH_SIZE
    found.append(Limit("pipe, concurrent batches", pipes["ask"], at_once, full, ""))
    add("concurrent functions", "lambda_concurrency", load.functions_at_once, unit="")
    add("table, write units", "dynamodb_table_writes", load.writes)
    add("breaker's row, read units", "dynamodb_partition", 0.5 * load.batches, "reads")
    add("outcome log, requests", "put_log_events", load.batches)
    if limited:  # a batch takes its tokens, and one with copies returns theirs
        add("token row, write units", "dynamodb_partition", 2 * load.batches, "writes")
    if destination is not None:
        ask = quota["genesys"]["ask"]
        found.append(Limit("destination", ask, destination, load.requests, "/min"))
    elif target is Target.eventbridge:
        add("EventBridge to the target bus", "put_events", load.requests)
    elif target is Target.genesys:
        per_token, executed = "requests_per_minute", "executions_per_minute"
        add("Genesys Cloud, requests per token", "genesys", load.requests, per_token, "/min")
        add("Genesys Cloud, data actions", "genesys", load.requests, executed, "/min")
        concurrent = "concurrent_executions"
        add("Genesys Cloud, concurrent requests", "genesys", load.requests_at_once, concurrent, "")
    return sorted(found, key=lambda limit: limit.events_per_second)


@dataclass(frozen=True)
class Course:
    """The course of the queue at a constant rate after a cold start."""

    most_waiting: float
    longest_wait_seconds: float
    caught_up_after_seconds: int | None  # None: never, within the simulated hour
    slowest: str


def simulate(rate: float, load: Load, found: list[Limit], quota: Quotas) -> Course:
    """Goes second by second: the pipe begins with five batches and adds 300 per minute, functions
    and the table grow as documented; everything else is as fast as its quota from the beginning.
    """
    pipes, lambdas = quota["pipe_batches"], quota["lambda_concurrency"]
    fixed = {limit.name: limit.events_per_second for limit in found}
    waiting = most = longest = 0.0
    caught_up: int | None = None
    slowest = ""
    peak_writes = quota["dynamodb_table_writes"]["new_table"] / 2
    for second in range(SIMULATED_SECONDS):
        at_once = pipes["first"] + pipes["more_per_minute"] * second / 60
        environments = lambdas["more_per_second"] * (second + 1)
        now = fixed | {
            "pipe, starting up": at_once * BATCH_SIZE / load.full_batch_seconds,
            "functions, starting up": environments / load.functions_at_once,
            "table, growing": 2 * peak_writes / load.writes,
        }
        bound = min(now, key=lambda name: now[name])
        served = min(waiting + rate, now[bound])
        waiting += rate - served
        peak_writes = max(peak_writes, served * load.writes)
        longest = max(longest, waiting / now[bound])
        if waiting > max(1, most):
            slowest = bound
        if waiting > 1:
            caught_up = None
        elif caught_up is None:
            caught_up = second
        most = max(most, waiting)
    return Course(most, longest, caught_up, slowest)


def fitting_concurrency(rate: float, load: Load) -> int:
    """Returns a MaxConcurrentActions that only a destination that hangs reaches.

    Requests come by chance: from 16 at once on, twice the mean is four deviations above it.
    """
    return max(_LEAST_CONCURRENCY, math.ceil(2 * rate * load.requests_at_once))


def returned_per_second(quota: Quotas) -> float:
    """Returns how many events may return to the queue before it stops giving out others."""
    return float(quota["sqs_in_flight"]["default"]) / VISIBILITY_SECONDS


@command("once capacity --rate 50 --region eu-west-1")
def capacity(
    rate: Annotated[float, typer.Option(min=0.1, help="Received events per second.")],
    region: Annotated[str, typer.Option(help="The AWS region; quotas differ.")] = "eu-central-1",
    copies: CopiesOption = 0.2,
    window: WindowOption = 0,
    action_ms: ActionOption = 200,
    destination_per_minute: Annotated[
        float | None,
        typer.Option(
            min=1, help="Requests that the destination accepts. Default: the limits of the target."
        ),
    ] = None,
    target: TargetOption = Target.genesys,
    limited: Annotated[
        bool, typer.Option("--limited", help="With a MaxActionsPerMinute set.")
    ] = False,
) -> None:
    """Print which AWS quota a rate reaches first, what to ask AWS, and how a cold start goes."""
    session = boto3.Session()
    partitions = session.get_available_partitions()
    if not any(region in session.get_available_regions("sqs", name) for name in partitions):
        raise OnceError(f"AWS has no region {region}. Name one as in eu-central-1.")
    traffic = Traffic(
        events=rate * MONTH_SECONDS,
        per_second=rate,
        copies=copies,
        window_s=window,
        limited=limited,
        target=target,
        action_ms=action_ms,
    )
    load = Load.of(traffic, Measured.read(), prices())
    quota = quotas()
    found = limits(load, quota, region, destination_per_minute, limited, target)
    table = Table("quota", "default", "events per second", "", box=None, pad_edge=False)
    for limit in found:
        enough = limit.events_per_second >= rate
        allowed = math.floor(limit.events_per_second)
        table.add_row(limit.name, limit.quota, f"{allowed:,}", "" if enough else "too low")
    Console().print(table)
    typer.echo(f"\nOf these events {copies:.0%} are copies (--copies), which need no request.")
    short = [limit for limit in found if limit.events_per_second < rate]
    if short:
        typer.echo(f"\nThe first limit: {short[0].name}. For {rate:,.0f} events per second raise:")
        for limit in short:
            factor = rate / limit.events_per_second
            typer.echo(f"- {limit.name}, to {factor:,.1f} times the default.\n  Ask: {limit.ask}")
    else:
        typer.echo(f"\nNo quota is below {rate:,.0f} events per second.")
    course = simulate(rate, load, found, quota)
    typer.echo(
        f"\nFrom a cold start at most {course.most_waiting:,.0f} events wait, for up to "
        f"{course.longest_wait_seconds:,.0f} s"
        + (f", because of: {course.slowest}." if course.slowest else ".")
    )
    if course.caught_up_after_seconds is None:
        typer.echo(
            "The queue does not catch up within the simulated hour. It keeps events for 14 days."
        )
    elif course.caught_up_after_seconds:
        typer.echo(f"The queue has caught up after {course.caught_up_after_seconds:,} s.")
    typer.echo(
        f"{rate * load.requests_at_once:,.1f} requests run at the same time, in batches of "
        f"{load.batch:.1f}.\n"
        f"MaxConcurrentActions={fitting_concurrency(rate, load)} does not slow them down. It "
        "bounds how many functions a hanging\ndestination occupies before the breaker opens."
    )
    typer.echo(
        f"At most {returned_per_second(quota):,.0f} events per second may return to the queue: "
        "they stay in flight until their next attempt.\n"
        f"Quotas as of {quota['read_on']} (once/plan/quotas.toml); none of this was tried on an "
        "account."
    )
