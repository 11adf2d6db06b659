"""Planted markers: secrets are searched for in everything that a request leaves behind."""

import json
import logging
import traceback

import pytest
from once_data_action.webhook import Webhook

from once.genesys.script import action_error_body
from once.genesys.server import CLIENT_ID
from tests.action.support import Sender, event

PHONE = "+4915550001234"
BODY = "marker-in-the-body"
CLIENT_SECRET = "marker-client-secret"
SIGNING_SECRET = "whsec_bWFya2VyLXNpZ25pbmctc2VjcmV0LTAwMDAwMDAx"
REMOTE = "marker-said-by-the-remote-system"
URL_TOKEN = "marker-in-the-address"

STATUSES = (400, 401, 403, 404, 429, 500, 301)
WORDS = ("ok", "reset", "lose", "processing", "authentication", "remote-endpoint")


def leaked(text: str, *more: str) -> list[str]:
    markers = [PHONE, PHONE[1:], BODY, CLIENT_SECRET, SIGNING_SECRET, SIGNING_SECRET[6:], REMOTE]
    return [marker for marker in (*markers, URL_TOKEN, *more) if marker in text]


def private_event() -> dict[str, object]:
    one = event(body=json.dumps({"ani": f"tel:{PHONE}", "note": BODY}))
    one["ids"]["ani"] = PHONE
    return one | {"state": BODY}


def remote_failure(detail: str) -> dict[str, object]:
    body = action_error_body(detail, 400)
    body["userMessage"] = body["errors"][0]["userMessage"] = f"{REMOTE} {PHONE}"
    body["errorCode"] = body["correlationId"] = f"{REMOTE} {PHONE}"
    return {"status": 400, "body": body}


@pytest.mark.parametrize(
    "reply",
    [*STATUSES, *WORDS, *map(remote_failure, ("ACTION.REMOTE_ENDPOINT", "ACTION.PROCESSING"))],
    ids=str,
)
def test_no_secret_is_left_in_answers_or_logs(
    either: Sender,
    reply: object,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    either.server.client_secret = CLIENT_SECRET
    either.server.signing_secret = SIGNING_SECRET
    either.secrets.text = json.dumps(
        {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET, "signingSecret": SIGNING_SECRET}
    )
    either.server.script.add({"replies": [reply, reply]})
    if isinstance(either.target, Webhook):
        either.target.url += f"?key={URL_TOKEN}"

    with caplog.at_level(logging.DEBUG):
        try:
            said = json.dumps(either.act(event=private_event()))
        except Exception:  # noqa: BLE001, RUF100
            said = traceback.format_exc()
    printed = capfd.readouterr()
    logged = "\n".join(record.getMessage() for record in caplog.records)

    received = either.server.log[-1]
    assert BODY in received.raw.decode(), "the marker was sent, so it could have leaked"
    token = received.headers.get("authorization", "Bearer none").split()[1]
    signature = received.headers.get("webhook-signature", "none")
    everything = f"{said}\n{printed.out}\n{printed.err}\n{logged}"
    assert leaked(everything, token if token != "none" else URL_TOKEN) == []
    assert signature == "none" or signature not in everything


def test_object_that_is_written_as_text_has_no_credentials(either: Sender) -> None:
    either.act()
    token = either.server.log[-1].headers.get("authorization", "Bearer none").split()[1]
    assert not [text for text in (*either.secrets.values, token) if text in repr(either.target)]


@pytest.mark.parametrize(
    "secret",
    [
        CLIENT_SECRET,
        {"secret": CLIENT_SECRET},
        {"signingSecret": CLIENT_SECRET},
        {"clientId": CLIENT_ID, "clientSecret": CLIENT_SECRET},
    ],
    ids=["text", "other fields", "signing secret", "credentials"],
)
def test_wrong_secret_is_not_quoted(either: Sender, secret: object) -> None:
    either.secrets.text = secret if isinstance(secret, str) else json.dumps(secret)
    assert leaked(json.dumps(either.fails())) == []
