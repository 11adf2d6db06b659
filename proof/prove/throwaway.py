"""A stack of its own for a run: deployed under the run's name on a bus of that name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from once.local.deploy import Target, deploy
from once.local.pipe import PipeRunner
from once.operate.stack import Stack
from once.project import TEMPLATE
from proof.prove.ledger import Thing
from proof.prove.question import UnansweredError
from proof.prove.site import Site

# EventBridge takes no events from us in the name of a partner.
SOURCE_PREFIX = "proof.prove"
_POLL_SECONDS = 2.0
# Executions that begin sooner may still be led by the definition of before.
CHANGED_SECONDS = 30


class Deployed(Stack):
    """A throwaway stack, as the commands that operate a stack see one."""

    def __init__(self, site: Site) -> None:
        super().__init__(None, site.run)
        self.client = site.place.client  # type: ignore[method-assign]


@contextmanager
def deployed(site: Site, target: Target, key: str = "") -> Iterator[Deployed]:
    site.ledger.creating("bus", site.run)
    site.client("events").create_event_bus(Name=site.run)
    bucket = site.bucket()
    site.ledger.creating("stack", site.run)
    parameters = {
        "EventBusName": site.run,
        "SourcePrefix": SOURCE_PREFIX,
        "ActionTarget": "none",
        "LogRetentionDays": "1",
        "LogLevel": "ALL",
        "MaxTries": "100",
        "KmsKeyArn": key,
    }
    if not site.place.is_local:
        parameters["Timing"] = "production"
    outputs = deploy(target, TEMPLATE, parameters, site.step, name=site.run, bucket=bucket).outputs
    with _pipe(site, outputs["PipeName"]):
        yield Deployed(site)


def created(site: Site, name: str, body: str) -> None:
    """A small stack beside it, if it is not there yet."""
    if Thing("stack", name) in site.ledger.left():
        return
    site.step(f"creating the stack {name}")
    site.ledger.creating("stack", name)
    site.client("cloudformation").create_stack(
        StackName=name, TemplateBody=body, Capabilities=["CAPABILITY_IAM"]
    )
    _await(site, name, "CREATE_COMPLETE")


def call(stack: Deployed, site: Site, function_arn: str) -> None:
    """Lets the stack invoke this function instead of its own; its own again, if none is given."""
    change(stack, site, ActionFunctionArn=function_arn)


def change(stack: Deployed, site: Site, **given: str) -> None:
    """Updates the stack with these parameters, and waits until executions go by them."""
    site.step(f"changing {', '.join(given)} of the stack")
    kept = [name for name in stack.parameters if name not in given]
    site.client("cloudformation").update_stack(
        StackName=stack.name,
        UsePreviousTemplate=True,
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[
            *({"ParameterKey": name, "ParameterValue": value} for name, value in given.items()),
            *({"ParameterKey": name, "UsePreviousValue": True} for name in kept),
        ],
    )
    _await(site, stack.name, "UPDATE_COMPLETE")
    site.wait(CHANGED_SECONDS)


def _await(site: Site, name: str, wanted: str) -> None:
    while True:
        (found,) = site.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        status = found["StackStatus"]
        if status == wanted:
            return
        if not status.endswith("IN_PROGRESS"):
            why = found.get("StackStatusReason", "CloudFormation does not say why")
            raise UnansweredError(f"the stack {name} is {status}: {why}")
        site.wait(_POLL_SECONDS)


@contextmanager
def _pipe(site: Site, name: str) -> Iterator[Any]:
    """The emulator only stores a pipe; AWS runs it."""
    if not site.place.is_local:
        yield None
        return
    with PipeRunner(site.place.client, name) as runner:
        yield runner
