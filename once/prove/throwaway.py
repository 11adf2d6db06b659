"""A stack of its own for a run: deployed under the run's name on a bus of that name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from once.embedded.deploy import Target, deploy
from once.embedded.pipe import PipeRunner
from once.operate.stack import Stack
from once.project import TEMPLATE
from once.prove.ledger import Thing
from once.prove.question import UnansweredError
from once.prove.site import Site

# EventBridge takes no events from us in the name of a partner.
SOURCE_PREFIX = "once.prove"
_POLL_SECONDS = 2.0
# Executions that begin sooner may still be led by the definition of before.
_CHANGED_SECONDS = 30


class Deployed(Stack):
    """A throwaway stack, as the commands that operate a stack see one."""

    def __init__(self, site: Site) -> None:
        super().__init__(None, site.run)
        self.embedded = site.place.embedded
        self.client = site.place.client  # type: ignore[method-assign]


@contextmanager
def deployed(site: Site, target: Target) -> Iterator[Deployed]:
    site.ledger.creating("bus", site.run)
    site.client("events").create_event_bus(Name=site.run)
    bucket = site.bucket()
    site.ledger.creating("stack", site.run)
    parameters = {
        "EventBusName": site.run,
        "SourcePrefix": SOURCE_PREFIX,
        "ActionTarget": "none",
        "LogRetentionDays": "1",
        "LogLevel": "ERROR",
        "MaxTries": "100",
    }
    if not site.place.embedded:
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
    """Lets the stack call this function in place of its own; its own again, if none is named."""
    given = {"ParameterKey": "ActionFunctionArn", "ParameterValue": function_arn}
    others = [name for name in stack.parameters if name != "ActionFunctionArn"]
    site.step("changing which function the stack calls")
    site.client("cloudformation").update_stack(
        StackName=stack.name,
        UsePreviousTemplate=True,
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        Parameters=[given, *({"ParameterKey": o, "UsePreviousValue": True} for o in others)],
    )
    _await(site, stack.name, "UPDATE_COMPLETE")
    site.wait(_CHANGED_SECONDS)


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
    """The embedded AWS only stores a pipe; AWS runs it."""
    if not site.place.embedded:
        yield None
        return
    with PipeRunner(site.place.client, name) as runner:
        yield runner
