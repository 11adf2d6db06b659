"""`once destination`: shows what the destination of the local stack got, and breaks it while the
stack is up."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Annotated, Any

import typer
import urllib3
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.answers import answers
from once.errors import OnceError
from once.genesys.server import ALWAYS, KEY_HEADER, RECEIVED
from once.operate import phrases as words
from once.operate.command import Operation, command
from once.operate.model import Answer, Model
from once.operate.stack import Stack

_LISTED = 50
_SECONDS = 5.0
_STATES: dict[str, Any] = {
    "ok": None,
    "down": "reset",
    "hanging": "timeout",
    "429": {"status": 429, "retryAfter": 5},
}
_SAID = {
    "ok": "The destination acts on every event.",
    "down": "The destination is down: it breaks the connection for every event.",
    "hanging": "The destination is hanging: it leaves every event without a response.",
}


class Call(Model):
    """One request that asked the destination to act."""

    at_ms: int
    family: str | None = None
    state: str | None = None
    subject_id: str | None = None
    idempotency_key: str | None = None
    status: int | None = Field(default=None, description="What it answered; null where it hung up.")
    acted: bool
    repeated: bool = Field(description="Whether it had acted under this key before.")
    body: Any = None


class State(Answer):
    """The behaviour of the destination from now on, and the requests that it received."""

    destination: str
    calls: list[Call] | None = Field(description="Null where the command set the behaviour.")


@command("once destination down")
@answers(State)
def destination(
    at: Operation,
    state: Annotated[
        str | None,
        typer.Argument(
            metavar="ok|down|hanging|429|REPLY",
            help="REPLY is a status, or a word of a script: lose, processing, authentication, …; "
            "left out, it stays as it is, and its requests are listed.",
        ),
    ] = None,
) -> None:
    """Show what the destination of the local stack received; or break it, or repair it."""
    calls: list[Call] | None = None
    if state is None:
        calls = read_calls(at.stack)
    else:
        if state.isdecimal() and not 200 <= int(state) <= 599:
            raise OnceError(f"{state} is no status that ends a request: 200 to 599.")
        wanted = _STATES.get(state, int(state) if state.isdecimal() else state)
        others = f"\nOr one of {', '.join(_STATES)}, or a status."
        _ask(at.stack, "PUT", ALWAYS, wanted, refused=others)
    now = json.loads(_ask(at.stack, "GET", ALWAYS))
    if state is None:
        known_as = (name for name, known in _STATES.items() if known == now["reply"])
        state = next(known_as, str(now["reply"]))
    said = _SAID.get(state, f"The destination answers every event with: {state}.")
    if state == "ok" and (script := now.get("script")) is not None:
        said = f"The destination answers as its script has it: {script}"
    at.answer(State(destination=state, calls=calls), [escape(said), *_view(calls)])


def read_calls(stack: Stack) -> list[Call]:
    """Reads the requests that asked the destination to act, oldest first."""
    entries = json.loads(_ask(stack, "GET", RECEIVED))
    return [Call.model_validate({**entry, **entry["facts"]}) for entry in entries if entry["facts"]]


def _ask(stack: Stack, method: str, path: str, content: Any = None, *, refused: str = "") -> bytes:
    if stack.up is None:
        raise OnceError(
            "Only the local stack has a destination of its own. Start one with: once up"
        )
    pool = urllib3.PoolManager(retries=False, timeout=_SECONDS)
    body = json.dumps(content).encode() if method == "PUT" else None
    try:
        answer = pool.request(
            method,
            stack.up.genesys + path,
            body=body,
            headers={KEY_HEADER: stack.up.genesys_key},
        )
    except urllib3.exceptions.HTTPError as error:
        raise OnceError(f"The destination at {stack.up.genesys} does not answer.") from error
    if answer.status != HTTPStatus.OK:
        raise OnceError(f"{answer.json()['message']}{refused}")
    return answer.data


def _view(calls: list[Call] | None) -> Iterator[RenderableType]:
    if calls is None:
        return
    if not calls:
        yield "It has received no request yet."
        return
    table = Table("time", "answer", "", "what", "key", box=None)
    for call in calls[-_LISTED:]:
        acted = "again" if call.repeated else "acted" if call.acted else ""
        family, state = call.family or "", call.state or ""
        parts = (family, "" if family.endswith(state) else state, call.subject_id)
        name = " ".join(part for part in parts if part)
        table.add_row(
            words.format_clock(call.at_ms),
            "no answer" if call.status is None else str(call.status),
            acted,
            escape(name),
            escape(words.shorten_ids(call.idempotency_key or "")),
        )
    yield table
    if len(calls) > _LISTED:
        yield f"The last {_LISTED} of {len(calls):,}; --json has all."
    acts = sum(call.acted and not call.repeated for call in calls)
    again = sum(call.repeated for call in calls)
    requests = words.count_requests(len(calls))
    yield f"{requests}; acted on {words.count_events(acts)}; {again:,} came after it had acted."
