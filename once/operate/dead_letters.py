"""`once dead-letters`: what the rule could not deliver, and what was tried too often."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer
from enrichment.contract import FIRST_SENT
from enrichment.normalise import normalise
from pydantic import Field
from rich.markup import escape

from once.operate import log
from once.operate import phrases as words
from once.operate.bulk import PACE, Done, Rate, report, resend, work_through
from once.operate.command import Operation, Yes, command
from once.operate.model import Model
from once.operate.queues import Letter, Reading
from once.operate.stack import Stack


class DeadEnd(StrEnum):
    """Which of the two dead letter queues."""

    QUEUE = "queue"
    RULE = "rule"


OUTPUTS = {DeadEnd.QUEUE: "EventDeadLettersUrl", DeadEnd.RULE: "RuleDeadLettersUrl"}

_Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Messages, or any id in the event; none for all."),
]
_From = Annotated[DeadEnd | None, typer.Option("--from", help="Only that dead letter queue.")]


class DeadLetter(Model):
    message_id: str
    dead_end: DeadEnd
    key: str | None = Field(description="Null for what holds no event.")
    text: str
    error: str | None
    receives: int
    sent_at_ms: int


class DeadLetters(Model):
    dead_letters: list[DeadLetter]


def register(app: typer.Typer) -> None:
    dead = typer.Typer(no_args_is_help=True, help="Events that are no longer tried.")
    command(dead, "list", "once dead-letters list --from rule")(list_dead)
    command(dead, "replay", "once dead-letters replay --rate 5")(replay)
    app.add_typer(dead, name="dead-letters")


def list_dead(at: Operation, ids: _Ids = None, dead_end: _From = None) -> None:
    """List what lies in the dead letter queues of the queue and of the rule."""
    found = _read(at.stack, ids, dead_end)
    nothing = "There is no dead letter that fits." if ids else "There are no dead letters."
    at.answer(DeadLetters(dead_letters=found), _table(found) if found else [nothing])


def replay(
    at: Operation,
    ids: _Ids = None,
    dead_end: _From = None,
    rate: Rate = PACE,
    yes: Yes = False,
) -> None:
    """Send dead letters through once more; what has acted already does not act again."""
    found = _read(at.stack, ids, dead_end)
    if not found:
        at.answer(Done(), ["There is no dead letter that fits."])
        return
    at.confirm(f"Replay {words.events(len(found))}?", yes)
    together = Done()
    for place in DeadEnd:
        wanted = {dead.message_id for dead in found if dead.dead_end is place}
        if together.left is not None:
            together.left += len(wanted)
        elif wanted:
            done = work_through(
                at.stack,
                OUTPUTS[place],
                wanted,
                lambda letter: resend(at.stack, letter.body, _first_sent_ms(letter)),
                rate,
                at.errors,
            )
            together.done += done.done
            together.gone += done.gone
            together.failed |= done.failed
            together.left = done.left
    report(at, together, "replayed")


def _read(stack: Stack, ids: list[str] | None, dead_end: DeadEnd | None) -> list[DeadLetter]:
    found = []
    for place in [dead_end] if dead_end else list(DeadEnd):
        with Reading(stack, OUTPUTS[place]) as reading:
            for letters in reading.batches():
                for letter in letters:
                    dead = _dead(letter, place)
                    if not ids or any(_is_about(dead, letter, wanted) for wanted in ids):
                        found.append(dead)
    return sorted(found, key=lambda dead: dead.sent_at_ms)


def _is_about(dead: DeadLetter, letter: Letter, wanted: str) -> bool:
    return wanted in (dead.message_id, dead.key) or f'"{wanted}"' in letter.body


def _first_sent_ms(letter: Letter) -> int:
    return int(letter.attributes.get(FIRST_SENT) or letter.sent_ms)


def _dead(letter: Letter, place: DeadEnd) -> DeadLetter:
    said = [letter.attributes.get(name) for name in ("ERROR_CODE", "ERROR_MESSAGE")]
    # What the enrichment would make of it: nobody has to read the event itself.
    element = normalise(
        {
            "messageId": letter.message_id,
            "body": letter.body,
            "attributes": {"SentTimestamp": str(letter.sent_ms)},
        }
    )
    key, text = None, words.reason(element.get("reason"))
    if element["kind"] == "event":
        key = f"{element['key']['pk']}/{element['key']['sk']}"
        text = words.event(element["family"], key)
    return DeadLetter(
        message_id=letter.message_id,
        dead_end=place,
        key=key,
        text=text,
        error=": ".join(part for part in said if part) or None,
        receives=letter.receives,
        sent_at_ms=letter.sent_ms,
    )


def _table(found: list[DeadLetter]) -> Iterator[str]:
    now_ms = log.now_ms()
    for dead in found:
        age = words.age(now_ms - dead.sent_at_ms)
        error = dead.error or f"tried {dead.receives} times"
        yield f"{age:>6}  {dead.message_id} {dead.dead_end}: {escape(error)}"
        yield f"{'':8}{escape(dead.text)} [dim]{escape(dead.key or '')}[/]"
    yield "Who failed: once explain KEY. When that is mended: once dead-letters replay"
