"""`once destination`: what the destination of the local stack received, and making it fail."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import click
import urllib3
from rich.markup import escape

from once.cli_options import Operation, on_stack
from once.errors import OnceError
from once.genesys.server import ALWAYS, KEY_HEADER, RECEIVED
from once.model import Model, words
from once.screen import Row
from once.stack.facade import Stack

_LISTED = 50
_SECONDS = 5.0
_STATES: dict[str, Any] = {
    "ok": None,
    "down": "reset",
    "hanging": "timeout",
    "429": {"status": 429, "retryAfter": 5},
}
_MEANING = {
    "ok": "The destination acts on every event.",
    "down": "The destination is down: it breaks the connection for every event.",
    "hanging": "The destination is hanging: it leaves every event without a response.",
}


class Destination(Model):
    """The behaviour of the destination from now on, and without STATE what it received."""

    destination: str
    requests: list[dict[str, Any]] | None = None


@on_stack("once destination down", answers=Destination)
@click.argument("state", required=False)
def command(operation: Operation, state: str | None) -> None:
    """Show what the destination of the local stack received; or make it fail, or repair it.

    STATE is ok, down, hanging, 429, another status, or a word of a script such as lose, processing
    or authentication (docs/data-action.md).
    """
    stack = operation.stack
    requests = None
    if state is not None:
        if state.isdecimal() and not 200 <= int(state) <= 599:
            raise click.UsageError(f"{state} is no status that ends a request: 200 to 599.")
        reply = _STATES.get(state, int(state) if state.isdecimal() else state)
        hint = f"\nOr one of {', '.join(_STATES)}, or a status."
        _request(stack, "PUT", ALWAYS, reply, hint=hint)
    else:
        entries = json.loads(_request(stack, "GET", RECEIVED))
        requests = [entry for entry in entries if entry["facts"]]
    now = json.loads(_request(stack, "GET", ALWAYS))
    if state is None:
        names = (name for name, reply in _STATES.items() if reply == now["reply"])
        state = next(names, str(now["reply"]))
    text = _MEANING.get(state, f"The destination answers every event with: {state}.")
    if state == "ok" and (script := now.get("script")) is not None:
        text = f"The destination answers as its script has it: {script}"
    view = [escape(text), *([] if requests is None else _view(requests))]
    operation.answer(Destination(destination=state, requests=requests), view)


def _request(stack: Stack, method: str, path: str, content: Any = None, *, hint: str = "") -> bytes:
    if stack.up is None:
        raise OnceError(
            "Only the local stack has a destination of its own. Start one with: once up"
        )
    if stack.up.server is not None:
        raise OnceError(
            f"This stack sends to your server, {stack.up.server}: stop that one to make it fail.\n"
            "A stack has a destination of its own without --forward: once dev"
        )
    pool = urllib3.PoolManager(retries=False, timeout=_SECONDS)
    body = json.dumps(content).encode() if method == "PUT" else None
    try:
        response = pool.request(
            method,
            stack.up.genesys + path,
            body=body,
            headers={KEY_HEADER: stack.up.genesys_key},
        )
    except urllib3.exceptions.HTTPError as error:
        raise OnceError(f"The destination at {stack.up.genesys} does not respond.") from error
    if response.status != HTTPStatus.OK:
        raise OnceError(f"{response.json()['message']}{hint}")
    return response.data


def _view(requests: list[dict[str, Any]]) -> Iterator[str]:
    for request in requests[-_LISTED:]:
        acted = "again" if request["repeated"] else "acted" if request["acted"] else ""
        head = f"{words.format_clock(request['atMs'])} {request['status'] or 'none':>4} {acted:5} "
        names = ("family", "state", "subjectId", "idempotencyKey")
        facts = " ".join(request["facts"][name] for name in names if name in request["facts"])
        yield Row.of(head, escape(words.shorten_ids(facts)))
    if len(requests) > _LISTED:
        yield f"The last {_LISTED} of {len(requests):,}; --json has all."
    again = sum(request["repeated"] for request in requests)
    acts = sum(request["acted"] for request in requests) - again
    total = words.count(len(requests), "request")
    yield f"{total}; acted on {words.count(acts, 'event')}; {again:,} came after it had acted."
