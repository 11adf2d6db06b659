"""The project's stack on an embedded AWS with the probe inside, and what the probe saw."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any
from unittest.mock import patch

from once.embedded import child
from once.embedded.aws import EmbeddedAws
from once.embedded.stack import EmbeddedStack

PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Seen:
    """What the probe wrote, by kind."""

    store: list[dict[str, Any]]
    functions: list[dict[str, Any]]
    executions: list[dict[str, Any]]

    @classmethod
    def read(cls, aws: EmbeddedAws) -> "Seen":
        found: dict[str, list[dict[str, Any]]] = {"store": [], "function": [], "execution": []}
        for line in (aws.root / "probe.jsonl").read_text().splitlines():
            note = json.loads(line)
            found[note.pop("kind")].append(note)
        return cls(found["store"], found["function"], found["execution"])


@contextmanager
def probing(**settings: str) -> Iterator[None]:
    """An embedded AWS that is started within has the probe; `settings` are its variables."""
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
    parameters: Callable[[EmbeddedAws], Mapping[str, str]],
    *,
    observer: Any = None,
    step: Callable[[str], None] = lambda _: None,
    **settings: str,
) -> Iterator[EmbeddedStack]:
    with (
        probing(**settings),
        EmbeddedStack.start(parameters, observer=observer, step=step) as stack,
    ):
        yield stack


def cause_faults(aws: EmbeddedAws, faults: Mapping[str, list[str]]) -> None:
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


def drain(sqs: Any, queue_url: str, seconds: float = 300) -> None:
    """Until the queue holds nothing, waiting or in work: what the pipe deletes is settled."""
    names = [f"ApproximateNumberOfMessages{what}" for what in ("", "NotVisible", "Delayed")]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        depths = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
        if not any(int(depths[name]) for name in names):
            return
        time.sleep(0.1)
    raise TimeoutError(f"{queue_url} still holds messages after {seconds:.0f} s: {depths}")
