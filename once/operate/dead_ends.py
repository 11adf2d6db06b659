"""`once parked` and `once dead-letters`: events that are no longer tried until an operator decides.

Parked events are in the parking queue with the reason. Dead letters are in two queues: what the
event queue gave up, and what the rule could not deliver.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError
from once_enrichment.contract import CANARY, FIRST_SENT
from once_enrichment.keys import opaque
from once_enrichment.normalise import normalise
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import NotFoundError, OnceError
from once.keys import Key
from once.operate import canaries, log
from once.operate import phrases as words
from once.operate.bulk import PACE, Done, Rate, work_through
from once.operate.claims import Status, expire_at, row_key
from once.operate.command import ATTENTION, INTERRUPTED, Operation, Yes, add
from once.operate.model import Answer, Model
from once.operate.queues import QueuedMessage, Reading
from once.operate.stack import Stack
from once.operate.typed import complete_id
from once.outcomes import Outcome
from once.reasons import REASONS, UNRECORDED, Acted, describe, describe_end
from once.screen import Row

_LISTED = 20  # more are shown as groups alone
_NAMED = 50  # ids that fit into one search
_KEPT_MS = 14 * 86_400_000
# Whether these were acted on only the destination can tell.
_UNSURE = ("RESPONSE_TOO_LARGE", "UNCERTAIN")


class Place(StrEnum):
    """Which dead end."""

    PARKED = "parked"
    QUEUE = "queue"
    RULE = "rule"


OUTPUTS = {
    Place.PARKED: "ParkingQueueUrl",
    Place.QUEUE: "EventDeadLettersUrl",
    Place.RULE: "RuleDeadLettersUrl",
}
_COMMANDS = {"parked": (Place.PARKED,), "dead-letters": (Place.QUEUE, Place.RULE)}

_Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Messages, keys or subjects. Default: all."),
]
_DroppedIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Messages or keys; for parked events also subjects."),
]
_Reason = Annotated[str | None, typer.Option(help="Only those with this reason.")]
_Family = Annotated[str | None, typer.Option(help="Only events of this family.")]
_Source = Annotated[str | None, typer.Option(help="Only events of this integration.")]
_From = Annotated[
    Place | None, typer.Option("--from", help="Only the dead letters of the queue, or of the rule.")
]


class Stuck(Model):
    """One message of a dead end."""

    message_id: str = Field(description="The message that carried the event to this stack.")
    place: Place
    reason: str
    detail: str | None = None
    cause: str | None = Field(default=None, description="What was wrong, in a sentence.")
    status: int | None = Field(default=None, description="The destination's last HTTP status.")
    tries: int | None = None
    failed_at_ms: int | None = Field(default=None, description="When its last request failed.")
    family: str | None = None
    source: str | None = None
    key: str | None = None
    owner: str | None = None
    text: str
    sent_at_ms: int = Field(description="When it was put there, or for dead letters first sent.")
    element: dict[str, Any] | None = Field(default=None, description="Only shown one by one.")
    message: QueuedMessage = Field(exclude=True)

    @property
    def group(self) -> tuple[str, str | None, str | None, str | None]:
        # Not the cause: it may hold a correlation id, which differs each time.
        detail = self.detail or (f"HTTP {self.status}" if self.status else None)
        return self.reason, detail, self.family, self.source

    @property
    def why(self) -> str:
        why = self.detail or describe_end(self.reason, self.cause, self.status)
        if self.tries:
            why += f"; {words.count_tries(self.tries)}"
        if self.failed_at_ms:
            why += f"; last request on {words.format_second(self.failed_at_ms)} UTC"
        return f"{self.reason}: {why}"

    @property
    def subject_id(self) -> str | None:
        key = Key.parse(self.key) if self.key else None
        return key.subject.id if key else None

    def is_named(self, name: str, *, in_bodies: bool = True) -> bool:
        """Returns true for its ids, and for a dead letter whose body mentions the name if asked."""
        if name in (self.message_id, self.message.message_id, self.key):
            return True
        # The key of an event of one's own hides an id that may be about a person.
        named = self.subject_id in (name, opaque(name))
        if named or not in_bodies or self.place is Place.PARKED:
            return named
        return f'"{name}"' in self.message.body


class Group(Model):
    """Messages that are there for the same reason."""

    reason: str
    detail: str | None
    family: str | None
    source: str | None
    count: int
    first_ms: int
    last_ms: int
    cause: str | None = Field(description="What the newest request ended in, in a sentence.")
    message_ids: list[str] = Field(exclude=True)


class Listed(Answer):
    """The messages of the dead ends, and their groups."""

    groups: list[Group]
    messages: list[Stuck]


@dataclass(frozen=True)
class Chosen:
    """Which messages a command is about: those that fit all that was named."""

    ids: list[str] | None = None
    reason: str | None = None
    family: str | None = None
    source: str | None = None
    in_bodies: bool = True

    def complete_ids(self, every: Collection[Stuck]) -> "Chosen":
        """Completes the ids of which only the beginning is given."""
        known = {
            name
            for one in every
            for name in (one.message_id, one.message.message_id, one.subject_id)
            if name
        }
        ids = None if self.ids is None else [complete_id(name, known) or name for name in self.ids]
        return replace(self, ids=ids)

    def __bool__(self) -> bool:
        return any((self.ids, self.reason, self.family, self.source))

    def find(self, every: Collection[Stuck]) -> list[Stuck]:
        ids = frozenset(self.ids or ())
        return [
            one
            for one in every
            if (self.reason is None or one.reason == self.reason.upper())
            and (self.family is None or one.family == self.family)
            and (self.source is None or one.source == self.source)
            # A command that names thousands names messages.
            and (
                not ids
                or one.message_id in ids
                or any(one.is_named(name, in_bodies=self.in_bodies) for name in ids)
            )
        ]

    def find_unknown(self, every: Collection[Stuck]) -> list[str]:
        """Finds the ids that fit nothing, most likely typing errors."""
        there = {one.message_id for one in every}
        return [
            name
            for name in self.ids or ()
            if name not in there
            and not any(one.is_named(name, in_bodies=self.in_bodies) for one in every)
        ]


class DeadEnds:
    """The commands on one kind of dead end: `parked` or `dead-letters`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.places = _COMMANDS[name]

    @answers(Listed)
    def list_all(
        self,
        at: Operation,
        ids: _Ids = None,
        place: _From = None,
        reason: _Reason = None,
        family: _Family = None,
        source: _Source = None,
    ) -> None:
        """List the events, by reason, detail, family and source."""
        every = self.read(at.stack, place)
        chosen = Chosen(ids, reason, family, source).complete_ids(every)
        found = chosen.find(every)
        for one in found:
            one.element = None
        listed = Listed(groups=group_stuck(found), messages=found)
        at.answer(listed, self._view(listed) if found else [self._say_nothing(chosen)])

    @answers(Listed)
    def show(
        self, at: Operation, ids: Annotated[list[str], typer.Argument(metavar="ID...")]
    ) -> None:
        """Show whole events, which may contain phone numbers."""
        every = self.read(at.stack)
        chosen = Chosen(ids).complete_ids(every)
        self._refuse_unknown(chosen.find_unknown(every))
        found = chosen.find(every)
        lines = []
        for one in found:
            whole = one.message.body
            with suppress(ValueError):
                body = one.element if one.element is not None else json.loads(whole)
                whole = json.dumps(body, indent=2, ensure_ascii=False)
            lines += [f"{one.message_id} {one.why}", *whole.split("\n")]
        at.answer(Listed(groups=group_stuck(found), messages=found), map(escape, lines))

    @answers(Done)
    def replay(
        self,
        at: Operation,
        ids: _Ids = None,
        place: _From = None,
        reason: _Reason = None,
        family: _Family = None,
        source: _Source = None,
        rate: Rate = PACE,
        yes: Yes = False,
    ) -> None:
        """Send events again, after you have removed the cause."""
        chosen = Chosen(ids, reason, family, source)
        if found := self._choose(at, chosen, place):
            unsure = [one.reason for one in found if one.reason in _UNSURE]
            question = f"Replay {words.count_events(len(found))}?"
            if unsure:
                question = (
                    f"{len(unsure)} of {len(found)} may have been acted on already "
                    f"({', '.join(sorted({*unsure}))}): did you look at the destination? Replay "
                    "all the same?"
                )
            at.confirm(question, yes, _say_facts(found))
            done = _work_through(at, found, partial(_resend, at.stack), rate)
            self._report(at, done, "replayed")

    @answers(Done)
    def drop(
        self,
        at: Operation,
        ids: _DroppedIds = None,
        place: _From = None,
        reason: _Reason = None,
        family: _Family = None,
        source: _Source = None,
        yes: Yes = False,
    ) -> None:
        """Delete events that must never be acted on."""
        # A body may mention an id that the event is not about, and a deletion is final.
        chosen = Chosen(ids, reason, family, source, in_bodies=False)
        if not chosen:
            raise OnceError(
                f"Name what to delete: ids, or --reason CODE. See: once {self.name} list"
            )
        if found := self._choose(at, chosen, place):
            facts = [*_count_reasons(found), "They cannot be brought back, and are never acted on."]
            at.confirm(f"Delete {words.count_events(len(found))} permanently?", yes, facts)
            mark = partial(_mark_dropped, at.stack)
            done = _work_through(at, found, lambda _: None, PACE, mark)
            self._report(at, done, "dropped")

    def _choose(self, at: Operation, chosen: Chosen, place: Place | None) -> list[Stuck]:
        """Reads what was chosen; if nothing was, the command has answered."""
        every = self.read(at.stack, place)
        chosen = chosen.complete_ids(every)
        unknown = chosen.find_unknown(every)
        # Some may be gone: a replay typed again after an interruption goes on with the rest.
        if not chosen.in_bodies or len(unknown) == len(chosen.ids or ()):
            self._refuse_unknown(unknown)
        there = sorted({one.reason for one in every})
        if chosen.reason and chosen.reason.upper() not in {*REASONS, *UNRECORDED, *there}:
            raise OnceError(
                f"{chosen.reason} is no reason of an event. "
                f"There {'is ' + ', '.join(there) if there else 'is nothing'}."
            )
        found = chosen.find(every)
        if not found:
            at.answer(Done(), [self._say_nothing(chosen)])
        return found

    def read(self, stack: Stack, only: Place | None = None) -> list[Stuck]:
        """Reads every message, oldest first; dead letters with the record of their last try."""
        found = []
        for place in self.places if only is None else (only,):
            with Reading(stack, OUTPUTS[place]) as reading:
                found += [parse(one, place) for batch in reading.batches() for one in batch]
        tried = [one for one in found if one.place is Place.QUEUE]
        ids = [one.message_id for one in tried]
        if ids:
            pattern = "|".join(ids) if len(ids) <= _NAMED else Outcome.RETRY
            records = log.search(stack, pattern, since_ms=log.now_ms() - _KEPT_MS).records
            last = {record.message_id: record for record in records if record.reason}
            for one in tried:
                if record := last.get(one.message_id):
                    one.reason = record.reason or one.reason
                    one.cause, one.status, one.tries = record.cause, record.status, record.tries
        return sorted(found, key=lambda one: one.sent_at_ms)

    def _refuse_unknown(self, names: Collection[str]) -> None:
        if names:
            raise NotFoundError(
                f"There is nothing of {', '.join(names)} in it, so nothing was done.\n"
                f"See what there is with: once {self.name} list"
            )

    def _say_nothing(self, chosen: Chosen) -> str:
        there = "parked" if self.name == "parked" else "a dead letter"
        return f"Nothing is {there} that fits." if chosen else f"Nothing is {there}."

    def _view(self, listed: Listed) -> Iterator[str]:
        now_ms = log.now_ms()
        # No table: it would break sentences at the terminal's end.
        width = max(len(f"{group.count:,}") for group in listed.groups)
        for group in listed.groups:
            why = f"{group.reason}: {group.detail}" if group.detail else group.reason
            source = f"from {group.source}" if group.source else ""
            what = " ".join(part for part in (group.family, source) if part)
            first, last = (words.format_age(now_ms - at) for at in (group.first_ms, group.last_ms))
            ages = f"{last} ago" if first == last else f"{first} to {last} ago"
            parts = (f"{group.count:>{width},}  {why.rstrip('.')}", what, ages)
            yield escape(", ".join(part for part in parts if part))
            if group.cause:
                yield escape(f"{'':{width}}  {words.shorten_ids(group.cause)}")
        if len(listed.messages) > _LISTED:
            yield f"More than {_LISTED}, so not one by one: give an id or --reason, or --json."
        else:
            yield ""
            for one in listed.messages:
                age = words.format_age(now_ms - one.sent_at_ms)
                place = "" if one.place is Place.PARKED else f"{one.place}: "
                line = escape(f"{one.message_id} {place}{words.shorten_ids(one.why)}")
                yield Row.of(f"{age:>6}  ", line)
                if key := Key.parse(one.key) if one.key else None:
                    about = f"({key.subject.kind} {key.subject.id})"
                    yield f"{'':8}{escape(one.text)} [dim]{escape(about)}[/]"
        yield (
            f"To see one: once {self.name} show ID. When the cause is removed, replay one or all: "
            f"once {self.name} replay [ID]. If it must never be acted on: once {self.name} drop "
            f"ID, or once {self.name} drop --reason CODE"
        )

    def _report(self, at: Operation, done: Done, word: str) -> None:
        """Says what was done; with failures, the command ends as one that needs attention."""
        said = [f"{done.done} {word}."]
        if done.gone:
            said.append(f"{done.gone} were no longer there.")
        said += [f"{escape(m)} is still there: {escape(why)}" for m, why in done.failed.items()]
        if done.left is not None:
            again = " The same command continues." if word == "replayed" else ""
            said.append(f"Interrupted: {done.left} left.{again}")
        if done.done and word == "replayed":
            said.append("To follow them: once status, or once explain ID.")
        at.answer(done, said)
        if done.left is not None:
            raise typer.Exit(INTERRUPTED)
        if done.failed:
            raise typer.Exit(ATTENTION)


