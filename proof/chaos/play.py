"""Plays a stream through a stack on which everything goes wrong, and judges what became of it."""

import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from once.genesys.server import GenesysServer
from once.lines import Line
from once.local.aws import Emulator
from once.local.deploy import deploy
from once.local.stack import LocalStack
from once.project import TEMPLATE
from once.run.command import PATIENCE_SECONDS, Display, action_reports
from once.run.local import destination_parameters
from once.run.report import Report
from once.run.tracker import Tracker
from once.sending import send_to_queue
from proof.chaos.effects import FaultsReport, faults_report
from proof.chaos.events import Stream
from proof.chaos.faults import Draws, Faults, Happened, OrderCheck, arrange
from proof.chaos.faulty_pipe import FaultyPipe
from proof.chaos.faulty_server import HAPPENED, ORDER_CHECKS
from proof.chaos.verdict import Verdict, judge

CHAOS = Path(__file__).with_name("chaos.toml")
_SERVER = Path(__file__).with_name("faulty_server.py")
_TIMED_OUT = ("Sandbox.Timedout", "States.Timeout")


@dataclass(frozen=True)
class Played:
    """A run, what went wrong in it, and what the judge says."""

    report: Report
    faults: FaultsReport
    verdict: Verdict


def play(
    stream: Stream,
    display: Display,
    *,
    max_tries: int,
    answered: int,
    hanging: int,
    target: str = "webhook",
) -> Played:
    """A destination behind a bus has no faults of its own: EventBridge would try it again."""
    lines = [Line(number, text) for number, text in enumerate(stream.lines, 1)]
    draws = Draws(Faults.read(CHAOS))
    server = [str(_SERVER), draws.faults.model_dump_json()]
    with (
        GenesysServer(
            script=destination(stream, answered, hanging) if target == "webhook" else None
        ) as receiver,
        Emulator.start(server) as aws,
    ):
        if target == "webhook":
            receiver.script.rules[:0] = draws.faults.rules()
        parameters = destination_parameters(aws, receiver) | {
            # Either is sent the whole body, from which it follows what really happened.
            "ActionTarget": target,
            "MaxTries": str(max_tries),
        }
        deployed = deploy(aws, TEMPLATE, parameters, display.step)
        pipe = FaultyPipe(aws.client, deployed.outputs["PipeName"], draws)
        with LocalStack(aws, deployed, pipe.start()) as stack:
            # An event that always fails is not given up while nothing else succeeds: it may wait.
            tracker = Tracker(stack.client, stack.outputs, PATIENCE_SECONDS)
            started = time.monotonic()
            sent = list(send_to_queue(stack.client, stack.outputs, arrange(lines, draws)))
            tracker.follow(sent)
            [settled] = tracker.wait_for_one(
                [lines], lambda standing: display.progress(standing, len(lines))
            )
            seconds = time.monotonic() - started
            if settled:
                display.step("waiting until nothing is left that could come again")
                while not tracker.is_quiet():
                    time.sleep(1)
            dead = _read_dead_letters(stack) & {one.id for one in sent}
            draws.happened += map(Happened.model_validate_json, _read_lines(aws.root / HAPPENED))
            order_checks = [
                OrderCheck.model_validate_json(line)
                for line in _read_lines(aws.root / ORDER_CHECKS)
            ]
            draws.happened += _read_timeouts(tracker, lines)
            # A later delivery of a parked message records that it was settled before.
            given_up_lines = {
                line.number
                for line in lines
                if any(record.reason == "GAVE_UP" for record in tracker.records_of(line))
            }
    events = [tracker.report(line) for line in lines]
    actions = action_reports(receiver, tracker)
    report = Report(
        received=len(lines),
        outcomes=dict(Counter(event.outcome for event in events)),
        events=events,
        actions=actions,
        seconds=round(seconds, 3),
    )
    dead_lines = {one.line.number for one in sent if one.id in dead}
    dead_events = [event for event in events if event.line in dead_lines]
    given_up = [event for event in events if event.line in given_up_lines]
    faults = faults_report(draws, receiver.log, actions, dead_events, given_up)
    verdict = judge(stream, report, faults, receiver.log, order_checks, max_tries)
    return Played(report, faults, verdict)


def destination(stream: Stream, answered: int, hanging: int) -> dict[str, Any]:
    """Scripts failures for what is poison; after so many answers so many requests in a row hang,
    whoever makes them. That opens the breaker, and the last of them are its probes."""
    return {
        "rules": [
            *({"match": {"conversationId": c}, "then": 500} for c in stream.poisoned),
            {"replies": ["ok"] * answered + ["timeout"] * hanging},
        ]
    }


def _read_dead_letters(stack: LocalStack) -> set[str]:
    """Returns the ids of the messages in the queue of dead letters."""
    found: set[str] = set()
    url = stack.outputs["EventDeadLettersUrl"]
    while messages := (
        stack.client("sqs")
        .receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=3600)
        .get("Messages")
    ):
        found |= {message["MessageId"] for message in messages}
    return found


def _read_timeouts(tracker: Tracker, lines: list[Line]) -> Iterator[Happened]:
    """Finds functions and requests that a busy machine did not let end in time: perhaps no request
    arrived."""
    for line in lines:
        for record in tracker.records_of(line):
            if record.error_class in _TIMED_OUT or "did not answer within" in (record.cause or ""):
                about = [hashlib.sha256(f"{record.pk}\n{record.sk}".encode()).hexdigest()]
                yield Happened(fault="data_action.timed_out", about=about)


def _read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
