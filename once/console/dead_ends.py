"""What lies in the dead ends, grouped as the commands group it, and acting on it."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pydantic import Field

from once.console.acts import PageOperation, Question, ask
from once.console.sandbox import normalised
from once.errors import OnceError
from once.operate import dead_letters, forget, hold, log, pace, parked
from once.operate.dead_letters import DeadLetters
from once.operate.groups import Group
from once.operate.model import Model
from once.operate.parked import ParkedList
from once.operate.stack import Stack

_RESUMES = "A hold ends, the breaker forgets what failed, and the pipe is started if it is stopped."


class DeadEnds(Model):
    parked: ParkedList
    dead: DeadLetters


class Content(Model):
    """One event whole, as it lies there, beside what the enrichment makes of it now."""

    message_id: str
    raw: Any = Field(description="Null where it is too large to be carried: it is elsewhere.")
    elsewhere: str | None = Field(default=None, description="The object that holds it.")
    element: dict[str, Any]


def read(stack: Stack) -> DeadEnds:
    # Each waits for its queue a while: an empty one says so only after a second.
    with ThreadPoolExecutor(2) as pool:
        lying = pool.submit(ask, stack, parked.list_parked)
        dead = pool.submit(ask, stack, dead_letters.list_dead)
        return DeadEnds(parked=lying.result().answered, dead=dead.result().answered)


def content(stack: Stack, message_id: str) -> Content:
    found: ParkedList = ask(stack, parked.list_parked).answered
    if any(one.message_id == message_id for one in found.parked):
        shown: ParkedList = ask(stack, parked.show, ids=[message_id]).answered
        element = shown.parked[0].element or {}
        at = element.get("rawRef") or element.get("bodyRef")
        if at is not None:
            where = f"s3://{at['bucket']}/{at['key']}"
            return Content(message_id=message_id, raw=None, elsewhere=where, element=element)
        if "raw" not in element:
            return Content(message_id=message_id, raw=element.get("body"), element=element)
        made = normalised(element["raw"], element.get("sentAtMs", 0))
        return Content(message_id=message_id, raw=element["raw"], element=made)
    letters: DeadLetters = ask(stack, dead_letters.list_dead, ids=[message_id]).answered
    if not letters.dead_letters:
        raise OnceError(f"{message_id} lies in no dead end any more.")
    letter = letters.dead_letters[0]
    made = normalised(letter.body, letter.sent_at_ms)
    return Content(message_id=message_id, raw=letter.body, element=made)


def grouped(listed: ParkedList | DeadLetters) -> list[tuple[Group, list[Any]]]:
    """Each group with what lies in it."""
    lying = listed.parked if isinstance(listed, ParkedList) else listed.dead_letters
    members: dict[tuple[str | None, ...], list[Any]] = {}
    for one in lying:
        members.setdefault((*one.why, one.family, one.source), []).append(one)
    return [(group, members[_kind(group)]) for group in listed.groups]


def whole(stack: Stack, kind: str, form: dict[str, str]) -> list[str]:
    """The messages of a group, but for what came to it since the page was shown."""
    asked = ask(stack, parked.list_parked if kind == "parked" else dead_letters.list_dead)
    for group, members in grouped(asked.answered):
        if json.dumps(_kind(group)) == form["group"]:
            return [one.message_id for one in members if one.since_ms <= int(form["last_ms"])]
    return []


def _kind(group: Group) -> tuple[str | None, ...]:
    return group.reason, group.detail, group.family, group.source


def act(stack: Stack, name: str, form: dict[str, str], ids: list[str], yes: bool) -> PageOperation:
    """Raises the question that the command asks, until somebody says yes."""
    if form.get("all") and name != "forget":
        ids = whole(stack, name.partition("-")[2], form)
    if name.startswith(("replay", "drop")) and not ids:
        raise OnceError("Choose what to act on first.")  # to the commands no ids mean all
    match name:
        case "replay-parked":
            return ask(stack, parked.replay, ids=ids, yes=yes)
        case "drop-parked":
            return ask(stack, parked.drop, ids=ids, yes=yes)
        case "replay-dead":
            return ask(stack, dead_letters.replay, ids=ids, yes=yes)
        case "forget":
            return ask(stack, forget.forget, key=form.get("key", ""), yes=yes)
        case "hold":
            why = form.get("why") or "held from the console"
            return ask(stack, hold.hold, lasting=form.get("lasting") or "30m", why=why, yes=yes)
        case "resume":
            if not yes:
                breaker = pace.breaker(stack, log.now_ms())
                raise Question("Let calls flow at once?", [breaker.text(log.now_ms()), _RESUMES])
            return ask(stack, hold.resume)
    raise OnceError(f"There is no act {name}.")
