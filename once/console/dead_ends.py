"""Reads parked and dead-letter messages, and acts on them and on the stack."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import Field

from once.console.acts import PageOperation, ask
from once.console.sandbox import normalised
from once.errors import OnceError
from once.operate import forget, pause
from once.operate.dead_ends import DeadEnds, Listed, Place
from once.operate.model import Model
from once.operate.stack import Stack

KINDS = ("parked", "dead-letters")


class Content(Model):
    """One event whole, beside what the enrichment makes of it now."""

    message_id: str
    raw: Any = Field(description="Null if it is too large to be carried: it is elsewhere.")
    elsewhere: str | None = Field(default=None, description="The object that holds it.")
    element: dict[str, Any]


def read(stack: Stack) -> dict[str, Listed]:
    # Each waits for its queue a while: an empty one says so only after a second.
    with ThreadPoolExecutor(len(KINDS)) as pool:
        listed = {kind: pool.submit(ask, stack, DeadEnds(kind).list_all) for kind in KINDS}
        return {kind: one.result().answered for kind, one in listed.items()}


def read_content(stack: Stack, message_id: str) -> Content:
    for kind in KINDS:
        every = DeadEnds(kind).read(stack)
        found = next((one for one in every if one.message_id == message_id), None)
        if found is None:
            continue
        element = found.element or {}
        if found.place is not Place.PARKED or not element:
            made = normalised(found.message.body, found.sent_at_ms)
            return Content(message_id=message_id, raw=found.message.body, element=made)
        at = element.get("rawRef") or element.get("bodyRef")
        if at is not None:
            where = f"s3://{at['bucket']}/{at['key']}"
            return Content(message_id=message_id, raw=None, elsewhere=where, element=element)
        if "raw" not in element:
            return Content(message_id=message_id, raw=element.get("body"), element=element)
        made = normalised(element["raw"], element.get("sentAtMs", 0))
        return Content(message_id=message_id, raw=element["raw"], element=made)
    raise OnceError(f"{message_id} is neither parked nor a dead-letter message.")


def act(stack: Stack, name: str, form: dict[str, str], ids: list[str], yes: bool) -> PageOperation:
    """Raises the question that the command asks, until the answer is yes."""
    word, _, kind = name.partition("-")
    if word in ("replay", "drop") and kind in KINDS:
        if not ids:
            raise OnceError("Choose what to act on first.")  # to the commands no ids mean all
        dead_ends = DeadEnds(kind)
        return ask(
            stack, dead_ends.replay if word == "replay" else dead_ends.drop, ids=ids, yes=yes
        )
    match name:
        case "forget":
            return ask(stack, forget.forget, key=form.get("key", ""), yes=yes)
        case "pause":
            reason = form.get("reason") or "paused from the console"
            lasting = form.get("lasting") or "30m"
            return ask(stack, pause.pause, lasting=lasting, reason=reason, yes=yes)
        case "resume":
            return ask(stack, pause.resume, yes=yes)
    raise OnceError(f"There is no act {name}.")
