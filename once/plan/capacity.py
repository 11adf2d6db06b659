"""`once capacity`: which quota binds first at a rate of events, and what happens from a cold start.

Quotas are AWS's documented defaults (quotas.toml); requests and units an event are measured
(bench/results/cost.json). Nothing here was tried on an account.
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

from once.errors import OnceError
from once.plan.cost import (
    ENRICHMENT_MB,
    MONTH_SECONDS,
    Measured,
    Prices,
    Traffic,
    Volume,
    acting_seconds,
    flow_of,
    function_seconds,
    is_slow,
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
    """What one received event a second asks for, in batches as they come at a rate."""

    batch: float
    pipe_seconds: float  # of a batch, from its enrichment to its report
    full_pipe_seconds: float  # of a full one
    batch_size: int
    batches: float
    calls: float
    calls_at_once: float
    functions_at_once: float
    writes: float

    @classmethod
    def of(cls, traffic: Traffic, measured: Measured, price: Prices) -> "Load":
        assumed = price["assumed"]
        comes = flow_of(traffic, measured, price)
        volume = Volume.of(replace(traffic, events=1), measured, comes)
        full = flow_of(replace(traffic, backlog=True), measured, price)
        enriching = function_seconds(measured.enrichment_of(comes.batch), ENRICHMENT_MB, assumed)
        acting = acting_seconds(traffic, measured, assumed)
        calls = volume.of_all("actionCalls")
        return cls(
            batch=comes.batch,
            pipe_seconds=comes.batch_s,
            full_pipe_seconds=full.batch_s,
            batch_size=traffic.batch_size,
            batches=volume.batches,
            calls=calls,
            calls_at_once=calls * traffic.action_ms / 1000,
            functions_at_once=calls * acting + volume.batches * enriching,
            writes=volume.of_all("writeUnits") + (calls if is_slow(traffic) else 0),
        )


@dataclass(frozen=True)
class Limit:
    """What a quota allows, in received events a second."""

    name: str
    quota: str
    events_per_second: float
    ask: str


def limits(
    load: Load, quota: Quotas, region: str, destination: float | None, limited: bool
) -> list[Limit]:
    """Lowest first. `destination` is how many calls a minute it takes; None: Genesys's defaults."""
    pipes, lambdas = quota["pipe_batches"], quota["lambda_concurrency"]
    genesys, table = quota["genesys"], quota["dynamodb_table_writes"]
    partition, logs = quota["dynamodb_partition"], quota["put_log_events"]
    bridge = quota["eventbridge_invocations"]
    at_once = min(pipes["of_one_queue"], pipes.get(region, pipes["default"]))
    invocations = bridge.get(region, bridge["default"])
    found = [
        Limit("EventBridge to the queue", f"{invocations:,}/s", invocations, bridge["ask"]),
        Limit(
            "pipe, batches at once",
            f"{at_once:,}",
            at_once * load.batch_size / load.full_pipe_seconds,
            pipes["ask"],
        ),
        Limit(
            "functions at once",
            f"{lambdas['default']:,}",
            lambdas["default"] / load.functions_at_once,
            lambdas["ask"],
        ),
        Limit(
            "table, write units",
            f"{table['default']:,}/s",
            table["default"] / load.writes,
            table["ask"],
        ),
        Limit(
            "breaker's row, read units",
            f"{partition['reads']:,}/s",
            partition["reads"] / (0.5 * load.batches),
            partition["ask"],
        ),
        Limit(
            "outcome log, calls",
            f"{logs['default']:,}/s",
            logs["default"] / load.batches,
            logs["ask"],
        ),
    ]
    if limited:
        # A batch takes its tokens, and one with copies gives theirs back.
        found.append(
            Limit(
                "token row, write units",
                f"{partition['writes']:,}/s",
                partition["writes"] / (2 * load.batches),
                partition["ask"],
            )
        )
    if destination is not None:
        ask = "the owner of the destination; until then set MaxActionsPerMinute to it"
        found.append(
            Limit("destination", f"{destination:,.0f}/min", destination / 60 / load.calls, ask)
        )
    else:
        for name, key in (
            ("Genesys Cloud, calls of a token", "requests_per_minute"),
            ("Genesys Cloud, data actions", "executions_per_minute"),
        ):
            per_second = genesys[key] / 60 / load.calls
            found.append(Limit(name, f"{genesys[key]:,}/min", per_second, genesys["ask"]))
        found.append(
            Limit(
                "Genesys Cloud, at once",
                f"{genesys['concurrent_executions']}",
                genesys["concurrent_executions"] / load.calls_at_once,
                genesys["ask"],
            )
        )
    return sorted(found, key=lambda limit: limit.events_per_second)


@dataclass(frozen=True)
class Course:
    """How a constant rate is taken from a cold start on."""

    most_waiting: float
    longest_wait_seconds: float
    caught_up_after_seconds: int | None  # None: never, within the hour that is simulated
    held_back_by: str


