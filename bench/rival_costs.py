"""What the rivals of the comparison cost a month, by the rules of their few lines: how often each
writes for an event that acts and for a copy. All else is priced as for this project.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from once.plan.cost import (
    ACTION_MB,
    GB,
    MILLION,
    LogLevel,
    Measured,
    Prices,
    Traffic,
    Volume,
    monthly,
)


@dataclass(frozen=True)
class Asked:
    """Writes to DynamoDB for an event that acts, and for a copy."""

    title: str
    unique: int
    copy: int
    fifo: bool = False
    beside: str = ""


RIVALS = (
    Asked("Powertools idempotency in a Lambda", unique=2, copy=1),
    Asked("put with attribute_not_exists in a Lambda", unique=1, copy=1),
    Asked(
        "Redis SET NX in a Lambda", unique=0, copy=0, beside="and 6.10 a month at least, and a VPC"
    ),
    Asked("SQS FIFO and a Lambda", unique=0, copy=0, fifo=True),
)


def rival(asked: Asked, traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    assumed, sqs = price["assumed"], price["sqs"]
    volume = Volume.of(traffic, measured, 0)
    copies = 0 if asked.fifo else volume.copies
    batches = (volume.unique + copies) / traffic.batch_size
    queue = sqs["fifo_requests_per_million" if asked.fifo else "requests_per_million"]
    # One record after the other, as the handlers do.
    milliseconds = (
        volume.unique * (traffic.action_ms + asked.unique * assumed["store_ms"])
        + copies * asked.copy * assumed["store_ms"]
        + batches * assumed["runtime_ms"]
    )
    function = price["lambda"]
    writes = volume.unique * asked.unique + copies * asked.copy
    return {
        "EventBridge: the events": traffic.events
        * price["eventbridge"]["events_per_million"]
        / MILLION,
        "SQS: send, receive, delete": (traffic.events + 2 * batches) * queue / MILLION,
        "Lambda: the calls": batches * function["requests_per_million"] / MILLION
        + milliseconds / 1000 * ACTION_MB / 1024 * function["gb_second"],
        "DynamoDB: claims": writes * price["dynamodb"]["write_units_per_million"] / MILLION,
        "Logs: functions": batches
        * measured.parts["batch"]["functionLogBytes"]
        * price["logs"]["ingestion_gb"]
        / GB,
    }


def as_standard(traffic: Traffic, measured: Measured, price: Prices) -> dict[str, float]:
    """This state machine as a Standard workflow, which runs one event at a time here."""
    lonely = replace(traffic, batch_size=1, log_level=LogLevel.OFF)
    costs = monthly(lonely, measured, price)
    states = Volume.of(lonely, measured, 0).of_all("states")
    per_transition = price["step_functions"]["standard_transitions_per_thousand"] / 1000
    return costs | {"Step Functions": states * per_transition}


GROUPS: Mapping[str, tuple[str, ...]] = {
    "events and queue": ("EventBridge: the events", "SQS: send, receive, delete", "Pipes"),
    "claims": ("DynamoDB: claims", "DynamoDB: claims kept"),
    "functions and workflow": ("Lambda: enrichment", "Lambda: the calls", "Step Functions"),
    "logs": ("Logs: outcomes", "Logs: functions"),
    "log of executions": ("Logs: executions (estimate)",),
}


def grouped(costs: Mapping[str, float], events: float) -> dict[str, float]:
    """Dollars a million events, by the groups of the chart."""
    return {
        group: math.fsum(costs.get(name, 0) for name in names) * MILLION / events
        for group, names in GROUPS.items()
    }
