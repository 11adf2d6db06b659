"""Measures what routes add to an event in the enrichment, in microseconds of processor time.

Run: python -m bench.routes. Each route has three conditions; the event meets two of each, so that
no route takes it. Prints the best of several rounds: the one that other work disturbed least.
"""

import time
from collections.abc import Callable
from functools import partial

from once_enrichment.normalise import normalise
from once_enrichment.routes_file import read

QUEUES = [f"5e11ab1e-0000-4b0e-8000-{number:012}" for number in range(5)]
LAST = '[[routes]]\nfamily = "*"\naction = "none"\n'
EVENT = """{"detail-type": "v2.detail.events.conversation.{id}.acd.end", "id": "1",
"source": "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a/bench", "detail":
{"topicName": "v2.detail.events.conversation.7ab1e5e7-0a11-4b00-9c0d-000000000001.acd.end",
"eventBody": {"eventTime": 1741770000000, "conversationId": "7ab1e5e7-0a11-4b00-9c0d-000000000001",
"participantId": "p", "sessionId": "s", "mediaType": "VOICE", "ani": "tel:+39055123",
"queueId": "5e11ab1e-0000-4b0e-8000-000000000003"}}}"""


def route(number: int, family: str) -> str:
    return (
        f'[[routes]]\nname = "{number}"\nfamily = "{family}"\nmax_age = "5m"\naction = "a"\n'
        f'when.body.mediaType = ["VOICE"]\nwhen.body.queueId = {QUEUES}\n'
        f'when.body.ani = [{{ prefix = "tel:+4{number}" }}]\n'
    )


def microseconds(act: Callable[[], object], times: int = 5_000, rounds: int = 7) -> float:
    found = []
    for _ in range(rounds):
        began = time.process_time()
        for _ in range(times):
            act()
        found.append((time.process_time() - began) / times)
    return min(found) * 1e6


def main() -> None:
    record = {"messageId": "m", "receiptHandle": "h", "body": EVENT, "attributes": {}}
    event = normalise(record)
    print(f"normalising the event: {microseconds(lambda: normalise(record)):.1f} us")
    for family in (event["family"], "user.presence"):
        routes = read("bench", "".join(route(n, family) for n in range(50)) + LAST)
        print(f"50 routes for {family}: {microseconds(partial(routes.add_to, event)):.1f} us")


if __name__ == "__main__":
    main()
