"""`once run`: a file of events through the real template on a local stack, and a report of it."""

import os
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer
from botocore.exceptions import BotoCoreError

from once.answers import command
from once.errors import OnceError
from once.genesys.server import GenesysServer
from once.lines import Line, read_lines
from once.project import EXAMPLE
from once.run.local import local_stack
from once.run.report import ActionReport, Report
from once.run.terminal import Terminal
from once.run.tracker import Failures, Standing, Tracker
from once.run.up import SET, parameters_of
from once.screen import screen
from once.sending import (
    Chain,
    Sent,
    Via,
    bus_entry,
    chain_by_claim,
    send_in_chains,
    send_to_bus,
    send_to_queue,
    source_prefix,
)

# With Timing=fast no return time is longer: three minutes, and half of it again.
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Plan:
    """The events to run, and the settings."""

    events: Path
    via: Via
    step: bool
    parameters: Mapping[str, str]
    destination: Path | None
    patience_seconds: float


class Display(Protocol):
    """The progress that a person sees at the terminal."""

    def step(self, what: str) -> None: ...

    def progress(self, standing: Standing, total: int) -> None: ...


@command("once run --report report.json")
def run(
    events: Annotated[
        Path | None,
        typer.Argument(
            metavar="EVENTS",
            help="A file of events in any known form. Default: the example story, with --step.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the outcome of each line to this file.")
    ] = None,
    via: Annotated[
        Via, typer.Option(help="Send to the queue, as the rule does, or through a bus.")
    ] = "queue",
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="Send a copy or newer state only when the one before it is settled.",
        ),
    ] = False,
    destination: Annotated[
        Path | None,
        typer.Option(
            help="How the destination behaves (docs/data-action.md). "
            "Default: EVENTS.destination.json, where it exists."
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, help="End if no line was settled for this long."),
    ] = PATIENCE_SECONDS,
    parameters: Annotated[list[str] | None, SET] = None,
) -> None:
    """Send events through the real template on a local stack, and show the outcome of each."""
    plan = Plan(
        events or EXAMPLE,
        via,
        step or events is None,
        parameters_of(parameters),
        destination,
        patience,
    )
    if report is not None:
        _check_writable(report)
    with Terminal(screen()) as terminal:
        result, received = run_events(plan, terminal)
    terminal.summary(result, received)
    if report is not None:
        try:
            report.write_text(result.to_json())
        except OSError as error:
            raise OnceError(f"Cannot write the report to {report}: {error.strerror}.") from error
    if events is None:
        terminal.next_steps()
    raise typer.Exit(0 if result.settled else 1)


def run_events(plan: Plan, display: Display) -> tuple[Report, GenesysServer]:
    """Returns the report, and the destination (stopped) with all that it received."""
    lines = read_lines(plan.events)
    script, beside = plan.destination, plan.events.with_suffix(".destination.json")
    if script is None and beside.is_file():
        script = beside
    if script is not None and not script.is_file():
        raise OnceError(f"Cannot read {script}: there is no such file.")
    parameters = dict(plan.parameters)
    if plan.via == "bus":
        # The rule then takes most of these lines off the bus.
        sources = [entry["Source"] for line in lines if (entry := bus_entry(line.text))]
        parameters.setdefault("SourcePrefix", source_prefix(sources) or "aws.partner")
    failures = Failures()
    with local_stack(parameters, script, observer=failures.note, step=display.step) as local:
        stack, destination = local.stack, local.destination
        tracker = Tracker(stack.client, stack.outputs, plan.patience_seconds)

        def send(some: Sequence[Line]) -> Iterator[Sent]:
            if plan.via == "bus":
                return send_to_bus(stack.client, stack.outputs, some, parameters["SourcePrefix"])
            return send_to_queue(stack.client, stack.outputs, some)

        def show(standing: Standing) -> None:
            failures.check()
            display.progress(standing, len(lines))

        display.step("sending, and waiting until all is settled")
        started = time.monotonic()
        try:
            chains: list[Chain] = chain_by_claim(lines) if plan.step else [deque([lines])]
            send_in_chains(
                chains,
                lambda some: tracker.follow(send(some)),
                lambda parts: tracker.wait_for_one(parts, show),
            )
        except BotoCoreError as error:
            raise OnceError(
                f"The local stack stopped answering: {error}\n{stack.aws.log_tail()}"
            ) from error
        seconds = time.monotonic() - started
    events = [tracker.report(line) for line in lines]
    report = Report(
        received=len(lines),
        outcomes=dict(Counter(event.outcome for event in events)),
        events=events,
        actions=action_reports(destination, tracker),
        seconds=round(seconds, 3),
    )
    return report, destination


def action_reports(destination: GenesysServer, tracker: Tracker) -> list[ActionReport]:
    received = defaultdict(list)
    for entry in destination.log:
        received[entry.facts.get("idempotencyKey", "")].append(entry)
    actions = []
    for key, record in destination.keys.items():
        requests = received[key]
        acts = [entry for entry in requests if entry.acted]
        # The execution's id ends with the message that holds the claim.
        execution = (acts or requests[-1:])[0].headers.get("x-once-execution", "")
        actions.append(
            ActionReport(
                idempotency_key=key,
                line=tracker.line_of(execution.rpartition("#")[2]),
                calls=record.calls,
                effects=record.effects,
            )
        )
    return sorted(actions, key=lambda action: action.line or 0)


def _check_writable(path: Path) -> None:
    """Refuses a report that could not be written at the end of the run."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OnceError(f"Cannot write the report to {path}: its folder does not exist.")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise OnceError(
            f"Cannot write the report to {path}: it is a folder, or not yours to write."
        )
