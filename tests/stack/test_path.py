"""Each seam between the parts, on the real template."""

import json

from proof.events import customer_start, iso
from proof.shared_stack import SharedStack, Tried
from tests.stack.sample_events import NOON_MS, new_id


def take_dead_letters(stack: Tried) -> list[str]:
    messages = stack.client("sqs").receive_message(
        QueueUrl=stack.outputs["DeadLetterQueueUrl"], MaxNumberOfMessages=10
    )
    return [json.loads(message["Body"])["event"] for message in messages.get("Messages", [])]


def test_event_is_claimed_acted_on_and_marked_done(local: SharedStack) -> None:
    conversation = new_id()
    (record,) = local.settle(customer_start(conversation))
    assert (record.outcome, record.reason) == ("PROCESSED", "ACTED")
    (request,) = local.requests(conversation)
    assert request["acted"]
    (row,) = local.rows(conversation).values()
    assert (row["status"], row["outcome"], row["owner"]) == ("DONE", "PROCESSED", record.run)
    assert request["facts"]["idempotencyKey"] == record.idempotency_key


def test_copies_sent_together_act_once(local: SharedStack) -> None:
    conversation = new_id()
    records = local.settle(*[customer_start(conversation) for _ in range(12)])
    assert sorted(record.outcome for record in records) == ["DUPLICATE"] * 11 + ["PROCESSED"]
    assert len(local.requests(conversation)) == 1


def test_failed_request_is_sent_again_under_the_same_key(local: SharedStack) -> None:
    conversation = new_id()
    local.script(conversation, 503, "lose", then=200)
    (record,) = local.settle(customer_start(conversation))
    assert record.outcome == "PROCESSED"
    requests = local.requests(conversation)
    assert [request["acted"] for request in requests] == [False, True, True]
    assert [request["repeated"] for request in requests] == [False, False, True]
    assert len({request["facts"]["idempotencyKey"] for request in requests}) == 1


def test_put_back_message_carries_its_history_and_its_text(local: SharedStack) -> None:
    """Step Functions drops a misspelt parameter of SendMessage: here each one is seen at work."""
    conversation = new_id()
    text = json.dumps(customer_start(conversation))
    with local.variant() as variant:
        variant.script(conversation, then=503)
        (first_id,) = variant.send(text)
        variant.wait(lambda: variant.requests(conversation))
        variant.wait(lambda: variant.depth("ApproximateNumberOfMessagesDelayed") == 1)
        variant.pipe.stop()
        (message,) = variant.wait(
            lambda: (
                variant.client("sqs")
                .receive_message(QueueUrl=variant.outputs["EventQueueUrl"], WaitTimeSeconds=1)
                .get("Messages")
            )
        )
        body = json.loads(message["Body"])
        (row,) = variant.rows(conversation).values()
        assert body["event"] == text
        assert body["once"]["firstMessageId"] == first_id != message["MessageId"]
        assert body["once"]["after"] == row["owner"]
        assert {"firstSentAtMs", "waitsSinceMs"} <= body["once"].keys()
        assert row["status"] == "FAILED"


def test_event_and_its_copy_arrive_once_through_the_rule(local: SharedStack) -> None:
    conversation = new_id()
    source = "contact-centre.chat"  # PutEvents takes no source of AWS's own
    events = local.client("events")
    events.put_rule(Name=f"test-{conversation}", EventPattern=json.dumps({"source": [source]}))
    queue = local.client("sqs").get_queue_attributes(
        QueueUrl=local.outputs["EventQueueUrl"], AttributeNames=["QueueArn"]
    )["Attributes"]["QueueArn"]
    events.put_targets(Rule=f"test-{conversation}", Targets=[{"Id": "queue", "Arn": queue}])
    detail = {"conversation_id": conversation, "status": "queued", "timestamp": iso(NOON_MS)}
    entry = {
        "Source": source,
        "DetailType": "Conversation Status Change",
        "Detail": json.dumps(detail),
    }
    for _ in range(2):
        events.put_events(Entries=[entry])

    def read_outcomes() -> list[str]:
        records = [record for record in local.records() if conversation in (record.pk or "")]
        return sorted(record.outcome for record in records if record.is_settled)

    local.wait(lambda: len(read_outcomes()) == 2)
    assert read_outcomes() == ["DUPLICATE", "PROCESSED"]
    rule = events.describe_rule(Name=local.outputs["EventRuleName"])
    assert json.loads(rule["EventPattern"])["source"] == [{"prefix": "aws.partner/"}]


def test_text_that_is_no_event_is_parked_as_it_came(local: SharedStack) -> None:
    texts = ["no JSON", "{}", "[1]", '{"detail": {"eventBody": 1}}', "\ud7ff" * 9, "7 "]
    with local.variant() as variant:
        *hostile, good = variant.settle(*texts, customer_start())
        assert {(record.outcome, record.reason) for record in hostile} == {("PARKED", "UNREADABLE")}
        assert good.outcome == "PROCESSED"
        assert sorted(take_dead_letters(variant)) == sorted(texts)


def test_message_that_is_too_large_ends_in_the_dead_letters_and_says_why(
    local: SharedStack,
) -> None:
    with local.variant(visibility_seconds=1) as variant:
        queue = variant.client("sqs").get_queue_attributes(
            QueueUrl=variant.outputs["DeadLetterQueueUrl"], AttributeNames=["QueueArn"]
        )["Attributes"]["QueueArn"]
        policy = {"deadLetterTargetArn": queue, "maxReceiveCount": 1}
        variant.client("sqs").set_queue_attributes(
            QueueUrl=variant.outputs["EventQueueUrl"],
            Attributes={"RedrivePolicy": json.dumps(policy)},
        )
        variant.send(customer_start(padding="x" * 300_000))
        variant.wait(lambda: variant.depth("ApproximateNumberOfMessages", "DeadLetterQueueUrl"))
        listed = variant.once("parked", "list", "--json").json
        (entry,) = listed["messages"]
        assert entry["reason"] == "NOT_READ"
        assert "too large" in entry["why"]


def test_own_function_is_a_target(local: SharedStack) -> None:
    code = "def handler(event, context):\n    return {'statusCode': 200}\n"
    arn = local.create_function(f"own-{new_id()[:8]}", code)
    with local.variant(action={"ACTION_TARGET": "lambda", "TARGET_ARN": arn}) as variant:
        (record,) = variant.settle(customer_start())
        assert (record.outcome, record.reason) == ("PROCESSED", "ACTED")
