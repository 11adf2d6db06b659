"""The events that `once check` sends: made up, of an organisation that no one is.

The data action knows their keys and answers them itself, so no destination ever sees them.
"""

import json
import time
import uuid
from dataclasses import dataclass, field

ORGANISATION = "once-check"
_TOPIC = "v2.once.check"


@dataclass
class Canary:
    """One event, sent once or again, and the messages that carried it."""

    name: str
    body: str
    message_ids: list[str] = field(default_factory=list)

    def copy(self) -> str:
        """As Genesys publishes it again: in a new envelope."""
        event = json.loads(self.body)
        return json.dumps({**event, "id": str(uuid.uuid4())})


@dataclass
class Canaries:
    """One flock, told from those of other checks by its run."""

    run: str
    good: Canary
    refused: Canary
    failing: Canary
    broken: Canary

    @classmethod
    def hatch(cls, fails_for_ms: int) -> "Canaries":
        run = str(uuid.uuid4())
        now_ms = time.time_ns() // 1_000_000
        return cls(
            run=run,
            good=Canary("good", _event(run, "good", now_ms)),
            refused=Canary("refused", _event(run, "refused", now_ms, refuse=True)),
            failing=Canary(
                "failing", _event(run, "failing", now_ms, failUntilMs=now_ms + fails_for_ms)
            ),
            broken=Canary("broken", f"not an event, on purpose: canary {run} of once check"),
        )

    def all(self) -> list[Canary]:
        return [self.good, self.refused, self.failing, self.broken]


def _event(run: str, name: str, now_ms: int, **body: int | bool) -> str:
    subject = f"{run}-{name}"
    return json.dumps(
        {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": f"{_TOPIC}.{{id}}",
            "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/canary",
            "detail": {
                "topicName": f"{_TOPIC}.{subject}",
                "version": "2",
                "eventBody": {"eventTime": now_ms, **body},
            },
        }
    )
