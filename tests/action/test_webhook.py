"""The signature, as a receiver checks it with the library of the specification."""

import base64
import contextlib
import json
from dataclasses import fields

import pytest
from once_data_action import webhook
from once_data_action.errors import NotConfigured, Verdict
from once_data_action.request import ActionRequest, WebhookRequest, webhook_text
from standardwebhooks import Webhook

from once.genesys.server import SIGNING_SECRET, GenesysServer, Received
from tests.action.support import Sender, event, payload

NEW_SECRET = "whsec_" + base64.b64encode(b"n" * 32).decode()


@pytest.fixture
def bench(server: GenesysServer) -> Sender:
    return Sender(server, "webhook")


def verify(entry: Received, secret: str = SIGNING_SECRET) -> dict[str, object]:
    message: dict[str, object] = Webhook(secret).verify(entry.raw, entry.headers)
    return message


def test_every_field_of_the_contract_is_sent_if_the_event_has_it() -> None:
    full = event() | {"publishedAt": "2026-05-04T10:00:00.431Z", "metadata": {"tenant": "t"}}
    sent = json.loads(webhook_text(ActionRequest.read(payload(event=full))))
    assert sent.keys() == {each.name for each in fields(WebhookRequest)}


def test_text_of_any_language_verifies(bench: Sender) -> None:
    body = '{"name":"Ünï → 通话 😀","odd":"\\ud800","n":1.10}'
    bench.act(event=event(body=body))
    entry = bench.server.log[-1]
    assert verify(entry)["body"] == json.loads(body)
    assert body.encode() in entry.raw


def test_every_attempt_has_the_same_id_and_its_own_time(bench: Sender) -> None:
    bench.server.script.add({"replies": [500]})
    key = f"{'0a' * 32}.1777888800123"
    bench.fails(idempotencyKey=key)
    bench.clock.pass_seconds(2)
    bench.act(idempotencyKey=key)
    first, second = bench.server.log
    # A full stop in the id could move the borders of what is signed.
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == key.replace(".", "_")
    assert first.headers["webhook-timestamp"] < second.headers["webhook-timestamp"]
    verify(first)
    verify(second)


def test_rotated_secret_is_used_within_the_request(bench: Sender) -> None:
    bench.act(1)
    bench.server.signing_secret = NEW_SECRET
    bench.secrets.text = json.dumps({"signingSecret": NEW_SECRET})
    bench.act(2)
    assert [entry.status for entry in bench.server.log] == [200, 401, 200]


def test_refused_signature_reads_the_secret_again_once_in_30_seconds(bench: Sender) -> None:
    bench.server.script.add({"then": 401})
    assert {bench.fails(number)[0] for number in range(9)} == {"NotAuthorised"}
    assert bench.secrets.reads == 2
    assert len(bench.server.log) == 9, "one event may be refused, but others not"
    bench.clock.pass_seconds(30)
    bench.fails()
    assert bench.secrets.reads == 3


def test_secret_has_the_form_of_the_specification() -> None:
    def is_taken(secret: str) -> bool:
        with contextlib.suppress(NotConfigured):
            return bool(webhook.sign(secret, "a" * 64, 1_777_888_800, b"{}"))
        return False

    texts = {length: base64.b64encode(b"n" * length).decode() for length in (23, 24, 64, 65)}
    assert [is_taken(f"whsec_{text}") for text in texts.values()] == [False, True, True, False]
    assert not any(map(is_taken, ("whsec_***", texts[24])))
    with pytest.raises(NotConfigured, match="whsec_") as raised:
        webhook.sign("plain", "a" * 64, 1_777_888_800, b"{}")
    assert raised.value.for_all


def test_connection_is_used_again_for_half_a_minute(bench: Sender) -> None:
    idle = bench.target.http._idle
    bench.act(1)
    ((first, _),) = idle.values()
    for seconds, is_kept in ((30, True), (30.001, False)):
        bench.clock.pass_seconds(seconds)
        bench.act(2)
        ((connection, _),) = idle.values()
        assert (connection is first) == is_kept


# The mock destination, which these tests rely on.


def act(bench: Sender, *numbers: int) -> list[int | None]:
    """Acts on these events, and returns the statuses of the mock."""
    for number in numbers:
        with contextlib.suppress(Verdict):
            bench.act(number)
    return [entry.status for entry in bench.server.log]


def test_rule_replies_to_its_events_request_by_request(bench: Sender) -> None:
    bench.server.script.add({"match": {"subjectId": "c1"}, "replies": [422, 500]})
    assert act(bench, 1, 2, 1, 1) == [422, 200, 500, 200]


def test_rule_per_event_replies_to_each_event_anew(bench: Sender) -> None:
    bench.server.script.add({"replies": [500], "perEvent": True})
    assert act(bench, 1, 2, 1, 2) == [500, 500, 200, 200]
