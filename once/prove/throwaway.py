"""A stack of its own for a run: deployed under the run's name on a bus of that name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from once.embedded.deploy import Target, deploy
from once.embedded.pipe import PipeRunner
from once.operate.stack import Stack
from once.project import TEMPLATE
from once.prove.site import Site

# EventBridge takes no events from us in the name of a partner.
SOURCE_PREFIX = "once.prove"


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


@contextmanager
def _pipe(site: Site, name: str) -> Iterator[Any]:
    """The embedded AWS only stores a pipe; AWS runs it."""
    if not site.place.embedded:
        yield None
        return
    with PipeRunner(site.place.client, name) as runner:
        yield runner
