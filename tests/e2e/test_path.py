"""Single events through the whole deployed path, and where each failure ends."""

import json
from collections.abc import Iterator

import pytest

from once.outcomes import Outcome
from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start

pytestmark = pytest.mark.local


def pk_of(conversation: str) -> str:
    return f"{ORGANISATION}/conversation/{conversation}"


def answers(local: DeployedStack, conversation: str, *replies: object) -> None:
    local.destination.script.add(
        {
            "match": {"conversationId": conversation},
            "replies": list(replies[:-1]),
            "then": replies[-1],
        }
    )


def calls(local: DeployedStack, conversation: str) -> list[int | None]:
    """Returns the statuses that the destination answered for this conversation, in order."""
    return [
        entry.status
        for entry in local.destination.received("execute")
        if entry.facts.get("conversationId") == conversation
    ]


def test_an_event_is_claimed_acted_on_and_marked_done(local: DeployedStack) -> None:
    (report,) = local.settle(customer_start("claimed"))
    assert report.outcome == Outcome.PROCESSED
    assert report.key is not None
    row = local.rows(pk_of("claimed"))[report.key.sk]
    assert (row["status"], row["outcome"]) == ("DONE", "PROCESSED")
    assert calls(local, "claimed") == [200]


def test_copies_in_many_batches_act_once(local: DeployedStack) -> None:
    reports = local.settle(*[customer_start("many")] * 25)
    outcomes = [report.outcome for report in reports]
    assert outcomes.count(Outcome.PROCESSED) == 1
    assert outcomes.count(Outcome.DUPLICATE) == 24
    assert calls(local, "many") == [200]


def test_a_rejected_event_is_parked_and_its_claim_is_done(local: DeployedStack) -> None:
    answers(local, "refused", 422)
    (report,) = local.settle(customer_start("refused"))
    assert (report.outcome, report.reason) == (Outcome.PARKED, "REJECTED")
    assert calls(local, "refused") == [422]
    (row,) = local.rows(pk_of("refused")).values()
    assert (row["status"], row["outcome"]) == ("DONE", "PARKED")
    parked = [p for p in local.parked() if p["element"].get("subjectKey") == pk_of("refused")]
    assert [p["reason"] for p in parked] == ["REJECTED"]


def test_a_broken_line_is_parked_with_its_text(local: DeployedStack) -> None:
    (report,) = local.settle('{"cut off')
    assert (report.outcome, report.reason, report.key) == (Outcome.PARKED, "NOT_JSON", None)
    assert '{"cut off' in [p["element"].get("raw") for p in local.parked()]


def test_a_good_event_beside_a_broken_one_still_acts(local: DeployedStack) -> None:
    good, broken = local.settle(customer_start("beside"), "[")
    assert (good.outcome, broken.outcome) == (Outcome.PROCESSED, Outcome.PARKED)


@pytest.fixture
def impatient_queue(local: DeployedStack) -> Iterator[None]:
    """Hands messages out again after a second, and gives up after the second time."""
    sqs, url = local.client("sqs"), local.outputs["EventQueueUrl"]
    names = ["VisibilityTimeout", "RedrivePolicy"]
    usual = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    policy = json.loads(usual["RedrivePolicy"]) | {"maxReceiveCount": 2}
    impatient = {"VisibilityTimeout": "1", "RedrivePolicy": json.dumps(policy)}
    sqs.set_queue_attributes(QueueUrl=url, Attributes=impatient)
    local.settle(customer_start())  # the receive that waits already goes by the old ones
    yield
    sqs.set_queue_attributes(QueueUrl=url, Attributes=usual)


@pytest.mark.usefixtures("impatient_queue")
def test_what_cannot_be_settled_ends_in_the_dead_letters_and_keeps_retry(
    local: DeployedStack,
) -> None:
    answers(local, "hopeless", 403)
    (report,) = local.settle(customer_start("hopeless"))
    assert (report.outcome, report.reason) == (Outcome.RETRY, "SETUP_FAULT")
    assert calls(local, "hopeless") == [403, 403]
    (row,) = local.rows(pk_of("hopeless")).values()
    assert (row["status"], row["outcome"]) == ("FAILED", "RETRY")
