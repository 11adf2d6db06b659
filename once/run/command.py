"""One run: a file of events through the real template on an embedded AWS, and a report of it."""

import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import Protocol

from botocore.exceptions import BotoCoreError
from enrichment.normalise import normalise

from once.embedded.aws import EmbeddedAws
from once.embedded.stack import EmbeddedStack
from once.errors import OnceError
from once.faults import Draws, Faults, arrange
from once.genesys.server import GenesysServer
from once.lines import Line, bus_entry, read_lines, source_prefix
from once.run.fault_effects import faults_report
from once.run.report import ActionReport, Report, Via
from once.run.tracker import Standing, Tracker
from once.sending import Sender

_MOST_FAILURES = 3
# With Timing=fast no return time is longer: three minutes, and half of it again.
PATIENCE_SECONDS = 300.0


@dataclass(frozen=True)
class Plan:
    """What to run, and how."""

    events: Path
    via: Via = "queue"
    step: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    destination: Path | None = None
    faults: Path | None = None
    patience_seconds: float = PATIENCE_SECONDS


class Display(Protocol):
    """What the person at the terminal sees meanwhile."""

    def step(self, what: str) -> None: ...

    def progress(self, standing: Standing, total: int) -> None: ...


def run(plan: Plan, display: Display) -> tuple[Report, GenesysServer]:
    """The report, and the destination (stopped) with all it received."""
    lines = read_lines(plan.events)
    if not any(line.is_json() for line in lines):
        raise OnceError(f"No line of {plan.events} is JSON, so none is an event. Is it the file?")
    script = plan.destination or _script_beside(plan.events)
    if script is not None and not script.is_file():
        raise OnceError(f"Cannot read {script}: there is no such file.")
    draws = Draws(Faults.read(plan.faults)) if plan.faults else None
    # Where faults are drawn, each of the first batches may fail of them.
    tracker = Tracker(
        most_failures=None if draws else _MOST_FAILURES, patience_seconds=plan.patience_seconds
    )
    with (
        GenesysServer(script=script) as destination,
        EmbeddedStack.start(
            lambda aws: _parameters(plan, lines, aws, destination),
            observer=tracker,
            step=display.step,
            draws=draws,
        ) as stack,
    ):
        for rule in draws.faults.rules() if draws else []:
            destination.script.add(rule)
        display.step("sending, and waiting until all is settled")
        started = time.monotonic()
        try:
            ended = _send_and_wait(plan, lines, stack, tracker, display, draws)
            seconds = time.monotonic() - started
            if draws is not None:
                if ended:
                    display.step("waiting until nothing is left that could come once more")
                    tracker.wait_until_empty()
                draws.happened += stack.aws.happened()
        except BotoCoreError as error:
            raise OnceError(
                f"The embedded AWS stopped answering: {error}\n{stack.aws.log_tail()}"
            ) from error
    events = [tracker.report(line) for line in lines]
    actions = _actions(destination, tracker)
    given_up = [event for event in events if event.reason == "GAVE_UP"]
    report = Report(
        received=len(lines),
        outcomes=dict(Counter(event.outcome for event in events)),
        events=events,
        actions=actions,
        dead_letters=tracker.dead_letters,
        seconds=round(seconds, 3),
        faults=faults_report(draws, destination.log, actions, tracker.dead(), given_up)
        if draws
        else None,
    )
    return report, destination


def _script_beside(events: Path) -> Path | None:
    beside = events.with_suffix(".destination.json")
    return beside if beside.is_file() else None


def destination_parameters(aws: EmbeddedAws, destination: GenesysServer) -> dict[str, str]:
    """What makes a stack call this destination, with a secret that it can read."""
    secret = {
        "clientId": destination.client_id,
        "clientSecret": destination.client_secret,
        "signingSecret": destination.signing_secret,
    }
    created = aws.client("secretsmanager").create_secret(
        Name="once/destination", SecretString=json.dumps(secret)
    )
    return {
        "ActionTarget": "genesys",
        "GenesysHost": destination.url,
        "WebhookUrl": destination.webhook_url,
        "DestinationSecretArn": created["ARN"],
    }


def _parameters(
    plan: Plan, lines: Sequence[Line], aws: EmbeddedAws, destination: GenesysServer
) -> dict[str, str]:
    chosen = destination_parameters(aws, destination)
    if plan.via == "bus":
        chosen["SourcePrefix"] = _source_prefix(plan, lines)
    return {**chosen, **plan.parameters}


def _source_prefix(plan: Plan, lines: Sequence[Line]) -> str:
    """What the rule looks for, unless told: whatever takes most of these lines off the bus."""
    sources = [entry["Source"] for line in lines if (entry := bus_entry(line.text))]
    return plan.parameters.get("SourcePrefix") or source_prefix(sources) or "aws.partner"


def _send_and_wait(
    plan: Plan,
    lines: Sequence[Line],
    stack: EmbeddedStack,
    tracker: Tracker,
    display: Display,
    draws: Draws | None,
) -> bool:
    """Whether all was settled before the patience ended."""
    tracker.watch(stack.client, stack.outputs)
    sender = Sender(stack.client("sqs"), stack.client("events"), stack.outputs, tracker)
    # The next part of a chain is sent when the one before it is settled.
    chains = _of_each_subject(lines) if plan.step else [deque([lines])]
    unsent = chains
    while chains:
        parts = [arrange(chain[0], draws) if draws else chain[0] for chain in unsent]
        together = [line for part in parts for line in part]
        if plan.via == "bus":
            sender.to_bus(together, _source_prefix(plan, lines))
        else:
            sender.to_queue(together)
        settled = tracker.wait_for_one(
            [chain[0] for chain in chains],
            lambda standing: display.progress(standing, len(lines)),
        )
        if not any(settled):
            return False
        unsent = list(compress(chains, settled))
        for chain in unsent:
            chain.popleft()
        unsent, chains = list(filter(None, unsent)), list(filter(None, chains))
    return True


def _of_each_subject(lines: Sequence[Line]) -> list[deque[Sequence[Line]]]:
    """Its lines, one by one. What becomes of a line depends on none of another subject."""
    chains: dict[str, deque[Sequence[Line]]] = defaultdict(deque)
    now = {"SentTimestamp": str(time.time_ns() // 1_000_000)}
    for line in lines:
        record = {"messageId": str(line.number), "body": line.text, "attributes": now}
        chains[normalise(record)["subjectKey"]].append([line])
    return list(chains.values())


def _actions(destination: GenesysServer, tracker: Tracker) -> list[ActionReport]:
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
