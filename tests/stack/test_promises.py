"""Promises hold when a destination fails, events come together, or states return."""

import json
import random
import time
from itertools import pairwise

import pytest

from once.model.records import Record
from proof.events import customer_start
from proof.shared_stack import SharedStack, Tried
from tests.stack.sample_events import NOON_MS, call, new_id, presence, status

ALERTING = """
[[routes]]
family = "conversation.status.change"
when.body.status = ["alerting"]
action = "send"
[[routes]]
family = "*"
action = "none"
"""
CONNECTED = """
[[routes]]
family = "user.conversations.calls"
when.body.participants.state = ["connected"]
facts = ["participants.*.state"]
action = "send"
[[routes]]
family = "*"
action = "none"
"""
EVERY = """
[[routes]]
family = "*"
order = "every"
action = "send"
"""
WAITING = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed")


def wait_for_ends(stack: Tried, number: int) -> list[Record]:
    """Waits until so many messages are settled."""

    def read() -> list[Record]:
        ends = [record for record in stack.records() if record.is_settled]
        return ends if len({record.message_id for record in ends}) >= number else []

    return stack.wait(read)


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
        assert {record.message_id for record in records} == {parked.message_id}
        statuses = [request["status"] for request in variant.requests(conversation)]
        assert statuses == [422, 200]
        for queue in ("EventQueueUrl", "DeadLetterQueueUrl"):
            assert not variant.depth("ApproximateNumberOfMessages", queue)


def test_outage_settles_each_event_once_and_keeps_one_message_of_each(local: SharedStack) -> None:
    conversations = [new_id() for _ in range(8)]
    with local.variant() as variant:
        for conversation in conversations:
            variant.script(conversation, then="reset")
        variant.send(*[customer_start(conversation) for conversation in conversations])
        until, most = time.monotonic() + 10, 0
        while time.monotonic() < until:
            most = max(most, sum(map(variant.depth, WAITING)))
            time.sleep(0.2)
        assert most <= len(conversations)
        for conversation in conversations:
            variant.script(conversation, then=200)
        settled = wait_for_ends(variant, len(conversations))
        assert {record.outcome for record in settled} == {"PROCESSED"}
        for conversation in conversations:
            assert sum(request["acted"] for request in variant.requests(conversation)) == 1


def test_requests_of_one_agent_keep_their_order_and_never_overlap(local: SharedStack) -> None:
    seed = time.time_ns()
    drawn = random.Random(seed)  # noqa: S311 - no secret
    agents = [new_id() for _ in range(8)]
    states = ("AVAILABLE", "BUSY", "MEAL", "MEETING")
    events = [
        presence(agent, state, NOON_MS + 5_000 * number)
        for agent in agents
        for number, state in enumerate(states)
    ]
    drawn.shuffle(events)
    with local.variant() as variant:
        for agent in agents:
            replies = [{"delayMs": drawn.randrange(600)} for _ in states]
            variant.script(agent, *replies, fact="subjectId")
        records = variant.settle(*events)
        assert {record.outcome for record in records} <= {"PROCESSED", "STALE"}, seed
        for agent in agents:
            requests = variant.requests(agent)
            times = [request["body"]["occurredAtMs"] for request in requests]
            assert times == sorted(times), seed
            assert times[-1] == NOON_MS + 15_000, seed
            for earlier, later in pairwise(requests):
                assert earlier["atMs"] + earlier["durationMs"] <= later["atMs"] + 1, seed


def test_unwanted_newer_state_does_not_pass_a_wanted_one_that_waits(local: SharedStack) -> None:
    conversation = new_id()
    with local.variant(files={"routes.toml": ALERTING}) as variant:
        variant.script(conversation, 503, 503, then=200)
        variant.send(status(conversation, "alerting", NOON_MS))
        variant.wait(lambda: variant.requests(conversation))
        (unwanted,) = variant.settle(status(conversation, "connected", NOON_MS + 5_000))
        assert unwanted.outcome == "IGNORED"
        variant.wait(lambda: any(request["acted"] for request in variant.requests(conversation)))


@pytest.mark.parametrize(("routes", "acts"), [(EVERY, 7), (None, 1)])
def test_states_of_an_outage_act_each_or_the_newest(
    local: SharedStack, routes: str | None, acts: int
) -> None:
    user, conversation = new_id(), new_id()
    files = {"routes.toml": routes} if routes else {}
    with local.variant(files=files) as variant:
        variant.script(conversation, then="reset")
        muted = [call(user, conversation, NOON_MS + 5_000 * n, muted=n % 2 == 0) for n in range(7)]
        ids: list[str] = []

        def are_recorded() -> bool:
            return {record.message_id for record in variant.records()} >= {*ids}

        for state in muted:
            ids += variant.send(state)
            variant.wait(are_recorded)
        variant.script(conversation, then=200)
        ends = wait_for_ends(variant, len(ids))
        processed = [record for record in ends if record.outcome == "PROCESSED"]
        assert len(processed) == acts
        if acts == 1:
            assert processed[0].occurred_at_ms == NOON_MS + 30_000
            passed = [record for record in ends if record.outcome == "STALE"]
            assert len(passed) == 6
            assert all(record.because for record in passed)


def test_snapshots_with_the_same_facts_send_one_request(local: SharedStack) -> None:
    user, conversation = new_id(), new_id()
    snapshots = [
        call(user, conversation, NOON_MS + 1_000 * n, held=n % 3 == 0, muted=n % 2 == 0)
        for n in range(9)
    ]
    with local.variant(files={"routes.toml": CONNECTED}) as variant:
        records = variant.settle(*snapshots, steps=True)
        assert [record.outcome for record in records] == ["PROCESSED"] + ["DUPLICATE"] * 8
        assert {record.reason for record in records[1:]} == {"UNCHANGED"}
        assert len(variant.requests(conversation)) == 1


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


def test_limit_stretches_a_peak_and_loses_nothing(local: SharedStack) -> None:
    limit = {"MAX_ACTIONS_PER_MINUTE": "60"}
    with local.variant(action=limit) as variant:
        events = [customer_start() for _ in range(12)]
        records = variant.settle(*events)
        assert [record.outcome for record in records] == ["PROCESSED"] * 12


def test_429_holds_requests_for_as_long_as_it_says(local: SharedStack) -> None:
    conversation = new_id()
    with local.variant() as variant:
        variant.script(conversation, {"status": 429, "retryAfter": 3}, then=200)
        (record,) = variant.settle(customer_start(conversation))
        assert record.outcome == "PROCESSED"
        limited, acted = variant.requests(conversation)
        assert acted["atMs"] - limited["atMs"] >= 3_000


def test_lost_answer_repeats_the_request_under_the_key_that_acted(local: SharedStack) -> None:
    conversation = new_id()
    local.script(conversation, "lose", then=200)
    (record,) = local.settle(customer_start(conversation))
    assert record.outcome in {"PROCESSED", "PARKED"}
    requests = local.requests(conversation)
    assert len({request["facts"]["idempotencyKey"] for request in requests}) == 1
    assert json.dumps(requests).count('"repeated": false') >= 1
