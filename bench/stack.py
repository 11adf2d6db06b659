"""The project's stack on an emulator with the probe inside, and what the probe saw."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any
from unittest.mock import patch

from once.local import child
from once.local.aws import Emulator
from once.local.stack import LocalStack

PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Seen:
    """The lines that the probe wrote, by kind."""

    store: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    executions: list[dict[str, Any]]

    @classmethod
    def read(cls, aws: Emulator) -> "Seen":
        found: dict[str, list[dict[str, Any]]] = {"store": [], "function": [], "execution": []}
        for line in (aws.root / "probe.jsonl").read_text().splitlines():
            note = json.loads(line)
            found[note.pop("kind")].append(note)
        return cls(found["store"], found["function"], found["execution"])


@contextmanager
def probing(**settings: str) -> Iterator[None]:
    """An emulator that is started within has the probe; `settings` are its variables."""
    begin = child.start

    def start(program: str, *args: str, env: Mapping[str, str], **rest: Any) -> Popen[bytes]:
        if program.endswith("server.py"):
            program = str(PROBE)
            env = {**env, **settings}
        return begin(program, *args, env=env, **rest)

    with patch.object(child, "start", start):
        yield


@contextmanager
def probed_stack(
    parameters: Callable[[Emulator], Mapping[str, str]],
    step: Callable[[str], None] = lambda _: None,
    **settings: str,
) -> Iterator[LocalStack]:
    with probing(**settings), LocalStack.start(parameters, step=step) as stack:
        yield stack


def cause_faults(aws: Emulator, faults: Mapping[str, list[str]]) -> None:
    """From now on: fault to the messageIds it strikes, once each."""
    written = aws.root / "faults.new"
    written.write_text(json.dumps(faults))
    written.replace(aws.root / "faults.json")


def send(sqs: Any, queue_url: str, bodies: Sequence[str]) -> None:
    for first in range(0, len(bodies), 10):
        sqs.send_message_batch(
            QueueUrl=queue_url,
            Entries=[
                {"Id": str(at), "MessageBody": body}
                for at, body in enumerate(bodies[first : first + 10])
            ],
        )
