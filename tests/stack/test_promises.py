"""Promises hold when states come together, and when requests are paused."""

import random
import time
from itertools import pairwise

from proof.events import customer_start
from proof.shared_stack import SharedStack
from tests.stack.sample_events import NOON_MS, new_id, presence


def test_parked_event_that_is_sent_to_the_queue_twice_acts_once(local: SharedStack) -> None:
    conversation = new_id()
    with local.variant() as variant:
        variant.script(conversation, 422, then=200)
        (parked,) = variant.settle(customer_start(conversation))
        assert parked.outcome == "PARKED"
        sqs, dead = variant.client("sqs"), variant.outputs["DeadLetterQueueUrl"]
        (message,) = sqs.receive_message(QueueUrl=dead)["Messages"]
        for _ in range(2):
            variant.send(message["Body"])
        sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
        records = variant.wait(lambda: (r := variant.records())[2:] and r)
        reasons = [record.reason for record in records]
        assert sorted(map(str, reasons)) == ["ACTED", "REJECTED", "SETTLED_BEFORE"]
        assert {record.first_message_id for record in records} == {parked.first_message_id}
        statuses = [request["status"] for request in variant.requests(conversation)]
        assert statuses == [422, 200]
        for queue in ("EventQueueUrl", "DeadLetterQueueUrl"):
            assert not variant.depth("ApproximateNumberOfMessages", queue)


def test_requests_of_one_agent_keep_their_order_and_never_overlap(local: SharedStack) -> None:
    seed = time.time_ns()
    drawn = random.Random(seed)  # noqa: S311 - no secret
    agents = [new_id() for _ in range(4)]
    states = ("AVAILABLE", "BUSY", "MEAL", "MEETING")
    events = [
        presence(agent, state, NOON_MS + 5_000 * number)
        for agent in agents
        for number, state in enumerate(states)
    ]
    drawn.shuffle(events)
    with local.variant() as variant:
        variant.settle(customer_start())  # the functions have started
        for agent in agents:
            replies = [{"delayMs": drawn.randrange(600)} for _ in states]
            variant.script(agent, *replies, fact="subjectId")
        records = variant.settle(*events, seconds=240)
        assert {record.outcome for record in records} <= {"PROCESSED", "STALE"}, seed
        for agent in agents:
            requests = variant.requests(agent)
            times = [request["body"]["occurredAtMs"] for request in requests]
            assert times == sorted(times), seed
            assert times[-1] == NOON_MS + 15_000, seed
            for earlier, later in pairwise(requests):
                assert earlier["atMs"] + earlier["durationMs"] <= later["atMs"] + 1, seed


def test_pause_stops_requests_and_settles_copies(local: SharedStack) -> None:
    copied, waiting = new_id(), new_id()
    with local.variant() as variant:
        variant.settle(customer_start(copied))
        assert variant.once("pause", "--for", "20s", "--yes").code == 0
        time.sleep(1.5)  # a function remembers for a second that requests may be sent
        variant.send(customer_start(waiting))
        paused = variant.wait(lambda: [r for r in variant.records() if r.reason == "PAUSED"])
        assert paused[0].outcome == "RETRY"
        (copy,) = variant.settle(customer_start(copied))
        assert copy.outcome == "DUPLICATE"
        assert not variant.requests(waiting)
        assert variant.once("status").code == 3
        assert variant.once("resume", "--yes").code == 0
        variant.wait(lambda: variant.requests(waiting))
