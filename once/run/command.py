"""One run: a file of events through the real template on a local stack, and a report of it."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from botocore.exceptions import BotoCoreError

from once.errors import OnceError
from once.genesys.server import GenesysServer
from once.lines import Line, read_lines
from once.run.local import local_stack
from once.run.report import ActionReport, Report
from once.run.tracker import Failures, Standing, Tracker
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
    via: Via = "queue"
    step: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    destination: Path | None = None
    patience_seconds: float = PATIENCE_SECONDS


class Display(Protocol):
    """The progress that a person sees at the terminal."""

    def step(self, what: str) -> None: ...

    def progress(self, standing: Standing, total: int) -> None: ...


def run(plan: Plan, display: Display) -> tuple[Report, GenesysServer]:
    """Returns the report, and the destination (stopped) with all that it received."""
    lines = read_lines(plan.events)
    script = plan.destination or _script_beside(plan.events)
    if script is not None and not script.is_file():
        raise OnceError(f"Cannot read {script}: there is no such file.")
    parameters = dict(plan.parameters)
    if plan.via == "bus":
        parameters.setdefault("SourcePrefix", _source_prefix(lines))
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


def _script_beside(events: Path) -> Path | None:
    beside = events.with_suffix(".destination.json")
    return beside if beside.is_file() else None


def _source_prefix(lines: Sequence[Line]) -> str:
    """Returns what the rule has to look for to take most of these lines off the bus."""
    sources = [entry["Source"] for line in lines if (entry := bus_entry(line.text))]
    return source_prefix(sources) or "aws.partner"


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