def register(app: typer.Typer) -> None:
    one = "681e3548-4471-4ed2-b5b0-42109261e2d2"
    for name, help_, some in (
        ("parked", "List, replay or drop parked events.", "--reason REJECTED"),
        ("dead-letters", "List, replay or drop dead-letter events.", "--from rule"),
    ):
        group = typer.Typer(no_args_is_help=True, help=help_)
        commands = DeadEnds(name)
        without = ("place",) if len(commands.places) == 1 else ()
        add(group, "list", commands.list_all, f"once {name} list {some}", without)
        add(group, "show", commands.show, f"once {name} show {one}")
        add(group, "replay", commands.replay, f"once {name} replay {some}", without)
        add(group, "drop", commands.drop, f"once {name} drop {one}", without)
        app.add_typer(group, name=name)


def parse(message: QueuedMessage, place: Place) -> Stuck:
    if place is not Place.PARKED:
        return _parse_dead(message, place)
    try:
        body = json.loads(message.body)
        element = body["element"]
        key = Key.of_row(**element["key"]) if element.get("key") else None
        return Stuck(
            message_id=element["messageId"],
            place=place,
            reason=body["reason"],
            detail=element.get("detail"),
            cause=body.get("cause"),
            status=body.get("status"),
            tries=body.get("tries"),
            failed_at_ms=body.get("failedAtMs"),
            family=element.get("family"),
            source=_find_source(element),
            key=str(key) if key else None,
            owner=body["owner"],
            text=words.describe_event(key) if key else "a message that holds no event",
            sent_at_ms=message.sent_at_ms,
            element=element,
            message=message,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Stuck(
            message_id=message.message_id,
            place=place,
            reason="NOT_OURS",
            text=describe("NOT_OURS"),
            sent_at_ms=message.sent_at_ms,
            message=message,
        )


def _parse_dead(message: QueuedMessage, place: Place) -> Stuck:
    """Asks the enrichment what it would make of it, so the event itself need not be read."""
    sent = {"SentTimestamp": str(message.sent_at_ms)}
    element = normalise({"messageId": message.message_id, "body": message.body, "attributes": sent})
    key = Key.of_row(**element["key"]) if element["kind"] == "event" else None
    error = [message.attributes.get(name) for name in ("ERROR_CODE", "ERROR_MESSAGE")]
    return Stuck(
        message_id=message.message_id,
        place=place,
        reason="NOT_DELIVERED" if any(error) else "NOT_RECORDED",
        detail=": ".join(part for part in error if part) or None,
        family=element.get("family"),
        source=_find_source(element),
        key=str(key) if key else None,
        text=words.describe_event(key) if key else describe(element.get("reason")),
        sent_at_ms=message.sent_at_ms,
        message=message,
    )


def _find_source(element: dict[str, Any]) -> str | None:
    """Finds which integration sent it: the last part of the event's source."""
    source = (element.get("trace") or {}).get("source")
    return source.rpartition("/")[2] if isinstance(source, str) and source else None


def group_stuck(found: Iterable[Stuck]) -> list[Group]:
    """Groups by why they are there, the largest group first."""
    alike: dict[tuple[str | None, ...], list[Stuck]] = {}
    for one in found:
        alike.setdefault(one.group, []).append(one)
    made = []
    for together in alike.values():
        newest = max(together, key=lambda one: one.sent_at_ms)
        reason, detail, family, source = newest.group
        made.append(
            Group(
                reason=reason,
                detail=detail,
                family=family,
                source=source,
                count=len(together),
                first_ms=min(one.sent_at_ms for one in together),
                last_ms=newest.sent_at_ms,
                cause=newest.cause,
                message_ids=[one.message_id for one in together],
            )
        )
    return sorted(made, key=lambda group: (-group.count, group.first_ms))


def _count_reasons(found: Iterable[Stuck]) -> Iterator[str]:
    """Says each reason and its count, before an act on all of them."""
    for reason, count in Counter(one.reason for one in found).most_common():
        yield escape(f"{count:,} {reason}: {describe(reason)}")


def _say_facts(found: Collection[Stuck]) -> Iterator[str]:
    yield from _count_reasons(found)
    yield "They go into the queue again, and are acted on unless a copy has been."
    known = {one.reason for one in found} & REASONS.keys()
    codes = sorted(code for code in known if REASONS[code].acted is Acted.MAYBE)
    if codes:
        yield (
            f"Each {' or '.join(codes)} may have been acted on already, and may fail again unless "
            "its cause is removed."
        )


def _work_through(
    at: Operation,
    found: Collection[Stuck],
    each: Callable[[Stuck], None],
    rate: float,
    deleted: Callable[[Stuck], None] = lambda _: None,
) -> Done:
    """Works through one queue after the other; an interruption leaves the rest."""
    together = Done()
    for place in Place:
        wanted = {one.message.message_id: one for one in found if one.place is place}
        if together.left is not None:
            together.left += len(wanted)
        elif wanted:
            done = work_through(at.stack, OUTPUTS[place], wanted, each, rate, at.errors, deleted)
            together.done += done.done
            together.gone += done.gone
            together.failed |= done.failed
            together.left = done.left
    return together


def _resend(stack: Stack, one: Stuck) -> None:
    """Sends it into the event queue. If no other clock dates the event, the time at which it was
    first sent keeps it a copy of itself."""
    if one.place is Place.PARKED and one.key is not None:
        _release_claim(stack, one)
    first_sent = one.message.attributes.get(FIRST_SENT) or str(one.message.sent_at_ms)
    if one.place is Place.PARKED:
        first_sent = str((one.element or {}).get("firstSentAtMs") or "")
    is_canary = CANARY in one.message.attributes or (one.element or {}).get("canary")
    attributes = dict(canaries.ATTRIBUTES) if is_canary else {}
    if first_sent:
        attributes[FIRST_SENT] = {"DataType": "Number", "StringValue": first_sent}
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventQueueUrl"],
        MessageBody=_read_body(stack, one),
        MessageAttributes=attributes,
    )


