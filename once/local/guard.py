"""Stands before every handler of the emulator, which itself checks neither callers nor origins."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qsl

from once.ports import find_fault

_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]
_App = Callable[[_Message, _Receive, _Send], Awaitable[None]]

HEALTH = "/_ministack/health"
_TOKEN = "x-amz-security-token"  # noqa: S105 - the name of a header


def guard(app: _App, host: str, is_known: Callable[[str], bool]) -> _App:
    """Returns an ASGI application that lets through the requests of callers who have a key."""

    async def guarded(scope: _Message, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "lifespan"):
            await send({"type": "websocket.close"})  # no part of the local stack uses one
            return
        fault = _find_fault(scope, host, is_known) if scope["type"] == "http" else None
        if fault is None:
            await app(scope, receive, send)
        else:
            await _refuse(send, fault)

    return guarded


def _find_fault(scope: _Message, host: str, is_known: Callable[[str], bool]) -> str | None:
    """Returns why a request is refused, if it is.

    SDKs send AWS_SESSION_TOKEN as X-Amz-Security-Token, in a header or in a presigned query:
    docs.aws.amazon.com/IAM, "Create a signed AWS API request".
    """
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    fault = find_fault(headers, host)
    if fault is not None or scope["path"] == HEALTH:
        return fault
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    given = [value for name, value in (*headers, *query) if name.lower() == _TOKEN]
    if len(given) == 1 and is_known(given[0]):
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
