"""Target `webhook`: one signed POST, after the Standard Webhooks specification."""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

from .errors import NotConfigured
from .outbound import Outbound, Response, Secret, error_of
from .request import ActionRequest, Budget, Clock, encode, webhook_text

FIELDS = ("signingSecret",)


@dataclass
class Webhook:
    url: str = field(repr=False)  # its path may be secret
    secret: Secret
    http: Outbound
    now_ms: Clock

    def act(self, request: ActionRequest, headers: dict[str, str], budget: Budget) -> int:
        """Returns the status of a success."""
        body = encode(webhook_text(request))
        reply = self._post(request, headers, body, budget)
        if reply.status in (401, 403) and self.secret.has_changed():
            reply = self._post(request, headers, body, budget)
        if not reply.ok:
            raise error_of(reply.status, reply.retry_after)
        return reply.status

    def _post(
        self, request: ActionRequest, headers: dict[str, str], body: bytes, budget: Budget
    ) -> Response:
        signed = sign(
            self.secret.values()["signingSecret"],
            request.idempotency_key,
            self.now_ms() // 1000,
            body,
        )
        return self.http.post(self.url, {**headers, **signed}, body, budget)


def sign(secret: str, key: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of a message, the same id on every attempt."""
    # The signed text is split at full stops, so the id must not have the one in a windowed key.
    message_id = key.replace(".", "_")
    try:
        signing_key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        signing_key = b""
    if not secret.startswith("whsec_") or not 24 <= len(signing_key) <= 64:
        raise NotConfigured(
            'the signingSecret is not "whsec_" and the base64 text of 24 to 64 random bytes',
            for_all=True,
        )
    signed = b".".join([message_id.encode(), str(timestamp).encode(), body])
    digest = hmac.digest(signing_key, signed, hashlib.sha256)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
