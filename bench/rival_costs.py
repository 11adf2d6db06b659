"""Prices the rivals of the comparison per month, by how often each writes for an event that acts
and for a copy. All else is priced as for this project.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from once.plan.cost import MILLION, Charge, add_up, monthly
from once.plan.traffic import (
    ACTION_MB,
    Flow,
    LogLevel,
    Measured,
    Prices,
    Traffic,
    Volume,
    flow_of,
    pipe_of,
    prices,
)
from proof.pollers import flow


@dataclass(frozen=True)
class Asked:
    """The writes to DynamoDB of a rival, for an event that acts and for a copy."""

    title: str
    unique: int
    copy: int
    fifo: bool = False
    beside: str = ""


RIVALS = (
    Asked("Powertools idempotency in a Lambda", unique=2, copy=1),
    Asked("put with attribute_not_exists in a Lambda", unique=1, copy=1),
    Asked(
        "Redis SET NX in a Lambda",
        unique=0,
        copy=0,
        beside="plus a VPC, and at least "
        f"{prices()['elasticache']['serverless_minimum_month']:.2f} per month",
    ),
    Asked("SQS FIFO and a Lambda", unique=0, copy=0, fifo=True),
)


def rival(asked: Asked, traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    assumed = price["assumed"]
    comes = _batches_of(asked, traffic, measured, price)
    volume = Volume(traffic, measured, comes)
    copies = 0 if asked.fifo else traffic.events * traffic.copies
    # A copy of one in work is refused with an error, and comes again.
    again = copies * comes.held if asked.unique > asked.copy else 0
    batches = (volume.unique + copies + again) / comes.batch
    queue = "sqs.fifo_requests_per_million" if asked.fifo else "sqs.requests_per_million"
    # One record after the other, as the handlers do.
    milliseconds = (
        volume.unique * (traffic.action_ms + asked.unique * assumed["store_ms"])
        + (copies + again) * asked.copy * assumed["store_ms"]
        + batches * assumed["runtime_ms"]
    )
    gb_seconds = milliseconds / 1000 * ACTION_MB / 1024
    sent_bytes = measured.call_bytes[traffic.target] + assumed["call_overhead_bytes"]
    writes = volume.unique * asked.unique + (copies + again) * asked.copy
    logged_bytes = batches * measured.parts["batch"]["functionLogBytes"]
    charges = (
        Charge("EventBridge: the events", "eventbridge.events_per_million", traffic.events),
        Charge("SQS: send, receive, delete", queue, traffic.events + 2 * batches),
        Charge("Lambda: requests", "lambda.requests_per_million", batches),
        Charge("Lambda: requests", "lambda.gb_second", gb_seconds),
        Charge("data transfer out", "transfer.out_gb", volume.unique * sent_bytes),
        Charge("DynamoDB: claims", "dynamodb.write_units_per_million", writes),
        Charge("Logs: functions", "logs.ingestion_gb", logged_bytes),
    )
    return add_up(charges, price)


def _batches_of(asked: Asked, traffic: Traffic, measured: Measured, price: Prices) -> Flow:
    """Lambda's own pollers begin with five and add 300 a minute as those of a pipe do."""
    event_s = (traffic.action_ms + asked.unique * price["assumed"]["store_ms"]) / 1000
    pipe = replace(
        pipe_of(traffic, measured, price), at_once=1, machine_s=0, event_s=event_s, looks_s=(0.0,)
    )
    if traffic.backlog:
        return flow_of(traffic, price)
    return flow(traffic.rate, traffic.copies, price["assumed"]["apart_ms"], pipe)


def as_standard(traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    """This state machine as a Standard workflow, which runs one event at a time here."""
    lonely = replace(traffic, backlog=False, log_level=LogLevel.OFF)
    costs = monthly(lonely, measured, price)
    states = Volume(lonely, measured, flow_of(lonely, price)).sum("states")
    per_transition = price["step_functions"]["standard_transitions_per_thousand"] / 1000
    return costs | {"Step Functions": states * per_transition}


GROUPS: Mapping[str, tuple[str, ...]] = {
    "events and queue": ("EventBridge: the events", "SQS: send, receive, delete", "Pipes"),
    "claims": ("DynamoDB: claims", "DynamoDB: claims kept"),
    "functions and workflow": (
        "Lambda: enrichment",
        "Lambda: requests",
        "data transfer out",
        "Step Functions",
    ),
    "logs": ("Logs: outcomes", "Logs: functions", "Logs: kept", "Logs: queries"),
    "log of executions": ("Logs: executions (estimate)",),
}


def grouped(costs: Mapping[str, float], events: float) -> dict[str, float]:
    """Adds up dollars per million events, by the groups of the chart."""
    return {
        group: math.fsum(costs.get(name, 0) for name in names) * MILLION / events
        for group, names in GROUPS.items()
    }
