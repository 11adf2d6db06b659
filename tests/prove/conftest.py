"""An emulator for many throwaway stacks, and what is there before the first."""

from collections.abc import Iterator

import pytest

from once.local.aws import Emulator
from proof.prove.command import SERVER

LISTS = {
    "cloudformation": ("describe_stacks", "Stacks"),
    "cloudwatch": ("describe_alarms", "MetricAlarms"),
    "dynamodb": ("list_tables", "TableNames"),
    "events": ("list_event_buses", "EventBuses"),
    "iam": ("list_roles", "Roles"),
    "lambda": ("list_functions", "Functions"),
    "logs": ("describe_log_groups", "logGroups"),
    "pipes": ("list_pipes", "Pipes"),
    "s3": ("list_buckets", "Buckets"),
    "sns": ("list_topics", "Topics"),
    "sqs": ("list_queues", "QueueUrls"),
    "stepfunctions": ("list_state_machines", "stateMachines"),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[Emulator]:
    with Emulator.start([SERVER]) as running:
        yield running


def all_that_is_there(aws: Emulator) -> dict[str, int]:
    return {
        service: len(getattr(aws.client(service), operation)().get(field, []))
        for service, (operation, field) in LISTS.items()
    }


@pytest.fixture(scope="module")
def before(aws: Emulator) -> dict[str, int]:
    return all_that_is_there(aws)
