"""`once cost`: what a month costs at list price, and what each setting saves."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from once.answers import command
from once.plan.traffic import (
    ACTION_MB,
    ENRICHMENT_MB,
    FIRST_POLLERS,
    MONTH_SECONDS,
    PACING_MB,
    ActionOption,
    CopiesOption,
    LogClass,
    LogLevel,
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

MILLION = 1_000_000
GB = 1_000_000_000
_DAYS = 30  # of a month, and of LogRetentionDays
# How much one price is for, by the end of its name in prices.toml.
_UNITS = {"_per_million": MILLION, "_gb": GB, "_gb_month": GB}
FIXED = ("idle pipe", "alarms, metrics, dashboard")


@dataclass(frozen=True)
class Charge:
    """An amount, in the unit of a price of prices.toml."""

    item: str
    price: str
    amount: float

    def dollars(self, price: Prices) -> float:
        service, _, name = self.price.partition(".")
        unit = next((size for end, size in _UNITS.items() if name.endswith(end)), 1)
        return self.amount * float(price[service][name]) / unit


def charges(traffic: Traffic, measured: Measured, price: Prices) -> Iterator[Charge]:
    """Yields all that a month is charged for."""
    assumed = price["assumed"]
    comes = flow_of(traffic, price)
    volume = Volume(traffic, measured, comes)
    batches, requests = volume.batches, volume.sum("actionCalls")

    def invoked(item: str, times: float, seconds: float, memory_mb: int) -> Iterator[Charge]:
        yield Charge(item, "lambda.requests_per_million", times)
        yield Charge(item, "lambda.gb_second", times * seconds * memory_mb / 1024)

    yield Charge("EventBridge: the events", "eventbridge.events_per_million", traffic.events)
    # Five pollers wait for events all month, those that were added as long as events come.
    added_s = (comes.pollers - FIRST_POLLERS) * traffic.events / traffic.rate
    polls = 2 * batches + added_s / assumed["long_poll_s"]
    item = "SQS: send, receive, delete"
    yield Charge(item, "sqs.requests_per_million", traffic.events + polls)
    chunk_bytes = price["pipes"]["chunk_bytes"]
    chunks = math.ceil(comes.batch * measured.event_bytes / chunk_bytes)
    yield Charge("Pipes", "pipes.requests_per_million", batches * chunks)

    enriching_s = enriching_seconds(comes.batch, measured, assumed)
    yield from invoked("Lambda: enrichment", batches, enriching_s, ENRICHMENT_MB)
    billed_s = pipe_of(traffic, measured, price).times(comes, traffic.copies).billed_s
    machine_gb = price["step_functions"]["express_memory_mb"] / 1024
    yield Charge("Step Functions", "step_functions.express_requests_per_million", batches)
    yield Charge(
        "Step Functions", "step_functions.express_gb_second", batches * billed_s * machine_gb
    )
    acting_s = acting_seconds(traffic, measured, assumed)
    yield from invoked("Lambda: requests", requests, acting_s, ACTION_MB)
    # With a limit a batch asks pacing for its tokens, and one with copies returns theirs: one
    # invocation and one write each. Without one a healthy destination needs no pacing.
    paced = batches + min(batches, traffic.events - volume.unique) if traffic.limited else 0
    pacing_s = (assumed["store_ms"] + assumed["runtime_ms"]) / 1000
    yield from invoked("Lambda: pacing", paced, pacing_s, PACING_MB)
    item = "data transfer out"
    if traffic.target is Target.eventbridge:
        # On a bus a request is an event, by 64 KB; within the region its way costs nothing.
        chunks = math.ceil(measured.call_bytes[Target.webhook] / chunk_bytes)
        yield Charge(item, "eventbridge.events_per_million", requests * chunks)
    else:
        sent_bytes = measured.call_bytes[traffic.target] + assumed["call_overhead_bytes"]
        yield Charge(item, "transfer.out_gb", requests * sent_bytes)

    writes = volume.sum("writeUnits") + paced + (requests if traffic.is_slow else 0)
    yield Charge("DynamoDB: claims", "dynamodb.write_units_per_million", writes)
    yield Charge("DynamoDB: claims", "dynamodb.read_units_per_million", volume.sum("readUnits"))
    row_bytes = measured.row_bytes + price["dynamodb"]["item_overhead_bytes"]
    kept = volume.unique * row_bytes * traffic.claim_days / _DAYS
    for storage in ("dynamodb.storage_gb_month", "dynamodb.recovery_gb_month"):
        yield Charge("DynamoDB: claims kept", storage, kept)

    outcomes, functions = volume.sum("outcomeLogBytes"), volume.sum("functionLogBytes")
    executions = 0.0
    if traffic.log_level is LogLevel.ERROR:  # which logs no state, so no payload either
        executions = volume.sum("machineLogBytesError")
    elif traffic.log_level is LogLevel.ALL:
        payloads = "Payloads" if traffic.log_payloads else ""
        executions = volume.sum(f"machineLogBytesAll{payloads}")
    rarely = "infrequent_" if traffic.log_class is LogClass.INFREQUENT_ACCESS else ""
    yield Charge("Logs: outcomes", "logs.ingestion_gb", outcomes)
    yield Charge("Logs: functions", "logs.ingestion_gb", functions)
    yield Charge("Logs: executions (estimate)", f"logs.{rarely}ingestion_gb", executions)
    logged = (outcomes + functions + executions) * assumed["log_compressed"]
    yield Charge("Logs: kept", "logs.storage_gb_month", logged)
    scanned = (outcomes + executions) / _DAYS * assumed["queries"]
    yield Charge("Logs: queries", "logs.scanned_gb", scanned)

    waiting, watching = FIXED
    polls = FIRST_POLLERS * MONTH_SECONDS / assumed["long_poll_s"]
    yield Charge(waiting, "sqs.requests_per_million", polls)
    yield Charge(watching, "cloudwatch.alarm_month", measured.alarm_metrics)
    yield Charge(watching, "cloudwatch.metric_month", measured.metrics_well)
    yield Charge(watching, "cloudwatch.dashboard_month", measured.dashboards)


def monthly(traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    """Returns dollars per month by what they are paid for. The FIXED do not depend on events."""
    return add_up(charges(traffic, measured, price), price)


def add_up(every: Iterable[Charge], price: Prices) -> dict[str, float]:
    costs: dict[str, float] = {}
    for charge in every:
        costs[charge.item] = costs.get(charge.item, 0) + charge.dollars(price)
    return costs


def troubled(measured: Measured, price: Prices) -> float:
    """Returns what a month costs beside the fixed part if each hour counts every trouble."""
    more = measured.metrics_most - measured.metrics_well
    return float(more * price["cloudwatch"]["metric_month"])


def per_million(costs: Mapping[str, float], events: float) -> float:
    """Returns what grows with the events, for a million of them."""
    return sum(v for name, v in costs.items() if name not in FIXED) * MILLION / events


def alternatives(traffic: Traffic) -> dict[str, Traffic]:
    """Turns each setting that changes the cost one step."""
    levels = [level for level in LogLevel if level is not traffic.log_level]
    found = {f"LogLevel={level}": replace(traffic, log_level=level) for level in levels}
    if traffic.log_level is LogLevel.ALL:
        turned = not traffic.log_payloads
        found[f"LogPayloads={str(turned).lower()}"] = replace(traffic, log_payloads=turned)
    if traffic.log_class is LogClass.STANDARD:
        rarely = replace(traffic, log_class=LogClass.INFREQUENT_ACCESS)
        found["ExecutionLogClass=INFREQUENT_ACCESS"] = rarely
    for window_s in (1, 5):
        if traffic.window_s != window_s:
            found[f"BatchWindowSeconds={window_s}"] = replace(traffic, window_s=window_s)
    limit = f"{'no' if traffic.limited else 'any'} MaxActionsPerMinute"
    return found | {
        "ClaimDays=7": replace(traffic, claim_days=7),
        limit: replace(traffic, limited=not traffic.limited),
    }


@command("once cost --events-per-month 1000000 --log-level ERROR")
def cost(
    events_per_month: Annotated[
        float, typer.Option(min=1, help="Received events, copies included.")
    ],
    per_second: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Events per second at their usual rate. Default: evenly, all month."
        ),
    ] = None,
    copies: CopiesOption = 0.2,
    window: WindowOption = 0,
    log_level: Annotated[LogLevel, typer.Option(help="As the stack's LogLevel.")] = LogLevel.ALL,
    log_payloads: Annotated[
        bool, typer.Option("--log-payloads", help="With LogPayloads=true.")
    ] = False,
    log_class: Annotated[
        LogClass, typer.Option(help="As the stack's ExecutionLogClass.")
    ] = LogClass.STANDARD,
    claim_days: Annotated[int, typer.Option(min=1, help="As the stack's ClaimDays.")] = 30,
    limited: Annotated[
        bool, typer.Option("--limited", help="With a MaxActionsPerMinute that is not reached.")
    ] = False,
    target: TargetOption = Target.genesys,
    action_ms: ActionOption = 200,
) -> None:
    """Print the items of a month at list price, and what each setting saves."""
    traffic = Traffic(
        events=events_per_month,
        per_second=per_second,
        copies=copies,
        window_s=window,
        log_level=log_level,
        log_payloads=log_payloads,
        log_class=log_class,
        claim_days=claim_days,
        limited=limited,
        target=target,
        action_ms=action_ms,
    )
    measured, price = Measured.read(), prices()
    costs = monthly(traffic, measured, price)
    total = sum(costs.values())
    table = Table(box=None, pad_edge=False)
    table.add_column("per month")
    table.add_column("US dollars", justify="right")
    table.add_column("share", justify="right")
    for name, dollars in sorted(costs.items(), key=lambda item: -item[1]):
        if dollars:
            table.add_row(name, f"{dollars:,.2f}", f"{dollars / total:.0%}")
    table.add_section()
    table.add_row("total", f"{total:,.2f}", "")
    Console().print(table)
    fixed = sum(costs[name] for name in FIXED)
    comes = flow_of(traffic, price)
    typer.echo(
        f"\n{per_million(costs, traffic.events):.2f} per million events, and {fixed:.2f} per month "
        f"without any event; at most {fixed + troubled(measured, price):.2f}\nif every kind of "
        "trouble occurs in each hour of the month, because metrics are billed by the hour.\n"
        f"At {traffic.rate:,.3g} per second a batch has {comes.batch:.1f} events. "
        f"By assumption {comes.collapsed:.0%} of the copies\n"
        "are in the batch of the first message, "
        f"{comes.held:.0%} arrive while that message is in progress, {comes.settled:.0%} later."
    )
    typer.echo("\nSettings, by what they change:")
    for name, other in alternatives(traffic).items():
        change = sum(monthly(other, measured, price).values()) - total
        verb = "saves" if change < 0 else "adds"
        typer.echo(f"  {name} {verb} {abs(change):,.2f}{_delay(other, price)}")
    typer.echo(
        f"\nList prices of {price['region']}, {price['read_on']}, without the free tier; "
        "once/plan/prices.toml has them and the\nassumptions. Requests, units and log bytes are "
        "measured (bench/results); the log of executions is\nestimated from its documented form."
    )


def _delay(traffic: Traffic, price: Prices) -> str:
    """Tells what a batching window costs in time."""
    if not traffic.window_s:
        return ""
    comes = flow_of(traffic, price)
    most = max(traffic.window_s, price["assumed"]["window_wait_s"])
    return (
        f", with batches of {comes.batch:.1f}; an event waits {comes.queued_s:.1f} s on average, "
        f"and up to {most} s at low traffic, as AWS says"
    )
