"""`once dead-letters`: what the rule could not deliver, and what the queue gave up."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import typer
from enrichment.contract import FIRST_SENT
from enrichment.normalise import normalise
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.operate import log
from once.operate import phrases as words
from once.operate.bulk import PACE, Done, Rate, report, resend, work_through
from once.operate.command import Operation, Yes, command
from once.operate.groups import (
    LISTED,
    Chosen,
    Family,
    Group,
    Reason,
    Source,
    counts,
    groups,
    refuse,
    source_of,
    strangers,
    view,
)
from once.operate.model import Answer, Model
from once.operate.queues import Letter, Reading
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeRecord

_NAMED = 50  # ids that fit into one search
_KEPT_MS = 14 * 86_400_000


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
    """One dead letter."""

    message_id: str
    dead_end: DeadEnd
    key: str | None = Field(description="Null for what holds no event.")
    family: str | None
    source: str | None
    text: str
    reason: str | None = Field(description="Of its last try, as the outcome log has it.")
    cause: str | None = Field(description="Of that try, what was wrong, in a sentence.")
    status: int | None = Field(description="Of that try, the destination's HTTP status.")
    error: str | None = Field(description="Why the rule could not deliver it.")
    sent_at_ms: int
    body: str = Field(exclude=True)

    @property
    def why(self) -> tuple[str, str | None]:
        reason = self.reason or ("NOT_DELIVERED" if self.error else "NOT_RECORDED")
        return reason, self.error or (f"HTTP {self.status}" if self.status else None)

    @property
    def since_ms(self) -> int:
        return self.sent_at_ms

    def is_called(self, name: str) -> bool:
        return name in (self.message_id, self.key) or f'"{name}"' in self.body


class DeadLetters(Answer):
    """What lies in the dead letter queues."""

    groups: list[Group]
    dead_letters: list[DeadLetter]


def register(app: typer.Typer) -> None:
    dead = typer.Typer(no_args_is_help=True, help="Events that are no longer tried.")
    command(dead, "list", "once dead-letters list --from rule")(list_dead)
    command(dead, "replay", "once dead-letters replay --rate 5")(replay)
    app.add_typer(dead, name="dead-letters")


@answers(DeadLetters)
def list_dead(
    at: Operation,
    ids: _Ids = None,
    dead_end: _From = None,
    reason: Reason = None,
    family: Family = None,
    source: Source = None,
) -> None:
    """List what lies in the dead letter queues of the queue and of the rule."""
    chosen = Chosen(ids, reason, family, source)
    found = chosen.of(_read(at.stack, dead_end))
    listed = DeadLetters(groups=groups(found), dead_letters=found)
    at.answer(listed, _view(listed) if found else [_nothing(chosen)])


@answers(Done)
def replay(
    at: Operation,
    ids: _Ids = None,
    dead_end: _From = None,
    reason: Reason = None,
    family: Family = None,
    source: Source = None,
    rate: Rate = PACE,
    yes: Yes = False,
) -> None:
    """Send dead letters through once more; what has acted already does not act again."""
    everything = _read(at.stack, dead_end)
    unknown = strangers(ids, everything)
    # Some may be gone: typed again after an interruption, it goes on with the rest.
    if ids and len(unknown) == len(ids):
        refuse(unknown, "dead-letters")
    chosen = Chosen(ids, reason, family, source)
    chosen.refuse_reason(everything)
    found = chosen.of(everything)
    if not found:
        at.answer(Done(), [_nothing(chosen)])
        return
    facts = [*counts(found), "They go into the queue once more, and act unless a copy has acted."]
    at.confirm(f"Replay {words.events(len(found))}?", yes, facts)
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


def _read(stack: Stack, dead_end: DeadEnd | None) -> list[DeadLetter]:
    found = []
    for place in [dead_end] if dead_end else list(DeadEnd):
        with Reading(stack, OUTPUTS[place]) as reading:
            found += [_dead(letter, place) for letters in reading.batches() for letter in letters]
    tries = _last_tries(stack, [dead.message_id for dead in found if dead.error is None])
    for dead in found:
        last = tries.get(dead.message_id)
        if last is not None:
            dead.reason, dead.cause, dead.status = last.reason, last.cause, last.status
    return sorted(found, key=lambda dead: dead.sent_at_ms)


def _nothing(chosen: Chosen) -> str:
    return "There is no dead letter that fits." if chosen else "There are no dead letters."


def _last_tries(stack: Stack, ids: list[str]) -> dict[str, OutcomeRecord]:
    """By message, the record of its last try; of too many those that failed last."""
    if not ids:
        return {}
    pattern = "|".join(ids) if len(ids) <= _NAMED else Outcome.RETRY.value
    since_ms = log.now_ms() - _KEPT_MS
    lines = log.insights(stack, stack.outputs["OutcomeLogGroupName"], since_ms, pattern)
    records = (OutcomeRecord.read(line, at_ms) for at_ms, line in lines)
    return {one.message_id: one for one in records if one and one.reason}


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
        family=element.get("family"),
        source=source_of(element),
        text=text,
        reason=None,
        cause=None,
        status=None,
        error=": ".join(part for part in said if part) or None,
        sent_at_ms=letter.sent_ms,
        body=letter.body,
    )


def _view(listed: DeadLetters) -> Iterator[str]:
    now_ms = log.now_ms()
    yield from view(listed.groups, now_ms)
    if len(listed.dead_letters) > LISTED:
        yield f"More than {LISTED}, so not one by one: give an id or --reason, or --json."
    else:
        yield ""
        for dead in listed.dead_letters:
            age = words.age(now_ms - dead.sent_at_ms)
            reason, _ = dead.why
            said = dead.error or words.why(reason, dead.cause, dead.status)
            yield (
                f"{age:>6}  {escape(dead.message_id)} {dead.dead_end}: "
                f"{escape(words.short(f'{reason}: {said}'))}"
            )
            yield f"{'':8}{escape(dead.text)} [dim]{escape(dead.key or '')}[/]"
    yield "Its story: once explain KEY. When the cause is put right: once dead-letters replay"