def _read_body(stack: Stack, one: Stuck) -> str:
    if one.place is not Place.PARKED:
        return one.message.body
    element = one.element
    if element is None:
        raise OnceError("This stack did not park it, so there is nothing to replay; drop it.")
    if element["kind"] == "event":
        return json.dumps(element)
    if "rawRef" not in element:
        return str(element["raw"])
    at = element["rawRef"]
    content = stack.client("s3").get_object(Bucket=at["bucket"], Key=at["key"])["Body"].read()
    return str(content.decode())


def _release_claim(stack: Stack, one: Stuck) -> None:
    """Releases its claim, without tries: it is done, so that a copy ends as a copy.

    A claim that changed since belongs to another delivery, and stays as it is.
    """
    try:
        _update_parked(
            stack,
            one,
            "SET #status = :failed, tries = :zero, failed_at = :zero, expires_at = :expires",
            condition="#status = :done AND ",
            names={"#status": "status"},
            values={
                ":failed": {"S": Status.FAILED},
                ":done": {"S": Status.DONE},
                ":zero": {"N": "0"},
                ":expires": expire_at(stack, log.now_ms()),
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise


def _mark_dropped(stack: Stack, one: Stuck) -> None:
    """Notes it for `once explain`. It may fail: the rest of the row decides who may act."""
    if one.place is Place.PARKED and one.key is not None:
        with suppress(ClientError, BotoCoreError):
            values = {":now": {"N": str(log.now_ms())}}
            _update_parked(stack, one, "SET dropped_at = :now", values=values)


def _update_parked(
    stack: Stack,
    one: Stuck,
    update: str,
    *,
    condition: str = "",
    names: dict[str, str] | None = None,
    values: dict[str, Any],
) -> None:
    """Changes the row of a parked event that is still its own."""
    key = Key.parse(one.key or "")
    if key is None:
        return
    stack.client("dynamodb").update_item(
        TableName=stack.outputs["ClaimTableName"],
        Key=row_key(key),
        UpdateExpression=update,
        ConditionExpression=f"{condition}outcome = :parked AND #owner = :owner",
        ExpressionAttributeNames={"#owner": "owner"} | (names or {}),
        ExpressionAttributeValues={
            ":parked": {"S": Outcome.PARKED},
            ":owner": {"S": one.owner},
            **values,
        },
    )
