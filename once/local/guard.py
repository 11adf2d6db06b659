"""Stands before every handler of the emulator, which itself checks neither callers nor origins."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from once.callers import find_fault

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]

HEALTH = "/_ministack/health"
_TOKEN = "x-amz-security-token"  # noqa: S105 - the name of a header


class Guard:
    """An ASGI application that lets through the requests of callers who have a key.

    SDKs send AWS_SESSION_TOKEN as X-Amz-Security-Token, in a header or in a presigned query:
    docs.aws.amazon.com/IAM, "Create a signed AWS API request".
    """

    def __init__(self, app: _App, host: str, is_known: Callable[[str], bool]) -> None:
        self._app = app
        self._host = host
        self._is_known = is_known

    async def __call__(self, scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close"})  # no part of the local stack uses one
        elif (fault := self._find_fault(scope)) is not None:
            await _refuse(send, fault)
        else:
            await self._app(scope, receive, send)

    def _find_fault(self, scope: _Message) -> str | None:
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
        ]
        fault = find_fault(headers, self._host)
        if fault is not None or scope["path"] == HEALTH:
            return fault
        query = parse_qs(scope["query_string"].decode("latin-1"))
        given = [value for name, value in headers if name.lower() == _TOKEN]
        for name, values in query.items():
            given += values if name.lower() == _TOKEN else []
        if len(given) == 1 and self._is_known(given[0]):
            return None
        return "The local stack needs the key of this start as the session token."


async def _refuse(send: _Send, fault: str) -> None:
    # In the form of an AWS error, so that SDKs show the sentence.
    body = json.dumps({"__type": "AccessDeniedException", "message": fault}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the body of the request is not read
    ]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body})
