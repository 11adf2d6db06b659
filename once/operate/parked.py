"""`once parked`: events that no further try could help, until a person has removed the cause."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError
from enrichment.keys import opaque
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import claims, log
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
from once.screen import Row

_OUTPUT = "ParkingQueueUrl"
_UNCERTAIN = "UNCERTAIN"

_Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Messages, conversations, users, queues; none for all."),
]


class Parked(Model):
    """One parked event."""

    message_id: str
    reason: str
    detail: str | None = None
    family: str | None = None
    source: str | None = None
    key: str | None = None
    owner: str | None = None
    cause: str | None = Field(
        default=None,
        description="What was wrong, in a sentence, with the correlation id that Genesys' support "
        "asks for, where there is one.",
    )
    status: int | None = Field(default=None, description="The destination's last HTTP status.")
    tries: int | None = None
    failed_at_ms: int | None = Field(default=None, description="When its last failed call ended.")
    parked_at_ms: int
    element: dict[str, Any] | None = None
    letter_id: str = Field(exclude=True)

    @property
    def why(self) -> tuple[str, str | None]:
        # Not the cause: it may hold a correlation id, which is another each time.
        return self.reason, self.detail or (f"HTTP {self.status}" if self.status else None)

    @property
    def since_ms(self) -> int:
        return self.parked_at_ms

    def is_called(self, name: str) -> bool:
        if name in (self.message_id, self.key):
            return True
        # The key of an event of somebody's own hides what may be about a person.
        return bool({name, opaque(name)} & {*(self.key or "").split("/")[2:3]})


class ParkedList(Answer):
    """What lies in the parking queue."""

    groups: list[Group]
    parked: list[Parked]


def register(app: typer.Typer) -> None:
    parked = typer.Typer(no_args_is_help=True, help="Events that wait for a person's decision.")
    command(parked, "list", "once parked list --reason REJECTED")(list_parked)
    command(parked, "show", "once parked show 681e3548-4471-4ed2-b5b0-42109261e2d2")(show)
    command(parked, "replay", "once parked replay --reason REJECTED")(replay)
    command(parked, "drop", "once parked drop 681e3548-4471-4ed2-b5b0-42109261e2d2")(drop)
    app.add_typer(parked, name="parked")


@answers(ParkedList)
def list_parked(
    at: Operation,
    ids: _Ids = None,
    reason: Reason = None,
    family: Family = None,
    source: Source = None,
) -> None:
    """List what is parked, by reason, detail, family and source."""
    chosen = Chosen(ids, reason, family, source)
    found = chosen.of(_read(at.stack))
    for parked in found:
        parked.element = None
    listed = ParkedList(groups=groups(found), parked=found)
    at.answer(listed, _view(listed) if found else [_nothing(chosen)])


@answers(ParkedList)
def show(at: Operation, ids: Annotated[list[str], typer.Argument(metavar="ID...")]) -> None:
    """Show parked events whole. They may hold phone numbers."""
    everything = _read(at.stack)
    refuse(strangers(ids, everything), "parked")
    found = Chosen(ids, None, None, None).of(everything)
    at.answer(
        ParkedList(groups=groups(found), parked=found),
        (line for parked in found for line in _whole(parked)),
    )


@answers(Done)
def replay(
    at: Operation,
    ids: _Ids = None,
    reason: Reason = None,
    family: Family = None,
    source: Source = None,
    rate: Rate = PACE,
    yes: Yes = False,
) -> None:
    """Send parked events through once more, when the cause is removed."""
    everything = _read(at.stack)
    unknown = strangers(ids, everything)
    # Some may be gone: typed again after an interruption, it goes on with the rest.
    if ids and len(unknown) == len(ids):
        refuse(unknown, "parked")
    chosen = Chosen(ids, reason, family, source)
    chosen.refuse_reason(everything)
    found = chosen.of(everything)
    if not found:
        at.answer(Done(), [_nothing(chosen)])
        return
    uncertain = sum(parked.reason == _UNCERTAIN for parked in found)
    question = f"Replay {words.events(len(found))}?"
    if uncertain:
        question = (
            f"{uncertain} of {len(found)} may have acted already ({_UNCERTAIN}): did you look at "
            "the destination? Replay all the same?"
        )
    facts = [*counts(found), "They go into the queue once more, and act unless a copy has acted."]
    if any(parked.reason in (_UNCERTAIN, "GAVE_UP") for parked in found):
        facts.append(
            f"Each GAVE_UP or {_UNCERTAIN} may have acted already when it was called, and may "
            "fail again unless its cause is removed."
        )
    at.confirm(question, yes, facts)

    def each(letter: Letter) -> None:
        parked = _parked(letter)
        if parked.reason == _UNCERTAIN:
            _reset(at.stack, parked)
        resend(at.stack, _body(at.stack, parked), (parked.element or {}).get("firstSentAtMs"))

    wanted = {parked.letter_id for parked in found}
    report(at, work_through(at.stack, _OUTPUT, wanted, each, rate, at.errors), "replayed")


@answers(Done)
def drop(
    at: Operation,
    ids: _Ids = None,
    reason: Reason = None,
    family: Family = None,
    source: Source = None,
    yes: Yes = False,
) -> None:
    """Delete parked events that shall never act."""
    chosen = Chosen(ids, reason, family, source)
    if not chosen:
        raise OnceError("Name what to delete: ids, or --reason CODE. See: once parked list")
    everything = _read(at.stack)
    refuse(strangers(ids, everything), "parked")
    chosen.refuse_reason(everything)
    found = chosen.of(everything)
    if not found:
        at.answer(Done(), [_nothing(chosen)])
        return
    facts = [*counts(found), "Nobody can bring them back, and they never act."]
    at.confirm(f"Delete {words.events(len(found))} for good?", yes, facts)

    wanted = {parked.letter_id for parked in found}
    done = work_through(
        at.stack,
        _OUTPUT,
        wanted,
        lambda _: None,
        PACE,
        at.errors,
        lambda letter: _mark_dropped(at.stack, _parked(letter)),
    )
    report(at, done, "dropped")


def _read(stack: Stack) -> list[Parked]:
    with Reading(stack, _OUTPUT) as reading:
        found = [_parked(letter) for letters in reading.batches() for letter in letters]
    return sorted(found, key=lambda parked: parked.parked_at_ms)


def _parked(letter: Letter) -> Parked:
    try:
        body = json.loads(letter.body)
        element = body["element"]
        key = element.get("key")
        return Parked(
            message_id=element["messageId"],
            reason=body["reason"],
            detail=element.get("detail"),
            cause=body.get("cause"),
            family=element.get("family"),
            source=source_of(element),
            key=f"{key['pk']}/{key['sk']}" if key else None,
            owner=body["owner"],
            status=body.get("status"),
            tries=body.get("tries"),
            failed_at_ms=body.get("failedAtMs"),
            parked_at_ms=letter.sent_ms,
            element=element,
            letter_id=letter.message_id,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Parked(
            message_id=letter.message_id,
            reason="NOT_OURS",
            parked_at_ms=letter.sent_ms,
            letter_id=letter.message_id,
        )


def _body(stack: Stack, parked: Parked) -> str:
    element = parked.element
    if element is None:
        raise OnceError("It was not parked by us, so there is nothing to replay; drop it.")
    if element["kind"] == "event":
        return json.dumps(element)
    if "rawRef" in element:
        at = element["rawRef"]
        content = stack.client("s3").get_object(Bucket=at["bucket"], Key=at["key"])["Body"].read()
        text: str = content.decode()
        return text
    return str(element["raw"])


def _reset(stack: Stack, parked: Parked) -> None:
    """Its claim says done, so that no copy asks meanwhile. Opened, it lets the replay act.

    Only as this event left it: whoever reset it before, or acted since, has settled that.
    """
    key = (parked.element or {})["key"]
    try:
        stack.client("dynamodb").update_item(
            TableName=stack.outputs["ClaimTableName"],
            Key={"pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}},
            UpdateExpression="SET #status = :failed, expires_at = :expires",
            ConditionExpression="#status = :done AND outcome = :parked AND #owner = :owner",
            ExpressionAttributeNames={"#status": "status", "#owner": "owner"},
            ExpressionAttributeValues={
                ":failed": {"S": claims.Status.FAILED},
                ":expires": claims.expires(stack, log.now_ms()),
                ":done": {"S": claims.Status.DONE},
                ":parked": {"S": "PARKED"},
                ":owner": {"S": parked.owner},
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise


def _mark_dropped(stack: Stack, parked: Parked) -> None:
    """For `once explain`, so it may fail: who may act is decided by the rest of the row."""
    key = (parked.element or {}).get("key")
    if key is None:
        return
    with suppress(ClientError, BotoCoreError):
        stack.client("dynamodb").update_item(
            TableName=stack.outputs["ClaimTableName"],
            Key={"pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}},
            UpdateExpression="SET dropped_at = :now",
            ConditionExpression="outcome = :parked AND #owner = :owner",
            ExpressionAttributeNames={"#owner": "owner"},
            ExpressionAttributeValues={
                ":now": {"N": str(log.now_ms())},
                ":parked": {"S": "PARKED"},
                ":owner": {"S": parked.owner},
            },
        )


def _view(listed: ParkedList) -> Iterator[str]:
    now_ms = log.now_ms()
    yield from view(listed.groups, now_ms)
    if len(listed.parked) > LISTED:
        yield f"More than {LISTED}, so not one by one: give an id or --reason, or --json."
    else:
        yield ""
        for parked in listed.parked:
            age = words.age(now_ms - parked.parked_at_ms)
            why = words.short(_why(parked))
            yield Row.of(f"{age:>6}  ", escape(f"{parked.message_id} {why}"))
            if parked.key is not None:
                kind, subject = parked.key.split("/")[1:3]
                what = words.event(parked.family or "", parked.key)
                yield f"{'':8}{escape(what)} [dim]({escape(kind)} {escape(subject)})[/]"
    yield (
        "One whole: once parked show ID. Its cause is removed: once parked replay ID, without an "
        "ID all. It shall never act: once parked drop ID, or all of a reason: once parked drop "
        "--reason CODE"
    )


def _nothing(chosen: Chosen) -> str:
    return "Nothing is parked that fits." if chosen else "Nothing is parked."


def _why(parked: Parked) -> str:
    """What is known of why it is parked."""
    said = parked.detail or words.why(parked.reason, parked.cause, parked.status)
    if parked.tries:
        said += f"; {words.tries(parked.tries)}"
    if parked.failed_at_ms:
        said += f"; last called on {words.moment(parked.failed_at_ms)[:19]} UTC"
    return f"{parked.reason}: {said}"


def _whole(parked: Parked) -> Iterator[str]:
    yield escape(f"{parked.message_id} {_why(parked)}")
    for line in json.dumps(parked.element, indent=2, ensure_ascii=False).split("\n"):
        yield escape(line)
