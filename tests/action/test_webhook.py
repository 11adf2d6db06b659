"""The signature, as a receiver checks it with the library of the specification."""

import base64
import json

import pytest
from once_data_action import webhook
from once_data_action.errors import NotConfigured
from once_data_action.request import WebhookRequest
from pydantic import TypeAdapter
from standardwebhooks import Webhook, WebhookVerificationError

from once.genesys.server import SIGNING_SECRET, Received
from tests.action.support import Sender, event

NEW_SECRET = "whsec_" + base64.b64encode(b"n" * 32).decode()


def verify(entry: Received, secret: str = SIGNING_SECRET) -> dict[str, object]:
    message: dict[str, object] = Webhook(secret).verify(entry.raw, entry.headers)
    return message


def test_another_body_or_secret_does_not_verify(webhook_action: Sender) -> None:
    webhook_action.act()
    entry = webhook_action.server.log[-1]
    with pytest.raises(WebhookVerificationError):
        verify(entry, NEW_SECRET)
    entry.raw = entry.raw.replace(b"PEER", b"ELSE")
    with pytest.raises(WebhookVerificationError):
        verify(entry)


def test_text_of_any_language_verifies(webhook_action: Sender) -> None:
    body = '{"name":"Ünï → 通话 😀","odd":"\\ud800","n":1.10}'
    webhook_action.act(event=event(body=body))
    entry = webhook_action.server.log[-1]
    assert verify(entry)["body"] == json.loads(body)
    assert body.encode() in entry.raw


def test_every_attempt_has_the_same_id_and_its_own_time(webhook_action: Sender) -> None:
    webhook_action.server.script.add({"replies": [500]})
    key = f"{'0a' * 32}.1777888800123"
    webhook_action.fails(idempotencyKey=key)
    webhook_action.clock.pass_seconds(2)
    webhook_action.act(idempotencyKey=key)
    first, second = webhook_action.server.log
    # A full stop in the id could move the borders of what is signed.
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == key.replace(".", "_")
    assert first.headers["webhook-timestamp"] < second.headers["webhook-timestamp"]
    verify(first)
    verify(second)


def test_rotated_secret_is_used_within_the_request(webhook_action: Sender) -> None:
    webhook_action.act(1)
    webhook_action.server.signing_secret = NEW_SECRET
    webhook_action.secrets.text = json.dumps({"signingSecret": NEW_SECRET})
    webhook_action.act(2)
    assert [entry.status for entry in webhook_action.server.log] == [200, 401, 200]


def test_refused_signature_reads_the_secret_again_once_in_30_seconds(
    webhook_action: Sender,
) -> None:
    webhook_action.server.script.add({"then": 401})
    assert {webhook_action.fails(number)[0] for number in range(9)} == {"NotAuthorised"}
    assert webhook_action.secrets.reads == 2
    assert len(webhook_action.server.log) == 9, "one event may be refused, but others not"


@pytest.mark.parametrize(
    "secret",
    ["plain", "whsec_", "whsec_***", "whsec_dG9vIHNob3J0", base64.b64encode(b"n" * 32).decode()],
)
def test_secret_of_another_form_is_not_used(webhook_action: Sender, secret: str) -> None:
    webhook_action.secrets.text = json.dumps({"signingSecret": secret})
    name, facts = webhook_action.fails()
    assert name == "NotConfigured"
    assert "whsec_" in facts["cause"]
    assert webhook_action.server.log == []


@pytest.mark.parametrize(("length", "is_taken"), [(23, False), (24, True), (64, True), (65, False)])
def test_secret_has_the_length_of_the_specification(length: int, is_taken: bool) -> None:
    secret = "whsec_" + base64.b64encode(b"n" * length).decode()
    if is_taken:
        assert webhook.sign(secret, "a" * 64, 1_777_888_800, b"{}")
    else:
        with pytest.raises(NotConfigured):
            webhook.sign(secret, "a" * 64, 1_777_888_800, b"{}")


def test_shape_in_code_is_the_shape_that_is_sent(webhook_action: Sender) -> None:
    webhook_action.act()
    sent = webhook_action.server.log[-1].body
    adapter = TypeAdapter(WebhookRequest)
    adapter.validate_python(sent)
    assert sent.keys() <= adapter.json_schema()["properties"].keys()
