"""Events that leave a deployed stack as webhooks, verified as any receiver would."""

import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import trustme
from standardwebhooks import Webhook, WebhookVerificationError

from once.genesys.server import SIGNING_SECRET, Received
from once.outcomes import Outcome
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.e2e.delivery import Course, answers, deliver
from tests.e2e.test_privacy import MARKERS, PHONE, call, leaks, written
from tests.operate.support import destination_answers, restart_with

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def calling() -> Iterator[DeployedStack]:
    with deployed(ActionTarget="webhook") as stack:
        yield stack


def received(calling: DeployedStack, conversation: str) -> list[Received]:
    return [
        entry
        for entry in calling.destination.received("webhook")
        if entry.facts.get("conversationId") == conversation
    ]


def test_a_receiver_verifies_each_attempt_with_the_library_of_the_specification(
    calling: DeployedStack,
) -> None:
    destination_answers(calling, "hook-retried", 500)
    (report,) = calling.settle(customer_start("hook-retried", note="Ünï → 通话 😀"))
    assert report.outcome is Outcome.PROCESSED
    assert report.key is not None
    requests = received(calling, "hook-retried")
    assert [entry.status for entry in requests] == [500, 200]
    for entry in requests:
        said = Webhook(SIGNING_SECRET).verify(entry.raw, entry.headers)
        assert said["key"] == report.key.model_dump()
        assert said["body"]["note"] == "Ünï → 通话 😀"
        assert entry.headers["webhook-id"] == entry.headers["idempotency-key"]
        assert said["idempotencyKey"] == entry.headers["idempotency-key"]
        with pytest.raises(WebhookVerificationError):
            Webhook(SIGNING_SECRET).verify(entry.raw + b" ", entry.headers)
    assert len({entry.headers["webhook-id"] for entry in requests}) == 1


def test_the_id_of_a_windowed_event_has_no_full_stop(calling: DeployedStack) -> None:
    change = {
        "detail-type": "Conversation Status Change",
        "source": "tests.chat",
        "detail": {
            "conversation_id": "hook-chat",
            "status": "connected",
            "timestamp": "2025-03-12T10:00:05.000Z",
        },
    }
    calling.settle(change)
    (entry,) = received(calling, "hook-chat")
    key, _, occurrence = entry.headers["idempotency-key"].partition(".")
    assert (len(key), occurrence) == (64, "1741773605000")
    assert entry.headers["webhook-id"] == f"{key}_{occurrence}"
    Webhook(SIGNING_SECRET).verify(entry.raw, entry.headers)


def test_a_body_too_large_for_the_machine_arrives_whole(calling: DeployedStack) -> None:
    calling.settle(customer_start("hook-large", note="x" * 300_000))
    (entry,) = received(calling, "hook-large")
    said = Webhook(SIGNING_SECRET).verify(entry.raw, entry.headers)
    assert len(said["body"]["note"]) == 300_000


@pytest.mark.parametrize(
    ("reply", "outcome", "reason"),
    [(422, "PARKED", "REJECTED"), (410, "RETRY", "SETUP_FAULT")],
)
def test_its_answers_count_as_those_of_genesys(
    calling: DeployedStack, reply: int, outcome: str, reason: str
) -> None:
    course = Course(f"hook-{reply}")
    answers(calling, course, reply)
    deliver(calling, [course])
    assert course.ended == (outcome, reason)


def test_text_for_the_receiver_is_written_nowhere_else(calling: DeployedStack) -> None:
    since = datetime.now(UTC)
    replies: list[object] = [200, 422, 500]
    for reply in replies:
        said = {"status": reply, "body": f"no such caller: +{PHONE}"}
        destination_answers(calling, f"hook-private-{reply}", said)
    large = call("hook-private-large", note=PHONE * 17_000)
    calling.settle(large, *[call(f"hook-private-{reply}") for reply in replies])
    sent = [entry for entry in calling.destination.log if PHONE in entry.raw.decode()]
    assert len(sent) == len(replies) + 2
    signatures = {entry.headers["webhook-signature"] for entry in sent}
    assert leaks(written(calling, since), {*MARKERS, *signatures}) == []


def at_address(calling: DeployedStack, name: str, address: str) -> tuple[str, str | None]:
    course = Course(f"hook-{name}")
    restart_with(calling, WEBHOOK_URL=address)
    try:
        deliver(calling, [course])
    finally:
        restart_with(calling, WEBHOOK_URL=calling.destination.webhook_url)
    return course.ended


@pytest.fixture
def untrusted() -> Iterator[str]:
    """The address of a server whose certificate no authority of ours has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                context.wrap_socket(listener.accept()[0], server_side=True).close()
            except ssl.SSLError:
                continue  # whoever called did not trust it
            except OSError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}/hook"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


def test_a_certificate_that_is_not_valid_is_a_fault_of_the_set_up(
    calling: DeployedStack, untrusted: str
) -> None:
    assert at_address(calling, "untrusted", untrusted) == ("RETRY", "SETUP_FAULT")


def test_an_address_where_nobody_listens_is_asked_again_later(calling: DeployedStack) -> None:
    with socket.socket() as silent:  # keeps the port, and accepts nothing
        silent.bind(("127.0.0.1", 0))
        nobodys = f"http://127.0.0.1:{silent.getsockname()[1]}/hook"
        assert at_address(calling, "nobody", nobodys) == ("RETRY", "CALL_FAILED")
