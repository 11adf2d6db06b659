"""Target `genesys`: executes a data action of Genesys Cloud with a client-credentials token."""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .errors import ActionError, Failed, NotAuthorised, NotConfigured, Rejected, Uncertain
from .outbound import Outbound, Response, Secret, error_of, json_object
from .request import ActionRequest, Budget, Clock, body_text

# Genesys does not look at the header Idempotency-Key. With key and time among the inputs the
# endpoint behind the action can tell a repeated request, or an old one, from a new one.
COMMON = {
    "idempotencyKey": "idempotencyKey",
    "occurredAtMs": "occurredAtMs",
    "occurredAt": "occurredAt",
    "family": "family",
    "state": "state",
    "subjectType": "subject.type",
    "subjectId": "subject.id",
    "conversationId": "ids.conversationId",
    "participantId": "ids.participantId",
    "userId": "ids.userId",
    "queueId": "ids.queueId",
}
"""The inputs of a route that names none."""

FIELDS = ("clientId", "clientSecret")

# A token is not used in its last minute: it must outlive the request.
_TOKEN_MARGIN_SECONDS = 60
# Genesys' own live for a day at most by default, and an environment of Lambda for some hours.
_LONGEST_TOKEN_SECONDS = 86_400

_TOKEN = re.compile(r"[!-~]{1,8192}")

# What may be repeated of a Genesys answer. Its userMessage may quote the remote system's, so never.
_CODE = re.compile(r"[A-Za-z][A-Za-z._]{0,63}")
_CORRELATION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass
class Tokens:
    """The token of this environment, which handles one event at a time."""

    login: str
    secret: Secret
    http: Outbound
    now_ms: Clock
    _token: str = field(default="", init=False, repr=False)
    _ends_ms: int = field(default=0, init=False)

    def get(self, budget: Budget, refused: str | None = None) -> str:
        """A token that still lives and is not the refused one."""
        if self._ends_ms <= self.now_ms() or self._token == refused:
            self._token, self._ends_ms = self._fetch(budget)
        return self._token

    def _fetch(self, budget: Budget) -> tuple[str, int]:
        reply = self._ask(budget)
        if reply.status in (400, 401) and self.secret.has_changed():
            reply = self._ask(budget)
        if not reply.ok:
            raise _login_error(reply)
        answer = json_object(reply.body)
        value, seconds = answer.get("access_token"), answer.get("expires_in")
        # It goes into a header, where a line break would end it.
        if not isinstance(value, str) or not _TOKEN.fullmatch(value):
            raise Failed("the Genesys login answered without a token")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
            raise Failed("the Genesys login did not say for how long its token lives")
        seconds = min(seconds, _LONGEST_TOKEN_SECONDS)
        # A token that lives for less than two margins is still worth half its life.
        usable = max(seconds - _TOKEN_MARGIN_SECONDS, seconds / 2)
        return value, self.now_ms() + int(usable * 1000)

    def _ask(self, budget: Budget) -> Response:
        credentials = self.secret.values()
        pair = f"{credentials['clientId']}:{credentials['clientSecret']}"
        headers = {
            "Authorization": f"Basic {b64encode(pair.encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.http.post(
            f"{self.login}/oauth/token", headers, b"grant_type=client_credentials", budget
        )


def _login_error(reply: Response) -> ActionError:
    said = _said(reply)
    if reply.status in (400, 401, 403):
        return NotAuthorised(
            f"the Genesys login answered {reply.status}{said}: check the OAuth client "
            "(grant type client credentials) and its secret",
            status=reply.status,
            for_all=True,
        )
    error = error_of(reply.status, reply.retry_after, f" at the login{said}")
    if isinstance(error, Rejected):  # it says nothing about the event
        error = NotConfigured(
            f"the Genesys login answered {reply.status}{said}: check GenesysHost",
            status=reply.status,
        )
    error.for_all = isinstance(error, NotConfigured)
    return error