def simulate(rate: float, load: Load, found: list[Limit], quota: Quotas) -> Course:
    """Second by second: the pipe begins with five batches and adds 300 a minute, functions and the
    table grow as documented, everything else is as fast as its quota from the beginning.
    """
    pipes, lambdas = quota["pipe_batches"], quota["lambda_concurrency"]
    table = quota["dynamodb_table_writes"]
    by_name = {limit.name: limit.events_per_second for limit in found}
    waiting = most = longest = 0.0
    caught_up: int | None = None
    held_back_by, held_back = "", 0.0
    peak_writes = table["new_table"] / 2
    for second in range(SIMULATED_SECONDS):
        at_once = pipes["first"] + pipes["more_per_minute"] * second / 60
        environments = lambdas["more_per_second"] * (second + 1)
        now = by_name | {
            "pipe, starting up": at_once * load.batch_size / load.full_pipe_seconds,
            "functions, starting up": environments / load.functions_at_once,
            "table, growing": 2 * peak_writes / load.writes,
        }
        slowest = min(now, key=lambda name: now[name])
        served = min(waiting + rate, now[slowest])
        waiting += rate - served
        peak_writes = max(peak_writes, served * load.writes)
        if waiting > most:
            most = waiting
        wait = waiting / now[slowest]
        if wait > longest:
            longest = wait
        if waiting > 1:
            caught_up = None
            if waiting > held_back:
                held_back, held_back_by = waiting, slowest
        elif caught_up is None:
            caught_up = second
    return Course(most, longest, caught_up, held_back_by)


def fitting_concurrency(rate: float, load: Load) -> int:
    """A MaxConcurrentActions that only a destination that hangs reaches.

    Calls come by chance: from 16 at once on, twice the mean is four deviations above it.
    """
    return max(_LEAST_CONCURRENCY, math.ceil(2 * rate * load.calls_at_once))


def handed_back_per_second(quota: Quotas) -> float:
    """How many events may go back to the queue before it stops giving out others."""
    return float(quota["sqs_in_flight"]["default"]) / VISIBILITY_SECONDS


def capacity(
    rate: Annotated[float, typer.Option(min=0.1, help="Received events a second.")],
    region: Annotated[str, typer.Option(help="The AWS region; quotas differ.")] = "eu-central-1",
    copies: Annotated[float, typer.Option(min=0, max=0.99, help="The share of copies.")] = 0.2,
    batch_size: Annotated[int, typer.Option(min=1, max=10, help="As the stack's BatchSize.")] = 10,
    window: Annotated[
        int, typer.Option("--window", min=0, max=30, help="As the stack's BatchWindowSeconds.")
    ] = 0,
    action_ms: Annotated[
        float, typer.Option(min=1, help="How long the destination takes to answer.")
    ] = 200,
    destination_per_minute: Annotated[
        float | None,
        typer.Option(min=1, help="Calls it takes. Default: Genesys Cloud's own limits."),
    ] = None,
    limited: Annotated[
        bool, typer.Option("--limited", help="With a MaxActionsPerMinute set.")
    ] = False,
) -> None:
    """Print which quota binds first at a rate, what to ask for, and how a cold start goes."""
    session = boto3.Session()
    partitions = session.get_available_partitions()
    if not any(region in session.get_available_regions("sqs", name) for name in partitions):
        raise OnceError(f"AWS has no region {region}. Name one as in eu-central-1.")
    traffic = Traffic(
        events=rate * MONTH_SECONDS,
        per_second=rate,
        copies=copies,
        batch_size=batch_size,
        window_s=window,
        limited=limited,
        action_ms=action_ms,
    )
    load = Load.of(traffic, Measured.read(), prices())
    quota = quotas()
    found = limits(load, quota, region, destination_per_minute, limited)
    table = Table(box=None, pad_edge=False)
    for heading in ("quota", "default", "events a second", ""):
        table.add_column(heading, justify="right" if heading in ("default",) else "left")
    for limit in found:
        enough = limit.events_per_second >= rate
        allowed = math.floor(limit.events_per_second)
        table.add_row(limit.name, limit.quota, f"{allowed:,}", "" if enough else "too low")
    Console().print(table)
    _tell(rate, load, found, quota)


def _tell(rate: float, load: Load, found: list[Limit], quota: Quotas) -> None:
    short = [limit for limit in found if limit.events_per_second < rate]
    if short:
        typer.echo(f"\nFirst binds: {short[0].name}. For {rate:,.0f} events a second ask for more:")
        for limit in short:
            factor = rate / limit.events_per_second
            typer.echo(f"- {limit.name}, {factor:,.1f} times the default.\n  {limit.ask}")
    else:
        typer.echo(f"\nNo quota is below {rate:,.0f} events a second.")
    course = simulate(rate, load, found, quota)
    typer.echo(
        f"\nFrom a cold start {course.most_waiting:,.0f} events wait at most, "
        f"{course.longest_wait_seconds:,.0f} s long"
        + (f", because of: {course.held_back_by}." if course.held_back_by else ".")
    )
    if course.caught_up_after_seconds is None:
        typer.echo("The queue does not catch up within an hour. It keeps 14 days.")
    elif course.caught_up_after_seconds:
        typer.echo(f"The queue has caught up after {course.caught_up_after_seconds:,} s.")
    typer.echo(
        f"{rate * load.calls_at_once:,.1f} calls run at once, in batches of {load.batch:.1f}. "
        f"MaxConcurrentActions={fitting_concurrency(rate, load)} leaves them alone, and\nbounds "
        "what a destination that hangs can hold before the breaker opens."
    )
    typer.echo(
        f"At most {handed_back_per_second(quota):,.0f} events a second may be handed back to the "
        "queue: they stay in flight until they are tried again.\n"
        f"Quotas as of {quota['read_on']} (once/plan/quotas.toml); none of this was tried on an "
        "account."
    )
