"""`once parked`: events that are no longer tried until a person decides: list, replay or drop.

SQS's own redrive to a custom destination, the event queue, replays them as well as this does.
"""

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
from pydantic import Field
from rich.markup import escape

from once.cli_options import ATTENTION, INTERRUPTED, YES, Operation, on_stack
from once.errors import OnceError
from once.model import Model, words
from once.model.reasons import REASONS, Acted, describe
from once.model.records import Key
from once.screen import Row
from once.stack import dead_letters
from once.stack.dead_letters import DeadLetter
from once.stack.facade import Stack, read_clock_ms

_LISTED = 20  # more are shown as groups alone

_WHICH = click.argument("which", nargs=-1, metavar="[WHICH]...")
_REASON = click.option("--reason", metavar="CODE", help="Only those with this reason.")

command = click.Group("parked", help="List, replay or drop events in the dead-letter queue.")


class Listed(Model):
    """The parked events, and how many there are of each reason, family and source."""

    groups: dict[str, int]
    messages: list[DeadLetter]


class Done(Model):
    """Lists the events that were replayed or dropped."""

    done: int = 0
    left: int | None = Field(default=None, description="Null unless it was interrupted.")
    failed: dict[str, str] = Field(default={}, description="By message, why it is still there.")


@on_stack("once parked list --reason REJECTED", answers=Listed)
@_WHICH
@_REASON
@click.option("--verbose", is_flag=True, help="Show whole events, with all that they contain.")
def list_parked(
    operation: Operation, which: Sequence[str], reason: str | None, verbose: bool
) -> None:
    """List parked events, and mark those that a newer state has passed.

    WHICH is a message, key, subject, family or source; default: all.
    """
    with dead_letters.reading(operation.stack) as every:
        letters = _choose(every, which, reason) if every or which or reason else []
        if verbose or operation.as_json or len(letters) <= _LISTED:
            dead_letters.mark_stale(operation.stack, letters)
    groups = Counter(letter.group for letter in letters)
    listed = Listed(groups=dict(groups), messages=letters)
    operation.answer(listed, _view(letters, groups, verbose))


@on_stack("once parked replay user.presence --reason REJECTED", answers=Done)
@_WHICH
@_REASON
@YES
def replay(operation: Operation, which: Sequence[str], reason: str | None, yes: bool) -> None:
    """Send parked events again, after you have removed the cause.

    WHICH is a message, key, subject, family or source; default: all.
    """
    with dead_letters.reading(operation.stack) as every:
        letters = _choose(every, which, reason)
        dead_letters.mark_stale(operation.stack, letters)
        facts = [*_count_reasons(letters), "Each is acted on, unless a copy of it has been."]
        if stale := sum(letter.is_stale for letter in letters):
            facts.append(f"{words.count(stale, 'event')} will be STALE: a newer state has passed.")
        maybe = {code for code, reason in REASONS.items() if reason.acted is Acted.MAYBE}
        if unsure := sorted(maybe & {letter.reason for letter in letters}):
            codes = ", ".join(unsure)
            facts.append(f"{codes}: may have been acted on already. Look at the destination first.")
        operation.confirm(f"Replay {words.count(len(letters), 'event')}?", yes, facts)
        _settle(operation, letters, "replayed", dead_letters.replay)


@on_stack("once parked drop 681e3548-4471-4ed2-b5b0-42109261e2d2", answers=Done)
@_WHICH
@_REASON
@YES
def drop(operation: Operation, which: Sequence[str], reason: str | None, yes: bool) -> None:
    """Delete parked events that must never be acted on.

    WHICH is a message, key, subject, family or source.
    """
    if not which and not reason:
        raise click.UsageError("Name what to delete: WHICH, or --reason CODE.")
    with dead_letters.reading(operation.stack) as every:
        letters = _choose(every, which, reason)
        facts = [*_count_reasons(letters), "They cannot be brought back, and are never acted on."]
        question = f"Delete {words.count(len(letters), 'event')} permanently?"
        operation.confirm(question, yes, facts)
        _settle(operation, letters, "dropped", dead_letters.drop)


command.add_command(list_parked, "list")
command.add_command(replay, "replay")
command.add_command(drop, "drop")


def _choose(
    every: Sequence[DeadLetter], which: Sequence[str], reason: str | None
) -> list[DeadLetter]:
    letters = [letter for letter in every if reason is None or letter.reason == reason.upper()]
    for name in which:
        if not any(letter.is_called(name) for letter in letters):
            raise OnceError(f"Nothing parked fits {name}, so nothing was done.")
    letters = [letter for letter in letters if not which or any(map(letter.is_called, which))]
    if not letters:
        there = ", ".join(sorted({letter.reason for letter in every}))
        raise OnceError(f"Nothing is parked that fits. There is: {there or 'nothing'}.")
    return letters


def _settle(
    operation: Operation,
    letters: Sequence[DeadLetter],
    word: str,
    act: Callable[[Stack, Sequence[DeadLetter]], dict[str, str]],
) -> None:
    """Replays or drops them, and answers what was done."""
    done = Done()
    try:
        for batch in dead_letters.batches(letters):
            failed = act(operation.stack, batch)
            done.failed |= {
                letter.first_message_id: failed[letter.queue_id]
                for letter in batch
                if letter.queue_id in failed
            }
            done.done += len(batch) - len(failed)
    except KeyboardInterrupt:
        done.left = len(letters) - done.done - len(done.failed)
    view = [f"{done.done} {word}."]
    view += [f"{escape(m)} is still there: {escape(why)}" for m, why in done.failed.items()]
    if done.left is not None:
        view.append(f"Interrupted: {done.left} left. The same command continues.")
    operation.answer(done, view)
    if done.left is not None:
        operation.exit(INTERRUPTED)
    if done.failed:
        operation.exit(ATTENTION)


def _count_reasons(letters: Sequence[DeadLetter]) -> Iterator[str]:
    for reason, number in Counter(letter.reason for letter in letters).most_common():
        yield escape(f"{number:,} {reason}: {describe(reason)}")


def _view(letters: Sequence[DeadLetter], groups: Counter[str], verbose: bool) -> Iterator[Any]:
    if not letters:
        yield "Nothing is parked."
        return
    now_ms = read_clock_ms()
    for group, number in groups.most_common():
        ages = [now_ms - letter.parked_at_ms for letter in letters if letter.group == group]
        since = " to ".join(dict.fromkeys(map(words.format_age, (max(ages), min(ages)))))
        yield escape(f"{number:>6,}  {group}, {since} ago")
    yield ""
    is_listed = verbose or len(letters) <= _LISTED
    if not is_listed:
        yield f"More than {_LISTED}, so not one by one: name some, or --verbose, or --json."
    for letter in letters if is_listed else ():
        why = escape(words.shorten_ids(f"{letter.reason}: {letter.why}"))
        age = words.format_age(now_ms - letter.parked_at_ms)
        yield Row.of(f"{age:>6}  ", f"{letter.first_message_id} {why}")
        if key := Key.parse(letter.key or ""):
            about = escape(f"({key.subject.kind} {key.subject.id})")
            yield f"{'':8}{escape(letter.text)} [dim]{about}[/]"
        if letter.is_stale:
            yield f"{'':8}[yellow]A newer state has passed: a replay will be STALE.[/]"
        if verbose:
            yield escape(letter.event)
    example = shlex.quote(letters[0].first_message_id)
    yield "When the cause is removed: once parked replay (all), or once parked replay [dim]WHICH[/]"
    yield f"Never to be acted on: once parked drop {example}"