@dataclass(frozen=True)
class Genesys:
    api: str
    tokens: Tokens
    http: Outbound

    def act(self, request: ActionRequest, headers: dict[str, str], budget: Budget) -> int:
        """Executes the data action that the event's route names; returns the status."""
        route = request.event.get("route")
        if not route:
            raise NotConfigured(
                "the event has no route; deploy the enrichment and this function from one release"
            )
        action = route["action"]
        sources = route.get("inputs", COMMON)
        inputs = read_inputs(sources, request.event, request.idempotency_key)
        content = json.dumps(inputs, separators=(",", ":")).encode()

        token = self.tokens.get(budget)
        reply = self._execute(action, token, headers, content, budget)
        if reply.status == 401:
            token = self.tokens.get(budget, refused=token)
            reply = self._execute(action, token, headers, content, budget)
            if reply.status == 401:
                raise NotAuthorised(
                    f"Genesys refused the token of a login that had just succeeded{_said(reply)}: "
                    "check the OAuth client and its role",
                    status=401,
                    for_all=True,
                )
        if not reply.ok:
            raise _action_error(reply, route)
        return reply.status

    def _execute(
        self, action: str, token: str, headers: dict[str, str], content: bytes, budget: Budget
    ) -> Response:
        url = f"{self.api}/api/v2/integrations/actions/{quote(action)}/execute"
        return self.http.post(url, {**headers, "Authorization": f"Bearer {token}"}, content, budget)


def _action_error(reply: Response, route: Mapping[str, str]) -> ActionError:
    said = _said(reply)
    codes = _action_codes(json_object(reply.body))
    if reply.status == 404:
        return NotConfigured(
            f"Genesys has no data action {route['action']}{said}: give the route "
            f"{route['name']!r} the id of one, and deploy",
            status=404,
        )
    if reply.status not in (403, 429):
        # Most cautious first, should there be several.
        if "ACTION.PROCESSING" in codes:
            return Uncertain(
                f"Genesys failed while it processed the action{said}: it may have acted; "
                "look in the remote system before you replay it",
                status=reply.status,
            )
        if "ACTION.AUTHENTICATION" in codes:
            return NotAuthorised(
                f"the remote system refused the credentials of the data action{said}: renew "
                "them in Genesys Cloud, Admin, Integrations, in the web services data actions "
                "integration that it belongs to",
                status=reply.status,
            )
        if "ACTION.REMOTE_ENDPOINT" in codes:
            return Failed(
                f"the remote system behind the data action failed{said}", status=reply.status
            )
    return error_of(reply.status, reply.retry_after, said)


def _action_codes(body: dict[str, Any]) -> set[str]:
    """The errorCodes of the details, of the body and of the errors within it."""
    nested = body.get("errors")
    bodies = [body, *(nested if isinstance(nested, list) else [])]
    codes = set()
    for each in bodies:
        details = each.get("details") if isinstance(each, dict) else None
        for detail in details if isinstance(details, list) else []:
            code = detail.get("errorCode") if isinstance(detail, dict) else None
            if isinstance(code, str):
                codes.add(code)
    return codes


def _said(reply: Response) -> str:
    """The code and the correlation id of Genesys' answer, for its support; nothing else of it."""
    body = json_object(reply.body)
    code = next((body[name] for name in ("errorCode", "code", "error") if name in body), None)
    number = next((body[name] for name in ("correlationId", "contextId") if name in body), None)
    parts = [
        text
        for text, allowed in ((code, _CODE), (number, _CORRELATION))
        if isinstance(text, str) and allowed.fullmatch(text)
    ]
    return f" ({', '.join(parts)})" if parts else ""


def read_inputs(sources: Mapping[str, str], event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The flat map that an action is executed with, without what the event does not have.

    An object or a list is given as JSON text. The body is read only if an input needs it.
    """
    values = {**event, "idempotencyKey": key}
    if any(source.split(".")[0] == "body" for source in sources.values()):
        values["body"] = json.loads(body_text(event))
    inputs = {}
    for name, source in sources.items():
        value: Any = values
        for part in source.split("."):
            value = _step(value, part)
        if isinstance(value, dict | list):
            value = json.dumps(value, separators=(",", ":"))
        if value is not None:
            inputs[name] = value
    return inputs


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None
