"""The destination of all contestants: it recognises each happening whoever sends it, fails as the
streams plan, and notes every act in order.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.compare.reading import fingerprint
from bench.compare.streams import Happening, Stream
from once.genesys.script import Reply
from once.genesys.server import GenesysServer, Received

REPLIES = {503: Reply(status=503), "lose": Reply(answer="reset", act=True)}
REFUSAL = Reply(status=400)


@dataclass(frozen=True)
class Act:
    """`said_ms` is the time, and `key` the name, that the sender gives the happening."""

    happening: Happening
    said_ms: int | None
    key: str


class Destination(GenesysServer):
    def __init__(self, streams: Sequence[Stream], latency_ms: float) -> None:
        super().__init__()
        self.acts: list[Act] = []
        self.calls: Counter[str] = Counter()
        self._latency = latency_ms / 1000
        self._known: dict[str, dict[int, Happening]] = defaultdict(dict)
        for stream in streams:
            for message in stream.messages:
                detail = message.event["detail"]
                content = fingerprint(detail["topicName"], detail["eventBody"])
                self._known[content][message.happening.at_ms] = message.happening
        self._guard = threading.Lock()

    def happening(self, topic: str, body: object, said_ms: int | None) -> Happening | None:
        """Finds the happening of a body. If several have the same body, `said_ms` decides."""
        alike = self._known.get(fingerprint(topic, body))
        if not alike:
            return None
        if said_ms in alike:
            return alike[said_ms]
        acted = {act.happening.name for act in self.acts}
        waiting = [h for h in alike.values() if h.name not in acted]
        return (waiting or list(alike.values()))[0]

    def answer(self, entry: Received) -> Reply:
        said = entry.body.get("occurredAtMs")
        with self._guard:
            happening = self.happening(entry.body["topic"], entry.body["body"], said)
            if happening is None:
                return Reply()  # what only warms up
            number = self.calls[happening.name]
            self.calls[happening.name] += 1
        self._server.closing.wait(self._latency)
        reply = Reply()
        if happening.refused:
            reply = REFUSAL
        elif number < len(happening.replies):
            reply = REPLIES[happening.replies[number]]
        if reply.act:
            key = entry.headers.get("idempotency-key", "")
            with self._guard:
                self.acts.append(Act(happening, said, key))
        return reply
